"""What happens in a campaign: one class for each kind of event, validated when it is made and when it is read.

An event carries what was decided, never how: opening a campaign folds its events and decides nothing anew. A change is
what an event did to the rows, as a method sees it: class codes instead of names, and undo already resolved.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, StrictBool, StrictStr, ValidationError

from bela.errors import JournalError
from bela.records import BoolArray, IntArray, Json, Proposal, Question, Role

Count = Annotated[int, Field(strict=True, ge=0)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
Part = Annotated[float, Field(strict=True, ge=0, lt=1)]
Cost = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
LabelValue: TypeAlias = StrictStr | StrictBool | Annotated[int, Field(strict=True)]

EVENTS: dict[str, "type[Event]"] = {}  # every kind of event by its name


class Event(BaseModel):
    """Something that happened; `kind` is its name in a journal."""

    model_config = {"frozen": True, "extra": "forbid", "arbitrary_types_allowed": True}
    kind: ClassVar[str]

    def __init_subclass__(cls, *, kind: str) -> None:
        cls.kind = kind
        EVENTS[kind] = cls


class Began(Event, kind="began"):
    """The first event: what the campaign is about. `key` is what all draws follow from."""

    method: StrictStr
    n_rows: Annotated[int, Field(strict=True, ge=1)]
    confidence: Annotated[float, Field(strict=True, gt=0, lt=1)]
    seed: Count
    key: StrictStr
    classes: tuple[LabelValue, ...] | None = None
    n_given: Count = 0
    set_aside: tuple[Count, ...] = ()
    target: Share | None = None
    class_target: Share | None = None
    budget: Count | None = None


def _read_question(value: object) -> object:
    match value:
        case Proposal():
            return value
        case [int(row), str(role), int(revision), *weights] if role in tuple(Role) and min(row, revision) >= 0:
            if len(weights) <= 1 and bool not in (type(row), type(revision)):
                return Proposal(row=row, role=Role(role), revision=revision, weights=_read_weights(*weights))
    raise ValueError(f"{value!r} is not a question")


def _read_weights(value: object = ()) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{value!r} are not weights")
    for weight in value:
        if type(weight) not in (int, float) or not 0 < weight < float("inf"):
            raise ValueError(f"{weight!r} is not a weight")
    return tuple(map(float, value))


def _plain(proposal: Proposal) -> list[Json]:
    plain: list[Json] = [proposal.row, str(proposal.role), proposal.revision]
    return [*plain, list(proposal.weights)] if proposal.weights else plain


AskedRow = Annotated[Proposal, BeforeValidator(_read_question), PlainSerializer(_plain, return_type=list[object])]


class Asked(Event, kind="asked"):
    """Rows were put to the oracle, as the method proposed from the book of this `version`.

    Without questions: nothing was left to ask, if `exhausted`.
    """

    version: Count
    n: Count
    questions: tuple[AskedRow, ...] = ()
    exhausted: StrictBool = False


class Revised(Event, kind="revised"):
    """The labels of all rows were made anew, from what the book of some earlier `version` knew."""

    version: Count
    n_answers: Count
    arrays: StrictStr  # their name in the store
    digest: StrictStr  # of the content of the arrays
    method_version: Count  # tells whether they can be decided anew to compare
    separated: StrictBool = False  # whether they learnt from training answers only, so that earlier draws count
    looks: tuple[tuple[Count, Part], ...] = ()  # at so many draws, each with a part of alpha
    alpha: Part = 0.0  # what bets on all later draws may spend
    returns: StrictBool = False  # whether they give back what they have not lost, and say nothing beyond the target


class Answered(Event, kind="answered"):
    """A question was answered; `suggested` if a label was in sight that people may have been led by."""

    question: Count
    label: LabelValue
    by: StrictStr | None = None
    cost: Cost = 0.0
    suggested: StrictBool = False


class Rejected(Event, kind="rejected"):
    """Somebody said that the label under audit is wrong, and not what is right; `suggested` if they saw it."""

    question: Count
    by: StrictStr | None = None
    cost: Cost = 0.0
    suggested: StrictBool = False


class Skipped(Event, kind="skipped"):
    """A question was left unanswered."""

    question: Count
    by: StrictStr | None = None
    cost: Cost = 0.0


class Relabelled(Event, kind="relabelled"):
    """Somebody said what a row is: an answer or a given label was changed, or a row corrected that nobody asked for."""

    row: Count
    label: LabelValue
    by: StrictStr | None = None


class SecondOpinion(Event, kind="second opinion"):
    """Somebody else said what they think of a question that is answered."""

    question: Count
    label: LabelValue
    by: StrictStr


class AnsweredAgain(Event, kind="answered again"):
    """A draw that is answered was put to somebody once more, to see how far people agree with themselves.

    Without a label they left it open this time.
    """

    question: Count
    label: LabelValue | None = None
    by: StrictStr | None = None


class Flagged(Event, kind="flagged"):
    """A row was marked for later, with a comment."""

    row: Count
    comment: StrictStr = ""
    by: StrictStr | None = None


class ClassAdded(Event, kind="class added"):
    """One more class is allowed."""

    label: LabelValue
    by: StrictStr | None = None


class ClassRenamed(Event, kind="class renamed"):
    """A class got another name."""

    old: LabelValue
    new: LabelValue
    by: StrictStr | None = None


class ClassMerged(Event, kind="class merged"):
    """Two classes are one from now on."""

    old: LabelValue
    into: LabelValue
    by: StrictStr | None = None


class ClassDeleted(Event, kind="class deleted"):
    """A class is no more: questions that were answered with it are open again."""

    label: LabelValue
    by: StrictStr | None = None


class TargetSet(Event, kind="target set"):
    """The campaign will stop elsewhere than was said before."""

    target: Share | None = None
    class_target: Share | None = None
    budget: Count | None = None


class HelperBegan(Event, kind="helper began"):
    """Somebody or something helps from now on: it answers, and is not believed.

    Draws follow from the `salt` as well: a helper may know which rows an earlier campaign has drawn.
    """

    name: StrictStr
    salt: Count = 0


class Helped(Event, kind="helped"):
    """The helper said what it thinks of rows, None where it cannot tell; that teaches, and certifies nothing."""

    rows: tuple[Count, ...]
    labels: tuple[LabelValue | None, ...]
    cost: Cost = 0.0


class HelperEnded(Event, kind="helper ended"):
    """Nobody helps any more, for a reason in a few words; what was said before goes on to teach."""

    reason: StrictStr = ""


class Undone(Event, kind="undone"):
    """The last step was taken back, or with `by` the last of one person."""

    by: StrictStr | None = None


def read_event(seq: int, kind: str, data: Mapping[str, Json]) -> Event:
    """Return an event that was written down; it is an error if somebody has tampered with it."""
    event = EVENTS.get(kind)
    if event is None:
        raise JournalError(f"the journal has an event {kind!r}, which this version of bela does not know")
    try:
        return event.model_validate(data)
    except ValidationError as error:
        raise JournalError(f"event {seq} of the journal makes no sense: {kind}, {what_is_wrong(error)}") from None


def what_is_wrong(error: ValidationError) -> str:
    """Return the first thing that is wrong with an event, in a few words."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))} cannot be {reprlib.repr(first['input'])}: {first['msg']}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanged:
    """What is known about a row is another than before: answered, skipped, rejected, relabelled, or taken back.

    `before` and `code` are class codes, UNKNOWN where there is no label. `question` is None for a row whose label was
    given. A row that is UNKNOWN and not `declined` afterwards is an open question again.
    """

    row: int
    question: Question | None
    before: int
    code: int
    was_declined: bool = False
    declined: bool = False

    @property
    def role(self) -> Role:
        """What the label may be used for."""
        return Role.TRAINING if self.question is None else self.question.role


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassChange:
    """What became of a class did something to these rows. `known` and `declined` are those of all rows from before."""

    code: int
    rows: tuple[RowChanged, ...]
    known: IntArray
    declined: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(ClassChange):
    """A class went into another, with its rows."""

    into: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmerged(ClassChange):
    """A merge was taken back: the rows are of their class again."""

    into: int


class Deleted(ClassChange):
    """A class was deleted: the rows that had it are open again."""


class Undeleted(ClassChange):
    """A deletion was taken back: the rows are of the class again."""


Change: TypeAlias = (
    Began | Asked | Revised | TargetSet | RowChanged | ClassChange | HelperBegan | Helped | HelperEnded | ClassRenamed
)
