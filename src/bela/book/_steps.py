"""What can be undone."""

from dataclasses import dataclass, field

from bela.book._events import Event
from bela.records import UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """What a deleted class took with it: what was said about its rows, as if nobody had said it."""

    steps: "list[Step]" = field(default_factory=list)
    answered: dict[int, int] = field(default_factory=dict)  # all answers from before, in their order
    said: dict[int, dict[str | None, int]] = field(default_factory=dict)
    again: dict[int, tuple[int, int]] = field(default_factory=dict)
    corrections: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Step:
    """An event that can be undone, and what it takes to undo it."""

    event: Event
    before: int = UNKNOWN  # the class code that a relabelled row had, or of a correction that an answer made needless
    opinion: int = UNKNOWN  # what whoever answered had said before
    code: int = UNKNOWN  # of a class that was merged or deleted
    into: int = UNKNOWN
    rows: list[int] = field(default_factory=list)  # of the class that was merged, or that are open again
    number: int = 0  # of the event
    struck: Struck = field(default_factory=Struck)
