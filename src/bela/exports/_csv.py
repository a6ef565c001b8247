"""Comma- and tab-separated values that Python, pandas, polars and Arrow read back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bela.exports._place import durable
from bela.exports._plain import is_array_data, text_column
from bela.exports._rows import LabelledRows, free_name

if TYPE_CHECKING:
    import pyarrow as pa


def write_csv(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write a line for each row, commas between the values."""
    return _write(rows, path, ",")


def write_tsv(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write a line for each row, tabs between the values."""
    return _write(rows, path, "\t")


def _write(rows: LabelledRows, path: Path, delimiter: str) -> dict[str, str]:
    import pyarrow.csv

    # Arrow quotes every text and no number: an empty text is "" and a missing one nothing, the label "1" has quotes
    # and the label 1 has none.
    options = pyarrow.csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    blocks = (_as_text(rows, batch, start) for start, batch in _numbered(rows))
    first = next(blocks)
    with durable(path) as file, pyarrow.csv.CSVWriter(file, first.schema, write_options=options) as writer:
        writer.write_batch(first)
        for block in blocks:
            writer.write_batch(block)
    return {}


def _numbered(rows: LabelledRows) -> Iterator[tuple[int, pa.RecordBatch]]:
    start = 0
    for batch in rows.labelled():
        yield start, batch
        start += batch.num_rows


def _as_text(rows: LabelledRows, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
    """Return a block as CSV can hold it; of an array there is nothing to show but which row it is."""
    import pyarrow as pa

    names, arrays = list(batch.schema.names), list(batch.columns)
    n_own = len(rows.layout.columns)
    if is_array_data(pa.schema([batch.schema.field(i) for i in range(n_own)])):
        ids = [rows.id_of(row) for row in range(start, start + batch.num_rows)]
        names = [free_name("row", set(rows.layout.added)), *names[n_own:]]
        arrays = [pa.array(ids), *arrays[n_own:]]
    return pa.RecordBatch.from_arrays([text_column(array) for array in arrays], names=names)
