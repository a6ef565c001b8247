"""What can be undone: enough about each deed to take it back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bela.records import Label


@dataclass(frozen=True, slots=True)
class Answered:
    """A question was answered; `volunteered` is the correction of that row that the answer made needless."""

    question: int
    volunteered: int | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A question was left unanswered."""

    question: int


@dataclass(frozen=True, slots=True)
class Relabelled:
    """A row had this class code before, UNKNOWN if nothing was said about it."""

    row: int
    before: int


@dataclass(frozen=True, slots=True)
class Added:
    """A class was declared."""

    label: Label


@dataclass(frozen=True, slots=True)
class Renamed:
    """A class got another name."""

    old: Label
    new: Label


@dataclass(frozen=True, slots=True)
class Merged:
    """A class with this code went into another, with these rows."""

    old: Label
    code: int
    rows: list[int]


Deed: TypeAlias = Answered | Skipped | Relabelled | Added | Renamed | Merged
