"""The state of a campaign: the fold of its events, and the only copy of what is known, open, declined, and by whom."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bela.book import _events as events
from bela.book._classes import delete_class, merge_class, part_classes, refuse_undo, restore_class
from bela.book._events import Change, Event, RowChanged
from bela.book._help import Help
from bela.book._steps import Step
from bela.errors import JournalError, LabelError, QuestionError
from bela.labels import LabelCodes
from bela.records import UNKNOWN, BoolArray, IntArray, Label, Question, Role


class Book:
    """Questions, answers, classes, revisions: everything that events have made of a campaign.

    The same events in the same order give the same book, live or from a journal. Undo takes back an answer, never a
    fact: questions stay numbered, draws drawn, revisions made, and what was spent is spent.

    `classes` are the only labels allowed, None where they become known as they are answered; `given` are labels that
    the data brought with them, by row; rows `set_aside`, as nobody can read them, are never asked, and count as wrong.

    >>> book = Book(3)
    >>> _ = book.apply(events.Began(method="bela", n_rows=3, confidence=0.95, seed=0, key="k"))
    >>> _ = book.apply(events.Asked(version=1, n=1, questions=[[2, "training", 0]]))
    >>> book.apply(events.Answered(question=0, label="cat")).row
    2
    >>> book.label(2), book.version
    ('cat', 3)
    """

    def __init__(
        self, n_rows: int, *, classes: Iterable[Label] | None = None, given: Mapping[int, Label] | None = None,
        set_aside: Iterable[int] = (),
    ) -> None:  # fmt: skip
        self.codes = LabelCodes(classes)
        self.known: IntArray = np.full(n_rows, UNKNOWN, dtype=np.int32)
        self.declined: BoolArray = np.zeros(n_rows, dtype=bool)  # skipped, or rejected without a right label
        self.asked: BoolArray = np.zeros(n_rows, dtype=bool)  # a question at some time
        self.given: dict[int, int] = {row: self.codes.encode(label) for row, label in (given or {}).items()}
        self.known[list(self.given)] = list(self.given.values())
        self.set_aside = [row for row in set_aside if row not in self.given]
        self.asked[self.set_aside] = self.declined[self.set_aside] = True
        self.questions: list[Question] = []
        self.open: dict[int, Question] = {}
        self.answered: dict[int, int] = {}  # row to question, in the order of the answers
        self.rejected: set[int] = set()  # rows whose label under audit is wrong
        self.corrections: dict[int, int] = {}  # row to class code: labels that nobody had asked for
        self.said: dict[int, dict[str | None, int]] = {}  # question to what each person said at first, as class codes
        self.again: dict[int, tuple[int, int]] = {}  # draw to what was said at first and when asked again, class codes
        self.steps: list[Step] = []  # what can be undone, the last at the end
        self.revisions: list[events.Revised] = []
        self.help = Help()
        self.n_answers = dict.fromkeys(Role, 0)
        self.n_suggested = dict.fromkeys(Role, 0)  # answers that were given with a suggestion in sight
        self.began: events.Began | None = None
        self.target: float | None = None
        self.class_target: float | None = None  # a share of the labels of each class
        self.budget: int | None = None
        self.exhausted = False
        self.cost = 0.0  # of all answers, those taken back included
        self.version = 0  # how many events there were

    # ------------------------------------------------------------------------------------------------- the fold

    def apply(self, event: Event) -> Change | None:
        """Let an event change the book; return what that means for a method, None if nothing."""
        change = _FOLDS[type(event)](self, event)
        self.version += 1
        return change

    def replay(self, seq: int, event: Event) -> Change | None:
        """Apply an event of a journal, which may make no sense if somebody has tampered with it."""
        try:
            if seq != self.version + 1:
                raise ValueError(f"it follows event {self.version}")
            return self.apply(event)
        except (LookupError, TypeError, ValueError, LabelError, QuestionError) as error:
            why = " ".join(str(error).split())  # a name may have several lines
            raise JournalError(f"event {seq} of the journal makes no sense: {event.kind}, {why}") from None

    def _take_step(self, event: Event, **undo: Any) -> None:
        self.steps.append(Step(event, number=self.version, **undo))

    def _begin(self, event: events.Began) -> Change:
        if self.began is not None or event.n_rows != self.n_rows:
            raise ValueError(f"a campaign begins once, and has {self.n_rows} rows")
        self.began, self.target, self.class_target, self.budget = event, event.target, event.class_target, event.budget
        return event

    def _ask(self, event: events.Asked) -> Change:
        if event.version != self.version:
            raise QuestionError(f"these questions were chosen after event {event.version}, not after {self.version}")
        rows = [proposal.row for proposal in event.questions]
        if len(set(rows)) < len(rows) or self.asked[rows].any() or (self.known[rows] != UNKNOWN).any():
            raise QuestionError("a row is asked once, and never if its label is known")
        for proposal in event.questions:
            question = Question(
                id=len(self.questions), row=proposal.row, role=proposal.role,
                revision=proposal.revision, weights=proposal.weights,
            )  # fmt: skip
            self.questions.append(question)
            self.open[question.id] = question
        self.asked[rows] = True
        self.exhausted = event.exhausted
        return event

    def _revise(self, event: events.Revised) -> Change:
        if event.version > self.version:
            raise ValueError("a revision is made from what is known")
        self.revisions.append(event)
        self.exhausted = False
        return event

    def _answer(self, event: events.Answered) -> Change:
        question = self.open.pop(event.question)
        row, code = question.row, self.codes.encode(event.label)
        self.answered[row] = question.id
        self.known[row] = code
        self.n_answers[question.role] += 1
        self.n_suggested[question.role] += event.suggested
        said = self.said.setdefault(question.id, {})
        opinion = said.get(event.by, UNKNOWN)  # somebody else had answered then, and took it back
        said[event.by] = code
        self._take_step(event, before=self.corrections.pop(row, UNKNOWN), opinion=opinion)
        self.exhausted = False
        self.cost += event.cost
        return RowChanged(row=row, question=question, before=UNKNOWN, code=code)

    def _skip(self, event: events.Skipped | events.Rejected) -> Change:
        question = self.open.pop(event.question)
        self.declined[question.row] = True
        if isinstance(event, events.Rejected):
            self.rejected.add(question.row)
            self.n_answers[question.role] += 1
            self.n_suggested[question.role] += event.suggested
        self._take_step(event)
        self.cost += event.cost
        return RowChanged(row=question.row, question=question, before=UNKNOWN, code=UNKNOWN, declined=True)

    def _opine(self, event: events.SecondOpinion) -> None:
        said = self.said[event.question]
        if event.by in said or self.questions[event.question].row not in self.answered:
            raise QuestionError(f"{event.by} cannot say anything more about question {event.question}")
        said[event.by] = self.codes.encode(event.label)
        self._take_step(event)

    def _repeat(self, event: events.AnsweredAgain) -> None:
        first = self.said_at_first(event.question, event.by)
        self.again[event.question] = first, UNKNOWN if event.label is None else self.codes.encode(event.label)
        self._take_step(event)

    def _relabel(self, event: events.Relabelled) -> Change | None:
        row = event.row
        self._take_step(event, before=self.corrections.get(row, int(self.known[row])))
        return self._set_label(row, self.codes.encode(event.label))

    def _flag(self, event: events.Flagged) -> None:
        if event.row >= self.n_rows:
            raise QuestionError(f"there is no row {event.row}")
        self._take_step(event)

    def _add_class(self, event: events.ClassAdded) -> None:
        self.codes.add(self._new_name(event.label))
        self._take_step(event)

    def _rename_class(self, event: events.ClassRenamed) -> Change | None:
        code = self.code_of(event.old)
        self.codes.rename(event.old, self._new_name(event.new))
        self._take_step(event, code=code)
        return None if self.help.name is None else event  # other words of the helper are classes from now on

    def _new_name(self, label: Label) -> Label:
        if self.codes.find(label) is not None:
            raise LabelError(f"there is a class {label!r} already")
        return self.codes.normal(label)

    def _set_target(self, event: events.TargetSet) -> Change:
        if event.budget is not None and event.budget > self.n_rows:
            raise ValueError(f"there are {self.n_rows} rows")
        self.target, self.class_target, self.budget = event.target, event.class_target, event.budget
        return event

    # ----------------------------------------------------------------------------------------------------- undo

    def step_to_undo(self, by: str | None = None) -> int:
        """Return the place of what is to be taken back: the last step, or the last of one person.

        Others may have gone on meanwhile. What somebody else has said about the same row since stands on that step, so
        it stays.
        """
        place = len(self.steps) - 1
        while place >= 0 and by is not None and by != self._person(self.steps[place]):
            place -= 1
        if place < 0:
            raise QuestionError("there is nothing to undo" + ("" if by is None else f" of what {by} has done"))
        event = self.steps[place].event
        row = self._answered_row(event)
        for later in self.steps[place + 1 :]:
            about = self._answered_row(later.event)
            if isinstance(event, events.Answered) and isinstance(later.event, events.AnsweredAgain):
                about = self.questions[later.event.question].row
            if row is not None and about == row:
                who = self._person(later) or "somebody else"
                raise QuestionError(f"{who} has said something about row {row} since: relabel it instead")
        refuse_undo(self, place)
        return place

    @staticmethod
    def _person(step: Step) -> str | None:
        """Return who can take a step back alone, whatever others have done since."""
        return step.event.by if isinstance(step.event, _PERSONAL) else None

    def _undo(self, event: events.Undone) -> Change | None:
        place = self.step_to_undo(event.by)
        step = self.steps.pop(place)
        self.exhausted = False
        undone = step.event
        match undone:
            case events.Answered() | events.Skipped() | events.Rejected():
                return self._reopen(undone, step, place)
            case events.Relabelled():
                return self._set_label(undone.row, self._merged_since(undone.row, step.before, place))
            case events.SecondOpinion():
                self._unsay(undone.question, undone.by)
            case events.AnsweredAgain():
                del self.again[undone.question]
            case events.ClassAdded():
                self.codes.remove(undone.label)
            case events.ClassRenamed():
                self.codes.rename(undone.new, undone.old)
                return None if self.help.name is None else undone
            case events.ClassDeleted():
                return restore_class(self, undone, step)
            case events.ClassMerged():
                return part_classes(self, undone, step)
        return None

    def _reopen(self, undone: events.Answered | events.Skipped | events.Rejected, step: Step, place: int) -> Change:
        question = self.questions[undone.question]
        row, before, was_declined = question.row, int(self.known[question.row]), bool(self.declined[question.row])
        if isinstance(undone, events.Answered):
            del self.answered[row]
            self._unsay(question.id, undone.by, step.opinion)
            correction = self._merged_since(row, step.before, place)
            if correction != UNKNOWN:
                self.corrections[row] = correction
        if not isinstance(undone, events.Skipped):
            self.n_answers[question.role] -= 1
            self.n_suggested[question.role] -= undone.suggested
        self.rejected.discard(row)
        self.known[row], self.declined[row] = UNKNOWN, False
        self.open[question.id] = question
        return RowChanged(row=row, question=question, before=before, code=UNKNOWN, was_declined=was_declined)

    def _unsay(self, question: int, by: str | None, before: int = UNKNOWN) -> None:
        said = self.said[question]
        if before == UNKNOWN:
            del said[by]
        else:
            said[by] = before
        if not said:
            del self.said[question]

    def _merged_since(self, row: int, code: int, place: int) -> int:
        """Return what a row's class of the past is by now; merges since then take the row with them, or not."""
        for step in self.steps[place:]:
            if isinstance(step.event, events.ClassMerged):
                if (row in step.rows) != (step.code == code):
                    (step.rows.append if step.code == code else step.rows.remove)(row)
                code = step.into if step.code == code else code
        return code

    def _answered_row(self, event: Event) -> int | None:
        """Return the row that somebody has given a label to, or declined to."""
        if isinstance(event, (events.Answered, events.Skipped, events.Rejected)):
            return self.questions[event.question].row
        return event.row if isinstance(event, events.Relabelled) else None

    def _set_label(self, row: int, code: int) -> Change | None:
        """Change what is said about a row; UNKNOWN for a correction that is taken back."""
        if row in self.answered or row in self.given:
            [change] = self.recode([row], code)
            return change
        if code == UNKNOWN:
            del self.corrections[row]
        else:
            self.corrections[row] = code
        return None

    def recode(self, rows: Iterable[int], code: int) -> tuple[RowChanged, ...]:
        """Let rows be of another class; return the changes of those that a method knows of."""
        changes = []
        for row in rows:
            if row in self.corrections:
                self.corrections[row] = code
                continue
            question = self.questions[self.answered[row]] if row in self.answered else None
            changes.append(RowChanged(row=row, question=question, before=int(self.known[row]), code=code))
            self.known[row] = code
            if row in self.given:
                self.given[row] = code
        return tuple(changes)

    # ---------------------------------------------------------------------------------------------- what it says

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.known)

    @property
    def n_asked(self) -> int:
        """How many answers the oracle has given."""
        return len(self.answered) + len(self.rejected)

    @property
    def n_left(self) -> int:
        """How many more answers there may be: what the budget leaves, or one for each row."""
        return (self.n_rows if self.budget is None else self.budget) - self.n_asked

    @property
    def n_skipped(self) -> int:
        """How many questions were left unanswered."""
        return len(self.questions) - self.n_asked - len(self.open)

    @property
    def n_known(self) -> int:
        """How many rows have a label that was given or answered."""
        return len(self.given) + len(self.answered)

    @property
    def n_revisions(self) -> int:
        """How often the labels of all rows were made anew."""
        return len(self.revisions)

    def code_of(self, label: Label) -> int:
        """Return the code of a class that exists."""
        code = self.codes.find(label)
        if code is None:
            names = ", ".join(map(repr, self.codes.names)) or "none"
            raise LabelError(f"there is no class {label!r}: there are {names}")
        return code

    def code_now(self, code: int) -> int:
        """Return the code of a class by now, as it may have been merged into another."""
        for merged in self.merges():
            code = merged.into if merged.code == code else code
        return code

    def merges(self) -> Iterator[Step]:
        """Yield the merges of classes that were not taken back."""
        return (step for step in self.steps if isinstance(step.event, events.ClassMerged))

    def class_changes(self) -> Iterator[Step]:
        """Yield the merges and deletions of classes that were not taken back."""
        return (step for step in self.steps if isinstance(step.event, events.ClassMerged | events.ClassDeleted))

    def label(self, row: int) -> Label | None:
        """Return what was said about a row: an answer, a given label, or a correction; None if nothing."""
        code = self.corrections.get(row, int(self.known[row]))
        return None if code == UNKNOWN else self.codes.classes[code]

    def answer_to(self, question: int) -> Label | None:
        """Return the answer to a question as it is now, None where it has none."""
        row = self.questions[question].row
        return self.label(row) if row in self.answered else None

    def said_at_first(self, question: int, by: str | None = None) -> int:
        """Return the class code that was answered to a draw, by this person if they did; it must not be asked again."""
        asked = self.questions[question]
        if asked.role is not Role.BOUNDS or asked.row not in self.answered or question in self.again:
            raise QuestionError(f"question {question} is no draw that can be answered again")
        said = self.said[question]
        return said[by] if by in said else next(iter(said.values()))


_PERSONAL = (
    events.Answered, events.Skipped, events.Rejected, events.SecondOpinion, events.AnsweredAgain, events.Flagged,
    events.Relabelled,
)  # fmt: skip

_FOLDS: dict[type[Event], Callable[..., Change | None]] = {
    events.Began: Book._begin, events.Asked: Book._ask, events.Revised: Book._revise, events.Answered: Book._answer,
    events.Skipped: Book._skip, events.Rejected: Book._skip, events.SecondOpinion: Book._opine,
    events.AnsweredAgain: Book._repeat, events.Relabelled: Book._relabel, events.Flagged: Book._flag,
    events.ClassAdded: Book._add_class, events.ClassRenamed: Book._rename_class,
    events.ClassMerged: merge_class, events.ClassDeleted: delete_class,
    events.TargetSet: Book._set_target, events.Undone: Book._undo,
    events.HelperBegan: lambda book, event: book.help.begin(event),
    events.Helped: lambda book, event: book.help.take(event, book.n_rows),
    events.HelperEnded: lambda book, event: book.help.end(event),
}  # fmt: skip
