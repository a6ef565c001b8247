"""One revision of the certified method: what the training answers so far say about every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.bounds import ErrorBets
from bela.records import BoolArray, FloatArray, IntArray
from bela.splitters import Fit

N_BINS = 20
_CAUTION = 20.0  # nats of log-loss that it takes to change the fit's own view of its errors by a factor of e
# What the learner thinks of its errors is right within a factor of two with a hundred answers, later within a third:
# it is worth as much as so many errors that were seen.
_ANSWERS_AN_ERROR = 80
_ERRORS = (1.0, 8.0)
_MOST = 5_000  # draws


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A labelling of all rows, and where it expects to be wrong, from the answers that were known when it was made.

    The rows outside its training answers are its *population*, cut into bins of confidence, the least sure first;
    `bin` is -1 for the others. `guess` is the share of errors expected in each bin; `seen` and `wrong` are the evidence
    from answers that were drawn uniformly.
    """

    n_training: int
    outside: BoolArray
    codes: IntArray
    confidence: FloatArray
    bin: IntArray
    sizes: IntArray
    guess: FloatArray
    seen: FloatArray
    wrong: FloatArray

    @property
    def error_rate(self) -> float:
        """The share of its population that it expects to have wrong."""
        n = int(self.sizes.sum())
        return float(self.guess @ self.sizes) / n if n else 0.0

    def to_arrays(self) -> list[npt.NDArray[Any]]:
        """Return what it takes to make it again, next to the training rows."""
        return [self.codes, self.confidence, self.bin, self.sizes, self.guess, self.seen, self.wrong]

    @classmethod
    def from_arrays(cls, arrays: list[npt.NDArray[Any]], training: list[int]) -> Revision:
        """Make a revision again."""
        codes, confidence, bin_, sizes, guess, seen, wrong = arrays
        outside = np.ones(len(codes), dtype=bool)
        outside[training] = False
        return cls(
            n_training=len(training),
            outside=outside,
            codes=codes,
            confidence=confidence,
            bin=bin_,
            sizes=sizes,
            guess=guess,
            seen=seen,
            wrong=wrong,
        )

    def bets(self, alpha: float, aim: int | None = None) -> ErrorBets:
        """Open the bets on its errors, with what training answers say beforehand."""
        return ErrorBets(self.sizes, alpha=alpha, seen=self.seen, wrong=self.wrong, aim=aim)


def make_revision(fit: Fit, answers: IntArray, representative: FloatArray, n_classes: int) -> Revision:
    """Cut all rows by a fit.

    Parameters
    ----------
    fit
        Probabilities for all rows, from `fit.rows`.
    answers
        The class code of each of `fit.rows`.
    representative
        How many rows like it each of `fit.rows` stands for, relative to the others: 1 for uniform draws, less for those
        that were drawn more often than others, 0 for rows that were chosen.
    n_classes
        Classes that are known of.
    """
    n_rows = len(fit.proba)
    codes = np.asarray(fit.classes)[fit.proba.argmax(axis=1)].astype(np.int32)
    margin = _margin(fit.proba)
    outside = np.ones(n_rows, dtype=bool)
    outside[fit.rows] = False
    population = np.flatnonzero(outside)
    order = population[np.lexsort((population, margin[population]))]
    # Fine bins where the labelling is least sure, coarse ones where it hardly errs.
    edges = np.rint(len(order) * (np.arange(N_BINS + 1) / N_BINS) ** 2).astype(int)
    bin_ = np.full(n_rows, -1, dtype=np.int8)
    for i in range(N_BINS):
        bin_[order[edges[i] : edges[i + 1]]] = i
    sizes = np.diff(edges)

    foretold = np.asarray(fit.classes)[fit.out_of_fold.argmax(axis=1)] == answers
    judged = np.bincount(answers, minlength=n_classes)[answers] > 1  # the only one of its class cannot be foretold
    place = np.searchsorted(fit.classes, answers)
    error = _error_chances(fit, place, np.where(judged, representative, 0.0))
    guess = np.array([error[order[edges[i] : edges[i + 1]]].mean() if sizes[i] else 0.5 for i in range(N_BINS)])

    # the bin that each drawn answer would lie in, by its left-out margin
    drawn = np.flatnonzero((representative > 0) & judged)
    upper = np.array([margin[order[edge - 1]] if edge else -np.inf for edge in edges[1:]])
    places = np.minimum(np.searchsorted(upper, _margin(fit.out_of_fold[drawn])), N_BINS - 1)
    seen = np.bincount(places, minlength=N_BINS).astype(float)
    wrong = np.bincount(places, weights=(~foretold[drawn]).astype(float), minlength=N_BINS)
    # What the fit thinks of its errors stands in for some draws more.
    errors = np.clip(len(answers) / _ANSWERS_AN_ERROR, *_ERRORS)
    rate = float(guess @ sizes) / max(sizes.sum(), 1)
    weak = min(errors / max(rate, 1e-6), _MOST) * sizes / max(sizes.sum(), 1)
    return Revision(
        n_training=len(fit.rows),
        outside=outside,
        codes=codes,
        confidence=np.clip(1.0 - error, 0.0, 1.0).astype(np.float32),
        bin=bin_,
        sizes=sizes,
        guess=np.clip(guess, 1e-4, 0.98),
        seen=seen + weak,
        wrong=wrong + weak * np.clip(guess, 0.0, 1.0),
    )


def _error_chances(fit: Fit, place: IntArray, weight: FloatArray) -> FloatArray:
    """Return the chance of each row to be labelled wrong: what the fit thinks, made as sure as it may be.

    The fit's probabilities suit all answers, most of which were asked because they were in doubt. A power of them that
    suits the answers that were drawn (of class `place` and with a `weight` each) suits the other rows better: it is
    chosen by the log-loss of these answers, each foretold by fits that had not seen it, and stays close to 1 if they
    are few.
    """
    used = weight > 0
    log_p = np.log(np.maximum(fit.out_of_fold[used], 1e-9)).astype(float)
    best, least = 1.0, np.inf
    for log_power in np.linspace(-1.0, 1.5, 51):
        scaled = log_p * np.exp(log_power)
        norm = np.log(np.exp(scaled).sum(axis=1))
        losses = norm - scaled[np.arange(len(scaled)), place[used]]
        loss = float(weight[used] @ losses) + _CAUTION * log_power**2
        if loss < least:
            best, least = float(np.exp(log_power)), loss
    powers = np.power(np.maximum(fit.proba, 1e-9), np.float32(best))
    return np.asarray(np.clip(1.0 - powers.max(axis=1) / powers.sum(axis=1), 1e-6, 1.0))


def _margin(proba: FloatArray) -> FloatArray:
    if proba.shape[1] < 2:
        return np.ones(len(proba), dtype=np.float32)
    two = np.partition(proba, proba.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])
