"""Who answers, how much and how fast."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from bela.records import Event

NOBODY = "me"  # what somebody is called who gave no name
_PAUSE = 180.0  # seconds without an answer that are no part of the pace
_RECENT = 300.0  # seconds that answers a minute are counted over
_QUICKEST = 0.05  # seconds for an answer, below which it was no person
_ANSWERS = 60  # answers that the pace is taken from


@dataclass(slots=True)
class _Person:
    skipped: int = 0
    last: float | None = None
    times: deque[float] = field(default_factory=lambda: deque(maxlen=500))
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=_ANSWERS))


class People:
    """Counts of each person, from the journal and then as answers come in."""

    def __init__(self) -> None:
        self._people: dict[str, _Person] = {}

    def read(self, events: Iterable[Event]) -> None:
        """Take in what a journal says."""
        for event in events:
            by = event.data.get("by")
            name = by if isinstance(by, str) else NOBODY
            if event.kind in ("answered", "opinion"):
                self.answered(name, event.at)
            elif event.kind == "skipped":
                self.skipped(name)

    def answered(self, name: str, at: float) -> None:
        """Count an answer."""
        person = self._people.setdefault(name, _Person())
        if person.last is not None and 0 <= at - person.last < _PAUSE:
            person.gaps.append(at - person.last)
        person.last = at
        person.times.append(at)

    def skipped(self, name: str) -> None:
        """Count a skip."""
        self._people.setdefault(name, _Person()).skipped += 1

    def pace(self, name: str | None = None) -> float | None:
        """Return the seconds that an answer usually takes, of one person or of all; None if nobody can tell."""
        people = list(self._people.values()) if name is None else [self._people.get(name, _Person())]
        gaps = [gap for person in people for gap in person.gaps]
        if len(gaps) < 3:
            return None
        pace = median(gaps)
        if pace < _QUICKEST:  # rows of a grid come in at the same moment
            pace = fmean(gaps)
        return pace if pace >= _QUICKEST else None

    def list(self, now: float, answers: Mapping[str | None, int]) -> list[dict[str, Any]]:
        """Return all people, those with the most answers first; `answers` are those that were not taken back."""
        names = [*self._people, *(name for name in answers if name is not None and name not in self._people)]
        found = []
        for name in names:
            person = self._people.get(name, _Person())
            recent = [at for at in person.times if now - at <= _RECENT]
            span = max(now - recent[0], 20.0) if recent else _RECENT
            found.append(
                {
                    "name": name,
                    "answers": answers.get(name, 0) + (answers.get(None, 0) if name == NOBODY else 0),
                    "skipped": person.skipped,
                    "per_minute": round(60 * len(recent) / span, 2),
                    "last": person.last,
                    "pace_seconds": self.pace(name),
                }
            )
        return sorted(found, key=lambda person: (-person["answers"], person["name"]))
