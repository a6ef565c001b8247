"""CSV, TSV and plain text, in which every value is the text that stands in the file, and Excel workbooks."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from bela.data._arrow import UNNAMED, check_names, to_batch
from bela.data._files import check_unpacked
from bela.data._readers import READERS, OpenFile, Reader
from bela.errors import DataError

T = TypeVar("T")
_BLOCK_BYTES = 4 << 20
_COLUMN_BYTES = 2 << 10  # a block of a table with very many columns is larger, as each column costs in each block
_LONGEST = sys.maxsize if os.name != "nt" else 2**31 - 1
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LOOKED_AT_LINES, _LOOKED_AT_ROWS, _LOOKED_AT_CHARACTERS = 50, 500, 1 << 20
_BLOCK_ROWS, _SHEET_ROWS = 1 << 16, 10_000  # of plain text, and of a workbook
_FEWEST_ROWS = 10  # fewer do not tell whether the first line is one of them
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)


def read_csv(file: OpenFile, separator: str = ",") -> Iterator[pa.RecordBatch]:
    """Go through the rows of a file in blocks of some megabytes; the first line names the columns.

    Quotes are read strictly: one that is not closed, or text after a closing one, is an error rather than a value that
    differs from what was written.
    """
    csv.field_size_limit(_LONGEST)  # a text may be a book
    path, lines = file.path, file.text.lines
    start = _ahead(lines, _LOOKED_AT_LINES, len)
    found = _separator(start, separator)
    if found != separator:
        file.notices.append(f"the columns of {path.name} are separated by {_SEPARATORS[found]}")
    rows = _rows(path, chain(start, lines), found)
    number, header = next(rows, (0, []))
    if not header:
        raise DataError(f"{path} is empty: its first line must name the columns")
    looked_at = _ahead(rows, _LOOKED_AT_ROWS, lambda row: sum(map(len, row[1])))
    rows, sample = chain(looked_at, rows), [values for _, values in looked_at]
    if _is_data(header, sample):
        rows = chain([(number, header)], rows)
        header = [f"column {i}" for i in range(1, len(header) + 1)]
        called = f"columns are called {header[0]!r} to {header[-1]!r}"
        called = called if len(header) > 1 else f"column is called {header[0]!r}"
        file.notices.append(f"{path.name} has no header: its {called}")
    elif not header[0].strip() and len(header) > 1:
        header[0] = UNNAMED
    check_names(str(path), header)
    _notice_commas(file, header, sample)
    yield from _blocks(file, header, rows)


def read_lines(file: OpenFile) -> Iterator[pa.RecordBatch]:
    """Go through the lines of a plain text that are not blank, without their ends: a row a line."""
    lines = (line.rstrip("\r\n") for line in file.text.lines if line.strip())
    while block := list(islice(lines, _BLOCK_ROWS)):
        yield pa.RecordBatch.from_arrays([pa.array(block, pa.large_string())], names=["text"])


def _ahead(items: Iterable[T], most: int, size: Callable[[T], int]) -> list[T]:
    """Return the first of some items: up to so many, and fewer if they are large."""
    found, total = list[T](), 0
    for item in items:
        found.append(item)
        total += size(item)
        if len(found) == most or total > _LOOKED_AT_CHARACTERS:
            break
    return found


def _rows(path: Path, lines: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Go through the rows but for blank lines, each with the line in which it begins."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    begun = 1
    try:
        for values in reader:
            if values:
                yield begun, values
            begun = reader.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            open_quote = f"{path} has a quote in the row that begins in line {begun} which is never closed"
            advice = "the file may be cut short, or a quote inside a value is not doubled"
            raise DataError(f"{open_quote}: {advice}") from None
        where = f"{path} cannot be read at line {reader.line_num}: {error}"
        raise DataError(f"{where} (a value with quotes in it must be quoted, and the quotes doubled)") from None


def _blocks(file: OpenFile, header: list[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[pa.RecordBatch]:
    text, block, n = file.text, list[list[str]](), len(header)
    block_bytes, start = max(_BLOCK_BYTES, _COLUMN_BYTES * n), 0
    for line, values in rows:
        if len(values) != n:
            named = f"its header names {n} column{'' if n == 1 else 's'}"
            found = f"{file.path} has {len(values)} value(s) in line {line} where {named}"
            raise DataError(f"{found}: the file may be cut short, or a value with a separator in it is not quoted")
        block.append(values)
        if text.position - start > block_bytes:
            yield _batch(header, block)
            block, start = [], text.position
    yield _batch(header, block)


def _batch(header: list[str], rows: list[list[str]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    return pa.RecordBatch.from_arrays([pa.array(column, pa.large_string()) for column in columns], names=header)


def _separator(lines: Sequence[str], usual: str) -> str:
    """Return the usual separator unless only another cuts all lines alike, or the usual one is a decimal comma."""

    def cut(mark: str) -> list[list[str]]:
        """Return the rows if they are all of one length, and have more than one value."""
        rows = [row for row in csv.reader(lines, delimiter=mark) if row]
        rows = rows[:-1] if len(rows) > 2 else rows  # the last may go on
        return rows if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 else []

    with suppress(csv.Error):
        others = {mark: rows for mark in _SEPARATORS if mark != usual and (rows := cut(mark))}
        if not cut(usual):
            return next(iter(others), usual)
        for mark, rows in others.items():
            cells = [cell for row in rows for cell in row if usual in cell]
            if cells and all(map(_NUMBER.fullmatch, cells)):
                return mark
    return usual


def _is_data(first: list[str], rows: list[list[str]]) -> bool:
    """Whether the first line is a row like the others: all columns of numbers have one in it that is not as names are.

    That is a fraction, the same twice, or one that comes again in its column. Without such, a text must come again.
    """
    columns = [[row[i] for row in rows if i < len(row)] for i in range(len(first))]
    if len(rows) < _FEWEST_ROWS or first in rows or not any(first):
        return False
    numeric = [i for i, column in enumerate(columns) if all(_NUMBER.fullmatch(value.strip()) for value in column)]
    cells = [first[i].strip() for i in numeric]
    if numeric:
        if not all(map(_NUMBER.fullmatch, cells)):
            return False
        again = sum(first[i] in columns[i] for i in numeric)
        return not all(map(_WHOLE.fullmatch, cells)) or len(set(cells)) < len(cells) or 2 * again > len(cells)
    return any(first[i] and columns[i].count(first[i]) > 1 for i in range(len(first)))


def _notice_commas(file: OpenFile, header: list[str], rows: list[list[str]]) -> None:
    """Say that numbers with decimal commas are texts: whether 1,234 is more than a thousand is not for us to guess."""
    found: dict[str, str] = {}
    for i, name in enumerate(header):
        column = [row[i].strip() for row in rows if i < len(row)]
        odd = next((value for value in column if "," in value), None)
        if odd is not None and all(map(_NUMBER.fullmatch, column)):
            found[name] = odd
    if found:
        name, more = next(iter(found)), f" and {len(found) - 1} more" if len(found) > 1 else ""
        such = f"{found[name]} in column {name!r}{more}"
        file.notices.append(f"numbers with commas ({such}) are texts: write them with points")


def read_workbook(file: OpenFile) -> Iterator[pa.RecordBatch]:
    """Go through the rows of the first sheet that has any; the first one names the columns."""
    if importlib.util.find_spec("openpyxl") is None:
        raise DataError(f"{file.path} is an Excel workbook, which takes another package: pip install 'bela[excel]'")
    openpyxl = importlib.import_module("openpyxl")
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(file.path) as archive:  # said below if it is none
        check_unpacked(sum(member.file_size for member in archive.infolist()), file.path, file.file.size)
    try:
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True)
    except Exception as error:  # a damaged archive raises whatever comes to hand
        raise DataError(f"{file.path} cannot be read as an Excel workbook, it may be damaged: {error}") from None
    try:
        filled = [sheet for sheet in book.worksheets if any(_sheet_rows(sheet))]
        if not filled:
            raise DataError(f"{file.path} is empty: the first row of a sheet must name the columns")
        if len(filled) > 1:
            file.notices.append(f"{file.path.name} has {len(filled)} sheets, of which {filled[0].title!r} is read")
        rows = _sheet_rows(filled[0])
        names = ["" if value is None else str(value).strip() for value in next(rows)]
        names[0] = names[0] or UNNAMED
        check_names(str(file.path), names)
        while block := list(islice(rows, _SHEET_ROWS)):
            width, n = max(map(len, block)), len(names)
            if width > n:
                what = f"{file.path} has a row with {width} values where its header names {n} column(s)"
                raise DataError(f"{what}: delete titles above the names of the columns")
            yield to_batch({name: [row[i] if i < len(row) else None for row in block] for i, name in enumerate(names)})
    finally:
        book.close()


def _sheet_rows(sheet: object) -> Iterator[tuple[object, ...]]:
    """Go through the rows that have anything in them, without the empty cells at their ends."""
    for row in sheet.iter_rows(values_only=True):  # type: ignore[attr-defined]
        if filled := [i for i, value in enumerate(row, start=1) if value is not None]:
            yield row[: filled[-1]]


read_tsv = partial(read_csv, separator="\t")
READERS.add("csv", Reader(endings=(".csv",), read=read_csv, is_text=True, typed=False, parts=True))
READERS.add("tsv", Reader(endings=(".tsv", ".tab"), read=read_tsv, is_text=True, typed=False, parts=True))
READERS.add("txt", Reader(endings=(".txt",), read=read_lines, is_text=True, newline="\n", parts=True))
READERS.add("xlsx", Reader(endings=(".xlsx", ".xlsm"), read=read_workbook, loose=True))
