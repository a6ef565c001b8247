"""Parquet, and the folder that Hugging Face's `datasets.load_from_disk` reads: Arrow's own types, all of them kept."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bela.data._arrow import plain, plain_type
from bela.exports._certificate import PARTS_LISTING, labels_digest
from bela.exports._formats import EXPORTS, ExportFormat, LabelledRows, with_columns
from bela.protocols import FarTable
from bela.records import Json

_HF_FILES = ("data-00000-of-00001.arrow", "state.json", "dataset_info.json")
_GATHER_ROWS, _GATHER_BYTES = 1 << 17, 1 << 26


def write_parquet(rows: LabelledRows, path: Path) -> None:
    """Write one Parquet file, with row groups of a size that readers like."""
    _write(rows, path, pyarrow.parquet.ParquetWriter, _is_view)


def _is_view(kind: pa.DataType) -> bool:
    """Whether a type is one that older readers of Parquet do not know."""
    return kind in (pa.string_view(), pa.binary_view())


def write_parts(rows: LabelledRows, path: Path) -> None:
    """Write a folder of Parquet files; where the rows lie on a cluster, its workers write them."""
    path.mkdir()
    found: Iterator[tuple[int, str, str]]
    if isinstance(rows.records, FarTable):
        found = rows.records.far().each_piece(partial(_write_far_part, str(path)), rows.ours)
    else:
        found = _write_parts(rows, path)
    lines = []
    for n, name, digest in found:
        lines.append(f"{digest}  {name}\n")
        rows.done(n)
    (path / PARTS_LISTING).write_text("".join(lines), encoding="utf-8")


def _write_parts(rows: LabelledRows, path: Path) -> Iterator[tuple[int, str, str]]:
    n = 0
    for group in _gather(_without(batch, _is_view) for _, batch in rows.labelled()):
        name, digest = _write_part(group, path, n)
        n += group.num_rows
        yield n, name, digest


def _write_far_part(folder: str, start: int, batch: pa.RecordBatch, ours: dict[str, pa.Array]) -> tuple[int, str, str]:
    table = pa.Table.from_batches([with_columns(batch, ours)])
    return start + batch.num_rows, *_write_part(table, Path(folder), start)


def _write_part(table: pa.Table, folder: Path, start: int) -> tuple[str, str]:
    """Write a part, named by its first row so that parts are in order, and return its name and digest.

    It gets its name when it is whole: if a worker is lost while it writes, another writes the part once more.
    """
    name = f"part-{start:012d}.parquet"
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".new", delete=False) as file:
        try:
            pyarrow.parquet.write_table(table, file)
            file.close()
            with open(file.name, "rb") as written:
                digest = hashlib.file_digest(written, "sha256").hexdigest()
            os.replace(file.name, folder / name)
        except BaseException:
            os.unlink(file.name)
            raise
    return name, digest


def write_hugging_face(rows: LabelledRows, path: Path) -> None:
    """Write a folder as `Dataset.save_to_disk` does, without that package; its features follow from the types."""
    path.mkdir()
    data, state, info = (path / name for name in _HF_FILES)
    # Dictionaries may differ from block to block, and `datasets` has no type for them.
    _write(rows, data, pa.ipc.new_stream, pa.types.is_dictionary)
    about_state: dict[str, Json] = {
        "_data_files": [{"filename": data.name}], "_fingerprint": _fingerprint(rows), "_format_columns": None,
        "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False, "_split": None,
    }  # fmt: skip
    about = {"citation": "", "description": "Labelled by BELA; see certificate.json.", "homepage": "", "license": ""}
    state.write_text(json.dumps(about_state, indent=2), encoding="utf-8")
    info.write_text(json.dumps(about, indent=2), encoding="utf-8")


def _write(
    rows: LabelledRows, path: Path, writer_of: Callable[..., pa.ipc.RecordBatchStreamWriter],
    unwanted: Callable[[pa.DataType], bool],
) -> None:  # fmt: skip
    """Write groups of rows, with plain types in place of those that a format cannot have."""
    groups = _gather(_without(batch, unwanted) for _, batch in rows.labelled())
    first = next(groups)
    with path.open("xb") as file, writer_of(file, first.schema) as writer:
        for group in chain([first], groups):
            writer.write_table(group)


def _without(batch: pa.RecordBatch, unwanted: Callable[[pa.DataType], bool]) -> pa.RecordBatch:
    for i, (field, array) in enumerate(zip(batch.schema, batch.columns, strict=True)):
        if unwanted(field.type):
            batch = batch.set_column(i, field.with_type(plain_type(field.type)), plain(array))
    return batch


def _fingerprint(rows: LabelledRows) -> str:
    """Return what `datasets` keeps its caches by: another one as soon as a value in any column is another."""
    result = rows.result
    digest = hashlib.sha256(f"{rows.records.fingerprint} {rows.layout} {labels_digest(result.labels)}".encode())
    for array in (rows.source, result.leaf, result.probability):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _gather(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put small blocks together until they are worth a group of rows."""
    waiting: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        waiting.append(batch)
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
        if n_rows >= _GATHER_ROWS or n_bytes >= _GATHER_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, n_rows, n_bytes = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)


EXPORTS.add("parquet", ExportFormat(
    title="Parquet", description="For pandas, polars and Spark: every type as it was", write=write_parquet,
    endings=(".parquet", ".pq"), is_table=True,
))  # fmt: skip
EXPORTS.add("hf", ExportFormat(
    title="Hugging Face", description="A folder for datasets.load_from_disk", write=write_hugging_face,
    endings=(".hf",), files=_HF_FILES, is_table=True,
))  # fmt: skip
EXPORTS.add("parquet-parts", ExportFormat(
    title="Parquet parts", description="A folder of Parquet files, for data on a cluster: its workers write them",
    write=write_parts, endings=(".parts",), files=(PARTS_LISTING,), parts="part-*.parquet", is_table=True,
))  # fmt: skip
