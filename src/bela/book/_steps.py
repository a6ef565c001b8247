"""What can be undone."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bela.book import _events as events
from bela.book._events import Event
from bela.labels import LabelCodes, label_to_text
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
    code: int = UNKNOWN  # of a class that was renamed, merged or deleted
    into: int = UNKNOWN
    rows: list[int] = field(default_factory=list)  # of the class that was merged, or that are open again
    number: int = 0  # of the event
    struck: Struck = field(default_factory=Struck)


def codes_by_name(codes: LabelCodes, steps: Iterable[Step]) -> dict[str, int]:
    """Return the class that each name stands for by now, UNKNOWN for deleted ones: names of today, then earlier ones.

    Names are texts, as 3 and "3" are the same. A name may have been given to another class since: what it stood for is
    told by the codes of the steps, not by the name.
    """
    found = {label_to_text(label): codes.encode(label) for label in codes.names}
    now: dict[int, int] = {}  # what became of classes that were merged or deleted
    for step in reversed(list(steps)):
        match step.event:
            case events.ClassMerged(old=name) | events.ClassDeleted(label=name):
                now[step.code] = now.get(step.into, step.into)
                found.setdefault(label_to_text(name), now[step.code])
            case events.ClassRenamed(old=name):
                found.setdefault(label_to_text(name), now.get(step.code, step.code))
    return found
