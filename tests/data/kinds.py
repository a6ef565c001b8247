"""The same small table in every form that `open_table` takes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

ROWS: list[dict[str, Any]] = [
    {"id": "a1", "text": 'hello, "world"\r\n🙈', "kind": "cat"},
    {"id": "a2", "text": "", "kind": ""},
    {"id": "a3", "text": "naïve", "kind": "dog"},
    {"id": "a4", "text": "x" * 300, "kind": "nan"},
    {"id": "a5", "text": "x" * 301, "kind": "-1"},
]


def _table() -> pa.Table:
    return pa.Table.from_pylist(ROWS)


def _csv(folder: Path, name: str = "t.csv", rows: list[dict[str, Any]] = ROWS) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _jsonl(folder: Path, name: str = "t.jsonl", rows: list[dict[str, Any]] = ROWS) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _json(folder: Path) -> Path:
    path = folder / "t.json"
    path.write_text(json.dumps(ROWS))
    return path


def _parquet(folder: Path, name: str = "t.parquet", table: pa.Table | None = None, **how: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(_table() if table is None else table, path, **how)
    return path


def _feather(folder: Path, compression: str) -> Path:
    pyarrow.feather.write_feather(_table(), folder / "t.feather", compression=compression)
    return folder / "t.feather"


def _stream(folder: Path) -> Path:
    with pa.ipc.new_stream(folder / "t.arrow", _table().schema) as writer:
        writer.write_table(_table(), max_chunksize=2)
    return folder / "t.arrow"


def _parts(folder: Path, ending: str) -> Path:
    for i, part in enumerate((ROWS[:2], ROWS[2:])):
        if ending == "parquet":
            _parquet(folder, f"parts/deep/{i}.parquet", pa.Table.from_pylist(part))
        elif ending == "csv":
            _csv(folder, f"parts/{i}.csv", part)
        else:
            _jsonl(folder, f"parts/{i}.jsonl", part)
    (folder / "parts" / "_SUCCESS").write_text("")
    (folder / "parts" / ".hidden.csv").write_text("x")
    return folder / "parts"


def _pandas(folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def _categories(folder: Path) -> Any:
    return _pandas(folder).astype({"kind": "category", "text": object})


def _polars(folder: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


def _lazy(folder: Path) -> Any:
    return pytest.importorskip("polars").LazyFrame(ROWS)


def _hugging_face(folder: Path) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(ROWS)


def _chosen(folder: Path) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(ROWS[::-1]).select([4, 3, 2, 1, 0])


def _saved(folder: Path) -> Path:
    _hugging_face(folder).save_to_disk(str(folder / "saved"), num_shards=2)
    return folder / "saved"


def _saved_split(folder: Path) -> Path:
    datasets = pytest.importorskip("datasets")
    datasets.DatasetDict(train=_hugging_face(folder)).save_to_disk(str(folder / "splits"))
    return folder / "splits"


TABLES: dict[str, Callable[[Path], Any]] = {
    "csv": _csv,
    "tsv": lambda folder: _csv(folder, "t.tsv"),
    "jsonl": _jsonl,
    "ndjson": lambda folder: _jsonl(folder, "t.ndjson"),
    "json": _json,
    "parquet": lambda folder: _parquet(folder, row_group_size=2),
    "feather": lambda folder: _feather(folder, "uncompressed"),
    "packed feather": lambda folder: _feather(folder, "lz4"),
    "arrow stream": _stream,
    "parquet folder": lambda folder: _parts(folder, "parquet"),
    "csv folder": lambda folder: _parts(folder, "csv"),
    "jsonl folder": lambda folder: _parts(folder, "jsonl"),
    "saved dataset": _saved,
    "saved split": _saved_split,
    "list of dicts": lambda folder: ROWS,
    "dict of lists": lambda folder: {name: [row[name] for row in ROWS] for name in ROWS[0]},
    "arrow table": lambda folder: _table(),
    "arrow chunks": lambda folder: pa.concat_tables([_table().slice(0, 1), _table().slice(1)]),
    "arrow batch": lambda folder: _table().to_batches()[0],
    "arrow views": lambda folder: _table().cast(pa.schema([(name, pa.string_view()) for name in ROWS[0]])),
    "pandas": _pandas,
    "pandas categories": _categories,
    "polars": _polars,
    "polars lazy": _lazy,
    "hugging face": _hugging_face,
    "hugging face chosen": _chosen,
    "structured array": lambda folder: np.array(
        [tuple(row.values()) for row in ROWS], dtype=[("id", "U9"), ("text", "U400"), ("kind", "U9")]
    ),
}
