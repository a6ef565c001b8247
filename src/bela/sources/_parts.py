"""The parts of one table, whatever kind of files they are, as one row of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bela.errors import DataError
from bela.sources._columnar import arrow_blocks, parquet_blocks
from bela.sources._csv import csv_blocks
from bela.sources._files import DataFile, DigestBook, Progress
from bela.sources._folders import Contents, partition_values
from bela.sources._json import json_blocks, jsonl_blocks
from bela.sources._text import TextFile

if TYPE_CHECKING:
    import pyarrow as pa

UNTYPED = ("csv", "tsv")
"""Kinds of files in which all is text."""

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_COLUMNAR: dict[str, Callable[[Path], Iterator[tuple[float, pa.RecordBatch]]]] = {
    "parquet": parquet_blocks,
    "arrow": arrow_blocks,
}


def loose(kind: str) -> bool:
    """Whether rows of such files may lack some columns, and have values of other types in them than before."""
    return kind in ("json", "jsonl")


def table_blocks(
    contents: Contents, book: DigestBook, encoding: str | None, progress: Progress | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Go through all files in order; the digest of each is in the book when it was read."""
    total, before = sum(file.size for file in contents.files) or 1, 0
    is_empty = True
    for file in contents.files:
        stated = partition_values(file.name) if contents.is_folder else {}
        for n_read, block in _file_blocks(file, contents.kind, book, encoding):
            is_empty = False
            yield str(file.path), _with_stated(block, stated, file)
            if progress is not None:
                progress(f"reading {file.name}", (before + n_read) / total)
        before += file.size
    if is_empty:
        where = contents.root if contents.is_folder else contents.files[0].path
        raise DataError(f"{where} has no rows: there is nothing to label")


def _file_blocks(
    file: DataFile, kind: str, book: DigestBook, encoding: str | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Go through one file; with each block comes how many bytes were read."""
    if kind in _COLUMNAR:
        for share, block in _COLUMNAR[kind](file.path):
            yield int(share * file.size), block
        book.digests([file])  # these formats are read in no simple order, so not while they are read
        return
    with TextFile(file, encoding, newline="" if kind in _DELIMITERS else "\n") as text:
        if kind in _DELIMITERS:
            blocks = csv_blocks(text, _DELIMITERS[kind])
        else:
            blocks = jsonl_blocks(text) if kind == "jsonl" else json_blocks(text)
        for block in blocks:
            yield text.position, block
        book.remember(file, text.finish())


def _with_stated(block: pa.RecordBatch, stated: dict[str, str | None], file: DataFile) -> pa.RecordBatch:
    """Add what the folders of a file say about all its rows."""
    import pyarrow as pa

    columns, fields = list(block.columns), list(block.schema)
    for name, value in stated.items():
        if name in block.schema.names:
            continue
        try:
            columns.append(pa.array([value] * block.num_rows, pa.large_string()))
        except UnicodeEncodeError:
            raise DataError(f"{file.path} is in a folder whose name is no text: rename it") from None
        fields.append(pa.field(name, pa.large_string()))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
