"""JSON: a line for each row, or one list of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bela.exports._place import durable
from bela.exports._plain import json_column, to_json
from bela.exports._rows import LabelledRows


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


def _objects(rows: LabelledRows) -> Iterator[list[str]]:
    start = 0
    for batch in rows.labelled():
        names = batch.schema.names
        columns = [json_column(array, name, start) for name, array in zip(names, batch.columns, strict=True)]
        yield [to_json(dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]
        start += batch.num_rows
