"""Shares of rows: how they are shown to people, and how many rows they are."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

_NEAR_ALL = 0.99  # from here on a tenth of a per cent is much of what is left


def round_bound(share: float, digits: int, *, up: bool = False) -> Decimal:
    """Return a bound with so many digits after the point, never better than it is: a lower one is rounded down.

    >>> str(round_bound(0.949996, 5)), str(round_bound(0.29, 2)), str(round_bound(0.050001, 3, up=True))
    ('0.94999', '0.29', '0.051')
    """
    exact = Decimal(repr(float(share)))  # as it is written: 0.29 means 29 in a hundred, whatever its binary digits say
    return exact.quantize(Decimal(10) ** -digits, ROUND_CEILING if up else ROUND_FLOOR)


def share_text(share: float, digits: int | None = None, *, up: bool = False) -> str:
    """Return a bound in per cent, never better than it is: a lower one is rounded down, an upper one up.

    It has one digit after the point, two from 99 % on, or as many as are asked for.

    >>> share_text(0.9499), share_text(0.95), share_text(0.99959), share_text(0.0501, up=True)
    ('94.9 %', '95.0 %', '99.95 %', '5.1 %')
    """
    digits = digits if digits is not None else 2 if share >= _NEAR_ALL else 1
    return f"{round_bound(share, digits + 2, up=up).scaleb(2):f} %"


def percent_text(share: float) -> str:
    """Return a share that somebody has chosen, such as a target, in per cent: all of its digits, and no more.

    >>> percent_text(0.95), percent_text(0.9995)
    ('95 %', '99.95 %')
    """
    return f"{100 * share:.10g} %"


def allowed_errors(n_rows: int, target: float) -> int:
    """Return how many of the rows may be wrong; 0.95 means 95 in a hundred, whatever its binary digits say.

    >>> allowed_errors(60_000, 0.95), allowed_errors(100, 0.9), allowed_errors(99, 0.9)
    (3000, 10, 9)
    """
    return math.floor((1 - Fraction(str(float(target)))) * n_rows)
