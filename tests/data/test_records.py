"""One contract for records, whatever they come from."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bela.data
from bela.data import ArrayTable, ArrowTable, open_table
from bela.errors import DataError, ParameterError
from bela.protocols import Table

kinds = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("kinds.py"))))
ROWS: list[dict[str, Any]] = kinds.ROWS


@pytest.fixture(params=kinds.TABLES)
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return kinds.TABLES[request.param](tmp_path)


def check_contract(records: Table) -> None:
    """What every implementation keeps."""
    assert isinstance(records, Table)
    batches = list(records.batches())
    assert sum(batch.num_rows for batch in batches) == records.n_rows > 0
    assert all(tuple(batch.schema.names) == records.columns for batch in batches)
    table = pa.Table.from_batches(batches)
    for start, most in ((0, 1), (1, 2), (records.n_rows - 1, None), (records.n_rows, None)):
        parts = list(records.batches(start=start, most=most))
        assert [row for part in parts for row in part.to_pylist()] == table.slice(start).to_pylist()
        assert all(part.num_rows <= (most or records.n_rows) for part in parts)
    for name in records.columns:
        column = records.column(name)
        assert isinstance(column, pa.ChunkedArray)
        assert column.to_pylist() == table.column(name).to_pylist()
        assert not pa.types.is_dictionary(column.type)
        [only] = {batch.schema.names[0] for batch in records.batches([name])}
        assert only == name
    assert [records.record(row) for row in range(records.n_rows)] == table.to_pylist()
    digests = records.row_digests()
    assert digests.shape == (records.n_rows,)
    assert digests.dtype == np.uint64
    assert len(records.fingerprint) == 64
    int(records.fingerprint, 16)
    for row in (-1, records.n_rows):
        with pytest.raises(LookupError):
            records.record(row)
    with pytest.raises(ParameterError, match="no column 'nothing'"):
        records.column("nothing")


def test_every_kind_is_the_same_table(data: Any):
    """The same rows are the same records and have the same digests, whatever they come from."""
    records = open_table(data)
    check_contract(records)
    assert records.columns == tuple(ROWS[0])
    assert [records.record(i) for i in range(len(ROWS))] == ROWS
    assert [*records.iter_records()] == ROWS
    assert (records.row_digests() == open_table(ROWS).row_digests()).all()
    assert (records.root is None) == (not isinstance(data, Path))
    assert records.column("text").type == pa.large_string()


def test_a_cache_changes_nothing(data: Any, tmp_path: Path):
    """With a cache, at the first and at the second opening, the records are the same."""
    plain = open_table(data)
    for _ in range(2):
        kept = open_table(data, cache=tmp_path / "cache")
        assert [*kept.iter_records()] == ROWS
        assert kept.fingerprint == plain.fingerprint
        assert (kept.row_digests() == plain.row_digests()).all()


@pytest.mark.parametrize(
    "data",
    [
        np.arange(12.0).reshape(4, 3),
        np.asfortranarray(np.arange(12).reshape(4, 3)),
        np.arange(12, dtype=">f4").reshape(4, 3),
        np.arange(24, dtype=np.uint8).reshape(4, 2, 3),
        (np.arange(48) % 3 == 0).reshape(4, 2, 2, 3),
        np.array(["a", "é", "🙈", ""]),
        np.array(["a", None, "c", ""], dtype=object),
        np.arange(4),
        ["a", None, "b", "c"],
    ],
    ids=lambda data: f"{getattr(data, 'dtype', 'list')}{np.shape(data)}",
)
def test_arrays_are_records_too(data: Any):
    """Arrays of any dimension and byte order keep the contract."""
    records = open_table(data)
    check_contract(records)
    assert records.n_rows == 4
    [values] = records.record(2).values()
    assert values == (data[2].tolist() if isinstance(data[2], np.ndarray | np.generic) else data[2])


def test_every_exported_class_is_covered():
    """The contract runs over all implementations."""
    covered = {ArrowTable, ArrayTable}
    exported = {value for value in vars(bela.data).values() if isinstance(value, type)}
    assert {kind for kind in exported if hasattr(kind, "row_digests")} == covered


# -------------------------------------------------------------------------------------------------------- digests

VALUES = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ROWS_OF = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12)


@given(rows=ROWS_OF, cut=st.integers(0, 12))
def test_digests_depend_on_content_alone(rows: list[tuple[str | None, str | None]], cut: int):
    """However a table is cut into chunks, and in whatever order its columns stand, rows keep their digests."""
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows], pa.string())}
    )
    whole = open_table(table).row_digests()
    cut_up = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    assert (open_table(cut_up).row_digests() == whole).all()
    assert (open_table(table.select(["b", "a"])).row_digests() == whole).all()
    assert (open_table(table.slice(len(rows) - 1)).row_digests() == whole[-1:]).all()
    assert [a == b for a in whole for b in whole] == [a == b for a in rows for b in rows]


@given(rows=ROWS_OF, data=st.data())
def test_any_change_is_seen(rows: list[tuple[str | None, str | None]], data: st.DataObject):
    """Another value changes the digest of its row and the fingerprint; another order changes the fingerprint."""

    def opened(rows: list[tuple[str | None, str | None]]) -> ArrowTable | ArrayTable:
        return open_table([{"a": a, "b": b} for a, b in rows])

    at = data.draw(st.integers(0, len(rows) - 1))
    new = data.draw(st.tuples(VALUES, VALUES))
    changed = [*rows[:at], new, *rows[at + 1 :]]
    before, after = opened(rows), opened(changed)
    differs = before.row_digests() != after.row_digests()
    assert differs.tolist() == [i == at and new != rows[at] for i in range(len(rows))]
    assert (before.fingerprint != after.fingerprint) == (new != rows[at])
    assert (opened(rows[::-1]).fingerprint == before.fingerprint) == (rows[::-1] == rows)


def test_digests_tell_kinds_apart():
    """A number and its text, nothing and an empty text, and values in other columns or places differ."""
    values: list[Any] = [
        1, "1", b"1", 1.0, True, None, "", [1], [1, 2], [], [2, 1], {"x": 1}, {"x": 2}, {"y": 1}, {}, [None],
        ["a", "b"], ["b", "a"], [[1], [2]], [[1, 2]],
    ]  # fmt: skip
    seen = [open_table(pa.table({name: [value]})).row_digests()[0] for value in values for name in ("a", "b")]
    assert len(set(seen)) == len(seen)
    long = ["x" * n + y for n in range(40) for y in ("", "y", "\0", "\0\0")]
    assert len(set(open_table(long).row_digests().tolist())) == len(set(long))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, 2, None], pa.uint64()),
        pa.array([2**64 - 1, 1, None], pa.uint64()),
        pa.array([1, 2, None], pa.timestamp("ns", "UTC")),
        pa.array([1, 2, None], pa.date32()),
        pa.array([1, 2, None], pa.duration("s")),
        pa.array([1, 2, None], pa.time64("us")),
        pa.array(["1.10", "2.20", None]).cast(pa.decimal128(5, 2)),
        pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        pa.array([[1.0, 2.0], [3.0, 4.0], None], pa.list_(pa.float32(), 2)),
        pa.array([[[1], [2, 3]], [[], None], None]),
        pa.array([{"x": [1, None]}, {"x": []}, None]),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array([b"a", b"", None]),
        pa.array([float("nan"), -0.0, None]),
        pa.nulls(3),
    ],
    ids=lambda array: str(array.type),
)
def test_every_arrow_type(array: pa.Array, tmp_path: Path):
    """Values of every type can be shown and digested, also from Parquet, row by row and in slices."""
    records = open_table(pa.table({"v": array}))
    digests = records.row_digests()
    assert len({*digests.tolist()}) == (1 if pa.types.is_null(array.type) else 3)
    for i in range(3):
        alone = open_table(pa.table({"v": array.slice(i, 1)}))
        assert alone.row_digests()[0] == digests[i]
        assert repr(alone.record(0)) == repr(records.record(i))
    assert records.record(2) == {"v": None}
    kinds.pq.write_table(pa.table({"v": array}), tmp_path / "t.parquet")
    assert len(open_table(tmp_path / "t.parquet").row_digests()) == 3


def test_many_rows_do_not_collide():
    """A hundred thousand rows that differ a little have as many digests."""
    records = open_table(pa.table({"a": list(map(str, range(100_000))), "b": [i % 10 for i in range(100_000)]}))
    assert len(np.unique(records.row_digests())) == 100_000


# -------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (5, "cannot be read: give a path"),
        (None, "cannot be read: give a path"),
        ([], "no rows"),
        ({}, "no columns"),
        ({"a": []}, "no rows"),
        ({"a": [1], "b": [1, 2]}, "different lengths"),
        ([1, 2], "a list of int"),
        ([{"a": 1}, 2], "a list of dict, int"),
        ([{"a": object()}], "column 'a' holds values that no table can hold, of the type.s. object"),
        ([{"a": "\ud800"}], "half a character"),
        (np.empty((0, 3)), "no rows"),
        (np.empty((3, 0)), "no values in its rows"),
        (np.array(5), "single value"),
        (np.array([[1j]]), "complex"),
        (np.array([["a"]]), "numbers are needed"),
        (np.array([["a", None]], dtype=object), "Python objects in 2 dimensions"),
        (np.zeros((2, 1, 1, 1, 1)), "5 dimensions"),
        (pa.table({"a": []}), "no rows"),
        (pa.array([1]), "give a pyarrow.Table"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), "twice"),
    ],
)
def test_objects_that_are_no_rows(data: Any, says: str):
    """One sentence says what is wrong, and what to give."""
    with pytest.raises(DataError, match=says) as caught:
        open_table(data)
    assert "\n" not in str(caught.value)


def test_an_encoding_is_for_text(tmp_path: Path):
    """An encoding that would be ignored is refused."""
    with pytest.raises(ParameterError, match="for files of text"):
        open_table([{"a": 1}], encoding="utf-8")
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))
    with pytest.raises(ParameterError, match="no text file"):
        open_table(tmp_path / "x.npy", encoding="utf-8")
