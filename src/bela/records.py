"""The values that cross a seam: frozen, checked when made, and with no behaviour of their own."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bela.errors import ParameterError

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Matrix: TypeAlias = Any  # a two-dimensional ndarray or a SciPy CSR array: both slice rows and multiply
Label: TypeAlias = Hashable

UNKNOWN = -1
"""The class code of a row that has no label."""


class Role(StrEnum):
    """What an answer may be used for, fixed before the answer is known."""

    TRAINING = "training"
    BOUNDS = "bounds"


class StopReason(StrEnum):
    """Why a run ended."""

    TARGET = "target"
    BUDGET = "budget"
    EXHAUSTED = "exhausted"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A row that a method wants asked, and the role that its answer will have.

    `revision` says how many revisions there were, `weights` how the row was drawn, where it was: they are written down
    with the question, so that a replay need not compute them again, and comes to the same in later versions.
    """

    row: int
    role: Role
    revision: int = 0
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A row put to the oracle."""

    id: int
    row: int
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in a campaign: its place in the journal, when, what, and the particulars."""

    seq: int
    at: float
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A lower bound on the share of rows whose label is what the oracle would say.

    `kind` says what the number is worth: "anytime" holds at all times at once, "one-look" holds for a single
    look at a moment fixed beforehand, "paper", "hsal" and "plal" are the bounds of the published methods, which
    are no guarantee under their own adaptive choices.
    """

    lower: float
    confidence: float
    kind: str
    n_training: int
    n_bounds: int

    def __post_init__(self) -> None:
        if not 0.0 <= self.lower <= 1.0:
            raise ParameterError(f"a certificate's lower bound is a share between 0 and 1, not {self.lower}")
        if not 0.0 < self.confidence < 1.0:
            raise ParameterError(f"confidence lies strictly between 0 and 1, not {self.confidence}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How many more answers the target is expected to take, and between which numbers that may lie."""

    answers: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelling:
    """A label and a leaf for every row: class codes, UNKNOWN where no answer says anything yet.

    Where the method can tell, `probability` is the chance of each row's label to be right, calibrated but not
    guaranteed, and `leaf_lower` a lower bound on the share of right labels in each leaf, of the certificate's kind.
    """

    codes: IntArray
    leaf: IntArray
    n_leaves: int
    probability: FloatArray | None = None
    leaf_lower: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a trajectory: what was known after so many answers."""

    asked: int
    lower: float
    accuracy: float
    leaves: int
    forecast: Forecast | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A labelled dataset with its certificate.

    For each row: its label, whether that was an answer, its leaf, and how likely the label is right (calibrated, not
    guaranteed). For each leaf: a lower bound on the share of right labels in it, of the certificate's kind.
    """

    labels: npt.NDArray[Any]
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
