"""Where a campaign stands, and how everything that happens changes it.

Whatever happens is an event: a kind and its particulars, which can be written down. The same events in the same
order give the same state, live or replayed from a journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from bela._labels import LabelCodes
from bela.campaign._bystander import Bystander
from bela.campaign._deeds import (
    Added,
    Answered,
    Deed,
    Flagged,
    Merged,
    Opined,
    Personal,
    Relabelled,
    Renamed,
    Skipped,
)
from bela.campaign._sense import check_sense
from bela.errors import JournalError, LabelError, QuestionError
from bela.protocols import Method, Revising
from bela.records import UNKNOWN, IntArray, Label, Proposal, Question, Role


class State:
    """Questions, answers, classes and the method that they are told to.

    Parameters
    ----------
    method
        Chooses questions and labels rows; told of everything that concerns it.
    codes
        The classes.
    n_rows
        How many rows there are.
    target, budget
        When to stop.
    """

    def __init__(
        self, method: Method | Bystander, codes: LabelCodes, n_rows: int, *, target: float | None, budget: int | None
    ) -> None:
        self.method, self.codes, self.target, self.budget = method, codes, target, budget
        self.known = np.full(n_rows, UNKNOWN, dtype=np.int32)
        self.questions: list[Question] = []
        self.open: dict[int, Question] = {}
        self.answers: dict[int, int] = {}  # question to class code
        self.asked: dict[int, int] = {}  # row to question, answered ones only
        self.given: set[int] = set()  # rows that the data brought a label for
        self.volunteered: dict[int, int] = {}  # row to class code: corrections that nobody had asked for
        self.said: dict[int, dict[str | None, int]] = {}  # question to what each person said at first, as class codes
        self.history: list[Deed] = []  # what can be undone, the last at the end
        self.exhausted = False
        self.cost = 0.0  # of all answers, those taken back included

    def know(self, rows: IntArray, codes: IntArray) -> None:
        """Take in labels that the data bring, before the first event."""
        self.known[rows] = codes
        self.given = {int(row) for row in rows}
        self.method.know(rows, codes)

    def happen(self, kind: str, data: Mapping[str, Any]) -> None:
        """Let an event change the state."""
        happen = _HAPPENINGS.get(kind)
        if happen is None:
            raise JournalError(f"the journal has an event {kind!r}, which this version of bela does not know")
        happen(self, **data)

    def happen_again(self, number: int, kind: str, data: Mapping[str, Any]) -> None:
        """Let an event of a journal change the state; it may make no sense, if somebody has tampered with it."""
        try:
            check_sense(data, len(self.known))
            for name in ("label", "old", "new", "into"):
                if name in data:
                    self.codes.normal(data[name])  # of the type of the others
            if kind == "asked":
                self._repeat(**data)
            else:
                self.happen(kind, data)
        except (LookupError, TypeError, ValueError, ArithmeticError, LabelError) as error:
            raise JournalError(f"event {number} of the journal makes no sense: {kind}, {error!r}") from None

    def code_of(self, label: Label) -> int:
        """Return the code of a class that exists."""
        code = self.codes.find(label)
        if code is None:
            raise LabelError(
                f"there is no class {label!r}: there are {', '.join(map(str, self.codes.names)) or 'none'}"
            )
        return code

    def deed_to_undo(self, by: str | None) -> int:
        """Return the place in the history of what is to be taken back: the last deed, or the last of one person.

        Others may have gone on meanwhile. What somebody else has said about the same row since stands on that deed, so
        it stays.
        """
        history = self.history
        if by is None:
            if not history:
                raise QuestionError("there is nothing to undo")
            return len(history) - 1
        for place in range(len(history) - 1, -1, -1):
            deed = history[place]
            if isinstance(deed, Personal) and deed.by == by:
                break
        else:
            raise QuestionError(f"there is nothing to undo of what {by} has done")
        if isinstance(deed, (Answered, Skipped, Relabelled)):
            row = self._row(deed)
            for later in history[place + 1 :]:
                if isinstance(later, (Answered, Skipped, Relabelled)) and self._row(later) == row:
                    who = "somebody else" if later.by is None else later.by
                    raise QuestionError(f"{who} has said something about row {row} since: relabel it instead")
        return place

    def now(self, code: int) -> int:
        """Return the code of a class by now, as it may have been merged into another."""
        for deed in self.history:
            if isinstance(deed, Merged) and deed.code == code:
                code = deed.into
        return code

    def open_questions(self, proposals: Sequence[Proposal]) -> list[Question]:
        """Put proposed rows to the oracle."""
        questions = [
            Question(id=len(self.questions) + i, row=proposal.row, role=proposal.role)
            for i, proposal in enumerate(proposals)
        ]
        self.questions += questions
        self.open.update((question.id, question) for question in questions)
        return questions

    def _repeat(self, n: int, questions: list[list[Any]], revisions: int) -> None:
        proposals = [from_plain(*question) for question in questions]
        self.method.repeat(n, proposals, revisions)
        self.open_questions(proposals)
        self.exhausted = not self.open and not is_revising(self.method)

    def _answered(self, question: int, label: Label, by: str | None = None, cost: float = 0.0) -> None:
        asked = self.open.pop(question)
        code = self.codes.encode(label)
        self.answers[question] = code
        self.asked[asked.row] = question
        self.known[asked.row] = code
        self.said.setdefault(question, {})[by] = code
        self.history.append(Answered(question, self.volunteered.pop(asked.row, None), by))
        self.exhausted = False
        self.cost += cost
        self.method.observe(asked.row, asked.role, code)

    def _skipped(self, question: int, by: str | None = None, cost: float = 0.0) -> None:
        asked = self.open.pop(question)
        self.cost += cost
        self.history.append(Skipped(question, by))
        self.method.skip(asked.row, asked.role)

    def _opined(self, question: int, label: Label, by: str) -> None:
        said = self.said[question]
        if by in said or question not in self.answers:
            raise QuestionError(f"{by} cannot say anything more about question {question}")
        said[by] = self.codes.encode(label)
        self.history.append(Opined(question, by))

    def _flagged(self, row: int, comment: str, by: str | None = None) -> None:
        self.history.append(Flagged(row, comment, by))

    def _relabelled(self, row: int, label: Label, by: str | None = None) -> None:
        before = self.volunteered.get(row, int(self.known[row]))
        self.history.append(Relabelled(row, before, by))
        self._set_label(row, self.codes.encode(label))

    def _undone(self, by: str | None = None) -> None:
        place = self.deed_to_undo(by)
        deed = self.history.pop(place)
        self.exhausted = False
        if isinstance(deed, (Answered, Skipped)):
            question = self.questions[deed.question]
            if isinstance(deed, Answered):
                del self.answers[question.id]
                del self.asked[question.row]
                self._unsay(question.id, deed.by)
                self.known[question.row] = UNKNOWN
                if deed.volunteered is not None:
                    self.volunteered[question.row] = self._moved(question.row, deed.volunteered, place)
            self.open[question.id] = question
            self.method.retract(question.row, question.role)
        elif isinstance(deed, Relabelled):
            self._set_label(deed.row, self._moved(deed.row, deed.before, place))
        elif isinstance(deed, Opined):
            self._unsay(deed.question, deed.by)
        elif isinstance(deed, Added):
            self.codes.remove(deed.label)
        elif isinstance(deed, Renamed):
            self.codes.rename(deed.new, deed.old)
        elif isinstance(deed, Merged):
            self.codes.restore(deed.old, deed.code)
            # some of them may have been taken back since
            rows = [row for row in deed.rows if row in self.asked or row in self.given or row in self.volunteered]
            for row in rows:
                self._set_code(row, deed.code)
            self.method.unmerge(*self._with_roles(rows), deed.code)

    def _unsay(self, question: int, by: str | None) -> None:
        said = self.said.get(question, {})
        said.pop(by, None)  # whoever gave an opinion, and then the answer when that was taken back, has said one thing
        if not said:
            self.said.pop(question, None)

    def _moved(self, row: int, code: int, since: int) -> int:
        """Return what a row's class of the past is by now; merges since then take the row with them."""
        for deed in self.history[since:]:
            if isinstance(deed, Merged) and deed.code == code:
                if row not in deed.rows:
                    deed.rows.append(row)
                code = deed.into
        return code

    def _row(self, deed: Answered | Skipped | Relabelled) -> int:
        return deed.row if isinstance(deed, Relabelled) else self.questions[deed.question].row

    def _class_added(self, label: Label, by: str | None = None) -> None:
        self.codes.add(label)
        self.history.append(Added(label))

    def _class_renamed(self, old: Label, new: Label, by: str | None = None) -> None:
        self.codes.rename(old, new)
        self.history.append(Renamed(old, new))

    def _class_merged(self, old: Label, into: Label, by: str | None = None) -> None:
        code, target = self.code_of(old), self.code_of(into)
        rows = [int(row) for row in np.flatnonzero(self.known == code)]
        rows += [row for row, volunteered in self.volunteered.items() if volunteered == code]
        for row in rows:
            self._set_code(row, target)
        self.codes.remove(old)
        self.history.append(Merged(old, code, target, rows))
        asked, roles = self._with_roles(rows)
        self.method.merge(asked, roles, code, target)

    def _aimed(self, target: float | None, budget: int | None) -> None:
        if (target, budget) != (self.target, self.budget):
            self.target, self.budget = target, budget
            self.method.aim(target, budget)

    def _set_label(self, row: int, code: int) -> None:
        """Change what is said about a row; UNKNOWN for a correction that is taken back."""
        if row in self.asked or row in self.given:
            self._set_code(row, code)
            self.method.revise(row, self._role(row), code)
        elif code == UNKNOWN:
            del self.volunteered[row]
        else:
            self.volunteered[row] = code

    def _set_code(self, row: int, code: int) -> None:
        if row in self.volunteered:
            self.volunteered[row] = code
            return
        self.known[row] = code
        if row in self.asked:
            self.answers[self.asked[row]] = code

    def _role(self, row: int) -> Role:
        return self.questions[self.asked[row]].role if row in self.asked else Role.TRAINING

    def _with_roles(self, rows: Iterable[int]) -> tuple[list[int], list[Role]]:
        """Return those rows that the method knows of, and what they were asked for."""
        known = [row for row in rows if row in self.asked or row in self.given]
        return known, [self._role(row) for row in known]


def as_plain(proposal: Proposal) -> list[Any]:
    """Return a proposal as it is written down."""
    plain = [proposal.row, str(proposal.role), proposal.revision]
    return [*plain, list(proposal.weights)] if proposal.weights else plain


def from_plain(row: int, role: str, revision: int, weights: Sequence[float] = ()) -> Proposal:
    """Return a proposal that was written down."""
    return Proposal(row=row, role=Role(role), revision=revision, weights=tuple(weights))


def is_revising(method: Any) -> TypeGuard[Revising]:
    """Whether a revision was begun that is not taken up yet, so that there may be more to ask then."""
    return isinstance(method, Revising) and method.n_begun > method.n_revisions


_HAPPENINGS: dict[str, Callable[..., None]] = {
    "answered": State._answered,
    "skipped": State._skipped,
    "relabelled": State._relabelled,
    "opinion": State._opined,
    "flagged": State._flagged,
    "undone": State._undone,
    "class added": State._class_added,
    "class renamed": State._class_renamed,
    "class merged": State._class_merged,
    "aimed": State._aimed,
}
