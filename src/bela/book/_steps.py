"""What can be undone."""

from dataclasses import dataclass, field

from bela.book._events import Event
from bela.records import UNKNOWN


@dataclass(slots=True)
class Step:
    """An event that can be undone, and what it takes to undo it."""

    event: Event
    before: int = UNKNOWN  # the class code that a relabelled row had, or of a correction that an answer made needless
    opinion: int = UNKNOWN  # what whoever answered had said before
    code: int = UNKNOWN  # of a class that was merged
    into: int = UNKNOWN
    rows: list[int] = field(default_factory=list)  # of the class that was merged
    number: int = 0  # of the event
