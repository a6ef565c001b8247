"""What one look at a sample of a finite population says about its errors, exactly."""

from __future__ import annotations

import math

from bela.bounds._log_counts import log_falling_of_one
from bela.bounds._search import last_inside
from bela.errors import ParameterError

_NOTHING = 1e-18  # of the largest term: nothing is lost by leaving out the rest
_ROUNDING = 1e-9


def log_tail(errors: int, *, n_drawn: int, n_wrong: int, population: int) -> float:
    """Return the logarithm of the chance that at most n_wrong of n_drawn rows are wrong, of `errors` in all.

    Examples
    --------
    >>> round(math.exp(log_tail(5, n_drawn=5, n_wrong=0, population=10)) * math.comb(10, 5), 9)
    1.0
    """
    right = population - errors
    least, most = max(0, n_drawn - right), min(n_wrong, errors)
    if most < least:
        return -math.inf
    # The terms rise to the likeliest number and fall from there: add them up on both sides of the largest.
    likeliest = (n_drawn + 1) * (errors + 1) // (population + 2)
    top = min(max(likeliest, least), most)
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
    return log_falling_of_one(n, k) - math.lgamma(k + 1.0)


def errors_upper_one_look(n_drawn: int, n_wrong: int, *, population: int, alpha: float) -> int:
    """Bound the number of wrong rows from above by a single look at a uniform sample.

    The largest number of errors with which n_wrong or fewer would be seen with a chance above alpha. It is the exact
    counterpart, for a finite population, of Clopper and Pearson's bound: nothing with one look does better.

    Guarantee
    ---------
    ``Pr[bound < E] <= alpha`` over the draw of the sample, for one look at a sample size fixed beforehand.

    Assumes
    -------
    A uniform sample without replacement, drawn after the labels were fixed, of a size that does not depend on
    what was seen.

    Examples
    --------
    >>> errors_upper_one_look(100, 0, population=1000, alpha=0.05)
    28
    >>> errors_upper_one_look(1000, 20, population=10**9, alpha=0.05)
    28930118
    """
    if not 0.0 < alpha < 1.0:
        raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
    if not 0 <= n_wrong <= n_drawn <= population:
        raise ParameterError("counts satisfy 0 <= n_wrong <= n_drawn <= population")
    threshold = math.log(alpha) - _ROUNDING

    def excess(errors: int) -> float:
        return threshold - log_tail(errors, n_drawn=n_drawn, n_wrong=n_wrong, population=population)

    spread = population * math.sqrt((n_wrong + 1.0) * (n_drawn - n_wrong + 1.0) / (n_drawn + 2.0) ** 3)
    start = min(max(population * n_wrong // max(n_drawn, 1), n_wrong), population - (n_drawn - n_wrong))
    if excess(start) > 0:  # a large alpha: the end is below
        start = n_wrong
    return last_inside(excess, start, population - (n_drawn - n_wrong) + 1, 2.0 * spread)
