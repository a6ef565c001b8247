"""JSON in its three forms: nothing lost, nothing turned into something else."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bela.data import ArrowTable, open_table
from bela.data.readers import _json as json_module
from bela.errors import DataError, ParameterError

ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ENDING = st.sampled_from(["json", "jsonl"])
NAME = st.sampled_from(["a", "b", "ß", "🙈", "long name"])


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text)
    return path


def same(found: Any, expected: Any) -> bool:
    """Whether two values are equal and of the same types all the way down; in vectors numbers are numbers."""
    if isinstance(expected, list) and isinstance(found, list):
        if {type(value) for value in expected} == {int, float}:
            return found == expected
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, dict) and isinstance(found, dict):
        return list(found) == list(expected) and all(same(found[key], expected[key]) for key in expected)
    return type(found) is type(expected) and found == expected


@ANY_FOLDER
@given(rows=st.lists(st.dictionaries(NAME, VALUE, min_size=1), min_size=1, max_size=6), ending=ENDING)
def test_values_come_back_as_they_were(tmp_path: Path, rows: list[dict[str, Any]], ending: str):
    """Whatever the values, also of mixed kinds in a column, each comes back with its type; a missing one is null."""
    records = open_table(write(tmp_path / f"t.{ending}", rows))
    assert isinstance(records, ArrowTable)
    assert records.columns == tuple(dict.fromkeys(name for row in rows for name in row))
    for i, row in enumerate(rows):
        found = records.record(i)
        assert all(_same_in_column(found[name], row.get(name), name, rows) for name in records.columns)
    assert [*records.iter_records()] == [records.record(i) for i in range(len(rows))]


def _same_in_column(found: Any, expected: Any, name: str, rows: list[dict[str, Any]]) -> bool:
    """A vector of whole numbers among vectors of fractions may be one of fractions."""
    if isinstance(expected, list) and isinstance(found, list) and all(type(v) is float for v in _flat(found)):
        numbers = _flat([row.get(name) for row in rows])
        if all(type(value) in (int, float, type(None)) for value in numbers):
            return bool(found == expected)
    return same(found, expected)


def _flat(value: Any) -> list[Any]:
    return [leaf for inner in value for leaf in _flat(inner)] if isinstance(value, list) else [value]


MIXED = [[1, 2.5], [1, "1"], [True, 1], [2**70, 1], [{"a": 1}, None], ["x", ["y"]], [[1, "x"]], [[2**60, 0.5]]]


@pytest.mark.parametrize("values", MIXED)
def test_mixed_columns_stay_exact_and_are_shown_as_text(tmp_path: Path, values: list[Any]):
    """A column of mixed kinds gives back each value, and is text to whoever wants a whole column."""
    records = open_table(write(tmp_path / "t.jsonl", [{"v": value} for value in values]))
    found = [records.record(i)["v"] for i in range(len(values))]
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]
    assert isinstance(records, ArrowTable)
    assert records.mixed == ("v",)
    assert [*records.values("v")] == values
    shown = [None if v is None else v if isinstance(v, str) else json.dumps(v) for v in values]
    assert records.column("v").to_pylist() == shown
    assert [value for batch in records.batches() for value in batch.column("v").to_pylist()] == shown


def test_types_are_kept_where_they_are_plain(tmp_path: Path):
    """Whole numbers with gaps stay whole, vectors are vectors, texts that look like dates are texts."""
    rows = [
        {"n": 2**62 + 1, "x": 0.5, "v": [1, 0.5], "t": "2024-01-01 00:00:00", "b": True, "w": ["a"], "e": None},
        {"n": None, "x": math.nan, "v": [], "t": "", "b": None, "w": [], "e": None},
    ]
    records = open_table(write(tmp_path / "t.jsonl", rows))
    assert records.record(0) == rows[0]
    types = {name: records.column(name).type for name in records.columns}
    assert types == {
        "n": pa.int64(), "x": pa.float64(), "v": pa.large_list(pa.float64()), "t": pa.large_string(), "b": pa.bool_(),
        "w": pa.large_list(pa.large_string()), "e": pa.null(),
    }  # fmt: skip


def test_later_rows_may_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Columns that appear, and types that change, long after the first block was written change nothing before."""
    monkeypatch.setattr(json_module, "_BLOCK_BYTES", 1 << 20)
    rows: list[dict[str, Any]] = [{"i": i, "pad": "x" * 1000} for i in range(3000)]
    rows += [{"i": i, "late": [1, 2]} for i in range(3000, 5000)]
    rows += [{"i": i + 0.5, "late": [0.5]} for i in range(5000, 7000)]
    rows += [{"late": None, "i": "end"}]
    records = open_table(write(tmp_path / "t.jsonl", rows))
    assert records.columns == ("i", "pad", "late")
    for i, row in enumerate(records.iter_records()):
        expected = {name: rows[i].get(name) for name in records.columns}
        assert row == expected
        assert type(row["i"]) is type(expected["i"])
    assert records.column("late").type == pa.large_list(pa.float64())


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2], "b": ["x", null]}',
        '{\n "a": [1, 2],\n "b": ["x", null]\n}\n',
        '[{"a": 1, "b": "x"}, {"a": 2}]',
        ' [\n{"a": 1, "b": "x"}\n,\n{"a": 2, "b": null}]\n\n',
        '{"a": 1, "b": "x"}\n{"a": 2}\n',
        '\n{"a": 1, "b": "x"}\n\n{"a": 2}',
        '\ufeff[{"a": 1, "b": "x"}, {"a": 2}]',
    ],
)
def test_the_forms_of_a_json_file(tmp_path: Path, text: str):
    """A list of objects, an object of lists, and lines of objects under the wrong name are the same table."""
    path = tmp_path / "t.json"
    path.write_text(text, encoding="utf-8")
    assert [*open_table(path).iter_records()] == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_a_long_list_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Wherever the pieces of a list end, within a number, a text, an escape or a word, it is read as a whole."""
    rows = [{"n": i * 10**12, "t": f'é"\\{i}\n' * (i % 40), "b": i % 2 == 0, "d": {"x": [i, None]}} for i in range(400)]
    path = write(tmp_path / "t.json", rows)
    path.write_text(path.read_text().replace("}, {", "} ,\n\n {"))
    for n in (1, 7, 64, 1000):
        monkeypatch.setattr(json_module, "_READ_CHARACTERS", n)
        assert [*open_table(path).iter_records()] == rows


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.jsonl", "", "no rows"),
        ("t.jsonl", '{"a": 1}\n{"a": 2, "b', "no JSON in line 2, it may be cut short"),
        ("t.jsonl", '{"a": 1}\n{"a":\n{"a": 3}\n', "no JSON in line 2, it may be cut short"),
        ("t.jsonl", '{"a": 1}\n\n[1]\n', r"no object in line 3 but \[1\]"),
        ("t.jsonl", '{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n', "names 'a' twice in one object, in line 2"),
        ("t.jsonl", '{"": 1}\n', "no name for column 1"),
        ("t.jsonl", "{}\n{}\n", "has no columns"),
        ("t.jsonl", '{"a": "ok"}\n{"a": "\\ud800"}\n', "half a character .* in line 2"),
        ("t.jsonl", '{"a": ' + "[" * 100_000, "nested too deeply in line 1"),
        ("t.json", "", "is empty"),
        ("t.json", "[]", "no rows"),
        ("t.json", '[{"a": 1}, {"a": 2}', "ends in line 1 before its list does"),
        ("t.json", '[{"a": 1},\n\n {"a": tru', "no JSON in line 3"),
        ("t.json", '[{"a": 1}\n {"a": 2}]', "no comma between two rows, in line 2"),
        ("t.json", '[{"a": 1}] [', "goes on after the end"),
        ("t.json", "[1, 2]", "no object in line 1 but 1"),
        ("t.json", '{"a": {"0": 1}}', None),
        ("t.json", '{\n"a": {"0": 1}}', 'orient="records"'),
        ("t.json", '{\n"a": [1], "b": [1, 2]}', "different lengths"),
        ("t.json", "hello", "no JSON in line 1"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, text: str, says: str | None):
    """Each fault is told in one sentence, with its place; an object alone is a row."""
    path = tmp_path / name
    path.write_text(text)
    if says is None:
        assert open_table(path).record(0) == json.loads(text)
        return
    with pytest.raises(DataError, match=says) as caught:
        open_table(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_columns_and_rows_that_are_not_there(tmp_path: Path):
    """An unknown column or row is named, with what there is."""
    records = open_table(write(tmp_path / "t.jsonl", [{"a": 1, "b": 2}]))
    with pytest.raises(ParameterError, match="no column 'c': it has a, b"):
        records.column("c")
    with pytest.raises(ParameterError, match="no column 'c'"):
        next(records.batches(["a", "c"]))
    for row in (-1, 1):
        with pytest.raises(LookupError, match=f"no row {row}"):
            records.record(row)
