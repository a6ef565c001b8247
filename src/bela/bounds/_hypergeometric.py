"""What one look at a sample of a finite population says about its errors, exactly."""

from __future__ import annotations

import math

import numpy as np

from bela.bounds._log_counts import log_falling
from bela.errors import ParameterError


def log_tail(errors: int, *, n_drawn: int, n_wrong: int, population: int) -> float:
    """Return the logarithm of the chance that at most n_wrong of n_drawn rows are wrong, of `errors` in all.

    Examples
    --------
    >>> round(math.exp(log_tail(5, n_drawn=5, n_wrong=0, population=10)) * math.comb(10, 5), 9)
    1.0
    """
    j = np.arange(n_wrong + 1)
    choices = log_falling(n_drawn, j) - log_falling(j, j)
    terms = choices + log_falling(errors, j) + log_falling(population - errors, n_drawn - j)
    largest = float(terms.max())
    if largest == -math.inf:
        return -math.inf
    return largest + math.log(float(np.exp(terms - largest).sum())) - float(log_falling(population, n_drawn))


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
    threshold = math.log(alpha)
    low, high = n_wrong, population - (n_drawn - n_wrong) + 1
    while high - low > 1:  # the tail falls as errors rise
        middle = (low + high) // 2
        if log_tail(middle, n_drawn=n_drawn, n_wrong=n_wrong, population=population) > threshold - 1e-9:
            low = middle
        else:
            high = middle
    return low
