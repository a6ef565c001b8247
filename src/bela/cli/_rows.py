"""Rows of a table whose columns may be anything: a few columns in memory, the others read when a row is shown."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import os
import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from bela._labels import is_missing
from bela.errors import DataError, ParameterError

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")


class Rows:
    """A table on disk.

    Parameters
    ----------
    path
        The file.
    columns
        The columns to keep in memory. All other columns are read again from the file, row by row, when they are needed.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        if path.suffix.lower() not in ENDINGS:
            raise DataError(f"{path} ends in none of {', '.join(ENDINGS)}: convert it to one of them")
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        self.path = path
        self.names: list[str] = []
        self.values: dict[str, list[Any]] = {name: [] for name in columns}
        self._hash = hashlib.sha256()
        self._starts = array("q")  # where each row begins in the file
        self._header: list[str] = []
        self._table: Any = None
        self._same: dict[str, str] = {}  # one object for each text that comes often
        if path.suffix.lower() == ".parquet":
            self._scan_parquet()
        else:
            with path.open("rb") as file:
                try:
                    if path.suffix.lower() == ".jsonl":
                        self._scan_jsonl(file)
                    else:
                        self._scan_csv(file)
                except UnicodeDecodeError:
                    raise DataError(f"{path} is not a text file in UTF-8") from None
        self.fingerprint = self._hash.hexdigest()
        if not self.n_rows:
            raise DataError(f"{path} has no rows")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._starts) if self._table is None else int(self._table.num_rows)

    def __getitem__(self, row: int) -> dict[str, Any]:
        """Read one row with all its columns."""
        record: dict[str, Any]
        if self._table is not None:
            [record] = self._table.slice(row, 1).to_pylist()
            return record
        with self.path.open("rb") as file:
            file.seek(self._starts[row])
            if self._header:
                lines = (line.decode("utf-8") for line in file)
                record = dict(zip(self._header, next(csv.reader(lines, delimiter=self._delimiter)), strict=True))
            else:
                record = json.loads(file.readline())
        return record

    @property
    def _delimiter(self) -> str:
        return "\t" if self.path.suffix.lower() == ".tsv" else ","

    def _keep(self, name: str, value: Any) -> None:
        if type(value) is str and len(self._same) < 10_000:
            value = self._same.setdefault(value, value)
        self.values[name].append(value)

    def _lines(self, file: BinaryIO, place: list[int]) -> Iterator[str]:
        """Yield lines of text; `place` is where the next one begins."""
        for line in file:
            self._hash.update(line)
            place[0] += len(line)
            yield line.decode("utf-8")

    def _check_names(self, names: Sequence[str]) -> None:
        for name in self.values:
            if name not in names:
                raise ParameterError(f"{self.path} has no column {name!r}: it has {', '.join(names)}")

    def _scan_csv(self, file: BinaryIO) -> None:
        csv.field_size_limit(sys.maxsize if os.name != "nt" else 2**31 - 1)
        place = [0]
        lines = csv.reader(self._lines(file, place), delimiter=self._delimiter)
        try:
            header = next(lines, None)
            if header is None:
                raise DataError(f"{self.path} is empty: its first line must name the columns")
            if header:
                header[0] = header[0].removeprefix("\ufeff")
            if len(set(header)) != len(header):
                raise DataError(f"{self.path} names a column twice: give each a name of its own")
            self._check_names(header)
            self._header = self.names = header
            wanted = [(name, header.index(name)) for name in self.values]
            start = place[0]
            for line in lines:
                if line:
                    if len(line) != len(header):
                        raise DataError(
                            f"{self.path} has {len(line)} value(s) in line {lines.line_num} where its header names "
                            f"{len(header)} columns: the file may be cut short"
                        )
                    self._starts.append(start)
                    for name, i in wanted:
                        self._keep(name, line[i])
                start = place[0]
        except csv.Error as error:
            raise DataError(f"{self.path} cannot be read at line {lines.line_num}: {error}") from None

    def _scan_jsonl(self, file: BinaryIO) -> None:
        place = [0]
        start = 0
        for number, line in enumerate(self._lines(file, place), start=1):
            if line.strip():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError as error:
                    raise DataError(
                        f"{self.path} has no JSON in line {number}, it may be cut short: {error.msg}"
                    ) from None
                if not isinstance(record, dict):
                    raise DataError(f"{self.path} has no object in line {number}")
                if not self._starts:
                    self.names = list(record)
                    self._check_names(self.names)
                self._starts.append(start)
                for name in self.values:
                    self._keep(name, record.get(name))
            start = place[0]

    def _scan_parquet(self) -> None:
        try:
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise DataError(f"{self.path} needs the package pyarrow to be read: pip install pyarrow") from None
        try:
            self._table = parquet.read_table(self.path)
        except (ValueError, OSError) as error:  # pyarrow's own errors are one or the other
            raise DataError(f"{self.path} cannot be read as Parquet, it may be cut short: {error}") from None
        self.names = list(self._table.column_names)
        self._check_names(self.names)
        for name in self.values:
            self.values[name] = self._table.column(name).to_pylist()
        with self.path.open("rb") as file:
            while block := file.read(1 << 20):
                self._hash.update(block)


def as_text(value: Any) -> str | None:
    """Return a label as text, so that 3, "3" and a 3 that went through a column of floats are the same; None: no label.

    Examples
    --------
    >>> [as_text(value) for value in (3, "3", 3.0, "3.0", True, " cat", "", None)]
    ['3', '3', '3', '3', 'true', 'cat', None, None]
    """
    if is_missing(value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value).strip()
    whole, point, rest = text.partition(".")
    if point and rest and not rest.strip("0") and whole.removeprefix("-").isdecimal():
        return whole
    return text or None
