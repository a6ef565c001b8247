"""What the people of a campaign did, read from its book: who said what, what they flagged, what each could undo."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bela.book import _events as events
from bela.book._book import Book
from bela.records import UNKNOWN, Label, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """What people said about a row that was asked: each at first, what counts now, and whether somebody settled it."""

    question: int
    row: int
    said: Mapping[str | None, Label]
    label: Label
    settled_by: str | None
    settled: bool

    @property
    def differ(self) -> bool:
        """Whether people disagree."""
        return len(set(self.said.values())) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoStep:
    """What `undo` would take back: "answer", "skip", "opinion", "again", "relabelling", "flag" or "class", of what."""

    kind: str
    question: int | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of a campaign: answers by role, questions, labels of other origin, rows known of each class, cost."""

    n_training: int
    n_bounds: int
    n_skipped: int
    n_open: int
    n_given: int
    n_corrected: int
    known: Mapping[Label, int]
    cost: float
    n_helped: int = 0  # rows that a helper has answered
    helper_cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """How many draws were answered a second time, and how many of them as the first time."""

    asked: int
    agreed: int


def again(book: Book) -> Again:
    """Count the draws that were asked again, by the classes that there are now."""
    pairs = [pair for pair in book.again.values() if UNKNOWN not in pair]
    agreed = sum(book.code_now(first) == book.code_now(second) for first, second in pairs)
    return Again(asked=len(pairs), agreed=agreed)


def opinions(book: Book, at_least: int = 1) -> list[Opinions]:
    """Return what was said about each answered question that at least so many people spoke about.

    A relabelling after the last opinion settles a question: the certificate rests on what it says then.
    """
    settled: dict[int, str | None] = {}  # by row
    for step in book.steps:
        match step.event:
            case events.Relabelled(row=row, by=by):
                settled[row] = by
            case events.Answered(question=question) | events.SecondOpinion(question=question):
                settled.pop(book.questions[question].row, None)
    names, found = book.codes.classes, []
    for question, said in book.said.items():
        row = book.questions[question].row
        if row in book.answered and len(said) >= at_least:
            found += [Opinions(
                question=question, row=row, said={by: names[book.code_now(code)] for by, code in said.items()},
                label=names[int(book.known[row])], settled=row in settled, settled_by=settled.get(row),
            )]  # fmt: skip
    return found


def people_who_said(book: Book, question: int) -> tuple[str | None, ...]:
    """Return who has said something about a question, the first at first; nobody if it is not answered."""
    answered = book.questions[question].row in book.answered
    return tuple(book.said.get(question, ())) if answered else ()


def n_said(book: Book) -> Counter[str | None]:
    """Return how many questions each person has answered or given an opinion on."""
    rejected = (step.event.by for step in book.steps if isinstance(step.event, events.Rejected))
    return Counter(by for said in book.said.values() for by in said) + Counter(rejected)


def flags(book: Book) -> list[events.Flagged]:
    """Return the rows that were marked for later, in that order."""
    return [step.event for step in book.steps if isinstance(step.event, events.Flagged)]


def count(book: Book) -> Counts:
    """Count what there is in a campaign."""
    codes = book.known[book.known != UNKNOWN]
    if book.corrections:
        codes = np.append(codes, list(book.corrections.values()))
    counts = np.bincount(codes, minlength=len(book.codes.classes))
    return Counts(
        n_training=book.n_answers[Role.TRAINING], n_bounds=book.n_answers[Role.BOUNDS], n_skipped=book.n_skipped,
        n_open=len(book.open), n_given=len(book.given), n_corrected=len(book.corrections), cost=book.cost,
        known={label: int(counts[book.code_of(label)]) for label in book.codes.names},
        n_helped=book.help.n_answers, helper_cost=book.help.cost,
    )  # fmt: skip


def label_source(book: Book, row: int) -> str:
    """Say where a row's label comes from: "oracle", "given" (the data), "corrected", "inferred", or "unreadable"."""
    if row in book.corrections:
        return "corrected"
    if row in book.given:
        return "given"
    if book.known[row] != UNKNOWN:
        return "oracle"
    return "unreadable" if row in book.set_aside else "inferred"


_KINDS: dict[type[events.Event], str] = {
    events.Answered: "answer", events.Rejected: "answer", events.Skipped: "skip", events.SecondOpinion: "opinion",
    events.AnsweredAgain: "again", events.Relabelled: "relabelling", events.Flagged: "flag",
}  # fmt: skip


_ABOUT_QUESTIONS = (
    events.Answered, events.Rejected, events.Skipped, events.SecondOpinion, events.AnsweredAgain,
)  # fmt: skip


def undo_step(book: Book, by: str | None = None) -> UndoStep:
    """Say what undo would take back; raise the same error where it cannot."""
    event = book.steps[book.step_to_undo(by)].event
    kind = _KINDS.get(type(event), "class")
    if isinstance(event, _ABOUT_QUESTIONS):
        return UndoStep(kind=kind, question=event.question, row=book.questions[event.question].row)
    return UndoStep(kind=kind, row=event.row if isinstance(event, (events.Relabelled, events.Flagged)) else None)


_WORDS: dict[type[events.Event], str] = {
    events.Answered: "row {row} was answered with {label!r}",
    events.Rejected: "the label of row {row} was said to be wrong",
    events.Skipped: "row {row} was skipped",
    events.SecondOpinion: "{by} gave an opinion on row {row}",
    events.AnsweredAgain: "row {row} was answered a second time",
    events.Relabelled: "row {row} was said to be {label!r}{before}",
    events.Flagged: "row {row} was flagged",
    events.ClassAdded: "the class {label!r} was added",
    events.ClassRenamed: "the class {old!r} was renamed to {new!r}",
    events.ClassMerged: "the class {old!r} was merged into another, with {n_rows} known row(s)",
    events.ClassDeleted: "the class {label!r} was deleted, with {n_rows} answer(s)",
}


def describe_undo(book: Book) -> str | None:
    """Say in words what undo would take back, None if there is nothing."""
    if not book.steps:
        return None
    step, row = book.steps[-1], undo_step(book).row
    before = "" if step.before == UNKNOWN else f" instead of {book.codes.classes[step.before]!r}"
    values = dict(step.event) | {"before": before, "n_rows": len(step.rows)}
    about = {} if row is None else {"row": row, "label": book.label(row)}  # as it is by now
    return _WORDS[type(step.event)].format(**values | about)
