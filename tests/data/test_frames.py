"""Data frames and datasets of other packages, with their ways of saying that there is no value."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bela.data import open_table
from bela.errors import DataError


def test_pandas_types():
    """Missing values are None, whole numbers stay whole where pandas has them so, objects come back exactly."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], dtype="Int64"),
            "float": [1.5, np.nan],
            "text": ["x", None],
            "object": pd.Series([1, 2.5], dtype=object),
            "gone": pd.Series([np.nan, "x"], dtype=object),
            "vector": pd.Series([np.array([1.0, 2.0]), [3, 4]], dtype=object),
            "time": pd.to_datetime(["2024-01-01", None]),
            "nano": pd.to_datetime(["2024-01-01 00:00:00.000000001", None]).as_unit("ns"),
            "kind": pd.Categorical(["a", None]),
            7: [True, False],
        }
    )
    records = open_table(frame)
    assert records.columns == (
        "whole", "float", "text", "object", "gone", "vector", "time", "nano", "kind", "7"
    )  # fmt: skip
    assert records.record(0) == {
        "whole": 1, "float": 1.5, "text": "x", "object": 1, "gone": None, "vector": [1.0, 2.0],
        "time": datetime.datetime(2024, 1, 1), "nano": "2024-01-01 00:00:00.000000001", "kind": "a", "7": True,
    }  # fmt: skip
    assert type(records.record(0)["object"]) is int
    assert set(map(type, (records.record(1)[name] for name in ("whole", "float", "text", "time", "nano", "kind")))) == {
        type(None)
    }
    assert records.column("object").to_pylist() == ["1", "2.5"]
    assert records.column("kind").type == pa.large_string()


def test_pandas_indexes_and_names():
    """An index with a name is a column, one without is none; a series is a column; names must differ."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["p", "q"], name="key"))
    assert open_table(frame).record(1) == {"key": "q", "a": 2}
    assert open_table(frame.reset_index(drop=True)[::-1]).record(0) == {"a": 2}
    assert open_table(pd.Series(["x", "y"])).record(0) == {"text": "x"}
    with pytest.raises(DataError, match="twice"):
        open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="no rows"):
        open_table(pd.DataFrame({"a": []}))
    with pytest.raises(DataError, match="no table can hold"):
        open_table(pd.DataFrame({"a": [object()]}))


def test_polars_types():
    """Categories, vectors and nested values of polars are plain columns."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "kind": pl.Series(["a", None], dtype=pl.Categorical),
            "choice": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"])),
            "vector": pl.Series([[1.0, 2.0], [3.0, 4.0]], dtype=pl.Array(pl.Float32, 2)),
            "list": [["p"], []],
            "inner": [{"u": 1}, {"u": None}],
            "day": [datetime.date(2024, 1, 1), None],
        }
    )
    records = open_table(frame)
    assert records.record(0) == {
        "kind": "a", "choice": "x", "vector": [1.0, 2.0], "list": ["p"], "inner": {"u": 1},
        "day": datetime.date(2024, 1, 1),
    }  # fmt: skip
    assert len(records.row_digests()) == 2
    assert open_table(pl.Series("t", ["x"])).record(0) == {"t": "x"}


def test_hugging_face_datasets(tmp_path: Path):
    """Splits have to be chosen and streams loaded; images and class names come as they are kept."""
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"]), "image": datasets.Image()})
    rows = [{"label": 1, "image": {"bytes": b"12", "path": None}}, {"label": 0, "image": {"bytes": b"", "path": "x"}}]
    data = datasets.Dataset.from_list(rows, features=features)
    records = open_table(data)
    assert records.record(0) == {"label": 1, "image": {"bytes": b"12", "path": None}}
    splits = datasets.DatasetDict(train=data, test=data)
    with pytest.raises(DataError, match=r"splits train, test: choose one, as in data\['train'\]"):
        open_table(splits)
    with pytest.raises(DataError, match="is a stream"):
        open_table(data.to_iterable_dataset())
    splits.save_to_disk(str(tmp_path / "splits"))
    with pytest.raises(DataError, match=r"several splits .*name the folder of one"):
        open_table(tmp_path / "splits")
    saved = open_table(tmp_path / "splits" / "test")
    assert (saved.record(1), saved.root) == (records.record(1), tmp_path / "splits" / "test")
    (tmp_path / "splits" / "test" / "state.json").write_text("{")
    with pytest.raises(DataError, match=r"state\.json cannot be read"):
        open_table(tmp_path / "splits" / "test")
    (tmp_path / "splits" / "test" / "state.json").write_text('{"_data_files": [{"filename": "../x"}]}')
    with pytest.raises(DataError, match="does not name the files"):
        open_table(tmp_path / "splits" / "test")


def test_foreign_notes_are_not_taken_for_ours():
    """A column that another program marked as ours marks its own is shown as it is."""
    field = pa.field("a", pa.large_string(), metadata={b"bela": b"json"})
    table = pa.Table.from_arrays([pa.array(["1", "{"], pa.large_string())], schema=pa.schema([field]))
    assert [*open_table(table).iter_records()] == [{"a": "1"}, {"a": "{"}]


@pytest.mark.parametrize("cut", [0, 4, 100, -40, -8, -1])
@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_columnar_files_cut_short(tmp_path: Path, ending: str, cut: int):
    """A file without its beginning or end is refused in one sentence."""
    pq = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    path = tmp_path / f"t.{ending}"
    table = pa.table({"a": list(range(1000)), "b": ["x" * (i % 50) for i in range(1000)]})
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "feather":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=300)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    with pytest.raises(DataError, match="cut short") as caught:
        open_table(path)
    assert "\n" not in str(caught.value)


def test_damaged_arrow_files_do_not_crash(tmp_path: Path):
    """Offsets that point nowhere are found before they are followed."""
    feather = pytest.importorskip("pyarrow.feather")
    path = tmp_path / "t.feather"
    feather.write_feather(pa.table({"b": ["x" * 10 for _ in range(1000)]}), path, compression="uncompressed")
    whole = path.read_bytes()
    at = whole.index(np.arange(0, 100, 10, dtype=np.int32).tobytes())
    path.write_bytes(whole[: at + 40] + b"\xff\xff\xff\x7f" * 20 + whole[at + 120 :])
    with pytest.raises(DataError, match="cannot be read as an Arrow file"):
        open_table(path)


def _write(path: Path, columns: dict[str, Any]) -> None:
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_parts_of_a_table(tmp_path: Path):
    """Parts may stand in folders that name a value, and differ in the width of numbers, but not in kind or columns."""
    _write(tmp_path / "p" / "year=2023" / "b.parquet", {"n": pa.array([1], pa.int32()), "t": pa.nulls(1)})
    _write(tmp_path / "p" / "year=2024" / "a.parquet", {"t": ["x"], "n": pa.array([2**40], pa.int64())})
    _write(tmp_path / "p" / "_temporary" / "c.parquet", {"other": [1]})
    assert [*open_table(tmp_path / "p").iter_records()] == [
        {"n": 1, "t": None, "year": "2023"},
        {"n": 2**40, "t": "x", "year": "2024"},
    ]
    _write(tmp_path / "q" / "1.parquet", {"n": [1]})
    _write(tmp_path / "q" / "2.parquet", {"n": ["x"]})
    with pytest.raises(DataError, match=r"2\.parquet has values of the type large_string in column 'n'"):
        open_table(tmp_path / "q")
    _write(tmp_path / "q" / "2.parquet", {"m": [1]})
    with pytest.raises(
        DataError, match=r"2\.parquet has other columns than the files before it: it has m; it has not n"
    ):
        open_table(tmp_path / "q")
    (tmp_path / "q" / "3.csv").write_text("n\n1\n")
    with pytest.raises(DataError, match=r"several kinds \(csv, parquet\)"):
        open_table(tmp_path / "q")
