"""The person in the terminal: show a row and its label, and understand what is typed."""

from __future__ import annotations

import sys
from collections.abc import Collection
from enum import Enum, auto
from typing import TYPE_CHECKING

from bela.cli._rows import Rows, as_text
from bela.cli._showing import shorten

if TYPE_CHECKING:
    from rich.console import Console


class Key(Enum):
    """What somebody may type besides a label."""

    RIGHT = auto()
    WRONG = auto()
    UNDO = auto()
    SKIP = auto()
    QUIT = auto()


_KEYS = {
    "": Key.RIGHT,
    "y": Key.RIGHT,
    "n": Key.WRONG,
    "u": Key.UNDO,
    "s": Key.SKIP,
    "q": Key.QUIT,
}


class Asker:
    """Put questions to the person in the terminal.

    Parameters
    ----------
    console
        Where the rows are shown.
    rows, label
        The table, and its label column.
    labels
        The labels that there are: one that is none of them has to be typed twice.
    """

    def __init__(self, console: Console, rows: Rows, *, label: str, labels: Collection[str]) -> None:
        self._console, self._rows, self._label, self._labels = console, rows, label, labels
        # Where a class has the name of a key, keys need a slash, so that the class can be typed.
        self._mark = "/" if any(name.lower() in _KEYS for name in labels) else ""
        self._keys = {(self._mark if key else "") + key: what for key, what in _KEYS.items()}
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")

    def introduce(self) -> None:
        """Say once what can be typed."""
        mark = self._mark
        self._say(
            f"Enter: the label is right.  {mark}n: it is wrong, or type the right one.  {mark}u: undo.  "
            f"{mark}s: skip (counts as wrong until answered).  {mark}q: quit; the answers are kept."
        )

    def ask(self, row: int, state: str) -> Key | str:
        """Show a row, and return a key or the label that was typed."""
        self._say("")
        self._say(state, style="dim")
        for name, value in self._rows[row].items():
            if name != self._label:
                self._say(f"  {name}: {shorten(value)}")
        self._say(f"  {self._label}: {shorten(self._rows.values[self._label][row])}", style="bold")
        unknown: str | None = None
        while True:
            typed = self._read()
            if typed is None:
                return Key.QUIT
            key = self._keys.get(typed.lower())
            if key is not None:
                return key
            label = as_text(typed) or typed
            if label in self._labels or label == unknown:
                return label
            unknown = label
            self._say(f"No label of this file is {shorten(label)}: type it again if it is the right one.")

    def _read(self) -> str | None:
        try:
            self._console.print("  right? ", end="", markup=False, highlight=False)
            self._console.file.flush()
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            self._say("")
            return None
        return line.strip()

    def _say(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
