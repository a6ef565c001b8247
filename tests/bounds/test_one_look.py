"""The exact bound of one look: exact arithmetic, exact coverage, laws, a broken twin."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.bounds._uniform import errors_upper_one_look, log_tail, share_lower
from bela.errors import ParameterError


def chance(errors: int, n: int, w: int, population: int) -> Fraction:
    """The hypergeometric chance of exactly w wrong rows, in whole numbers."""
    return Fraction(math.comb(errors, w) * math.comb(population - errors, n - w), math.comb(population, n))


@pytest.mark.parametrize("population", [1, 5, 12])
def test_equal_to_the_definition(population: int) -> None:
    """Halving on logarithms finds what trying every number of errors in whole numbers finds; ties go the safe way."""
    for n in range(population + 1):
        for w in range(n + 1):
            for alpha in (Fraction(5, 101), Fraction(31, 101)):
                tails = {e: sum(chance(e, n, j, population) for j in range(w + 1)) for e in range(population + 1)}
                possible = range(w, population - (n - w) + 1)
                expected = max((e for e in possible if tails[e] > alpha), default=w)
                assert errors_upper_one_look(n, w, population=population, alpha=float(alpha)) == expected


def worst_failure(population: int, n: int, alpha: float, slack: int = 0) -> float:
    """The exact failure probability of one look, for the worst number of errors."""
    bounds = [errors_upper_one_look(n, w, population=population, alpha=alpha) - slack for w in range(n + 1)]
    return max(
        float(sum(chance(e, n, w, population) for w in range(n + 1) if bounds[w] < e)) for e in range(population + 1)
    )


def test_exact_failure_probability() -> None:
    """At most alpha for every number of errors, and close to it for the worst: the bound cannot be improved."""
    for n in (3, 10, 20):
        assert 0.5 * 0.1 < worst_failure(30, n, 0.1) <= 0.1


def test_a_looser_bound_is_seen() -> None:
    """One error less, and the failure probability is above alpha."""
    assert worst_failure(30, 10, 0.1, slack=1) > 0.1


@given(st.integers(1, 200), st.data())
@settings(max_examples=60, deadline=None)
def test_laws(population: int, data: st.DataObject) -> None:
    """Monotone in what was seen and in alpha, exact when all is known, tighter than an infinite population's bound."""
    n = data.draw(st.integers(0, population))
    w = data.draw(st.integers(0, n))
    upper = errors_upper_one_look(n, w, population=population, alpha=0.05)
    assert w <= upper <= population - (n - w)
    assert upper <= errors_upper_one_look(n, w, population=population, alpha=0.01)
    if w < n:
        assert upper <= errors_upper_one_look(n, w + 1, population=population, alpha=0.05)
    if n == population:
        assert upper == w
    assert upper <= population - population * float(share_lower(n, w, alpha=0.05)) + 1e-6


@pytest.mark.parametrize("population", [1, 7, 24])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_an_error_more_is_an_error_more(population: int, alpha: float) -> None:
    """What counts as wrong beyond what is wrong never lowers the bound on those that were not drawn."""
    for n in range(1, population + 1):
        upper = errors_upper_one_look(n, np.arange(n + 1), population=population, alpha=alpha)
        assert (np.diff(upper) >= 1).all()


def test_a_thousand_million_rows() -> None:
    """Close to Clopper and Pearson where the population is all but infinite."""
    upper = errors_upper_one_look(1000, 20, population=10**9, alpha=0.05)
    assert upper / 10**9 == pytest.approx(1 - float(share_lower(1000, 20, alpha=0.05)), rel=1e-5)
    assert log_tail(10**9, n_drawn=10, n_wrong=0, population=10**9) == -math.inf


def test_bad_parameters_are_refused() -> None:
    """Counts that cannot be."""
    for n, w, population, alpha in ((5, 6, 10, 0.1), (11, 0, 10, 0.1), (5, -1, 10, 0.1), (5, 1, 10, 0.0)):
        with pytest.raises(ParameterError):
            errors_upper_one_look(n, w, population=population, alpha=alpha)
