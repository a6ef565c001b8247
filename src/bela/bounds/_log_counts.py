"""Logarithms of counts that keep their last digits at a thousand million rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from bela.records import FloatArray

_LARGE = 1e4  # from here on three terms of Stirling's series are exact to the last bit


def _remainder(x: FloatArray) -> FloatArray:
    """Return log Gamma(x) minus Stirling's formula (x - 1/2) log x - x."""
    large = np.maximum(x, _LARGE)
    series = 0.5 * np.log(2.0 * np.pi) + 1.0 / (12.0 * large) - 1.0 / (360.0 * large**3)
    small = np.minimum(x, _LARGE)
    result: FloatArray = np.where(x > _LARGE, series, gammaln(small) - ((small - 0.5) * np.log(small) - small))
    return result


def _remainder_of_one(x: float) -> float:
    if x > _LARGE:
        return 0.5 * math.log(2.0 * math.pi) + 1.0 / (12.0 * x) - 1.0 / (360.0 * x**3)
    return math.lgamma(x) - ((x - 0.5) * math.log(x) - x)


def log_falling_of_one(n: float, k: float) -> float:
    """Return `log_falling` of one pair of numbers, in a microsecond."""
    if k > n:
        return -math.inf
    high = n + 1.0
    low = high - k
    value = k * math.log(high) - k - (low - 0.5) * math.log1p(-k / high)
    return value + _remainder_of_one(high) - _remainder_of_one(low)


def log_falling(n: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
    """Return log(n (n-1) ... (n-k+1)) for 0 <= k, and minus infinity where k > n.

    A difference of two log-gammas would lose all digits after the fifth at n = 10^9.

    Examples
    --------
    >>> import math
    >>> abs(float(log_falling(10**9, 2)) - math.log(10**9 * (10**9 - 1))) < 1e-12, float(log_falling(2, 3))
    (True, -inf)
    """
    total, taken = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(k, dtype=float))
    fits = taken <= total
    high = np.where(fits, total, taken) + 1.0
    low = high - taken
    value = taken * np.log(high) - taken - (low - 0.5) * np.log1p(-taken / high)
    value += _remainder(high) - _remainder(low)
    result: FloatArray = np.where(fits, value, -np.inf)
    return result
