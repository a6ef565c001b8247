"""Answering by several people at once: one campaign, one lock, and no web in it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace

from bela.book import Relabelled, UndoStep, people_who_said, undo_step
from bela.campaign import StoredCampaign, audited_label
from bela.errors import BelaError, LabelError, ParameterError, QuestionError
from bela.labels import label_from_text
from bela.records import Label, Question

from bela.views import (  # isort: skip
    CampaignStatus, Finder, FoundPlace, FoundRows, Labels, Monitor, Pictures, RowView, Wanted, differing,
)  # fmt: skip
from bela.web._assignments import Assignments, Choice
from bela.web._leases import KeptLeases, Seat
from bela.web._models import AnswerIn, AnswersOut, QuestionOut, Refused

Who = tuple[str | None, ...]
_LOOKING = 0.1  # seconds for which texts are looked through at once
_MOST_GONE = 1000  # tabs that are remembered after they were closed


@dataclass(slots=True)
class _Submission:
    """Answers that somebody has sent, and what became of them; there is a status when they are dealt with."""

    by: str
    answers: Sequence[AnswerIn]
    may_add_classes: bool
    accepted: list[int] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    error: BelaError | None = None
    status: CampaignStatus | None = None


class LabelService:
    """A campaign that several people answer in; everything that happens is on disk when a call returns.

    A question is kept for `lease_seconds` for whoever has it; the share `overlap` of them is put to a second person,
    and the share `again` of draws to the same person once more. Draws are answered one by one and without a suggestion,
    unless `suggest_draws`. Without a `team` there is one person, called "me". `clock` tells the seconds that pass,
    `now` the time of day.
    """

    def __init__(
        self, stored: StoredCampaign, *, lease_seconds: float = 120.0, overlap: float = 0.0, team: bool = False,
        again: float = 0.0, suggest_draws: bool = False, clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.stored, self.team, self.lease_seconds = stored, team, lease_seconds
        self.suggest_draws, self.second_opinions = suggest_draws, team and overlap > 0
        self.lock = threading.RLock()
        self.view = RowView.of(stored)
        self._finder = Finder(stored, self.view, self.lock)
        self.pictures = Pictures(stored.records, self.view.images)
        self.monitor = Monitor(
            stored, self.view, self.lock, team=team, suggest_draws=suggest_draws, clock=clock, now=now
        )
        self._campaign, self._book = stored.campaign, stored.campaign.book
        self._assignments = Assignments(
            self._campaign, overlap=overlap if team else 0.0, again=again, by_name=team, blind_draws=not suggest_draws,
            seconds=lease_seconds, clock=clock, kept=KeptLeases(stored.path / "cache" / "leases.json"),
        )  # fmt: skip
        self._submitted: deque[_Submission] = deque()
        self._unprepared: CampaignStatus | None = None  # while the first questions are chosen
        self._listeners: list[Callable[[], object]] = []
        self._in_sight: list[Seat] = []  # once for each line that is held open there
        self._gone: dict[Seat, None] = {}  # where there was a line, and is none now; the longest ago first

    def lease(
        self, by: str, n: int, *, tab: str = "", was: str = "", grid: bool = False, browser: str = ""
    ) -> list[QuestionOut]:
        """Return up to n questions for somebody: first those that they have already; nobody else gets them for a while.

        With `grid`, the same label is suggested for all, or they are draws, to be answered one by one. There may be
        none for now, while a revision is made. Each browser and tab of a person has its own, and a tab that was loaded
        anew goes on with those that it had under the name `was`. Where there would be fewer, what the same person has
        in tabs that were in sight, and are not any more, is free again; programs are never in sight, and keep theirs.
        """
        if self._unprepared is not None:
            return []
        at = Seat(browser, tab)
        with self.lock:
            if was:
                self._assignments.move(by, Seat(browser, was), at)
            labels = self.monitor.labels
            chosen = self._choose(by, at, n, labels, grid)
            if len(chosen) < n and self._assignments.release_gone(by, at, self._gone):
                chosen = self._choose(by, at, n, labels, grid)
        return [self._show(choice, labels) for choice in chosen]

    @contextmanager
    def in_sight(self, tab: str, browser: str = "") -> Iterator[None]:
        """Take note that somebody looks at a tab, for as long as a block lasts; nobody waits for anything."""
        at = Seat(browser, tab)
        self._in_sight.append(at)
        self._gone.pop(at, None)
        try:
            yield
        finally:
            self._in_sight.remove(at)
            if at not in self._in_sight:
                self._gone[at] = None
            if len(self._gone) > _MOST_GONE:
                del self._gone[next(iter(self._gone))]

    def answer(self, by: str, answers: Sequence[AnswerIn], *, may_add_classes: bool = True) -> AnswersOut:
        """Take in answers; what comes back says which are on disk, which were refused and why, and the status after it.

        Answers of several people that come in at the same time are written down together, by whoever gets the lock
        first: waiting for the disk once is enough. A label that is no class yet makes one, if that is allowed.
        """
        submission = _Submission(by, answers, may_add_classes)
        self._submitted.append(submission)
        with self.lock:
            if submission.status is None:
                self._take_submitted()
        if submission.error is not None or submission.status is None:
            raise submission.error or RuntimeError("the answers were not dealt with")
        if submission.accepted:
            self._tell_listeners()
        return AnswersOut(accepted=submission.accepted, refused=submission.refused, state=submission.status)

    def release(self, by: str, questions: Iterable[int], *, tab: str = "", browser: str = "") -> None:
        """Give questions back."""
        with self.lock:
            self._assignments.release(questions, by, Seat(browser, tab))

    def undo(
        self, by: str, *, tab: str = "", grid: bool = False, browser: str = ""
    ) -> tuple[UndoStep, QuestionOut | None]:
        """Take back what somebody did last; return what that was, and the question, which is theirs again."""
        with self.lock:
            who: str | None = by
            try:
                undone = undo_step(self._book, who)
            except QuestionError:
                if self.team:
                    raise
                who = None  # answers of the same person, in the terminal
                undone = undo_step(self._book, who)
            self._campaign.undo(by=who)
            choice = None
            if undone.question is not None:
                at = Seat(browser, tab)
                choice = self._assignments.give_back(undone.question, undone.kind, by, at, grid=grid)
            labels = self.monitor.labels
        self._changed()
        return undone, None if choice is None else self._show(choice, labels)

    def find(
        self, by: str, wanted: Wanted, after: FoundPlace | None = None, limit: int = 60, *, own: bool = False
    ) -> FoundRows:
        """Return rows that are wanted; those that somebody is to be asked about without their labels.

        With `own`, they see no labels but those that they gave themselves.
        """
        labels = self.monitor.present()
        with self.lock:
            waits, typed = self._assignments.waiting(by), [self._typed(label) for label in wanted.labels]
        wanted = replace(wanted, labels=typed)
        return self._finder.find(
            wanted, labels, waits=waits, after=after, limit=limit, seconds=_LOOKING, own=by if own else None
        )

    def relabel(self, by: str, row: int, label: Label, *, may_add_classes: bool = True) -> CampaignStatus:
        """Say what a row is; this and what else changes something returns the status after it.

        Where the row waits for an answer or an opinion of theirs, that is what they give: they see no label of it.
        """
        with self.lock:
            waits = self._assignments.waiting(by).get(row)
            if waits == "again":
                raise QuestionError(f"row {row} will be put to you once more: say then what it is")
            if waits is None:
                self._campaign.relabel(row, self._typed(label, may_add_classes), by=by)
            else:
                is_open = (one.id for one in self._book.open.values() if one.row == row)
                number = self._book.answered[row] if waits == "opinion" else next(is_open)
                said = AnswerIn(question=number, label=label, second=waits == "opinion")
                refused = self.answer(by, [said], may_add_classes=may_add_classes).refused
                if refused:
                    raise QuestionError(refused[0].message)
        return self._changed()

    def is_theirs(self, by: str, row: int) -> bool:
        """Whether a row waits for somebody, or was answered by them, and nobody else said anything about it since."""
        with self.lock:
            if row in self._assignments.waiting(by):
                return True
            question = self._book.answered.get(row)
            if question is None or people_who_said(self._book, question) != (by,):
                return False
            changes = (step.event for step in self._book.steps if isinstance(step.event, Relabelled))
            return all(change.by == by for change in changes if change.row == row)

    def settle(self, by: str, row: int, label: Label) -> CampaignStatus:
        """Say what a row is that people differ about: labels and certificate rest on that from then on."""
        with self.lock:
            if not any(found.row == row for found in differing(self._book)):
                raise QuestionError(f"nobody differs about row {row}: relabel it if its label is wrong")
            self._campaign.relabel(row, self._typed(label), by=by)
        return self._changed()

    def flag(self, by: str, row: int, comment: str) -> CampaignStatus:
        """Mark a row for later."""
        with self.lock:
            self._campaign.flag(row, comment, by=by)
        return self._changed()

    def add_classes(self, by: str, labels: Sequence[Label]) -> CampaignStatus:
        """Add classes, all of them or none."""
        with self.lock:
            fresh = dict.fromkeys(self._book.codes.normal(self._typed(label)) for label in labels)
            with self._campaign.together():
                for label in fresh:
                    self._campaign.add_class(label, by=by)
        return self._changed()

    def change_classes(self, by: str, action: str, label: Label, to: Label | None = None) -> CampaignStatus:
        """Rename a class, merge it into another, delete it, or take that back."""
        with self.lock:
            label = self._typed(label)
            if action == "delete":
                self._campaign.delete_class(label, by=by)
            elif action == "restore":
                self._campaign.restore_class(label)
            elif to is None:
                raise ParameterError(f"say what the class {label!r} is to be called, or be merged into")
            elif action == "rename":
                self._campaign.rename_class(label, self._typed(to), by=by)
            else:
                self._campaign.merge_class(label, self._typed(to), by=by)
        return self._changed()

    def aim(self, target: float | None, budget: int | None, **more: float | None) -> CampaignStatus:
        """Change when to stop; `class_target` stays as it is unless it is given."""
        with self.lock:
            more = {"class_target": self._campaign.class_target} | more
            self.stored.set_target(target=target, budget=budget, **more)
        return self._changed()

    def prepare(self) -> None:
        """Choose the first questions, which takes a while where there are many rows; there are none until then."""
        with self.lock:
            if self._campaign.open_questions or self._campaign.n_asked:
                return
            self._unprepared = replace(self.monitor.status(), revising=True)
            try:
                self._campaign.ask(1, wait=False)
            finally:
                self._unprepared = None
        self._tell_listeners()

    def status(self) -> CampaignStatus:
        """Return the status of the campaign."""
        return self._unprepared or self.monitor.status()

    def refresh(self) -> bool:
        """Bring up to date what is made beside the answering, if it is time; whether anything has changed."""
        with self.lock:
            if not self._campaign.open_questions:  # a revision may be ready
                self._campaign.ask(1, wait=False)
        changed = self.monitor.refresh()
        if changed:
            self._tell_listeners()
        return changed

    def listen(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Have something called whenever the status has changed; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _choose(self, by: str, at: Seat, n: int, labels: Labels | None, grid: bool) -> list[Choice]:
        if grid:
            return self._assignments.choose_for_grid(by, at, n, labels)
        return self._assignments.choose(by, at, n)

    def _changed(self) -> CampaignStatus:
        """Something else happened than an answer: let all of the status show it at once, and return it."""
        self.monitor.forget()
        self._tell_listeners()
        return self.status()

    def _tell_listeners(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _take_submitted(self) -> None:
        """Take in all answers that were submitted, in their order, as many at once as do not depend on each other."""
        done: list[_Submission] = []
        batch: list[tuple[_Submission, AnswerIn]] = []
        any_new = False  # whether there may be another class now
        while self._submitted:
            submission = self._submitted.popleft()
            done.append(submission)
            for answer in submission.answers:
                new = answer.label is not None and self._book.codes.get(answer.label) is None
                if new or any(answer.question == other.question for _, other in batch):
                    self._write(batch)  # what comes next may depend on it
                    batch = []
                batch.append((submission, answer))
                if new:
                    self._write(batch)
                    batch, any_new = [], True
        self._write(batch)
        if any_new:
            self.monitor.forget()
        status = self.monitor.status(closely=any_new)
        for submission in done:
            submission.status = status

    def _write(self, batch: Sequence[tuple[_Submission, AnswerIn]]) -> None:
        """Take in answers that have nothing to do with each other, all at once."""
        taken = []
        try:
            with self._campaign.together():
                for submission, answer in batch:
                    try:
                        taken.append((submission, answer, *self._take(submission, answer)))
                    except (QuestionError, LabelError) as error:
                        submission.refused.append(Refused(question=answer.question, message=str(error)))
        except BelaError as error:  # the disk is full, say: none of them is taken in
            for submission, _ in batch:
                submission.error = error
            return
        for submission, answer, question, before in taken:
            submission.accepted.append(question.id)
            if answer.again:
                self.monitor.answered(question, submission.by, first=False)
            elif answer.label is None and not answer.wrong:
                self.monitor.skipped(submission.by)
            elif submission.by not in before:
                self.monitor.answered(question, submission.by, first=not before)
            self._assignments.heard.append(question.id)

    def _take(self, submission: _Submission, answer: AnswerIn) -> tuple[Question, Who]:
        """Hand one answer to the campaign; whoever comes too late has given an opinion, so that nothing is lost.

        Return the question, and who had answered it before.
        """
        campaign, by = self._campaign, submission.by
        question = campaign.question(answer.question)
        label = None if answer.label is None else self._typed(answer.label, submission.may_add_classes)
        before = tuple(self._book.said[question.id]) if question.row in self._book.answered else ()
        if answer.again:
            if self.team and before and before[0] not in (by, None):
                raise QuestionError(f"question {question.id} was answered by {before[0]}: nobody else is asked again")
            campaign.tell_again(question.id, label, by=by)
        elif answer.wrong:
            self._reject(by, answer, before)
        elif label is None:
            if not (answer.second or before):
                holder = self._assignments.holder(question.id)
                if holder not in (None, by):
                    raise QuestionError(f"question {question.id} is with {holder} now: there is no need to skip it")
                campaign.skip(question.id, by=by)
        elif not before or before[0] == by or not self.team:
            # The same again, or an error, if it is answered.
            campaign.tell(question.id, label, by=by, suggested=answer.suggested)
        else:
            campaign.opine(question.id, label, by=by)
        return question, before

    def _reject(self, by: str, answer: AnswerIn, before: Who) -> None:
        """Say that the label under audit is wrong; an opinion on somebody's answer has to say what is right."""
        if self.stored.settings.prediction is None:
            raise QuestionError("no labels are under audit here: say what the row is instead")
        if answer.label is not None:
            raise QuestionError("a label that is given says already that the other is wrong: leave out one of them")
        if before:
            who = before[0] or "somebody"
            raise QuestionError(f"question {answer.question} is answered by {who}: say what is right")
        self._campaign.reject(answer.question, by=by, suggested=answer.suggested)

    def _typed(self, label: Label, may_add_classes: bool = True) -> Label:
        """Return a label that was typed as one of the type that the others have; there may have to be such a class."""
        if isinstance(label, str) and self._book.codes.get(label) is None:
            label = label_from_text(label, self._campaign.classes)
        if not may_add_classes and self._book.codes.find(label) is None:
            raise LabelError(f"there is no class {label!r}: the owner of the campaign says which classes there are")
        return label

    def _show(self, choice: Choice, labels: Labels | None) -> QuestionOut:
        question, second, again, grid = choice
        suggested, probability = None, None
        if self.stored.settings.prediction is not None and not again:
            with self.lock:
                suggested = audited_label(self._campaign, question.row)
        elif labels is not None and (grid or (self.suggest_draws and not (second or again))):
            suggested, probability = labels.label(question.row), labels.probability(question.row)
        return QuestionOut(
            **asdict(self.view.show(question.row)), id=question.id, suggested=suggested, probability=probability,
            second=second, again=again, grid=grid,
        )  # fmt: skip
