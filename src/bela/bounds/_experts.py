"""Guesses of where a labelling is wrong: a Bayesian mixture of error curves over bins of confidence."""

from __future__ import annotations

import math

import numpy as np

from bela.errors import ParameterError
from bela.records import FloatArray, IntArray

_STEEPNESS = np.array([0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 8.0, 10.0, 12.0])
_N_LEVELS = 44
_SPREAD = 0.03  # of an expert's level, spread evenly over the bins, so that no bin is ever called faultless
_DOUBT = 0.05  # of the prior, spread evenly over the experts, so that a wrong prior costs 6 nats at most
_OWN = 200.0  # draws after which a bin's own record weighs as much as the curves
_FLOOR = 1e-280  # of a weight: keeps the mixture of low levels defined when all of them have been refuted


class ErrorCurves:
    """What share of each bin a labelling gets wrong, learnt from answers one at a time.

    The experts are curves logit g = c - k sqrt(u), with u the bin's middle rank by confidence (0: least sure), for
    several steepnesses k and mean levels. The guess of a bin is the mixture's, drawn towards the bin's own
    record. Nothing that rests on a guess is valid because the guess is good; a good one makes bounds tight.

    Parameters
    ----------
    sizes
        Rows of each bin, the least confident bin first.
    seen, wrong
        What training answers say beforehand: for each bin, how many were like a draw from it, and of these how
        many were wrong. Fractions are welcome.
    trust
        The power to which that evidence is taken: cross-validated outcomes are worth less than draws.
    """

    def __init__(
        self, sizes: IntArray, *, seen: FloatArray | None = None, wrong: FloatArray | None = None, trust: float = 0.7
    ) -> None:
        share = np.asarray(sizes, dtype=float) / max(float(np.sum(sizes)), 1.0)
        n_bins = len(share)
        middle = np.cumsum(share) - 0.5 * share
        lowest = min(1e-3, max(1.0 / max(float(np.sum(sizes)), 2.0), 1e-6))
        ends = math.log(lowest / (1.0 - lowest)), math.log(0.97 / 0.03)
        self.levels: FloatArray = 1.0 / (1.0 + np.exp(-np.linspace(*ends, _N_LEVELS)))
        slope = -_STEEPNESS[None, :, None] * np.sqrt(middle)
        level = self.levels[:, None, None]
        low, high = np.full((_N_LEVELS, len(_STEEPNESS), 1), -30.0), np.full((_N_LEVELS, len(_STEEPNESS), 1), 30.0)
        for _ in range(40):
            c = 0.5 * (low + high)
            above = (1.0 / (1.0 + np.exp(-(c + slope)))) @ share[:, None] > level
            low, high = np.where(above, low, c), np.where(above, c, high)
        curves = 1.0 / (1.0 + np.exp(-(0.5 * (low + high) + slope)))
        self._curves: FloatArray = np.clip((1.0 - _SPREAD) * curves + _SPREAD * level, 1e-12, 1.0 - 1e-9)
        self._log_wrong, self._log_right = np.log(self._curves), np.log1p(-self._curves)
        self._log_weight: FloatArray = np.zeros(self._curves.shape[:2])
        self._mixed: FloatArray | None = None
        self._seen: FloatArray = np.zeros(n_bins)
        self._wrong: FloatArray = np.zeros(n_bins)
        if seen is not None:
            n, w = np.asarray(seen, dtype=float), np.zeros(n_bins) if wrong is None else np.asarray(wrong, dtype=float)
            if n.shape != (n_bins,) or w.shape != (n_bins,) or np.any(w < 0) or np.any(w > n):
                raise ParameterError("prior evidence has one count a bin, of which none to all are wrong")
            evidence = trust * (self._log_wrong @ w + self._log_right @ (n - w))
            prior = np.exp(evidence - evidence.max())
            prior = (1.0 - _DOUBT) * prior / prior.sum() + _DOUBT / prior.size
            self._log_weight = np.log(prior)

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return len(self._seen)

    def update(self, bin_: int, wrong: bool) -> None:
        """Learn the outcome of one row; arrays are replaced, never changed, so that a copy stays as it is."""
        log_weight = self._log_weight + (self._log_wrong if wrong else self._log_right)[:, :, bin_]
        self._log_weight = log_weight - log_weight.max()
        self._seen = self._seen + (np.arange(self.n_bins) == bin_)
        if wrong:
            self._wrong = self._wrong + (np.arange(self.n_bins) == bin_)
        self._mixed = None

    def guess(self, level: FloatArray) -> FloatArray:
        """Guess each bin's share of errors, given that the share of all rows is below a level; one row a level."""
        if self._mixed is None:
            weight = np.maximum(np.exp(self._log_weight), _FLOOR)
            mixed = np.cumsum((weight[:, None, :] @ self._curves)[:, 0, :], axis=0)
            mixed /= np.cumsum(weight.sum(axis=1))[:, None]
            self._mixed = (_OWN * mixed + self._wrong) / (_OWN + self._seen)
        result: FloatArray = self._mixed[np.maximum(np.searchsorted(self.levels, level, side="right") - 1, 0)]
        return result
