"""The values that cross a seam: frozen, checked when made, and with no behaviour of their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bela._guarantee import Guarantee as Guarantee  # noqa: PLC0414 - a value that crosses seams like those below
from bela.display import card, draw_counts, draw_share
from bela.errors import ParameterError
from bela.shares import percent_text

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Matrix: TypeAlias = Any  # a two-dimensional ndarray or a SciPy CSR array: both slice rows and multiply
Label: TypeAlias = str | int | bool
AnyArray: TypeAlias = npt.NDArray[Any]
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"  # what can be written as JSON

UNKNOWN = -1  # the class code of a row that has no label
DEFAULT_TARGET = 0.95  # where somebody says neither what share of the labels should be right nor how much to ask
SURE_SHARES = (0.90, 0.95, 0.99)  # of right labels, for which the rows are sought that are that sure


class Role(StrEnum):
    """What an answer may be used for, fixed before the answer is known."""

    TRAINING = "training"
    BOUNDS = "bounds"


class StopReason(StrEnum):
    """Why a run ended."""

    TARGET = "target"
    REFUTED = "refuted"
    BUDGET = "budget"
    EXHAUSTED = "exhausted"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A row that a method wants asked, and the role that its answer will have.

    `revision` says how many revisions there were, `weights` how the row was drawn, where it was: they are recorded
    with the question, so that nobody need compute them again, and later versions come to the same.
    """

    row: int
    role: Role
    revision: int = 0
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What somebody or something said about all rows before the campaign: class codes, and how sure it was of each."""

    codes: IntArray
    scores: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Proposal):
    """A row put to the oracle, with what was recorded of the proposal that it came from."""

    id: int

    def __repr__(self) -> str:
        """Say what is asked, and not what for: whoever answers does not know which rows are draws."""
        return f"<Question {self.id}: row {self.row:,}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an oracle said about a row (None: it skips it), and what that cost."""

    row: int
    label: object
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An event in a journal: its place, when it happened, its kind, and the particulars as JSON."""

    seq: int
    at: float
    kind: str
    data: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A lower bound on the share of rows whose label is what the oracle would say, and what that bound is worth."""

    lower: float
    confidence: float
    guarantee: Guarantee
    n_training: int
    n_bounds: int
    claim: str = field(init=False, repr=False, compare=False)  # what is known of the labels, in plain words

    def __post_init__(self) -> None:
        if not 0.0 <= self.lower <= 1.0:
            raise ParameterError(f"a certificate's lower bound is a share between 0 and 1, not {self.lower}")
        if not 0.0 < self.confidence < 1.0:
            raise ParameterError(f"confidence lies strictly between 0 and 1, not {self.confidence}")
        object.__setattr__(self, "claim", self.guarantee.claim(self.lower, self.confidence))

    def __repr__(self) -> str:
        """Say what is known of the labels, and what that is worth."""
        return f"<Certificate: {self.claim[:-1]}; {self.guarantee}, {self.n_training:,} + {self.n_bounds:,} answers>"

    def facts(self) -> list[tuple[str, object]]:
        """Return what is to be known of it besides, by name."""
        return [
            ("learnt from", f"{self.n_training:,} answers"), ("drawn at random", f"{self.n_bounds:,} answers"),
            ("confidence", percent_text(self.confidence)), ("worth", self.guarantee.sentence),
        ]  # fmt: skip

    def _repr_html_(self) -> str:
        return card("Certificate", self.claim, [draw_share(self.lower)], self.facts())

    def to_json(self) -> dict[str, Json]:
        """Return what programs are told."""
        return {"lower": float(self.lower), "confidence": float(self.confidence), "guarantee": str(self.guarantee)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How many more answers the target is expected to take, and between which numbers that may lie."""

    answers: int
    low: int
    high: int

    def __repr__(self) -> str:
        return f"<Forecast: {self.answers:,} more answers, between {self.low:,} and {self.high:,}>"


RUNGS = (0.7, 0.8, 0.9, 0.95, 0.99)  # shares of right labels that people are told the way to


class Prospect(StrEnum):
    """Whether a share of right labels can be certified, as far as anybody can tell."""

    REACHED = "reached"
    EXPECTED = "expected"
    TOO_EARLY = "too early to say"
    OUT_OF_REACH = "not reachable by asking this way"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A share of right labels, and what it is expected to take to certify it: if it is EXPECTED, how many answers."""

    share: float
    prospect: Prospect
    forecast: Forecast | None = None

    def __repr__(self) -> str:
        more = "" if self.forecast is None else f", {self.forecast.answers:,} more answers"
        return f"<Rung: {percent_text(self.share)} {self.prospect}{more}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelling:
    """A label and a leaf for every row: class codes, UNKNOWN where no answer says anything yet.

    Where the method can tell, `probability` is the chance of each row's label to be right, calibrated but not
    guaranteed, and `leaf_lower` a lower bound on the share of right labels in each leaf, worth what the certificate is.
    """

    codes: IntArray
    leaf: IntArray
    n_leaves: int
    probability: FloatArray | None = None
    leaf_lower: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBound:
    """A lower bound on the share of right labels among the rows that carry a label."""

    label: Label
    n_rows: int
    lower: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SurePart:
    """Rows of which at least a share are right: those that are known, and the surest of the others."""

    share: float
    rows: BoolArray  # whether each row is one of them
    n_inferred: int  # of them that are not known

    def __repr__(self) -> str:
        share = percent_text(self.share)
        return f"<SurePart: {self.n_rows:,} rows, {self.n_inferred:,} of them inferred, at least {share} right>"

    @property
    def n_rows(self) -> int:
        """How many rows they are."""
        return int(self.rows.sum())


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What is certified of parts of the rows, worked out when somebody first asks, as things were when it was made.

    All class bounds hold at once with the `confidence`, and so do all sure parts: two statements of their own. Each of
    them and the certificate may fail with the same probability, all of them together with no more than the sum.
    """

    confidence: float
    bound_classes: Callable[[], tuple[ClassBound, ...]] = field(repr=False)
    find_sure: Callable[[], Mapping[float, SurePart]] = field(repr=False)

    @cached_property
    def by_class(self) -> tuple[ClassBound, ...]:
        """A bound for each label that some row carries."""
        return self.bound_classes()

    @cached_property
    def sure(self) -> Mapping[float, SurePart]:
        """The rows that are right to each of SURE_SHARES."""
        return self.find_sure()

    def at(self, share: float) -> SurePart:
        """Return the rows that are right to one of SURE_SHARES."""
        return self.sure[check_sure_share(share)]


def check_sure_share(share: float) -> float:
    """Return one of SURE_SHARES; another share is an error."""
    if share not in SURE_SHARES:
        raise ParameterError(f"rows can be sure to 0.9, 0.95 or 0.99, not to {share}: choose one of these shares")
    return share


@dataclass(frozen=True, kw_only=True, repr=False)
class Assessment:
    """What a method makes of a book: how good the labels are, what is still needed, and on demand the labels.

    `batch` is how many questions it would like answered at once. For labels that were given, `as_given` is about them
    before any was corrected, `refuted` says that they do not meet the target, and `upper` bounds their share of right
    ones from above. `take_parts` is for methods that say something of parts of the rows.
    """

    certificate: Certificate
    label: Callable[[], Labelling]
    forecast: Forecast | None = None
    climb: Callable[[], tuple[Rung, ...]] | None = None
    batch: int = 1
    reached: bool | None = None  # None: when the certificate is at the target
    refuted: bool = False
    upper: float | None = None
    as_given: Certificate | None = None
    take_parts: Callable[[], Parts] | None = None

    def __repr__(self) -> str:
        return f"<Assessment: {self.certificate!r}, {self.forecast!r}>"

    @cached_property
    def labelling(self) -> Labelling:
        """A label and a leaf for every row."""
        return self.label()

    @cached_property
    def parts(self) -> Parts | None:
        """What is certified by class, and which rows are sure; None where the method does not say."""
        return None if self.take_parts is None else self.take_parts()

    @cached_property
    def ladder(self) -> tuple[Rung, ...]:
        """What each of some shares is expected to take; empty where the method cannot tell."""
        return () if self.climb is None else self.climb()


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a trajectory: what was known after so many answers. Without a truth, the accuracy is NaN."""

    asked: int
    lower: float
    accuracy: float
    leaves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLabels:
    """Labels of rows that were not in a campaign, how likely each is right, and all classes: no certificate."""

    labels: AnyArray
    probability: FloatArray
    classes: tuple[Label, ...]

    def __repr__(self) -> str:
        return f"<NewLabels: {len(self.labels):,} rows, {len(self.classes):,} classes, nothing certified>"

    @property
    def note(self) -> str:
        """What is to be said with them."""
        return "These rows were not in the campaign: its certificate says nothing of their labels."


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """A labelled dataset with its certificate.

    For each row: its label, whether that was an answer, its leaf, and how likely the label is right (calibrated, not
    guaranteed). For each leaf: a lower bound on the share of right labels in it, worth what the certificate is.
    Where the method says so, `by_class` and `sure` are further statements, each with a confidence of its own (`Parts`).
    """

    labels: AnyArray
    known: BoolArray
    leaf: IntArray
    probability: FloatArray
    leaf_lower: FloatArray
    classes: tuple[Label, ...]
    n_asked: int
    stop_reason: StopReason
    certificate: Certificate
    method: str
    seed: int
    unreadable: tuple[int, ...] = ()  # rows that were set aside: their labels are guesses, and count as wrong
    parts: Parts | None = field(default=None, compare=False)
    predictor: Callable[..., NewLabels] | None = field(default=None, compare=False)
    only_sure: float | None = None  # the share of right labels to which labels were kept; the others are None

    def __repr__(self) -> str:
        """Say in a line what there is: arrays of all rows tell nothing, and fill the screen of whoever prints it."""
        return (
            f"<Result: {len(self.labels):,} rows, {len(self.classes)} classes, {self.n_asked:,} answers. "
            f"{self.certificate.claim}>"
        )

    def _repr_html_(self) -> str:
        names, counts = np.unique(self.labels[self.labels != np.array(None)], return_counts=True)
        facts = [
            ("rows", f"{len(self.labels):,}"), ("classes", f"{len(self.classes):,}"),
            ("answers", f"{self.n_asked:,}"), ("stopped by", self.stop_reason), *self.certificate.facts(),
        ]  # fmt: skip
        drawings = [draw_share(self.certificate.lower), draw_counts(list(zip(names, counts.tolist(), strict=True)))]
        return card("Result", self.certificate.claim, drawings, facts)

    def __reduce__(self) -> tuple[Callable[..., "Result"], tuple[dict[str, object]]]:
        """Go from one process to another without the campaign, which `predict` would need."""
        return _remake_result, (
            {entry.name: getattr(self, entry.name) for entry in fields(self)} | {"predictor": None},
        )

    def predict(self, data: object, predictions: Mapping[str, object] | None = None) -> NewLabels:
        """Label rows that were not in the campaign; nothing is certified of them.

        They are like those that were: the same columns, and the same `predictions` if there were any.
        """
        if self.predictor is None:
            raise ParameterError("this result has no learner: take that of a campaign that is open")
        return self.predictor(data, predictions)

    @property
    def by_class(self) -> tuple[ClassBound, ...]:
        """A lower bound on the share of right labels of each class, all at once; none where the method does not say."""
        return () if self.parts is None else self.parts.by_class

    @property
    def sure(self) -> Mapping[float, BoolArray]:
        """Which rows are right to 0.9, 0.95 and 0.99, all at once; none where the method does not say."""
        return {} if self.parts is None else {share: part.rows for share, part in self.parts.sure.items()}


def _remake_result(values: dict[str, Any]) -> Result:
    return Result(**values)
