"""Bets against every number of errors at once, on weighted draws: to certify that few are wrong, or refute it."""

import copy
import math

import numpy as np

from bela.bounds._mending import HESITATION, best_power, mending_weights, needs_mending
from bela.bounds._projection import bet, even_weights, tilt
from bela.bounds._registry import BOUNDS, Counts, Population
from bela.errors import ParameterError
from bela.records import BoolArray, FloatArray, IntArray

_BELOW = 0.97  # a guess is kept below this share of the hypothesis that it bets against
_EVEN = 0.1  # of the draws, spread over all rows alike, lest a wrong guess starve a bin
_RATIO = 1.04
_SMALL = 24
_FINEST = 10**6  # no practical number of draws tells shares of errors closer than this apart
_STEEPNESS = np.array([0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 8.0, 10.0, 12.0])
_N_LEVELS = 44
_SPREAD = 0.03  # of an expert's level, spread evenly over the bins, so that no bin is ever called faultless
_DOUBT = 0.05  # of the prior, spread evenly over the experts, so that a wrong prior costs 6 nats at most
_OWN = 200.0  # draws after which a bin's own record weighs as much as the curves
_SURELY: FloatArray = np.array([0.3])  # quantile of the errors: even with so few, some must be found
_FLOOR = 1e-280  # of a weight: keeps the mixture of low levels defined when all of them have been refuted

_STAKES: FloatArray = 0.1 * 2.0 ** np.arange(9)  # of a bet on a lower bound; its fortune is the mean over all of them
_MOST = 0.9  # of what may be staked at all, lest one right row ruins a bet


def error_grid(population: int, aim: int | None = None) -> IntArray:
    """Choose the numbers of errors to bet against: all small ones, then steps of 4 %, finer above the aim.

    >>> error_grid(10_000)[[0, 1, 23, 24, 34, -1]].tolist(), len(error_grid(10**9, aim=10**7))
    ([1, 2, 24, 25, 37, 10000], 329)
    """
    unit = max(1, population // _FINEST)
    steps = math.ceil(math.log(max(population / (_SMALL * unit), 1.0)) / math.log(_RATIO)) + 1
    near = np.rint((0 if aim is None else aim + 1) * np.linspace(1.0, 1.2, 33))
    points = [unit * np.arange(1, _SMALL + 1), np.rint(_SMALL * unit * _RATIO ** np.arange(steps)), [population], near]
    grid = np.unique(np.concatenate([np.asarray(p, dtype=np.int64) for p in points]))
    return grid[(grid >= 1) & (grid <= population)]


class ErrorCurves:
    """What share of each bin a labelling gets wrong, learnt from answers one at a time.

    The experts are curves logit g = c - k sqrt(u), with u the bin's middle rank by confidence (0: least sure), for
    several steepnesses k and mean levels. The guess of a bin is the mixture's, drawn towards the bin's own
    record. Nothing that rests on a guess is valid because the guess is good; a good one makes bounds tight.

    `seen` and `wrong` are what training answers say beforehand: for each bin, the least confident first, how many were
    like a draw from it, and of these how many were wrong. Fractions are welcome. `trust` is the power to which that
    evidence is taken: cross-validated outcomes are worth less than draws.
    """

    def __init__(
        self, sizes: IntArray, *, seen: Counts | None = None, wrong: Counts | None = None, trust: float = 0.7
    ) -> None:
        share = np.asarray(sizes, dtype=float) / max(float(np.sum(sizes)), 1.0)
        self.n_bins = n_bins = len(share)
        middle = np.cumsum(share) - 0.5 * share
        lowest = min(1e-3, max(1.0 / max(float(np.sum(sizes)), 2.0), 1e-6))
        ends = math.log(lowest / (1.0 - lowest)), math.log(0.97 / 0.03)
        self.levels: FloatArray = 1.0 / (1.0 + np.exp(-np.linspace(*ends, _N_LEVELS)))
        slope = -_STEEPNESS[None, :, None] * np.sqrt(middle)
        level = self.levels[:, None, None]
        high = np.full((_N_LEVELS, len(_STEEPNESS), 1), 30.0)
        low = -high
        for _ in range(40):
            c = 0.5 * (low + high)
            above = (1.0 / (1.0 + np.exp(-(c + slope)))) @ share[:, None] > level
            low, high = np.where(above, low, c), np.where(above, c, high)
        curves = 1.0 / (1.0 + np.exp(-(0.5 * (low + high) + slope)))
        self._curves: FloatArray = np.clip((1.0 - _SPREAD) * curves + _SPREAD * level, 1e-12, 1.0 - 1e-9)
        self._log_wrong, self._log_right = np.log(self._curves), np.log1p(-self._curves)
        self._log_weight: FloatArray = np.zeros(self._curves.shape[:2])
        self._mixed: FloatArray | None = None
        self._seen = self._wrong = np.zeros(n_bins)
        if seen is not None:
            n, w = np.asarray(seen, dtype=float), np.asarray(self._wrong if wrong is None else wrong, dtype=float)
            if n.shape != (n_bins,) or w.shape != (n_bins,) or np.any(w < 0) or np.any(w > n):
                raise ParameterError("prior evidence has one count a bin, of which none to all are wrong")
            evidence = trust * (self._log_wrong @ w + self._log_right @ (n - w))
            prior = np.exp(evidence - evidence.max())
            self._log_weight = np.log((1.0 - _DOUBT) * prior / prior.sum() + _DOUBT / prior.size)

    def update(self, bin_: int, wrong: bool) -> None:
        """Learn the outcome of one row; arrays are replaced, never changed, so that a copy stays as it is."""
        log_weight = self._log_weight + (self._log_wrong if wrong else self._log_right)[:, :, bin_]
        self._log_weight = log_weight - log_weight.max()
        here = np.arange(self.n_bins) == bin_
        self._seen, self._wrong = self._seen + here, self._wrong + (here & wrong)
        self._mixed = None

    def guess(self, level: FloatArray) -> FloatArray:
        """Guess each bin's share of errors, given that the share of all rows is below a level; one row a level."""
        if self._mixed is None:
            weight = np.maximum(np.exp(self._log_weight), _FLOOR)
            mixed = np.cumsum((weight[:, None, :] @ self._curves)[:, 0, :], axis=0)
            mixed /= np.cumsum(weight.sum(axis=1))[:, None]
            self._mixed = (_OWN * mixed + self._wrong) / (_OWN + self._seen)
        return self._mixed[np.maximum(np.searchsorted(self.levels, level, side="right") - 1, 0)]

    def likely(self, quantiles: FloatArray) -> FloatArray:
        """Return shares of errors in each bin, one row a quantile of the overall share."""
        mean: FloatArray = self.guess(np.ones(1))[0]
        weight = np.exp(self._log_weight - self._log_weight.max()).sum(axis=1)
        overall = float(weight @ self.levels) / float(weight.sum())
        # Levels are a third apart, which near a target is all the difference: each stands for those half way to the
        # next.
        places = np.log(self.levels / (1.0 - self.levels))
        edges = np.concatenate([places[:1], 0.5 * (places[1:] + places[:-1]), places[-1:]])
        below = np.concatenate([[0.0], np.cumsum(weight) / weight.sum()])
        levels: FloatArray = 1.0 / (1.0 + np.exp(-np.interp(quantiles, below, edges)))
        return np.asarray(np.clip(mean * (levels / overall)[:, None], 1e-5, 0.98))


@BOUNDS.register("bets")
class ErrorBets(Population):
    """An upper bound on how many rows of a population are wrong, better with every draw, true at all times.

    The population is cut into bins of confidence, the least confident first. Against each number n_k of a
    grid runs a product M_k of bets (`bela.bounds._projection`) that is expected not to grow while at least n_k rows are
    wrong. Once M_k reaches 1/alpha, n_k is ruled out for good.

    Rows that become known without being drawn (`know`) leave the population, whatever they were chosen by. For draws
    made in other bins than today's, regroup the rows into cells (`regroup`), each within one of today's bins.

    `seen` and `wrong` are evidence from training answers for each bin (see `ErrorCurves`), which shapes the bets and
    need not be true. `aim` is how many errors may stay in the rows that nobody has seen: weights and grid are tuned to
    show no more, and to find more errors than that first where the drawn rows are to `mend` the labels. `against` puts
    one number in place of the grid: the bound falls below it, or stays at all rows. With `least`, nothing is bet
    against fewer errors than that: the bound does not fall further, and what the bets are `worth` is known.

    Where outcomes are decided by somebody who may know later draws, such as of several that are open at once, further
    bets must not rest on them before that draw is over: `observe` and `know` them without `learning`, and `learn` each
    when the next draw was made after it.

    >>> bets = ErrorBets([1000, 4000, 5000], alpha=0.05)
    >>> for _ in range(60):  # always the least confident bin, as if by chance
    ...     bets.observe(0, wrong=False, weights=bets.weights())
    >>> bets.errors_upper < 1000, bets.found, bets.n_left
    (True, 0, 9940)

    Guarantee
    ---------
    ``Pr[at some time, errors_upper < E] <= alpha`` over the draws, for the number E of errors in the population at the
    start; any time, any stopping rule.

    Assumes
    -------
    Labels, bins and alpha are fixed before the first draw that is observed, or are independent of these draws. At each
    draw, every row that is neither drawn nor known had a chance proportional to the weight of its cell, and the weights
    were fixed before the draw. Draws are observed in their order, every one of them, those without an answer as wrong.
    What was learnt before a draw did not depend on it; whether a right row counts as wrong may, also on later ones.
    """

    def __init__(
        self, sizes: Counts, *, alpha: float, seen: Counts | None = None, wrong: Counts | None = None,
        aim: int | None = None, against: int | None = None, least: int = 1, mend: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(sizes, alpha=alpha)
        self.aim, self.mend, self._least = aim, mend, least
        self._bin: IntArray | None = None  # of each cell; None: cells are bins
        self._curves = ErrorCurves(self.left, seen=seen, wrong=wrong)
        grid = error_grid(self.population, aim) if against is None else np.array([against], dtype=np.int64)
        self._grid = grid[grid >= least]
        self._log_m: FloatArray = np.zeros(len(self._grid))
        self._nu: FloatArray = self._log_m
        self._alive: BoolArray = np.ones(len(self._grid), dtype=bool)  # not ruled out yet
        self._top = len(self._grid)  # one past the largest number that is not ruled out
        self._learnt = 0  # errors found that bets rest on

    @property
    def errors_upper(self) -> int:
        """The bound on the errors of the whole population at the start, those found included."""
        upper = self.population if self._top == len(self._grid) else int(self._grid[self._top]) - 1
        return max(min(upper, self.found + self.n_left), self.found)

    @property
    def worth(self) -> float:
        """The least product against a number of errors that it could rule out, 1 at most: what is left of its alpha.

        Whoever stops betting for good may stake this share of alpha on something else.
        """
        return math.exp(min(float(self._log_m.min(initial=0.0)), 0.0))

    def copy(self) -> "ErrorBets":
        """Return a twin that goes its own way: to look ahead, or to undo."""
        twin = copy.copy(self)
        twin._curves = copy.copy(self._curves)
        return twin

    def remaining_upper(self, n_unanswered: int = 0) -> int:
        """Bound the errors that are left once those found are corrected, `n_unanswered` of which nobody can correct."""
        return self.errors_upper - self.found + n_unanswered

    def weights(self, level: float | None = None) -> FloatArray:
        """Propose draw weights for the rows of each bin, of mean 1 over the rows left.

        They are those that refute soonest that a share `level` of the rows left is wrong, by default as many as matter.
        Where there are most likely so many errors that some must be found, rows that are likely wrong are drawn most:
        not before, as draws that look for errors show later that there are few. Any other positive weights are as
        valid, if they are fixed before the draw: record what was used.
        """
        if self._bin is not None:
            raise ParameterError("weights are proposed for bins: regroup the rows that are left into bins first")
        n_left = self.n_left
        if not n_left:
            return np.ones(len(self.left))
        share = self.left / n_left
        if level is not None:
            return self._even(level, share)
        target = min(self.errors_upper - self.found, math.inf if self.aim is None else self.aim + 1)
        likely = self._curves.likely(_SURELY)[0] if self.aim is not None and self.mend else None
        if self.aim is None or likely is None or not needs_mending(self.left, likely, self.aim):
            return self._even(max(target, 1) / n_left, share)
        expected: FloatArray = self._curves.guess(np.ones(1))[0]
        nats = self._threshold + HESITATION - max(self.nats_won(self.aim + 1 + self.found), 0.0)
        return mending_weights(self.left, expected, best_power(self.left, expected, self.aim, nats))

    def _even(self, level: float, share: FloatArray) -> FloatArray:
        level = min(level, 1.0 - 1e-9)
        return _EVEN + (1.0 - _EVEN) * even_weights(share, self._guess(np.array([level]), share)[0], level)

    def nats_won(self, n_errors: int) -> float:
        """Return what was won against "there are at least so many errors", in nats; infinite beyond the grid.

        Against fewer than the `least`, nothing was.
        """
        place = int(np.searchsorted(self._grid, n_errors))
        if place == len(self._grid):
            return math.inf
        return float(self._log_m[place]) if n_errors >= self._least else 0.0

    def regroup(self, left: Counts, bins: Counts | None = None) -> None:
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
        self.left, self._bin = counts, None if bins is None else where

    def know(self, cell: int, *, wrong: bool, learning: bool = True) -> None:
        """Take out a row that became known without being drawn."""
        self._take(cell, wrong)
        if learning:
            self.learn(wrong=wrong)
        self._rule_out()

    def learn(self, *, wrong: bool, bin_: int | None = None) -> None:
        """Let further bets rest on what was said of a row, at first, with the bin that it was drawn from, if it was."""
        self._learnt += wrong
        if bin_ is not None:
            self._curves.update(bin_, wrong)

    def observe(self, cell: int, *, wrong: bool, weights: Counts, learning: bool = True) -> None:
        """Bet on a drawn row of a cell, and learn whether it is wrong; `weights` are those it was drawn with."""
        w = self._check_draw(cell, weights)
        first = int(np.searchsorted(self._grid, self.found, side="right"))
        if first < self._top:
            self._bet(slice(first, self._top), cell, wrong, w)
        if learning:
            self.learn(wrong=wrong, bin_=cell if self._bin is None else int(self._bin[cell]))
        self._take(cell, wrong)
        self._rule_out()

    def _guess(self, level: FloatArray, share: FloatArray) -> FloatArray:
        guess = self._curves.guess(_BELOW * level)[:, slice(None) if self._bin is None else self._bin]
        # Against a hypothesis below the guess there is no bet: bring the guess down.
        return guess * np.minimum(_BELOW * level / (guess @ share), 1.0)[:, None]

    def _bet(self, tested: slice, cell: int, wrong: bool, weights: FloatArray) -> None:
        n_left = self.n_left
        share = self.left / n_left
        weight = weights / float(weights @ share)
        level = np.maximum(self._grid[tested] - self._learnt, 0.5) / n_left  # as it was when the draw was made
        possible = level < 1.0  # where all that is left must be wrong, a right row settles it without a bet
        level = np.where(possible, level, 0.5)
        now = level if self._learnt == self.found else (self._grid[tested] - self.found) / n_left
        guess = self._guess(level, share)
        nu = self._nu[tested].copy()
        cold = np.flatnonzero(nu == 0.0)
        if len(cold):
            nu[cold] = tilt(share, weight, guess[cold], level[cold], nu[cold])
        paid, nu = bet(share, weight, guess, now, nu, cell=cell, wrong=wrong, planned=level)
        log_m, tilts = self._log_m.copy(), self._nu.copy()
        log_m[tested] += np.where(possible, np.log(paid), 0.0)
        tilts[tested] = np.where(possible, nu, 0.0)
        self._log_m, self._nu = log_m, tilts

    def _rule_out(self) -> None:
        self._alive = self._alive & (self._log_m < self._threshold) & (self._grid <= self.found + self.n_left)
        while self._top and not self._alive[self._top - 1]:
            self._top -= 1


@BOUNDS.register("errors-lower")
class ErrorsLower(Population):
    """A lower bound on how many rows of a population are wrong, better with every draw, true at all times.

    Against each number n of a grid runs a mean M of products of bets 1 + k (y - r) for several stakes k, where y is 1/x
    for a wrong row and 0 for a right one, x the row's chance to be drawn relative to the mean over the rows left, and r
    the share of the rows left that would be wrong if n were in all. Once M reaches 1/alpha, "at most n are wrong" is
    ruled out for good.

    `aim` is the number of errors that the bound shall rise above: the grid is finest there.

    >>> bound = ErrorsLower(10_000, alpha=0.05, aim=500)
    >>> for i in range(100):
    ...     bound.observe(0, wrong=i % 5 == 0, weights=[1.0])
    >>> 500 < bound.errors_lower < 2000, bound.found
    (True, 20)

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
    """

    def __init__(self, sizes: Counts, *, alpha: float, aim: int | None = None) -> None:
        super().__init__(sizes, alpha=alpha)
        if self.population < 1:
            raise ParameterError(f"a population has at least one row, not {self.population}")
        near = np.rint((aim or 0) * np.linspace(0.8, 1.0, 17)).astype(np.int64)
        grid: IntArray = np.unique(np.concatenate([[0], error_grid(self.population), near]))
        self._grid = grid[grid < self.population]
        self._log_m: FloatArray = np.zeros((len(self._grid), len(_STAKES)))
        self._out: BoolArray = np.zeros(len(self._grid), dtype=bool)
        self._lower = 0

    @property
    def errors_lower(self) -> int:
        """The bound on the errors of the whole population, those found included."""
        return min(max(self._lower, self.found), self.found + self.n_left)

    def observe(self, cell: int, *, wrong: bool, weights: Counts) -> None:
        """Bet on a drawn row of a cell, and learn whether it is wrong; `weights` are those it was drawn with."""
        w = self._check_draw(cell, weights)
        x = float(w[cell] * self.left.sum() / (w @ self.left))  # the row's chance relative to the mean
        share = (self._grid - self.found) / self.n_left
        open_ = ~self._out & (share >= 0.0) & (share < 1.0)  # a share of 1 and above cannot be refuted yet
        r = share[open_][:, None]
        stake = np.minimum(_STAKES, _MOST / np.maximum(r, 1e-12))
        self._log_m[open_] += np.log1p(stake * ((1.0 / x if wrong else 0.0) - r))
        self._take(cell, wrong)
        largest = self._log_m.max(axis=1)
        mean = largest + np.log(np.exp(self._log_m - largest[:, None]).mean(axis=1))
        self._out |= (mean >= self._threshold) | (self._grid < self.found)
        first = int(np.argmin(self._out)) if not self._out.all() else len(self._out)  # the first not ruled out
        self._lower = max(self._lower, int(self._grid[first - 1]) + 1 if first else 0)
