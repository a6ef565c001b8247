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
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A question was left unanswered."""

    question: int
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Opined:
    """Somebody else said what they think of a question that is answered."""

    question: int
    by: str


@dataclass(frozen=True, slots=True)
class Flagged:
    """A row was marked for later, with a comment."""

    row: int
    comment: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Relabelled:
    """A row had this class code before, UNKNOWN if nothing was said about it."""

    row: int
    before: int
    by: str | None = None


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
    into: int
    rows: list[int]


Personal: TypeAlias = Answered | Skipped | Opined | Flagged | Relabelled
"""What somebody can take back alone, whatever others have done since."""

Deed: TypeAlias = Personal | Added | Renamed | Merged
