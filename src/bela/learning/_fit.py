"""What the answers say about every row, as a learner puts it."""

from dataclasses import dataclass

import numpy as np

from bela.learning._graph import Floats, Rows
from bela.learning._questions import margins
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What the answers say about every row.

    `proba` and `out_of_fold` have a column for each of `classes`; `out_of_fold` is about the answered rows, each as
    predicted by models that had not seen it. `loss` is their mean log-loss; `weights` says how much each member counts.
    """

    rows: IntArray
    classes: IntArray
    proba: Floats
    out_of_fold: Floats
    loss: float
    weights: dict[str, float]

    @property
    def n_rows(self) -> int:
        """How many rows it is about."""
        return len(self.proba)

    @property
    def labels(self) -> IntArray:
        """The likeliest class of every row."""
        return np.asarray(np.asarray(self.classes)[self.proba.argmax(axis=1)])

    @property
    def left_out_labels(self) -> IntArray:
        """The same for each answer, by models that had not seen it."""
        return np.asarray(np.asarray(self.classes)[self.out_of_fold.argmax(axis=1)])

    @property
    def sure(self) -> Floats:
        """How sure the label of every row is: what rows are put in order by."""
        return margins(self.proba)

    @property
    def left_out_sure(self) -> Floats:
        """The same for each answer, by models that had not seen it."""
        return margins(self.out_of_fold)

    def columns_of(self, codes: IntArray) -> IntArray:
        """Return the column that stands for the class that each answer turned out to be of."""
        return np.searchsorted(self.classes, codes)

    def can_judge(self, codes: IntArray) -> BoolArray:
        """Whether each answer says how good the fit is: the only one of its class cannot be predicted."""
        return np.asarray(np.bincount(codes)[codes] > 1)

    def chances(self, power: float) -> FloatArray:
        """Return the chance of each label, with all probabilities taken to a power first."""
        powers = np.power(np.maximum(self.proba, 1e-9), np.float32(power))
        return np.asarray(powers.max(axis=1) / powers.sum(axis=1))

    def say(self, power: float) -> tuple[IntArray, FloatArray]:
        """Return the label of every row and its chance, both at once as it may take a while to go through all rows."""
        return self.labels, self.chances(power)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFit(Fit):
    """A fit in which each row has classes of its own to choose from: for thousands of classes, few of which matter.

    Column j is about the class `candidates[row, j]` of each row, UNKNOWN if there is none; the last column, which has
    no candidate, about all other classes together.
    """

    candidates: IntArray

    @property
    def labels(self) -> IntArray:
        """The likeliest candidate of every row."""
        return _take(self.candidates, self.proba[:, :-1].argmax(axis=1))

    @property
    def left_out_labels(self) -> IntArray:
        """The same for each answer, by models that had not seen it."""
        return _take(self.candidates[self.rows], self.out_of_fold[:, :-1].argmax(axis=1))

    @property
    def sure(self) -> Floats:
        """How likely the label of every row is."""
        return np.asarray(self.proba[:, :-1].max(axis=1))

    @property
    def left_out_sure(self) -> Floats:
        """The same for each answer, by models that had not seen it."""
        return np.asarray(self.out_of_fold[:, :-1].max(axis=1))

    def columns_of(self, codes: IntArray) -> IntArray:
        """Return the candidate that each answer turned out to be, or the last column."""
        return candidate_of(self.candidates[self.rows], codes)

    def can_judge(self, codes: IntArray) -> BoolArray:
        """All answers do: that of a class was not seen before is no excuse for what was predicted."""
        return np.ones(len(codes), dtype=bool)

    def chances(self, power: float) -> FloatArray:
        """Return the chance of each label, with all probabilities taken to a power first."""
        powers = np.power(np.maximum(self.proba, 1e-9), np.float32(power))
        return np.asarray(_take(powers, self.proba[:, :-1].argmax(axis=1)) / powers.sum(axis=1))


def candidate_of(candidates: IntArray, codes: IntArray) -> Rows:
    """Return which candidate of its row each code is, the number of candidates if it is none."""
    same = (candidates == np.asarray(codes)[:, None]) & (candidates != UNKNOWN)
    return np.asarray(np.where(same.any(axis=1), same.argmax(axis=1), candidates.shape[1]), np.intp)


def _take(values: IntArray | FloatArray, column: IntArray) -> IntArray:
    return np.asarray(values[np.arange(len(values)), column])
