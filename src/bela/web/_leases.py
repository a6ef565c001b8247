"""Who holds which question, and until when: so that no two people are asked the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A question that somebody has before them; `second` if it is for an opinion on somebody else's answer."""

    by: str
    until: float
    second: bool


class Leases:
    """Questions that are handed out, in memory: when the server starts anew, all are free.

    Parameters
    ----------
    seconds
        How long a question is kept for whoever has it.
    clock
        Tells the time in seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds, self._clock = seconds, clock
        self._leases: dict[int, Lease] = {}

    def holder(self, question: int) -> str | None:
        """Return who has a question, None if nobody."""
        lease = self._leases.get(question)
        return None if lease is None or lease.until <= self._clock() else lease.by

    def held(self, by: str) -> dict[int, Lease]:
        """Return the questions that somebody has, in the order in which they were handed out."""
        now = self._clock()
        return {question: lease for question, lease in self._leases.items() if lease.by == by and lease.until > now}

    @property
    def n_people(self) -> int:
        """How many people have questions."""
        now = self._clock()
        return len({lease.by for lease in self._leases.values() if lease.until > now})

    def taken(self) -> set[int]:
        """Return all questions that somebody has."""
        now = self._clock()
        over = [question for question, lease in self._leases.items() if lease.until <= now]
        for question in over:
            del self._leases[question]
        return set(self._leases)

    def take(self, question: int, by: str, *, second: bool = False) -> None:
        """Hand a question out, or let somebody have it for longer."""
        self._leases[question] = Lease(by=by, until=self._clock() + self.seconds, second=second)

    def give_back(self, questions: Iterable[int], by: str) -> None:
        """Let others have questions that somebody had; those of other people stay theirs."""
        for question in questions:
            lease = self._leases.get(question)
            if lease is not None and lease.by == by:
                del self._leases[question]

    def end(self, question: int) -> None:
        """Forget a question that is done with."""
        self._leases.pop(question, None)
