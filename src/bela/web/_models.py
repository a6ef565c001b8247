"""What goes over the wire: every body that comes in, checked, and what goes out besides the values of `bela.views`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, StringConstraints

from bela.book import UndoStep
from bela.exports import EXPORTS
from bela.records import SURE_SHARES
from bela.views import SOURCES, Agreement, CampaignStatus, JsonLabel, Person, ShownRow

_INT64 = 2**63
_ROWS = 2**31

Text = Annotated[StrictStr, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
LabelIn = Annotated[StrictInt, Field(ge=-_INT64, lt=_INT64)] | StrictBool | Text
Name = Annotated[StrictStr, StringConstraints(min_length=1, max_length=60, pattern=r"\S")]
Tab = Annotated[StrictStr, StringConstraints(max_length=60)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Id = Annotated[StrictInt, Field(ge=0, lt=_ROWS)]


def _check_format(name: str) -> str:
    if name not in EXPORTS.names:
        raise ValueError(f"there is no export format of that name: choose from {', '.join(EXPORTS.names)}")
    return name


def _check_source(name: str) -> str:
    if name not in SOURCES:
        raise ValueError(f"a label comes from {', '.join(SOURCES)}, and from nowhere else")
    return name


def _check_sure(share: float) -> float:
    if share not in SURE_SHARES:
        raise ValueError(f"rows can be sure to {', '.join(map(str, SURE_SHARES))}, and to no other share")
    return share


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _InTab(_In):
    tab: Tab = ""  # tells the tabs of one browser apart


class UndoIn(_InTab):
    """Where somebody takes something back; with `grid` they answer several rows at once where that is possible."""

    grid: StrictBool = False


class LeaseIn(UndoIn):
    """A wish for questions; `was` is the name that a tab had before it was loaded anew."""

    was: Tab = ""
    n: Annotated[StrictInt, Field(ge=1, le=100)] = 1


class AnswerIn(_In):
    """An answer; null skips the question, and `second` says that it is an opinion on somebody else's answer.

    With `wrong` and no label, the label under audit is said to be wrong, and not what is right. `suggested` says that
    a suggested label was in sight, `again` that the same person was asked about the row a second time.
    """

    question: Id
    label: LabelIn | None
    second: StrictBool = False
    again: StrictBool = False
    wrong: StrictBool = False
    suggested: StrictBool = False


class AnswersIn(_In):
    """Answers, in their order."""

    answers: Annotated[list[AnswerIn], Field(max_length=100)]


class ReleaseIn(_InTab):
    """Questions to give back."""

    questions: Annotated[list[Id], Field(max_length=1000)]


class RelabelIn(_In):
    """What a row is."""

    row: Id
    label: LabelIn


class FlagIn(_In):
    """A row to look at later, and why."""

    row: Id
    comment: Annotated[StrictStr, StringConstraints(max_length=2000)] = ""


class PlaceIn(_In):
    """Where to go on: what came with the rows before, as it was."""

    row: Id
    probability: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None


class FindIn(_In):
    """Which rows are looked for, as in `Wanted`, from where on, and how many at once."""

    text: Annotated[StrictStr, StringConstraints(max_length=400)] = ""
    labels: Annotated[list[LabelIn], Field(max_length=100)] = []
    sources: Annotated[list[Annotated[StrictStr, AfterValidator(_check_source)]], Field(max_length=10)] = []
    below: Probability | None = None
    above: Probability | None = None
    person: Name | None = None
    flagged: StrictBool = False
    skipped: StrictBool = False
    after: PlaceIn | None = None
    limit: Annotated[StrictInt, Field(ge=1, le=100)] = 60


class NewClassesIn(_In):
    """Classes to add, in their order."""

    labels: Annotated[list[LabelIn], Field(min_length=1, max_length=2000)]


class ClassesIn(_In):
    """A change of a class; one that is deleted or restored needs nothing to become."""

    action: Literal["rename", "merge", "delete", "restore"]
    label: LabelIn
    to: LabelIn | None = None


class NewMemberIn(_In):
    """Somebody who is to come in."""

    name: Name
    role: Literal["owner", "annotator"] = "annotator"


class MemberIn(_In):
    """A change of what somebody may do; with "renew" they get another link, and the one that they had ends."""

    name: Name
    action: Literal["renew", "revoke", "owner", "annotator"]


class GuidelinesIn(_In):
    """Guidelines, in Markdown."""

    markdown: Annotated[StrictStr, StringConstraints(max_length=100_000)]


class AimIn(_In):
    """When to stop; the target of each class stays as it is where nothing is said of it."""

    target: Annotated[float, Field(gt=0, le=1)] | None
    budget: Id | None
    class_target: Annotated[float, Field(gt=0, le=1)] | None = None


class ExportIn(_In):
    """A format to export to; with `sure`, only the labels of rows of which at least that share is right.

    Columns that were hidden from whoever answers are left out, unless `with_hidden`. With `excel_safe`, a `'` stands
    before each text that a spreadsheet would run as a formula, in formats that spreadsheets open.
    """

    format: Annotated[StrictStr, StringConstraints(max_length=100), AfterValidator(_check_format)]
    sure: Annotated[float, AfterValidator(_check_sure)] | None = None
    with_hidden: StrictBool = False
    excel_safe: StrictBool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, in one sentence."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOut:
    """The one shape of every error."""

    error: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOut(ShownRow):
    """A question and all that is shown of its row.

    A label is suggested for rows that may be confirmed in a `grid` with others; for single ones only if the campaign
    is served that way, and never for a `second` opinion, nor if the question is put to the same person `again`. In an
    audit, what is suggested is the label under audit. Single rows do not tell what they are asked for.
    """

    id: int
    suggested: JsonLabel | None
    probability: float | None
    second: bool
    again: bool
    grid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseOut:
    """Questions that nobody else gets for a while."""

    questions: Sequence[QuestionOut]
    lease_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An answer that was not taken in, and why."""

    question: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersOut:
    """Which answers are on disk, and which were refused."""

    accepted: Sequence[int]
    refused: Sequence[Refused]
    state: CampaignStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOut:
    """What was taken back, and the question that is open again."""

    undone: UndoStep
    question: QuestionOut | None
    state: CampaignStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleOut:
    """Who answers, and how far they agree."""

    people: Sequence[Person]
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class MeOut:
    """Who somebody is: `id` and `campaign` are numbers that a page tells people and campaigns apart by."""

    id: str
    name: str
    role: Literal["owner", "annotator"]
    campaign: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOut:
    """Somebody who may come in, or was; the link is the address of the page with `?token=` and the token."""

    name: str
    role: Literal["owner", "annotator"]
    token: str
    revoked: bool
    at_machine: bool
    answers: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidelinesOut:
    """Guidelines, as they were written and as HTML."""

    markdown: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOut:
    """A format to export to: its name, and what people are told about it."""

    name: str
    title: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOut:
    """A file that was written, where to fetch it, and what should be known about it."""

    name: str
    url: str
    notes: list[str]
