"""What uniform draws say about a share or about the errors of a finite population: by one look, and at all times.

One look: Clopper and Pearson, and the hypergeometric distribution. At all times: the ratio of a prior to its posterior
(Waudby-Smith and Ramdas 2020). Nothing but counts goes in.
"""

from __future__ import annotations

import math
from bisect import bisect_right

import numpy as np
from scipy.special import betaincinv, betaln

from bela.bounds._registry import BOUNDS, ROUNDING, Counts, Population, check_counts, check_inside
from bela.errors import ParameterError
from bela.records import FloatArray, IntArray

_LARGE = 1e4  # from here on three terms of Stirling's series are exact to the last bit
_NOTHING = 1e-18  # of the largest term: nothing is lost by leaving out the rest


def log_falling(n: float, k: float) -> float:
    """Return log(n (n-1) ... (n-k+1)); a difference of two log-gammas would lose all but five digits at n = 10^9.

    >>> abs(log_falling(10**9, 2) - math.log(10**9 * (10**9 - 1))) < 1e-12, log_falling(2, 3)
    (True, -inf)
    """
    if k > n:
        return -math.inf
    high, low = n + 1.0, n + 1.0 - k
    value = k * math.log(high) - k - (low - 0.5) * math.log1p(-k / high)
    return value + _remainder(high) - _remainder(low)


def _remainder(x: float) -> float:
    """Return log Gamma(x) minus Stirling's formula (x - 1/2) log x - x."""
    if x > _LARGE:
        return 0.5 * math.log(2.0 * math.pi) + 1.0 / (12.0 * x) - 1.0 / (360.0 * x**3)
    return math.lgamma(x) - ((x - 0.5) * math.log(x) - x)


_log_fallings = np.vectorize(log_falling, otypes=[float])


def share_lower(n_drawn: Counts, n_wrong: Counts, *, alpha: float) -> FloatArray:
    """Bound the share that is right from below, after n_drawn draws of which n_wrong were wrong.

    >>> round(float(share_lower(100, 0, alpha=0.05)), 4)
    0.9705

    Guarantee
    ---------
    ``Pr[share < bound] <= alpha`` over the draw of the sample, for one look at a sample size fixed beforehand.

    Assumes
    -------
    A uniform sample, with replacement or without (then it is conservative), drawn after what is measured was fixed.
    """
    check_inside("alpha", alpha)
    n, w = check_counts(n_drawn, n_wrong)
    return np.where(n == w, 0.0, betaincinv(np.maximum(n - w, 1), w + 1, alpha))


def errors_upper_one_look(n_drawn: Counts, n_wrong: Counts, *, population: int, alpha: float) -> IntArray:
    """Bound the number of wrong rows from above by a single look at a uniform sample.

    The largest number of errors with which n_wrong or fewer would be seen with a chance above alpha. It is the exact
    counterpart, for a finite population, of Clopper and Pearson's bound: nothing with one look does better.

    >>> int(errors_upper_one_look(100, 0, population=1000, alpha=0.05))
    28

    Guarantee
    ---------
    ``Pr[bound < E] <= alpha`` over the draw of the sample, for one look at a sample size fixed beforehand.

    Assumes
    -------
    A uniform sample without replacement, of a size that does not depend on what was seen, drawn after the labels were
    fixed.
    """
    check_inside("alpha", alpha)
    n, w = check_counts(n_drawn, n_wrong, population)
    threshold = math.log(alpha) - ROUNDING

    def upper(n_drawn: int, n_wrong: int) -> int:
        def excess(errors: int) -> float:
            return threshold - log_tail(errors, n_drawn=n_drawn, n_wrong=n_wrong, population=population)

        most = population - (n_drawn - n_wrong)
        return n_wrong + bisect_right(range(n_wrong + 1, most + 1), 0.0, key=excess)

    return np.asarray(np.vectorize(upper, otypes=[np.int64])(n.astype(np.int64), w.astype(np.int64)))


def log_tail(errors: int, *, n_drawn: int, n_wrong: int, population: int) -> float:
    """Return the logarithm of the chance that at most n_wrong of n_drawn rows are wrong, of `errors` in all."""
    right = population - errors
    least, most = max(0, n_drawn - right), min(n_wrong, errors)
    if most < least:
        return -math.inf
    # The terms rise to the likeliest number and fall from there: add them up on both sides of the largest.
    top = min(max((n_drawn + 1) * (errors + 1) // (population + 2), least), most)
    total = 1.0
    for step in (-1, 1):
        j, term = top, 1.0
        while least <= j + step <= most and term > _NOTHING:
            if step < 0:
                term *= j * (right - n_drawn + j) / ((errors - j + 1) * (n_drawn - j + 1))
            else:
                term *= (errors - j) * (n_drawn - j) / ((j + 1) * (right - n_drawn + j + 1))
            total += term
            j += step
    largest = _log_choose(errors, top) + _log_choose(right, n_drawn - top) - _log_choose(population, n_drawn)
    return largest + math.log(total)


def _log_choose(n: int, k: int) -> float:
    k = min(k, n - k)
    return log_falling(n, k) - math.lgamma(k + 1.0)


def log_prior_posterior(
    errors: Counts, *, n_drawn: Counts, n_wrong: Counts, population: int, a: float = 1.0, b: float = 1.0
) -> FloatArray:
    """Return log(prior / posterior) of a number of errors, for a beta-binomial prior; infinite if it is impossible.

    >>> log_prior_posterior([0, 5, 10], n_drawn=5, n_wrong=0, population=10).round(3).tolist()
    [-1.792, 3.738, inf]

    Guarantee
    ---------
    If `errors` rows are wrong, the ratio is a non-negative martingale that starts at 1: it ever reaches 1/alpha with
    probability at most alpha.

    Assumes
    -------
    The rows were drawn uniformly without replacement; a and b were fixed before.
    """
    e, n, w = (np.asarray(counts, dtype=float) for counts in (errors, n_drawn, n_wrong))
    log_beta = betaln(a + w, b + n - w) - betaln(a, b)  # the chance of these draws in this order, over the prior
    mean = log_beta + _log_fallings(population, n)
    return np.asarray(mean - _log_fallings(e, w) - _log_fallings(population - e, n - w))


def errors_upper(
    n_drawn: Counts, n_wrong: Counts, *, population: int, alpha: float, a: float = 1.0, b: float = 1.0
) -> IntArray:
    """Bound the number of wrong rows from above, after n_drawn draws of which n_wrong were wrong.

    Arrays of counts are looked at each for itself; `PriorPosterior` keeps the smallest bound of a sequence. The
    numbers that are not ruled out are an interval, as the likelihood has one peak. The prior is as if a errors and b
    right rows had been expected.

    >>> errors_upper([0, 100, 1000], [0, 0, 20], population=10**9, alpha=0.05).tolist()
    [1000000000, 73284369, 42149095]

    Guarantee
    ---------
    ``Pr[at some time, bound < E] <= alpha`` over the draws, for the number E of wrong rows of the population; any
    time, any stopping rule, exact for the finite population.

    Assumes
    -------
    Rows are drawn uniformly without replacement, and each draw's outcome is counted, in whatever order the draws
    were decided on; the labels, a, b and alpha are fixed before the first draw.
    """
    check_inside("alpha", alpha)
    if not (0.0 < a < math.inf and 0.0 < b < math.inf):
        raise ParameterError(f"the prior's a and b are positive numbers, not {a} and {b}")
    n, w = check_counts(n_drawn, n_wrong, population)

    def upper(n_drawn: int, n_wrong: int, log_beta: float) -> int:
        right, most = n_drawn - n_wrong, population - (n_drawn - n_wrong)
        fixed = log_beta + log_falling(population, n_drawn) - (math.log(1.0 / alpha) + ROUNDING)

        def excess(errors: int) -> float:
            return fixed - log_falling(errors, n_wrong) - log_falling(population - errors, right)

        # The likelihood's peak is never ruled out: the ratio there is at most 1.
        peak = min(max((population + 1) * n_wrong // max(n_drawn, 1), n_wrong), most)
        return peak + bisect_right(range(peak + 1, most + 1), 0.0, key=excess)

    log_beta = betaln(a + w, b + n - w) - betaln(a, b)  # the chance of these draws in this order
    return np.asarray(np.vectorize(upper, otypes=[np.int64])(n.astype(np.int64), w.astype(np.int64), log_beta))


@BOUNDS.register("prior-posterior")
class PriorPosterior(Population):
    """The bound of `errors_upper` kept over a sequence of draws: what has been ruled out stays so.

    >>> bound = PriorPosterior(1000, alpha=0.05)
    >>> for _ in range(100):
    ...     bound.observe(wrong=False)
    >>> bound.errors_upper, bound.found
    (69, 0)

    Guarantee
    ---------
    ``Pr[at some time, errors_upper < E] <= alpha`` over the draws; any time, any stopping rule.

    Assumes
    -------
    What `errors_upper` assumes; every draw is observed, those without an answer as wrong.
    """

    def __init__(self, sizes: Counts, *, alpha: float, a: float = 1.0, b: float = 1.0) -> None:
        super().__init__(sizes, alpha=alpha)
        self.a, self.b = a, b
        self._upper = self.population
        self._narrow()

    @property
    def errors_upper(self) -> int:
        """The bound on the errors of the whole population, those found included."""
        return max(self._upper, self.found)

    def observe(self, cell: int = 0, *, wrong: bool, weights: Counts | None = None) -> None:
        """Take in the next draw; weights, if any, are all the same."""
        if weights is not None and np.ptp(self._check_draw(cell, weights)[self.left > 0]) > 0:
            raise ParameterError("this bound takes uniform draws only: all weights are the same")
        self._take(cell, wrong)
        self._narrow()

    def _narrow(self) -> None:
        n_drawn = self.population - self.n_left
        upper = errors_upper(n_drawn, self.found, population=self.population, alpha=self.alpha, a=self.a, b=self.b)
        self._upper = min(self._upper, int(upper))


BOUNDS.add("clopper-pearson", share_lower)
BOUNDS.add("hypergeometric", errors_upper_one_look)
BOUNDS.add("errors-upper", errors_upper)
