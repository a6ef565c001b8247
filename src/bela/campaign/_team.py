"""What several people did in a campaign: who said what, what they flagged, and what each could take back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from bela.campaign._campaign import Campaign
from bela.campaign._deeds import Answered, Flagged, Merged, Opined, Relabelled, Skipped
from bela.records import UNKNOWN, Label, Question, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A row that somebody marked for later."""

    row: int
    comment: str
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoable:
    """What `undo` would take back: "answer", "skip", "opinion", "relabelling", "flag" or "class", and what about."""

    kind: str
    question: int | None = None
    row: int | None = None


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


def opinions(campaign: Campaign, at_least: int = 1) -> list[Opinions]:
    """Return what was said about each answered question that at least so many people spoke about.

    A relabelling after the last opinion settles a question: the certificate rests on what it says then.

    Examples
    --------
    >>> campaign = Campaign([[0.0], [1.0], [2.0]])
    >>> [question] = campaign.ask()
    >>> campaign.tell(question.id, "cat", by="Ann")
    >>> campaign.opine(question.id, "dog", by="Bob")
    >>> [found] = opinions(campaign)
    >>> found.said, found.differ, found.label, found.settled
    ({'Ann': 'cat', 'Bob': 'dog'}, True, 'cat', False)
    """
    state = campaign._state
    merged: dict[int, int] = {}
    settled: dict[int, str | None] = {}  # by row
    for deed in state.history:
        if isinstance(deed, Merged):
            merged = {code: deed.into if into == deed.code else into for code, into in merged.items()}
            merged[deed.code] = deed.into
        elif isinstance(deed, Relabelled):
            settled[deed.row] = deed.by
        elif isinstance(deed, (Answered, Opined)):
            settled.pop(state.questions[deed.question].row, None)
    names = state.codes.classes
    found = []
    for question, said in state.said.items():
        if question not in state.answers or len(said) < at_least:
            continue
        row = state.questions[question].row
        found.append(
            Opinions(
                question=question,
                row=row,
                said={by: names[merged.get(code, code)] for by, code in said.items()},
                label=names[state.answers[question]],
                settled=row in settled,
                settled_by=settled.get(row),
            )
        )
    return found


def find_question(campaign: Campaign, question: int) -> Question:
    """Return a question that was asked at some time; raise an error if it was not."""
    return campaign._question(question)


def is_waiting(campaign: Campaign, question: int) -> bool:
    """Whether a question waits for its answer."""
    return question in campaign._state.open


def has_said(campaign: Campaign, question: int, by: str | None) -> bool:
    """Whether somebody has answered a question, or given an opinion on it."""
    return by in campaign._state.said.get(question, ())


def answered_by(campaign: Campaign, question: int) -> tuple[str | None, ...]:
    """Return who has said something about a question, the first at first; nobody if it is not answered."""
    state = campaign._state
    return tuple(state.said.get(question, ())) if question in state.answers else ()


def n_said(campaign: Campaign) -> Counter[str | None]:
    """Return how many questions each person has answered or given an opinion on."""
    return Counter(by for said in campaign._state.said.values() for by in said)


def role_and_answer(campaign: Campaign, question: int) -> tuple[Role, Label] | None:
    """Return what a question was asked for and what its answer is now; None where it has none."""
    state = campaign._state
    if question not in state.answers:
        return None
    return state.questions[question].role, state.codes.classes[state.answers[question]]


def flags(campaign: Campaign) -> list[Flag]:
    """Return the rows that were marked for later, in that order."""
    return [
        Flag(row=deed.row, comment=deed.comment, by=deed.by)
        for deed in campaign._state.history
        if isinstance(deed, Flagged)
    ]


def undoable(campaign: Campaign, by: str | None = None) -> Undoable:
    """Say what `campaign.undo(by=by)` would take back; raise the same error where it cannot."""
    state = campaign._state
    deed = state.history[state.deed_to_undo(by)]
    if isinstance(deed, (Answered, Skipped, Opined)):
        kind = "answer" if isinstance(deed, Answered) else "skip" if isinstance(deed, Skipped) else "opinion"
        return Undoable(kind=kind, question=deed.question, row=state.questions[deed.question].row)
    if isinstance(deed, (Relabelled, Flagged)):
        return Undoable(kind="flag" if isinstance(deed, Flagged) else "relabelling", row=deed.row)
    return Undoable(kind="class")


def label_source(campaign: Campaign, row: int) -> str:
    """Say where a row's label comes from: "oracle" (an answer), "given" (the data), "corrected" or "inferred"."""
    state = campaign._state
    if row in state.volunteered:
        return "corrected"
    if row in state.given:
        return "given"
    return "inferred" if state.known[row] == UNKNOWN else "oracle"
