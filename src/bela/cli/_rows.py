"""Rows of a table whose columns may be anything: a few columns in memory, the others looked up when a row is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bela._labels import is_missing
from bela.cli._progress import make_progress
from bela.sources import ArrayRecords, TableRecords, open_records


def open_watched(path: Path) -> TableRecords | ArrayRecords:
    """Open data, with a bar on the terminal as soon as there is something to wait for."""
    with make_progress() as bars:
        task = bars.add_task("", total=1.0, state="", visible=False)

        def show(words: str, share: float) -> None:
            bars.update(task, description=words, completed=share, visible=share < 1)

        return open_records(path, progress=show)


class Rows:
    """A table on disk.

    Parameters
    ----------
    path
        The file or folder.
    columns
        The columns to keep in memory.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._records = open_watched(path)
        self.path = path
        self.names: tuple[str, ...] = self._records.columns
        self.values: dict[str, list[Any]] = {name: self._records.column(name).to_pylist() for name in columns}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._records.n_rows

    @property
    def fingerprint(self) -> str:
        """A digest of all the data."""
        return self._records.fingerprint

    def __getitem__(self, row: int) -> dict[str, Any]:
        """Return one row with all its columns."""
        return self._records.record(row)


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
