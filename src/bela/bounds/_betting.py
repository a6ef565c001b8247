"""The certificate of the method `bela`: bets against every number of errors at once, on weighted draws."""

from __future__ import annotations

import copy
import math

import numpy as np
import numpy.typing as npt

from bela.bounds._experts import ErrorCurves
from bela.bounds._projection import bet, even_weights, tilt
from bela.errors import ParameterError
from bela.records import BoolArray, FloatArray, IntArray

_BELOW = 0.97  # a guess is kept below this share of the hypothesis that it bets against
_EVEN = 0.1  # of the draws, spread over all rows alike, lest a wrong guess starve a bin
_RATIO = 1.04
_SMALL = 24
_FINEST = 10**6  # no practical number of draws tells shares of errors closer than this apart
_ROUNDING = 1e-9  # of log M: far above what rounding adds up to


def error_grid(population: int, aim: int | None = None) -> IntArray:
    """Choose the numbers of errors to bet against: all small ones, then steps of 4 %, finer above the aim.

    Examples
    --------
    >>> error_grid(10_000)[[0, 1, 23, 24, 34, -1]].tolist(), len(error_grid(10**9, aim=10**7))
    ([1, 2, 24, 25, 37, 10000], 329)
    """
    unit = max(1, population // _FINEST)
    steps = math.ceil(math.log(max(population / (_SMALL * unit), 1.0)) / math.log(_RATIO)) + 1
    points = [unit * np.arange(1, _SMALL + 1), np.rint(_SMALL * unit * _RATIO ** np.arange(steps)), [population]]
    if aim is not None:
        points.append(np.rint((aim + 1) * np.linspace(1.0, 1.2, 33)))
    grid = np.unique(np.concatenate([np.asarray(p, dtype=np.int64) for p in points]))
    result: IntArray = grid[(grid >= 1) & (grid <= population)]
    return result


class ErrorBets:
    """An upper bound on how many rows of a population are wrong, better with every draw, true at all times.

    The population is cut into bins of confidence, the least confident first. Against each number n_k of a
    grid runs a product M_k of bets (`bela.bounds._projection`) that is expected not to grow while at least n_k rows are
    wrong. Once M_k reaches 1/alpha, n_k is ruled out for good.

    Rows that become known without being drawn (`know`) leave the population, whatever they were chosen by. For draws
    made in other bins than today's, regroup the rows into cells (`regroup`), each within one of today's bins.

    Parameters
    ----------
    sizes
        Rows of each bin.
    alpha
        The allowed failure probability.
    seen, wrong
        Evidence from training answers, for each bin: see `ErrorCurves`. It shapes the bets, and needs not be true.
    aim
        How many errors may stay in the rows that nobody has seen: weights and grid are tuned to show no more.

    Guarantee
    ---------
    ``Pr[at some time, errors_upper < E] <= alpha`` over the draws, for the number E of errors in the population at the
    start; any time, any stopping rule.

    Assumes
    -------
    Labels, bins and alpha are fixed before the first draw that is observed, or are independent of these draws. At each
    draw, every row that is neither drawn nor known had a chance proportional to the weight of its cell, and the
    weights were fixed before the draw. Draws are observed in their order, every one of them, those without an
    answer as wrong.

    Examples
    --------
    >>> bets = ErrorBets([1000, 4000, 5000], alpha=0.05)
    >>> for _ in range(60):  # always the least confident bin, as if by chance
    ...     bets.observe(0, wrong=False, weights=bets.weights())
    >>> bets.errors_upper < 1000, bets.found, bets.n_left
    (True, 0, 9940)
    """

    def __init__(
        self,
        sizes: npt.ArrayLike,
        *,
        alpha: float,
        seen: npt.ArrayLike | None = None,
        wrong: npt.ArrayLike | None = None,
        aim: int | None = None,
    ) -> None:
        counts = np.array(sizes)
        if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 0):
            raise ParameterError("sizes are the numbers of rows of the bins, one whole number a bin, none negative")
        if not 0.0 < alpha < 1.0:
            raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
        self.alpha, self.aim = alpha, aim
        self.population = int(counts.sum())
        self._threshold = math.log(1.0 / alpha) + _ROUNDING
        self._left: IntArray = counts.astype(np.int64)
        self._bin: IntArray | None = None  # of each cell; None: cells are bins
        self._found = 0
        self._curves = ErrorCurves(
            self._left,
            seen=None if seen is None else np.asarray(seen, dtype=float),
            wrong=None if wrong is None else np.asarray(wrong, dtype=float),
        )
        self._grid = error_grid(self.population, aim)
        self._log_m: FloatArray = np.zeros(len(self._grid))
        self._nu: FloatArray = np.zeros(len(self._grid))
        self._alive: BoolArray = np.ones(len(self._grid), dtype=bool)  # not ruled out yet
        self._top = len(self._grid)  # one past the largest number that is not ruled out

    @property
    def found(self) -> int:
        """How many rows were seen to be wrong, drawn or known, unanswered ones included."""
        return self._found

    @property
    def n_left(self) -> int:
        """How many rows are neither drawn nor known."""
        return int(self._left.sum())

    @property
    def left(self) -> IntArray:
        """How many rows of each cell are neither drawn nor known."""
        return self._left.copy()

    @property
    def errors_upper(self) -> int:
        """The bound on the errors of the whole population at the start, those found included."""
        upper = self.population if self._top == len(self._grid) else int(self._grid[self._top]) - 1
        return max(min(upper, self._found + self.n_left), self._found)

    def copy(self) -> ErrorBets:
        """Return a twin that goes its own way: to look ahead, or to undo."""
        twin = copy.copy(self)
        twin._curves = copy.copy(self._curves)
        return twin

    def remaining_upper(self, n_unanswered: int = 0) -> int:
        """Bound the errors that are left once those found are corrected, `n_unanswered` of which nobody can correct."""
        return self.errors_upper - self._found + n_unanswered

    def weights(self) -> FloatArray:
        """Propose draw weights for the rows of each bin, of mean 1 over the rows left.

        Any other positive weights are as valid, if they are fixed before the draw: record what was used.
        """
        if self._bin is not None:
            raise ParameterError("weights are proposed for bins: regroup the rows that are left into bins first")
        n_left = max(self.n_left, 1)
        target = self.errors_upper - self._found
        if self.aim is not None:
            target = min(target, self.aim + 1)
        level = min(max(target, 1) / n_left, 1.0 - 1e-9)
        share = self._left / n_left
        result: FloatArray = np.ones(len(share))
        if self.n_left:
            result = _EVEN + (1.0 - _EVEN) * even_weights(share, self._guess(np.array([level]), share)[0], level)
        return result

    def regroup(self, left: npt.ArrayLike, bins: npt.ArrayLike | None = None) -> None:
        """Cut the rows that are left into other cells; `bins` says in which bin each lies, None that cells are bins."""
        counts = np.array(left, dtype=np.int64)
        where = np.arange(len(counts)) if bins is None else np.array(bins, dtype=np.int64)
        n_bins = self._curves.n_bins
        if counts.shape != where.shape or np.any(counts < 0) or np.any((where < 0) | (where >= n_bins)):
            raise ParameterError("each cell has a number of rows and lies in one bin")
        if bins is None and len(counts) != n_bins:
            raise ParameterError(f"there are {n_bins} bins, not {len(counts)}")
        if int(counts.sum()) != self.n_left:
            raise ParameterError(f"{self.n_left} rows are left to be regrouped, not {int(counts.sum())}")
        self._left, self._bin = counts, None if bins is None else where

    def know(self, cell: int, *, wrong: bool) -> None:
        """Take out a row that became known without being drawn."""
        self._take(cell)
        self._found += wrong
        self._rule_out()

    def observe(self, cell: int, *, wrong: bool, weights: npt.ArrayLike) -> None:
        """Bet on a drawn row of a cell, and learn whether it is wrong; `weights` are those it was drawn with."""
        w = np.asarray(weights, dtype=float)
        left = self._left
        if w.shape != left.shape or not np.all((w > 0.0) & np.isfinite(w) | (left == 0)):
            raise ParameterError("draw weights are positive and finite, one a cell")
        if not 0 <= cell < len(left) or left[cell] == 0:
            raise ParameterError(f"no row of cell {cell} is left to be drawn")
        first = int(np.searchsorted(self._grid, self._found, side="right"))
        if first < self._top:
            self._bet(slice(first, self._top), cell, wrong, w)
        self._curves.update(cell if self._bin is None else int(self._bin[cell]), wrong)
        self._take(cell)
        self._found += wrong
        self._rule_out()

    def _guess(self, level: FloatArray, share: FloatArray) -> FloatArray:
        guess = self._curves.guess(_BELOW * level)
        if self._bin is not None:
            guess = guess[:, self._bin]
        # Against a hypothesis below the guess there is no bet: bring the guess down.
        result: FloatArray = guess * np.minimum(_BELOW * level / (guess @ share), 1.0)[:, None]
        return result

    def _bet(self, tested: slice, cell: int, wrong: bool, weights: FloatArray) -> None:
        n_left = self.n_left
        share = self._left / n_left
        weight = weights / float(weights @ share)
        level = (self._grid[tested] - self._found) / n_left
        possible = level < 1.0  # where all that is left must be wrong, a right row settles it without a bet
        level = np.where(possible, level, 0.5)
        guess = self._guess(level, share)
        nu = self._nu[tested]
        cold = np.flatnonzero(nu == 0.0)
        if len(cold):
            nu = nu.copy()
            nu[cold] = tilt(share, weight, guess[cold], level[cold], nu[cold])
        paid, nu = bet(share, weight, guess, level, nu, cell=cell, wrong=wrong)
        log_m, tilts = self._log_m.copy(), self._nu.copy()
        log_m[tested] += np.where(possible, np.log(paid), 0.0)
        tilts[tested] = np.where(possible, nu, 0.0)
        self._log_m, self._nu = log_m, tilts

    def _take(self, cell: int) -> None:
        if not 0 <= cell < len(self._left) or self._left[cell] == 0:
            raise ParameterError(f"no row of cell {cell} is left")
        left = self._left.copy()
        left[cell] -= 1
        self._left = left

    def _rule_out(self) -> None:
        alive = self._alive & (self._log_m < self._threshold) & (self._grid <= self._found + self.n_left)
        self._alive = alive
        while self._top and not alive[self._top - 1]:
            self._top -= 1
