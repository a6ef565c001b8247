"""Where a campaign stands, and how everything that happens changes it.

Whatever happens is an event: a kind and its particulars, which can be written down. The same events in the same
order give the same state, live or replayed from a journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bela._labels import LabelCodes
from bela.campaign._bystander import Bystander
from bela.campaign._deeds import Added, Answered, Deed, Merged, Relabelled, Renamed, Skipped
from bela.errors import JournalError, LabelError, QuestionError
from bela.protocols import Method
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
            if kind == "asked":
                self._repeat(**data)
            else:
                self.happen(kind, data)
        except (KeyError, TypeError, ValueError, IndexError, LabelError, QuestionError) as error:
            raise JournalError(f"event {number} of the journal makes no sense: {error!r}") from None

    def code_of(self, label: Label) -> int:
        """Return the code of a class that exists."""
        code = self.codes.find(label)
        if code is None:
            raise LabelError(
                f"there is no class {label!r}: there are {', '.join(map(str, self.codes.names)) or 'none'}"
            )
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
        proposals = [Proposal(row=row, role=Role(role), revision=revision) for row, role, revision in questions]
        self.method.repeat(n, proposals, revisions)
        self.open_questions(proposals)
        self.exhausted = not self.open

    def _answered(self, question: int, label: Label, by: str | None = None, cost: float = 0.0) -> None:
        asked = self.open.pop(question)
        code = self.codes.encode(label)
        self.answers[question] = code
        self.asked[asked.row] = question
        self.known[asked.row] = code
        self.history.append(Answered(question, self.volunteered.pop(asked.row, None)))
        self.exhausted = False
        self.cost += cost
        self.method.observe(asked.row, asked.role, code)

    def _skipped(self, question: int, by: str | None = None, cost: float = 0.0) -> None:
        asked = self.open.pop(question)
        self.cost += cost
        self.history.append(Skipped(question))
        self.method.skip(asked.row, asked.role)

    def _relabelled(self, row: int, label: Label, by: str | None = None) -> None:
        before = self.volunteered.get(row, int(self.known[row]))
        self.history.append(Relabelled(row, before))
        self._set_label(row, self.codes.encode(label))

    def _undone(self) -> None:
        deed = self.history.pop()
        self.exhausted = False
        if isinstance(deed, (Answered, Skipped)):
            question = self.questions[deed.question]
            if isinstance(deed, Answered):
                del self.answers[question.id]
                del self.asked[question.row]
                self.known[question.row] = UNKNOWN
                if deed.volunteered is not None:
                    self.volunteered[question.row] = deed.volunteered
            self.open[question.id] = question
            self.method.retract(question.row, question.role)
        elif isinstance(deed, Relabelled):
            self._set_label(deed.row, deed.before)
        elif isinstance(deed, Added):
            self.codes.remove(deed.label)
        elif isinstance(deed, Renamed):
            self.codes.rename(deed.new, deed.old)
        else:
            self.codes.restore(deed.old, deed.code)
            for row in deed.rows:
                self._set_code(row, deed.code)
            self.method.unmerge(*self._with_roles(deed.rows), deed.code)

    def _class_added(self, label: Label) -> None:
        self.codes.add(label)
        self.history.append(Added(label))

    def _class_renamed(self, old: Label, new: Label) -> None:
        self.codes.rename(old, new)
        self.history.append(Renamed(old, new))

    def _class_merged(self, old: Label, into: Label) -> None:
        code, target = self.code_of(old), self.code_of(into)
        rows = [int(row) for row in np.flatnonzero(self.known == code)]
        rows += [row for row, volunteered in self.volunteered.items() if volunteered == code]
        for row in rows:
            self._set_code(row, target)
        self.codes.remove(old)
        self.history.append(Merged(old, code, rows))
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


_HAPPENINGS: dict[str, Callable[..., None]] = {
    "answered": State._answered,
    "skipped": State._skipped,
    "relabelled": State._relabelled,
    "undone": State._undone,
    "class added": State._class_added,
    "class renamed": State._class_renamed,
    "class merged": State._class_merged,
    "aimed": State._aimed,
}
