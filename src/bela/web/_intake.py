"""Answers that come in at the same time, written down at the same time: waiting for the disk once is enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from bela.campaign import Campaign
from bela.errors import BelaError, LabelError, QuestionError
from bela.records import Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer that comes in; None for a label skips the question."""

    question: int
    label: Label | None
    second: bool = False


@dataclass(slots=True)
class Ticket:
    """Answers of one person, and what became of them."""

    by: str
    answers: list[Said]
    accepted: list[int] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    error: BelaError | None = None
    done: bool = False
    state: dict[str, Any] = field(default_factory=dict)


Take = Callable[[str, Said], Callable[[], object]]
"""Hands an answer to the campaign, and returns what is to be done when it is on disk; raises an error to refuse it."""


class Intake:
    """A queue of answers. Whoever has the campaign's lock works off what has come in, also for those who wait for it.

    Parameters
    ----------
    campaign
        Where the answers go.
    take
        Takes in one answer.
    """

    def __init__(self, campaign: Campaign, take: Take) -> None:
        self._campaign, self._take = campaign, take
        self._queue: deque[Ticket] = deque()

    def hand_in(self, by: str, answers: Iterable[Said]) -> Ticket:
        """Put answers into the queue."""
        ticket = Ticket(by=by, answers=list(answers))
        self._queue.append(ticket)
        return ticket

    def work_off(self) -> list[Ticket]:
        """Take in all that is in the queue, in its order; return what was in it."""
        tickets: list[Ticket] = []
        batch: list[tuple[Ticket, Said]] = []
        while self._queue:
            ticket = self._queue.popleft()
            tickets.append(ticket)
            for said in ticket.answers:
                new = said.label is not None and not self._is_class(said.label)
                if new or any(said.question == other.question for _, other in batch):
                    self._write(batch)  # what comes next may depend on it
                    batch = []
                batch.append((ticket, said))
                if new:
                    self._write(batch)
                    batch = []
        self._write(batch)
        for ticket in tickets:
            ticket.done = True
        return tickets

    def _write(self, batch: list[tuple[Ticket, Said]]) -> None:
        """Take in answers that have nothing to do with each other, all at once."""
        taken = []
        try:
            with self._campaign.together():
                for ticket, said in batch:
                    try:
                        taken.append((ticket, said, self._take(ticket.by, said)))
                    except (QuestionError, LabelError) as error:
                        ticket.refused.append((said.question, str(error)))
        except BelaError as error:  # the disk is full, say: none of them is taken in
            for ticket, _ in batch:
                ticket.error = error
            return
        for ticket, said, then in taken:
            ticket.accepted.append(said.question)
            then()

    def _is_class(self, label: Label) -> bool:
        return any(type(label) is type(known) and label == known for known in self._campaign.classes)
