"""Answering by several people at once: one campaign, one lock, and no web in it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bela.campaign import (
    Flag,
    StoredCampaign,
    Undoable,
    answered_by,
    find_question,
    flags,
    is_waiting,
    label_source,
    undoable,
)
from bela.errors import QuestionError
from bela.protocols import Revising
from bela.records import Label, Question
from bela.web._desk import Desk
from bela.web._intake import Intake, Said, Ticket
from bela.web._labels import Labels
from bela.web._leases import Leases
from bela.web._notes import Notes
from bela.web._people import People
from bela.web._pictures import Pictures
from bela.web._rows import LONGEST_ALONE, RowView, ShownRow
from bela.web._standing import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as somebody gets it: its row, the label that is presumed, and whether others have answered it."""

    id: int
    shown: ShownRow
    presumed: Label | None
    probability: float | None
    second: bool


class LabelService:
    """A campaign that several people answer in.

    Everything that happens is on disk when a call returns. What takes long, such as labelling all rows, is done beside
    the answering, by `refresh`, which somebody calls now and then.

    Parameters
    ----------
    stored
        The campaign, opened for writing, with revisions in the background.
    lease_seconds
        How long a question is kept for whoever has it before them.
    overlap
        The share of questions that are put to a second person.
    team
        Whether people have names; otherwise there is one, who is called "me".
    clock, now
        Tell the seconds that pass, and the time of day.
    """

    def __init__(
        self,
        stored: StoredCampaign,
        *,
        lease_seconds: float = 120.0,
        overlap: float = 0.0,
        team: bool = False,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.stored, self.team, self.overlap = stored, team, overlap
        self.lock = threading.RLock()
        self.view = RowView(stored)
        self.pictures = Pictures(stored.records, self.view.images)
        self._campaign = stored.campaign
        self._leases = Leases(lease_seconds, clock)
        self._people = People()
        self._people.read(stored.journal.events())
        self._now = now
        self._standing = Standing(stored, self.view, self._people, team=team, clock=clock, now=now)
        self._desk = Desk(self._campaign, self._leases, overlap=overlap if team else 0.0)
        self._intake = Intake(self._campaign, self._take)
        self._preparing = False
        self._unprepared: dict[str, Any] = {}
        self._listeners: list[Callable[[], object]] = []

    @property
    def lease_seconds(self) -> float:
        """How long a question is kept for whoever has it."""
        return self._leases.seconds

    # ---------------------------------------------------------------------------------------------- answering

    def lease(self, by: str, n: int, *, grid: bool = False) -> list[Asked]:
        """Return up to n questions for somebody: first those that they have already; nobody else gets them for a while.

        With `grid`, all are presumed to have the same label. There may be none for now, while a revision is made.
        """
        if self._preparing:
            return []
        with self.lock:
            labels = self._standing.labels
            chosen = self._desk.choose_alike(by, n, labels) if grid else self._desk.choose(by, n)
        return [self._show(question, labels, second) for question, second in chosen]

    def answer(self, by: str, answers: Iterable[Said]) -> Ticket:
        """Take in answers; what comes back says which are on disk, which were refused and why, and the state after it.

        Answers of several people that come in at the same time are written down together.
        """
        ticket = self._intake.hand_in(by, answers)
        with self.lock:
            if not ticket.done:
                tickets = self._intake.work_off()
                state = self._standing.state()
                for other in tickets:
                    other.state = state
        if ticket.error is not None:
            raise ticket.error
        if ticket.accepted:
            self._tell_listeners()
        return ticket

    def release(self, by: str, questions: Iterable[int]) -> None:
        """Give questions back."""
        with self.lock:
            self._leases.give_back(questions, by)

    def undo(self, by: str) -> tuple[Undoable, Asked | None]:
        """Take back what somebody did last; return what that was, and the question, which is theirs again."""
        with self.lock:
            who: str | None = by
            try:
                undone = undoable(self._campaign, who)
            except QuestionError:
                if self.team:
                    raise
                who = None  # answers of the same person, in the terminal
                undone = undoable(self._campaign, who)
            self._campaign.undo(by=who)
            question = None
            if undone.kind in ("answer", "skip", "opinion") and undone.question is not None:
                question = find_question(self._campaign, undone.question)
                self._desk.note(question.id)
                self._leases.take(question.id, by, second=undone.kind == "opinion")
            labels = self._standing.labels
        self._changed()
        shown = None if question is None else self._show(question, labels, undone.kind == "opinion")
        return undone, shown

    def relabel(self, by: str, row: int, label: Label) -> None:
        """Say what a row is."""
        with self.lock:
            self._campaign.relabel(row, self._typed(label), by=by)
        self._changed()

    def flag(self, by: str, row: int, comment: str) -> None:
        """Mark a row for later."""
        with self.lock:
            self._campaign.flag(row, comment, by=by)
        self._changed()

    def change_classes(self, by: str, action: str, label: Label, to: Label | None = None) -> None:
        """Add a class, rename it, or merge it into another."""
        with self.lock:
            label = self._typed(label)
            if action == "add" or to is None:
                self._campaign.add_class(label, by=by)
            elif action == "rename":
                self._campaign.rename_class(label, self._typed(to), by=by)
            else:
                self._campaign.merge_class(label, self._typed(to), by=by)
        self._changed()

    def aim(self, target: float | None, budget: int | None) -> None:
        """Change when to stop."""
        with self.lock:
            self.stored.aim(target=target, budget=budget)
        self._changed()

    def flags(self) -> list[Flag]:
        """Return what was marked for later."""
        with self.lock:
            return flags(self._campaign)

    # -------------------------------------------------------------------------------------------- looking at it

    def prepare(self) -> None:
        """Choose the first questions, which takes a while where there are many rows; there are none until then."""
        with self.lock:
            if self._campaign.open_questions or self._campaign.n_asked:
                return
            self._unprepared = {**self._standing.state(), "revising": True}
            self._preparing = True
            try:
                self._campaign.ask(1, wait=False)
            finally:
                self._preparing = False
        self._tell_listeners()

    def warm_up(self) -> None:
        """Make what the first revision will need while people answer the first questions; needs no lock."""
        method = self._campaign.method
        if isinstance(method, Revising):
            method.warm_up()

    def state(self) -> dict[str, Any]:
        """Say where the campaign stands, ready for JSON."""
        if self._preparing:
            return self._unprepared
        with self.lock:
            return self._standing.state()

    def refresh(self) -> bool:
        """Bring up to date what is made beside the answering, if it is time; whether anything has changed."""
        with self.lock:
            if not self._campaign.open_questions:  # a revision may be ready
                self._campaign.ask(1, wait=False)
            labels = self._standing.label_if_due()
        if labels is not None:
            _ = labels.counts  # made while others go on
        with self.lock:
            if labels is not None:
                self._standing.take_up(labels)
            changed = self._standing.has_news()
        if changed:
            self._tell_listeners()
        return changed

    @property
    def labels(self) -> Labels | None:
        """The labels of all rows as they were a moment ago, None before the first answer."""
        return self._standing.labels

    @property
    def notes(self) -> Notes:
        """What the page remembers: points of the chart, and what was foretold."""
        return self._standing.notes

    @property
    def foretold(self) -> Mapping[int, Label]:
        """What the labels said about each question before it was answered."""
        return self._standing.foretold

    def history(self) -> list[dict[str, Any]]:
        """Return what was certain after how many answers."""
        with self.lock:
            return self._standing.history

    def leaves(self) -> list[dict[str, Any]]:
        """Return the leaves, the largest first."""
        labels = self._present()
        return [] if labels is None else labels.leaves

    def leaf_rows(self, leaf: int, offset: int, limit: int) -> list[dict[str, Any]]:
        """Return rows of a leaf with their labels, those in doubt first."""
        labels = self._present()
        rows = () if labels is None else labels.rows(leaf, offset, limit)
        return [self._labelled(self.view.show(int(row)), labels) for row in rows]

    def row(self, row: int) -> dict[str, Any]:
        """Return all there is to see of a row."""
        return self._labelled(self.view.show(row, LONGEST_ALONE), self._present())

    def _present(self) -> Labels | None:
        """Return the labels of all rows as of now, or a little older where there are very many."""
        with self.lock:
            return self._standing.present()

    def _labelled(self, shown: ShownRow, labels: Labels | None) -> dict[str, Any]:
        row = shown.row
        with self.lock:
            known, source = self._campaign.answer(row), label_source(self._campaign, row)
        label = known if known is not None or labels is None else labels.label(row)
        probability = None if labels is None else labels.probability(row)
        return {
            **_plain(shown),
            "label": label,
            "source": source,
            "probability": 1.0 if known is not None else probability,
        }

    def listen(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Have something called whenever the state has changed; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # ------------------------------------------------------------------------------------------------- inside

    def _changed(self) -> None:
        """Something else happened than an answer: let all of the state show it at once."""
        self._standing.forget()
        self._tell_listeners()

    def _tell_listeners(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _take(self, by: str, said: Said) -> Callable[[], None]:
        """Hand one answer to the campaign; whoever comes too late has given an opinion, so that nothing is lost."""
        campaign = self._campaign
        question = find_question(campaign, said.question)
        before = answered_by(campaign, question.id)
        if said.label is None:
            if not (said.second or before):
                holder = self._leases.holder(question.id)
                if holder not in (None, by):
                    raise QuestionError(f"question {question.id} is with {holder} now: there is no need to skip it")
                campaign.skip(question.id, by=by)
        else:
            label = self._typed(said.label)
            if not before or before[0] in (by, None) or not self.team:
                campaign.tell(question.id, label, by=by)  # the same again, or an error, if it is answered
            else:
                campaign.opine(question.id, label, by=by)
        return partial(self._took, by, said, question, before)

    def _took(self, by: str, said: Said, question: Question, before: tuple[str | None, ...]) -> None:
        """Take note of an answer that is on disk."""
        if said.label is None:
            self._people.skipped(by)
        else:
            if not before:
                self._standing.foretold_by_labels(question)
            if by not in before:
                self._people.answered(by, self._now())
            self._desk.note(question.id)
        if not is_waiting(self._campaign, question.id):
            self._leases.end(question.id)

    def _typed(self, label: Label) -> Label:
        """Return a label that was typed as one of the type that the others have."""
        classes = self._campaign.classes
        if not isinstance(label, str) or not classes or isinstance(classes[0], str):
            return label
        if isinstance(classes[0], bool):
            named = {"true": True, "false": False}
            if label.lower() in named:
                return named[label.lower()]
        elif label.removeprefix("-").isdecimal() and len(label) < 19:
            return int(label)
        return label

    def _show(self, question: Question, labels: Labels | None, second: bool) -> Asked:
        shown = self.view.show(question.row)
        if labels is None or second:  # an opinion that knows the answer is none
            return Asked(id=question.id, shown=shown, presumed=None, probability=None, second=second)
        presumed, probability = labels.label(question.row), labels.probability(question.row)
        return Asked(id=question.id, shown=shown, presumed=presumed, probability=probability, second=False)


def _plain(shown: ShownRow) -> dict[str, Any]:
    return {"row": shown.row, "name": shown.name, "record": dict(shown.record), "images": list(shown.images)}
