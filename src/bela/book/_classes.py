"""Classes are merged or deleted, and that is taken back: what it does to the rows that have them.

What was answered with a class that is deleted is open again, as if nobody had said it.
"""

from typing import TYPE_CHECKING

import numpy as np

from bela.book import _events as events
from bela.book._events import Deleted, Event, Merged, RowChanged, Undeleted, Unmerged
from bela.book._steps import Step, Struck
from bela.errors import LabelError, QuestionError
from bela.records import UNKNOWN, Label

if TYPE_CHECKING:
    from bela.book._book import Book

_ABOUT_QUESTIONS = (events.Answered, events.SecondOpinion, events.AnsweredAgain)


def merge_class(book: "Book", event: events.ClassMerged) -> Merged:
    """Let the rows of a class be of another."""
    code, into = book.code_of(event.old), book.code_of(event.into)
    if code == into:
        raise LabelError(f"a class cannot be merged into itself: {event.old!r}")
    rows = [int(row) for row in np.flatnonzero(book.known == code)]
    rows += [row for row, correction in book.corrections.items() if correction == code]
    known, declined = book.known.copy(), book.declined.copy()
    changes = book.recode(rows, into)
    book.codes.remove(event.old)
    book.steps.append(Step(event, code=code, into=into, rows=rows, number=book.version))
    return Merged(code=code, into=into, rows=changes, known=known, declined=declined)


def part_classes(book: "Book", event: events.ClassMerged, step: Step) -> Unmerged:
    """Take a merge back."""
    known, declined = book.known.copy(), book.declined.copy()
    book.codes.restore(event.old, step.code)
    changes = book.recode(step.rows, step.code)
    return Unmerged(code=step.code, into=step.into, rows=changes, known=known, declined=declined)


def check_deletion(book: "Book", label: Label) -> int:
    """Return the code of a class that can be deleted; it is an error where it cannot."""
    code, names = book.code_of(label), book.codes.names
    if len(names) == 1:
        raise LabelError(f"{label!r} is the only class: add another before it is deleted")
    n_given = sum(given == code for given in book.given.values())
    if n_given:
        raise LabelError(
            f"{n_given} row(s) have the label {label!r} from the data, where no question can be open again: "
            f"merge it into another class, or relabel them"
        )
    return code


def delete_class(book: "Book", event: events.ClassDeleted) -> Deleted:
    """Take a class out of use, with all that was said about the rows that have it."""
    code = check_deletion(book, event.label)
    known, declined = book.known.copy(), book.declined.copy()
    rows = np.flatnonzero(book.known == code).tolist()
    questions = {book.answered[row] for row in rows}
    corrected = {row: book.corrections[row] for row in book.corrections if book.corrections[row] == code}

    def is_struck(said: Event) -> bool:
        if isinstance(said, _ABOUT_QUESTIONS):
            return said.question in questions
        return isinstance(said, events.Relabelled) and (said.row in corrected or said.row in rows_open)

    rows_open = set(rows)
    struck = [one for one in book.steps if is_struck(one.event)]
    kept = Struck(
        steps=struck, answered=dict(book.answered), corrections=corrected,
        said={question: book.said.pop(question) for question in questions},
        again={question: book.again.pop(question) for question in questions if question in book.again},
    )  # fmt: skip
    step = Step(event, code=code, rows=rows, struck=kept, number=book.version)
    book.steps = [*(one for one in book.steps if not is_struck(one.event)), step]
    book.corrections = {row: one for row, one in book.corrections.items() if row not in corrected}
    _count(book, struck, -1)
    changes = []
    for row in rows:
        question = book.questions[book.answered.pop(row)]
        book.known[row], book.open[question.id] = UNKNOWN, question
        changes.append(RowChanged(row=row, question=question, before=code, code=UNKNOWN))
    book.codes.remove(event.label)
    book.exhausted = False
    return Deleted(code=code, rows=tuple(changes), known=known, declined=declined)


def restore_class(book: "Book", event: events.ClassDeleted, step: Step) -> Undeleted:
    """Take a deletion back: its questions are open again by then, as all that was said since is taken back first."""
    struck = step.struck
    known, declined = book.known.copy(), book.declined.copy()
    book.codes.restore(event.label, step.code)
    book.said.update(struck.said)
    book.again.update(struck.again)
    book.corrections.update(struck.corrections)
    book.steps = sorted([*book.steps, *struck.steps], key=lambda one: one.number)
    _count(book, struck.steps, 1)
    rows = set(step.rows)
    book.answered = {row: question for row, question in struck.answered.items() if row in rows or row in book.answered}
    changes = []
    for row in step.rows:
        question = book.open.pop(book.answered[row])
        book.known[row] = step.code
        changes.append(RowChanged(row=row, question=question, before=UNKNOWN, code=step.code))
    return Undeleted(code=step.code, rows=tuple(changes), known=known, declined=declined)


def refuse_undo(book: "Book", place: int) -> None:
    """Refuse to lead a row back to a class that was deleted since."""
    step = book.steps[place]
    if not isinstance(step.event, events.Answered | events.Relabelled):
        return
    code = step.before
    for later in book.steps[place + 1 :]:
        if isinstance(later.event, events.ClassMerged):
            code = later.into if later.code == code else code
        elif isinstance(later.event, events.ClassDeleted) and later.code == code:
            raise QuestionError(f"the row was {later.event.label!r} before, a class that was deleted since: relabel it")


def _count(book: "Book", struck: list[Step], sign: int) -> None:
    for one in struck:
        if isinstance(one.event, events.Answered):
            role = book.questions[one.event.question].role
            book.n_answers[role] += sign
            book.n_suggested[role] += sign * one.event.suggested
