"""CSV and TSV as blocks of a table: every value is the text that stands in the file."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bela.errors import DataError
from bela.sources._names import check_names
from bela.sources._text import TextFile

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 4 << 20
_COLUMN_BYTES = 2 << 10  # a block of a table with very many columns is larger, as each column costs in each block
_LONGEST = sys.maxsize if os.name != "nt" else 2**31 - 1


def csv_blocks(text: TextFile, delimiter: str) -> Iterator[pa.RecordBatch]:
    """Go through the rows of a file in blocks of some megabytes; the first line names the columns.

    Quotes are read strictly: a quote that is not closed, or text after a closing quote, is an error rather than a
    value that differs from what was written.
    """
    csv.field_size_limit(_LONGEST)  # a text may be a book
    path = text.path
    lines = csv.reader(text.lines, delimiter=delimiter, strict=True)
    begun = 1  # the line in which the present row begins
    try:
        header = next((line for line in lines if line), None)
        if header is None:
            raise DataError(f"{path} is empty: its first line must name the columns")
        check_names(str(path), header)
        n_columns = len(header)
        block_bytes = max(_BLOCK_BYTES, _COLUMN_BYTES * n_columns)
        rows: list[list[str]] = []
        start = text.position
        begun = lines.line_num + 1
        for values in lines:
            if len(values) == n_columns:
                rows.append(values)
            elif values:  # else the line is blank
                raise DataError(_ragged(text, header, values, begun, delimiter))
            if text.position - start > block_bytes:
                yield _block(header, rows)
                rows = []
                start = text.position
            begun = lines.line_num + 1
        yield _block(header, rows)
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise DataError(
                f"{path} has a quote in the row that begins in line {begun} which is never closed: the file may be "
                f"cut short, or a quote inside a value is not doubled"
            ) from None
        raise DataError(
            f"{path} cannot be read at line {lines.line_num}: {error} (a value with quotes in it must be quoted, and "
            f"the quotes doubled)"
        ) from None


def _block(header: list[str], rows: list[list[str]]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    return pa.RecordBatch.from_arrays([pa.array(column, pa.large_string()) for column in columns], names=header)


def _ragged(text: TextFile, header: list[str], values: list[str], line: int, delimiter: str) -> str:
    names = f"{len(header)} column{'' if len(header) == 1 else 's'}"
    advice = "the file may be cut short, or a value with a separator in it is not quoted"
    if len(header) == 1:
        other = next((mark for mark in (";", "\t", ",") if mark != delimiter and mark in header[0]), None)
        if other is not None:
            advice = f"its columns seem to be separated by {other!r} where {delimiter!r} is needed"
    return f"{text.path} has {len(values)} value(s) in line {line} where its header names {names}: {advice}"
