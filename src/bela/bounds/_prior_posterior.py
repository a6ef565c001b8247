"""An upper bound on errors at all times, from uniform draws and nothing else (Waudby-Smith and Ramdas 2020)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from bela.bounds._log_counts import log_falling, log_falling_of_one
from bela.bounds._search import last_inside
from bela.errors import ParameterError
from bela.records import FloatArray, IntArray

_ROUNDING = 1e-9


def _check(alpha: float, a: float, b: float) -> None:
    if not 0.0 < alpha < 1.0:
        raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
    if not (math.isfinite(a) and math.isfinite(b) and a > 0.0 and b > 0.0):
        raise ParameterError(f"the prior's a and b are positive numbers, not {a} and {b}")


def log_prior_posterior(
    errors: npt.ArrayLike,
    *,
    n_drawn: npt.ArrayLike,
    n_wrong: npt.ArrayLike,
    population: int,
    a: float = 1.0,
    b: float = 1.0,
) -> FloatArray:
    """Return log(prior / posterior) of a number of errors, for a beta-binomial prior; infinite if it is impossible.

    Guarantee
    ---------
    If `errors` rows are wrong, the ratio is a non-negative martingale that starts at 1: it ever reaches 1/alpha with
    probability at most alpha.

    Assumes
    -------
    The rows were drawn uniformly without replacement; a and b were fixed before.

    Examples
    --------
    >>> log_prior_posterior([0, 5, 10], n_drawn=5, n_wrong=0, population=10).round(3).tolist()
    [-1.792, 3.738, inf]
    """
    e = np.asarray(errors, dtype=float)
    n, w = np.asarray(n_drawn, dtype=float), np.asarray(n_wrong, dtype=float)
    mean = betaln(a + w, b + n - w) - betaln(a, b)  # the chance of these draws in this order, over the prior
    result: FloatArray = mean + log_falling(population, n) - log_falling(e, w) - log_falling(population - e, n - w)
    return result


def errors_upper(
    n_drawn: npt.ArrayLike,
    n_wrong: npt.ArrayLike,
    *,
    population: int,
    alpha: float,
    a: float = 1.0,
    b: float = 1.0,
) -> IntArray:
    """Bound the number of wrong rows from above, after n_drawn draws of which n_wrong were wrong.

    Arrays of counts are looked at each for itself; `PriorPosterior` keeps the smallest bound of a sequence. The
    set of numbers that are not ruled out is an interval, as the likelihood has one peak, so halving finds its end.

    Guarantee
    ---------
    ``Pr[at some time, bound < E] <= alpha`` over the draws, for the number E of wrong rows of the population; any
    time, any stopping rule, exact for the finite population.

    Assumes
    -------
    Rows are drawn uniformly without replacement, and each draw's outcome is counted, in whatever order the draws
    were decided on; the labels, a, b and alpha are fixed before the first draw.

    Examples
    --------
    >>> errors_upper([0, 100, 1000], [0, 0, 20], population=10**9, alpha=0.05).tolist()
    [1000000000, 73284369, 42149095]
    """
    _check(alpha, a, b)
    n, w = np.broadcast_arrays(np.asarray(n_drawn), np.asarray(n_wrong))
    if np.any(w < 0) or np.any(w > n) or np.any(n > population):
        raise ParameterError("counts satisfy 0 <= n_wrong <= n_drawn <= population")
    if n.ndim == 0:
        return np.asarray(errors_upper_of_one(int(n), int(w), population=population, alpha=alpha, a=a, b=b))
    threshold = math.log(1.0 / alpha) + _ROUNDING
    # The likelihood's peak is never ruled out: the ratio there is at most 1.
    peak = np.floor((population + 1) * (w / np.maximum(n, 1))).astype(np.int64)
    low = np.clip(peak, w, population - (n - w)).astype(np.int64)
    high = (population - (n - w) + 1).astype(np.int64)  # more errors than there is room for
    for _ in range(max(population, 1).bit_length() + 1):
        middle = (low + high) // 2
        inside = log_prior_posterior(middle, n_drawn=n, n_wrong=w, population=population, a=a, b=b) < threshold
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    result: IntArray = low
    return result


def errors_upper_of_one(n_drawn: int, n_wrong: int, *, population: int, alpha: float, a: float, b: float) -> int:
    """Return `errors_upper` of one pair of counts, some hundred times as fast."""
    n, w, right = float(n_drawn), float(n_wrong), float(n_drawn - n_wrong)
    fixed = float(betaln(a + w, b + right)) - float(betaln(a, b)) + log_falling_of_one(population, n)
    fixed -= math.log(1.0 / alpha) + _ROUNDING

    def excess(errors: int) -> float:
        return fixed - log_falling_of_one(errors, w) - log_falling_of_one(population - errors, right)

    most = population - (n_drawn - n_wrong)
    peak = min(max((population + 1) * n_wrong // max(n_drawn, 1), n_wrong), most)
    spread = population * math.sqrt((w + 1.0) * (right + 1.0) / (n + 2.0) ** 3)
    return last_inside(excess, peak, most + 1, 3.0 * spread)


class PriorPosterior:
    """The bound of `errors_upper` kept over a sequence of draws: what has been ruled out stays so.

    Parameters
    ----------
    population
        The number of rows.
    alpha
        The allowed failure probability.
    a, b
        The beta-binomial prior: as if a errors and b right rows had been expected. Flat by default.

    Guarantee
    ---------
    ``Pr[at some time, errors_upper < E] <= alpha`` over the draws; any time, any stopping rule.

    Assumes
    -------
    Rows are drawn uniformly without replacement, every draw is observed, those without an answer as wrong; the labels,
    a, b and alpha are fixed before the first draw.

    Examples
    --------
    >>> bound = PriorPosterior(1000, alpha=0.05)
    >>> for _ in range(100):
    ...     bound.observe(wrong=False)
    >>> bound.errors_upper, bound.found
    (69, 0)
    """

    def __init__(self, population: int, *, alpha: float, a: float = 1.0, b: float = 1.0) -> None:
        _check(alpha, a, b)
        if population < 0:
            raise ParameterError(f"a population has no negative number of rows, such as {population}")
        self.population, self.alpha, self.a, self.b = population, alpha, a, b
        self._n_drawn, self._n_wrong, self._upper = 0, 0, population

    @property
    def found(self) -> int:
        """How many drawn rows were wrong."""
        return self._n_wrong

    @property
    def n_drawn(self) -> int:
        """How many rows were drawn."""
        return self._n_drawn

    @property
    def errors_upper(self) -> int:
        """The bound on the errors of the whole population, those found included."""
        return max(self._upper, self._n_wrong)

    def observe(self, *, wrong: bool) -> None:
        """Take in the next draw."""
        if self._n_drawn == self.population:
            raise ParameterError(f"all {self.population} rows have been drawn")
        self._n_drawn += 1
        self._n_wrong += wrong
        upper = errors_upper_of_one(
            self._n_drawn, self._n_wrong, population=self.population, alpha=self.alpha, a=self.a, b=self.b
        )
        self._upper = min(self._upper, upper)
