"""What goes over the wire: every body that comes in, checked, and every answer that goes out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, StringConstraints

_INT64 = 2**63
_ROWS = 2**31

Text = Annotated[StrictStr, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
LabelIn = Annotated[StrictInt, Field(ge=-_INT64, lt=_INT64)] | StrictBool | Text
LabelOut = int | bool | str
Name = Annotated[StrictStr, StringConstraints(min_length=1, max_length=60, pattern=r"\S")]
Id = Annotated[StrictInt, Field(ge=0, lt=_ROWS)]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Out(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(_Out):
    """What is wrong, in one sentence."""

    kind: str
    message: str


class ErrorOut(_Out):
    """The one shape of every error."""

    error: Problem


# ------------------------------------------------------------------------------------------------------- the state


class ForecastOut(_Out):
    """Answers still needed, and between which numbers that may lie."""

    answers: int
    low: int
    high: int


class ClassCount(_Out):
    """A class: rows that are known to be of it, and rows that have its label."""

    label: LabelOut
    n_answers: int
    n_labels: int


class Person(_Out):
    """Somebody who answers."""

    name: str
    answers: int
    skipped: int
    per_minute: float
    last: float | None
    pace_seconds: float | None


class StateOut(_Out):
    """Where the campaign stands."""

    campaign: str
    n_rows: int
    answers: int
    training: int
    bounds: int
    skipped: int
    given: int
    corrected: int
    target: float | None
    budget: int | None
    confidence: float
    lower: float
    expected: float | None
    forecast: ForecastOut | None
    stop_reason: str | None
    kind: str
    classes: list[ClassCount]
    revising: bool
    n_revisions: int
    shown: list[str]
    kinds: dict[str, str]
    team: bool
    people: list[Person]
    seq: int
    pace_seconds: float | None
    rests_on: str
    """Which answers the certificate rests on, in words."""


# --------------------------------------------------------------------------------------------------------- answering


class LeaseIn(_In):
    """A wish for questions."""

    by: Name
    n: Annotated[StrictInt, Field(ge=1, le=100)] = 1
    grid: StrictBool = False


class QuestionOut(_Out):
    """A question and all that is shown of its row."""

    id: int
    row: int
    name: str | int
    record: dict[str, Any]
    images: list[str]
    presumed: LabelOut | None
    probability: float | None
    second: bool


class LeaseOut(_Out):
    """Questions that nobody else gets for a while."""

    questions: list[QuestionOut]
    lease_seconds: float


class AnswerIn(_In):
    """An answer; null skips the question."""

    question: Id
    label: LabelIn | None
    second: StrictBool = False


class AnswersIn(_In):
    """Answers of one person, in their order."""

    by: Name
    answers: Annotated[list[AnswerIn], Field(max_length=100)]


class Refused(_Out):
    """An answer that was not taken in, and why."""

    question: int
    message: str


class AnswersOut(_Out):
    """Which answers are on disk, and which were refused."""

    accepted: list[int]
    refused: list[Refused]
    state: StateOut


class ReleaseIn(_In):
    """Questions to give back."""

    by: Name
    questions: Annotated[list[Id], Field(max_length=1000)]


class ByIn(_In):
    """Who wants something done."""

    by: Name


class Undone(_Out):
    """What was taken back."""

    kind: str
    question: int | None
    row: int | None


class UndoOut(_Out):
    """What was taken back, and the question that is open again."""

    undone: Undone
    question: QuestionOut | None
    state: StateOut


class RelabelIn(_In):
    """What a row is."""

    by: Name
    row: Id
    label: LabelIn


class FlagIn(_In):
    """A row to look at later, and why."""

    by: Name
    row: Id
    comment: Annotated[StrictStr, StringConstraints(max_length=2000)] = ""


class FlagOut(_Out):
    """A row that somebody marked for later."""

    row: int
    name: str | int
    comment: str
    by: str | None


# ---------------------------------------------------------------------------------------------------------- the rest


class RowOut(_Out):
    """A row with its label, and where that comes from."""

    row: int
    name: str | int
    record: dict[str, Any]
    images: list[str]
    label: LabelOut | None
    source: Literal["oracle", "given", "inferred", "corrected"]
    probability: float | None


class StateAfter(_Out):
    """Where the campaign stands after a change."""

    state: StateOut


class LeafOut(_Out):
    """Rows that share a place and, unless they are known, a label."""

    leaf: int
    label: LabelOut
    size: int
    known: int
    lower: float
    probability: float


class PointOut(_Out):
    """A point of the chart."""

    answers: int
    lower: float
    expected: float
    at: float


class ClassesIn(_In):
    """A change of the classes."""

    by: Name
    action: Literal["add", "rename", "merge"]
    label: LabelIn
    to: LabelIn | None = None


class Confusion(_Out):
    """How often one class was foretold where another was answered, or the same."""

    role: str
    foretold: LabelOut
    answered: LabelOut
    n: int


class ClassesOut(_Out):
    """The classes."""

    classes: list[ClassCount]
    confusions: list[Confusion]
    rare: list[LabelOut]


class Pair(_Out):
    """How far two people agree."""

    people: list[str]
    n: int
    agreement: float
    cohen: float | None


class Agreement(_Out):
    """How far people agree beyond chance."""

    n_shared: int
    n_differ: int
    cohen: float | None
    fleiss: float | None
    krippendorff: float | None
    pairs: list[Pair]


class PeopleOut(_Out):
    """Who answers, and how far they agree."""

    people: list[Person]
    agreement: Agreement


class OpinionOut(_Out):
    """What somebody said."""

    by: str
    label: LabelOut


class DisagreementOut(_Out):
    """A row that people see differently, and the label that counts."""

    question: int
    row: int
    name: str | int
    record: dict[str, Any]
    images: list[str]
    opinions: list[OpinionOut]
    label: LabelOut
    settled: bool
    settled_by: str | None


class GuidelinesIn(_In):
    """Guidelines, in Markdown."""

    markdown: Annotated[StrictStr, StringConstraints(max_length=100_000)]


class GuidelinesOut(_Out):
    """Guidelines, as they were written and as HTML."""

    markdown: str
    html: str


class AimIn(_In):
    """When to stop."""

    target: Annotated[float, Field(gt=0, le=1)] | None
    budget: Id | None


class ExportIn(_In):
    """A format to export to."""

    format: Literal["csv", "tsv", "parquet", "jsonl", "json", "hf", "label-studio", "snorkel"]


class ExportOut(_Out):
    """A file that was written, and where to fetch it."""

    name: str
    url: str
