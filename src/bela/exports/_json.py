"""JSON: a line for each row, or one list of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bela.exports._place import durable
from bela.exports._plain import is_text, json_column, plain_column, to_json
from bela.exports._rows import LabelledRows

if TYPE_CHECKING:
    import pyarrow as pa


def write_jsonl(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write an object for each row, each on a line of its own."""
    with durable(path) as file:
        for block in _objects(rows):
            file.write("".join(f"{text}\n" for text in block).encode())
    return {}


def write_json(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write one list with an object for each row."""
    with durable(path) as file:
        write_list(_objects(rows), file)
    return {}


def write_list(blocks: Iterator[list[str]], file: BinaryIO) -> None:
    """Write a JSON list, an entry a line, without ever holding all of it."""
    separator = "[\n"
    for block in blocks:
        if block:
            file.write((separator + ",\n".join(block)).encode())
            separator = ",\n"
    file.write(b"[]\n" if separator == "[\n" else b"\n]\n")


def json_blocks(rows: LabelledRows) -> Iterator[tuple[int, pa.RecordBatch, dict[str, list[Any]]]]:
    """Go through the data as JSON can hold them: the first row of each block, the block, and its columns.

    Data that come from JSON may have columns that no table has, with values of several kinds or objects; a table shows
    them as text, and `iter_records` gives each row as it was.
    """
    exact = rows.records.iter_records()
    for start, batch in rows.blocks():
        given = list(islice(exact, batch.num_rows)) if any(map(is_text, batch.schema.types)) else []
        columns = {}
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            if given and is_text(array.type):
                columns[name] = plain_column((record[name] for record in given), name, start)
            else:
                columns[name] = json_column(array, name, start)
        yield start, batch, columns


def _objects(rows: LabelledRows) -> Iterator[list[str]]:
    for start, batch, columns in json_blocks(rows):
        for name, array in rows.ours(start, start + batch.num_rows).items():
            columns[name] = json_column(array, name, start)  # in its place if it was there
        names = list(columns)
        yield [to_json(dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]
