"""A lower bound on errors at all times, from weighted draws: what refutes a claim that few rows are wrong."""

from __future__ import annotations

import math

import numpy as np

from bela.bounds._betting import error_grid
from bela.errors import ParameterError
from bela.records import BoolArray, FloatArray, IntArray

_STAKES: FloatArray = 0.1 * 2.0 ** np.arange(9)  # of a bet; its fortune is the mean over all of them
_MOST = 0.9  # of what may be staked at all, lest one right row ruins a bet
_ROUNDING = 1e-9


class ErrorsLower:
    """A lower bound on how many rows of a population are wrong, better with every draw, true at all times.

    Against each number n of a grid runs a mean M of products of bets 1 + k (y - r) for several stakes k, where y is 1/x
    for a wrong row and 0 for a right one, x the row's chance to be drawn relative to the mean over the rows left, and r
    the share of the rows left that would be wrong if n were in all. Once M reaches 1/alpha, "at most n are wrong" is
    ruled out for good.

    Parameters
    ----------
    population
        The number of rows.
    alpha
        The allowed failure probability.
    aim
        The number of errors that the bound shall rise above: the grid is finest there.

    Guarantee
    ---------
    ``Pr[at some time, errors_lower > E] <= alpha`` over the draws, for the number E of wrong rows; any time, any
    stopping rule. Proof: y has the mean (E - found) / R over the R rows left, so under E <= n no bet is expected to
    grow, whatever its stake; Ville's inequality. Only the grid's first number at or above E can be ruled out falsely.

    Assumes
    -------
    Labels and alpha are fixed before the first draw. At each draw every row not drawn before had a chance proportional
    to a positive weight that was fixed before the draw. Draws are observed in their order, every one of them, those
    without an answer as right.

    Examples
    --------
    >>> bound = ErrorsLower(10_000, alpha=0.05, aim=500)
    >>> for i in range(100):
    ...     bound.observe(wrong=i % 5 == 0, x=1.0)
    >>> 500 < bound.errors_lower < 2000, bound.found
    (True, 20)
    """

    def __init__(self, population: int, *, alpha: float, aim: int | None = None) -> None:
        if not 0.0 < alpha < 1.0:
            raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
        if population < 1:
            raise ParameterError(f"a population has at least one row, not {population}")
        self.population, self.alpha = population, alpha
        points: list[IntArray] = [np.zeros(1, dtype=np.int64), error_grid(population)]
        if aim is not None:
            points.append(np.rint(aim * np.linspace(0.8, 1.0, 17)).astype(np.int64))
        grid: IntArray = np.unique(np.concatenate(points))
        self._grid = grid[grid < population]
        self._threshold = math.log(1.0 / alpha) + _ROUNDING
        self._log_m: FloatArray = np.zeros((len(self._grid), len(_STAKES)))
        self._out: BoolArray = np.zeros(len(self._grid), dtype=bool)
        self._n_drawn, self._found, self._lower = 0, 0, 0

    @property
    def found(self) -> int:
        """How many rows were seen to be wrong."""
        return self._found

    @property
    def errors_lower(self) -> int:
        """The bound on the errors of the whole population, those found included."""
        return min(max(self._lower, self._found), self._found + self.population - self._n_drawn)

    def observe(self, *, wrong: bool, x: float) -> None:
        """Take in the next draw; `x` is the row's chance to be drawn, times the number of rows left."""
        left = self.population - self._n_drawn
        if left == 0:
            raise ParameterError(f"all {self.population} rows have been drawn")
        if not (math.isfinite(x) and x > 0.0):
            raise ParameterError(f"the relative chance of a row is positive and finite, not {x}")
        share = (self._grid - self._found) / left
        open_ = ~self._out & (share >= 0.0) & (share < 1.0)  # a share of 1 and above cannot be refuted yet
        r = share[open_][:, None]
        stake = np.minimum(_STAKES, _MOST / np.maximum(r, 1e-12))
        self._log_m[open_] += np.log1p(stake * ((1.0 / x if wrong else 0.0) - r))
        self._n_drawn += 1
        self._found += wrong
        largest = self._log_m.max(axis=1)
        mean = largest + np.log(np.exp(self._log_m - largest[:, None]).mean(axis=1))
        self._out |= (mean >= self._threshold) | (self._grid < self._found)
        first = int(np.argmin(self._out)) if not self._out.all() else len(self._out)  # the first not ruled out
        self._lower = max(self._lower, int(self._grid[first - 1]) + 1 if first else 0)
