"""Answering by several people at once: one campaign, one lock, and no web in it."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bela.campaign import (
    Flag,
    StoredCampaign,
    Undoable,
    answered_by,
    find_question,
    flags,
    has_said,
    is_waiting,
    label_source,
    opinions,
    undoable,
)
from bela.errors import LabelError, QuestionError
from bela.records import Label, Question
from bela.web._labels import Labels
from bela.web._leases import Leases
from bela.web._people import People
from bela.web._pictures import Pictures
from bela.web._rows import LONGEST_ALONE, RowView, ShownRow
from bela.web._standing import Standing

_AT_MOST = 64  # questions that are asked ahead
_GRID_AHEAD = 4  # times the rows of a grid, to find enough of one label


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as somebody gets it: its row, the label that is presumed, and whether others have answered it."""

    id: int
    shown: ShownRow
    presumed: Label | None
    probability: float | None
    second: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer that comes in; None for a label skips the question."""

    question: int
    label: Label | None
    second: bool = False


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
        self._wanted: dict[int, None] = {}  # questions that a second person should see, the oldest first
        for found in opinions(self._campaign):
            self._want_opinion(found.question)
        self._listeners: list[Callable[[], object]] = []

    @property
    def lease_seconds(self) -> float:
        """How long a question is kept for whoever has it."""
        return self._leases.seconds

    # ---------------------------------------------------------------------------------------------- answering

    def lease(self, by: str, n: int, *, grid: bool = False) -> list[Asked]:
        """Return up to n questions for somebody: first those that they have already; nobody else gets them for a while.

        With `grid`, all are presumed to have the same label.
        """
        with self.lock:
            if grid:
                chosen = self._choose_alike(by, n)
            else:
                chosen = self._held(by)[:n]
                seconds = self._seconds(by, (n - len(chosen) + 1) // 2)
                chosen += [(question, True) for question in seconds]
                chosen += [(question, False) for question in self._fresh(n - len(chosen))]
            for question, second in chosen:
                self._leases.take(question.id, by, second=second)
            labels = self._standing.labels
        return [self._show(question, labels, second) for question, second in chosen]

    def answer(self, by: str, answers: Iterable[Said]) -> tuple[list[int], list[tuple[int, str]]]:
        """Take in answers; return the questions that are done with, and those whose answers were refused, with reasons.

        The lock is let go after each, so that nobody waits for a whole grid.
        """
        accepted: list[int] = []
        refused: list[tuple[int, str]] = []
        for said in answers:
            with self.lock:
                try:
                    self._take(by, said)
                except (QuestionError, LabelError) as error:
                    refused.append((said.question, str(error)))
                else:
                    accepted.append(said.question)
        if accepted:
            self._changed()
        return accepted, refused

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
                self._wanted.pop(question.id, None)
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

    def flags(self) -> list[Flag]:
        """Return what was marked for later."""
        with self.lock:
            return flags(self._campaign)

    # -------------------------------------------------------------------------------------------- looking at it

    def state(self) -> dict[str, Any]:
        """Say where the campaign stands, ready for JSON."""
        with self.lock:
            return self._standing.state()

    def refresh(self) -> bool:
        """Bring up to date what is made beside the answering, if it is time; whether anything has changed."""
        with self.lock:
            if not self._campaign.open_questions and self._standing.may_ask:
                self._campaign.ask(1)
            changed = self._standing.refresh()
        if changed:
            self._tell_listeners()
        return changed

    @property
    def labels(self) -> Labels | None:
        """The labels of all rows as they were a moment ago, None before the first answer."""
        return self._standing.labels

    def row(self, row: int) -> dict[str, Any]:
        """Return all there is to see of a row."""
        labels = self._standing.labels
        shown = self.view.show(row, LONGEST_ALONE)
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
        self._tell_listeners()

    def _tell_listeners(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _held(self, by: str) -> list[tuple[Question, bool]]:
        """Return the questions that somebody has and that still wait."""
        found = []
        for question_id, lease in self._leases.held(by).items():
            if self._waits(question_id, by, second=lease.second):
                found.append((find_question(self._campaign, question_id), lease.second))
            else:
                self._leases.end(question_id)
        return found

    def _waits(self, question_id: int, by: str, *, second: bool) -> bool:
        if second:
            return bool(answered_by(self._campaign, question_id)) and not has_said(self._campaign, question_id, by)
        return is_waiting(self._campaign, question_id)

    def _fresh(self, n: int) -> list[Question]:
        """Return up to n open questions that nobody has, asking ahead for more where there are too few."""
        if n < 1:
            return []
        free = self._free()
        if len(free) < n and self._standing.may_ask:
            more = max(n - len(free), min(self._campaign.method.batch, _AT_MOST))
            self._campaign.ask(len(self._campaign.open_questions) + more)
            free = self._free()
        return free[:n]

    def _free(self) -> list[Question]:
        taken = self._leases.taken()
        return [question for question in self._campaign.open_questions if question.id not in taken]

    def _choose_alike(self, by: str, n: int) -> list[tuple[Question, bool]]:
        """Choose open questions of one presumed label: that of most that somebody has already, or of most there are."""
        held = [question for question, second in self._held(by) if not second]
        free = self._free()
        labels = self._standing.labels
        if labels is None:
            chosen = [*held[:n], *self._fresh(n - len(held))]
            return [(question, False) for question in chosen]
        groups = _grouped(held or free, labels)
        most = max((len(group) for group in groups.values()), default=0)
        if not held and most < n and len(free) < _GRID_AHEAD * n:
            free = self._fresh(_GRID_AHEAD * n)
            groups = _grouped(free, labels)
        if not groups:
            return []
        label = max(groups, key=lambda label: len(groups[label]))
        chosen = [question for question in [*held, *free] if labels.label(question.row) == label][:n]
        self._leases.give_back({question.id for question in held} - {question.id for question in chosen}, by)
        return [(question, False) for question in chosen]

    def _seconds(self, by: str, n: int) -> list[Question]:
        """Return questions that others have answered, for an opinion of somebody else."""
        found: list[Question] = []
        if n < 1 or not self.team:
            return found
        for question_id in self._wanted:
            if len(found) == n:
                break
            if self._leases.holder(question_id) is None and self._waits(question_id, by, second=True):
                found.append(find_question(self._campaign, question_id))
        return found

    def _want_opinion(self, question_id: int) -> None:
        """Take note that a second person should see a question, if it is one of the share that was chosen for that."""
        if len(answered_by(self._campaign, question_id)) != 1:
            self._wanted.pop(question_id, None)
        elif _share(self.stored.settings.seed, question_id) < self.overlap:
            self._wanted[question_id] = None

    def _take(self, by: str, said: Said) -> None:
        """Take in one answer. Whoever comes too late has given an opinion, and nothing is lost."""
        campaign = self._campaign
        question = find_question(campaign, said.question)
        before = answered_by(campaign, question.id)
        if said.label is None:
            if not (said.second or before):
                holder = self._leases.holder(question.id)
                if holder not in (None, by):
                    raise QuestionError(f"question {question.id} is with {holder} now: there is no need to skip it")
                campaign.skip(question.id, by=by)
                self._people.skipped(by)
        else:
            label = self._typed(said.label)
            if not before:
                self._standing.foretell(question)
                campaign.tell(question.id, label, by=by)
            elif before[0] in (by, None) or not self.team:
                campaign.tell(question.id, label, by=by)  # the same again, or an error
            else:
                campaign.opine(question.id, label, by=by)
            if by not in before:
                self._people.answered(by, self._now())
            self._want_opinion(question.id)
        if not is_waiting(campaign, question.id):
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


def _grouped(questions: Sequence[Question], labels: Labels) -> dict[Label, list[Question]]:
    groups: dict[Label, list[Question]] = {}
    for question in questions:
        groups.setdefault(labels.label(question.row), []).append(question)
    return groups


def _share(seed: int, question_id: int) -> float:
    """Return a number between 0 and 1 that is as good as random, always the same for a question."""
    digest = hashlib.blake2b(f"{seed} {question_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def _plain(shown: ShownRow) -> dict[str, Any]:
    return {"row": shown.row, "name": shown.name, "record": dict(shown.record), "images": list(shown.images)}
