"""Where an excess changes its sign, in whole numbers, with few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable

_BISECT = 3  # every so many steps the interval is halved, whatever the secant says: no worse than thrice halving


def last_inside(excess: Callable[[int], float], low: int, high: int, step: float) -> int:
    """Return the largest whole number below `high` whose excess is not positive; `low` has none, whatever is computed.

    The excess rises from `low` on; it may be infinite. From `low` it is looked for in steps that double, then between
    the last two by secants (Illinois), with some halvings, so that some ten evaluations find one number of 10^9.

    Parameters
    ----------
    excess
        The function.
    low, high
        A number inside, and one outside.
    step
        How far the end is from `low`, roughly.

    Examples
    --------
    >>> last_inside(lambda x: x * x - 10**12 - 1, 0, 10**9, 1.0)
    1000000
    """
    f_low, f_high = excess(low), math.inf
    stride = max(1, math.ceil(step))
    while low + stride < high:
        value = excess(low + stride)
        if value > 0:
            high, f_high = low + stride, value
            break
        low, f_low = low + stride, value
        stride *= 2
    turn, kept = 0, 0  # kept: the side that the last steps left alone
    while high - low > 1:
        turn += 1
        if turn % _BISECT and math.isfinite(f_high) and f_high > f_low:
            middle = low + round((high - low) * -f_low / (f_high - f_low)) if f_low < 0 else low + 1
        else:
            middle = (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        value = excess(middle)
        if value > 0:
            high, f_high = middle, value
            f_low = f_low / 2 if kept == -1 else f_low
            kept = -1
        else:
            low, f_low = middle, value
            f_high = f_high / 2 if kept == 1 else f_high
            kept = 1
    return low
