"""Parquet, and the folder that Hugging Face's `datasets.load_from_disk` reads: Arrow's own types, all of them kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bela.exports._certificate import labels_digest
from bela.exports._place import durable
from bela.exports._plain import undictionary
from bela.exports._rows import LabelledRows

if TYPE_CHECKING:
    import pyarrow as pa

HF_DATA = "data-00000-of-00001.arrow"
"""The file with the rows in a Hugging Face folder."""

_GATHER_ROWS, _GATHER_BYTES = 1 << 17, 1 << 26


def write_parquet(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write one Parquet file, with row groups of a size that readers like."""
    import pyarrow.parquet

    groups = _gather(_without_views(batch) for batch in rows.labelled())
    first = next(groups)
    with durable(path) as file, pyarrow.parquet.ParquetWriter(file, first.schema) as writer:
        writer.write_table(first)
        for group in groups:
            writer.write_table(group)
    return {}


def write_hugging_face(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write a folder as `Dataset.save_to_disk` does; its features follow from the types of the columns."""
    import pyarrow as pa

    path.mkdir()
    groups = _gather(_without_dictionaries(batch) for batch in rows.labelled())
    first = next(groups)
    with durable(path / HF_DATA) as file, pa.ipc.new_stream(file, first.schema) as writer:
        writer.write_table(first)
        for group in groups:
            writer.write_table(group)
    state: dict[str, Any] = {
        "_data_files": [{"filename": HF_DATA}],
        "_fingerprint": _fingerprint(rows),
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    info = {"citation": "", "description": "Labelled by BELA; see certificate.json.", "homepage": "", "license": ""}
    for name, content in (("state.json", state), ("dataset_info.json", info)):
        with durable(path / name) as file:
            file.write(json.dumps(content, indent=2).encode())
    return {}


def _fingerprint(rows: LabelledRows) -> str:
    """Return what `datasets` keeps its caches by: another one as soon as a value in any column is another."""
    result = rows.result
    digest = hashlib.sha256(f"{rows.records.fingerprint} {rows.layout} {labels_digest(result.labels)}".encode())
    for array in (rows.source, result.leaf, result.probability):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _gather(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put small blocks together until they are worth a group of rows."""
    import pyarrow as pa

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


def _without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a block without the types that older readers of Parquet do not know."""
    import pyarrow as pa

    return _convert(batch, {field.name for field in batch.schema if field.type in (pa.string_view(), pa.binary_view())})


def _without_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a block without dictionaries: they may differ from block to block, and `datasets` has no type for them."""
    import pyarrow as pa

    return _convert(batch, {field.name for field in batch.schema if pa.types.is_dictionary(field.type)})


def _convert(batch: pa.RecordBatch, names: set[str]) -> pa.RecordBatch:
    import pyarrow as pa

    if not names:
        return batch
    arrays = [
        undictionary(array) if name in names else array
        for name, array in zip(batch.schema.names, batch.columns, strict=True)
    ]
    fields = [field.with_type(array.type) for field, array in zip(batch.schema, arrays, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))
