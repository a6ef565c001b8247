"""The prior-posterior ratio on uniform draws: exact arithmetic, exact enumeration, laws, a broken twin."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.bounds._uniform import PriorPosterior, errors_upper, log_falling, log_prior_posterior
from bela.errors import ParameterError


def ratio(errors: int, n: int, w: int, population: int) -> Fraction | None:
    """Prior over posterior under a flat prior, in whole numbers; None: impossible."""
    chance = Fraction(math.perm(errors, w) * math.perm(population - errors, n - w), math.perm(population, n))
    mean = Fraction(math.factorial(w) * math.factorial(n - w), math.factorial(n + 1))
    return mean / chance if chance else None


def exact_upper(n: int, w: int, population: int, alpha: Fraction) -> int:
    """The bound from its definition, by trying every number of errors."""
    ratios = {e: ratio(e, n, w, population) for e in range(population + 1)}
    return max(e for e, r in ratios.items() if r is not None and r < 1 / alpha)


@pytest.mark.parametrize("population", [1, 2, 7, 12])
def test_equal_to_the_definition(population: int) -> None:
    """Halving finds what trying every number of errors in whole numbers finds."""
    for n in range(population + 1):
        for w in range(n + 1):
            for alpha in (Fraction(1, 20), Fraction(1, 5), Fraction(3, 5)):
                found = errors_upper(n, w, population=population, alpha=float(alpha))
                assert int(found) == exact_upper(n, w, population, alpha)


def failure_probability(population: int, errors: int, alpha: float) -> float:
    """Exact chance that the bound is ever below the truth, over all orders of draws."""
    alive = {0: 1.0}  # number of wrong draws: probability, of the sequences that have not failed
    for n in range(1, population + 1):
        after: dict[int, float] = {}
        for w, chance in alive.items():
            p = (errors - w) / (population - n + 1)
            for wrong, q in ((1, p), (0, 1 - p)):
                if q > 0 and int(errors_upper(n, w + wrong, population=population, alpha=alpha)) >= errors:
                    after[w + wrong] = after.get(w + wrong, 0.0) + chance * q
        alive = after
    return 1 - sum(alive.values())


def test_exact_failure_probability() -> None:
    """For every number of errors among 14 rows, looking after every draw: at most alpha, and not far from it."""
    chances = [failure_probability(14, errors, 0.2) for errors in range(15)]
    assert max(chances) <= 0.2 + 1e-12
    assert max(chances) > 0.05


def test_a_looser_bound_is_seen() -> None:
    """The one-look bound, the exact hypergeometric one, fails far too often when it is looked at after every draw."""
    from bela.bounds import errors_upper_one_look

    population, errors, alpha = 40, 10, 0.2
    alive = {0: 1.0}
    for n in range(1, population + 1):
        after: dict[int, float] = {}
        for w, chance in alive.items():
            p = (errors - w) / (population - n + 1)
            for wrong, q in ((1, p), (0, 1 - p)):
                if q > 0 and errors_upper_one_look(n, w + wrong, population=population, alpha=alpha) >= errors:
                    after[w + wrong] = after.get(w + wrong, 0.0) + chance * q
        alive = after
    assert 1 - sum(alive.values()) > 0.35


@given(st.integers(1, 60), st.data())
@settings(max_examples=60, deadline=None)
def test_laws(population: int, data: st.DataObject) -> None:
    """Between what was found and what is possible; a draw more right bounds more, a wrong one less."""
    n = data.draw(st.integers(0, population))
    w = data.draw(st.integers(0, n))
    alpha = data.draw(st.floats(0.001, 0.9))
    a, b = data.draw(st.floats(0.1, 50)), data.draw(st.floats(0.1, 50))
    upper = int(errors_upper(n, w, population=population, alpha=alpha, a=a, b=b))
    assert w <= upper <= population - (n - w)
    if n == population:
        assert upper == w
    assert upper <= int(errors_upper(n, w, population=population, alpha=alpha / 2, a=a, b=b))


def test_the_running_bound_never_rises_and_ends_exact() -> None:
    """What has been ruled out stays so, and when all rows are drawn the bound is the truth."""
    rng = np.random.default_rng(0)
    wrong = rng.permutation(np.arange(200) < 30)
    bound, last = PriorPosterior(200, alpha=0.05), 200
    for is_wrong in wrong:
        bound.observe(wrong=bool(is_wrong))
        assert bound.found <= bound.errors_upper <= last
        last = bound.errors_upper
    assert bound.errors_upper == bound.found == 30
    assert bound.n_left == 0
    with pytest.raises(ParameterError):
        bound.observe(wrong=False)


def test_a_thousand_million_rows() -> None:
    """No digits are lost, and no loop runs over the population."""
    n, w, population = 1000, 20, 10**9
    upper = int(errors_upper(n, w, population=population, alpha=0.05))

    def log_ratio(errors: int) -> float:
        terms = [math.log(errors - i) for i in range(w)] + [math.log(population - errors - i) for i in range(n - w)]
        chance = math.fsum(terms + [-math.log(population - i) for i in range(n)])
        return math.lgamma(w + 1) + math.lgamma(n - w + 1) - math.lgamma(n + 2) - chance

    assert log_ratio(upper - 10) < math.log(20) < log_ratio(upper + 10)
    start = time.perf_counter()
    for _ in range(20):
        errors_upper(n, w, population=population, alpha=0.05)
    assert (time.perf_counter() - start) / 20 < 0.05
    many = errors_upper([0, 1000, 1000], [0, 20, 0], population=population, alpha=0.05)
    assert int(many[1]) == upper


@given(st.integers(0, 10**9), st.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_log_falling_keeps_its_digits(n: int, k: int) -> None:
    """To ten digits after the point, at any size."""
    if k > n:
        assert float(log_falling(n, k)) == -math.inf
    else:
        assert float(log_falling(n, k)) == pytest.approx(math.fsum(math.log(n - i) for i in range(k)), abs=1e-10)


def test_an_informed_prior_helps_where_it_is_right() -> None:
    """Expecting few errors makes the bound tighter when there are few."""
    flat = int(errors_upper(100, 1, population=10_000, alpha=0.05))
    informed = int(errors_upper(100, 1, population=10_000, alpha=0.05, a=1, b=30))
    assert informed < flat
    assert float(log_prior_posterior(10_000, n_drawn=1, n_wrong=0, population=10_000)) == math.inf


def test_bad_parameters_are_refused() -> None:
    """Counts that cannot be, and priors that are none."""
    for mistake in (
        {"n_drawn": 5, "n_wrong": 6, "population": 10, "alpha": 0.1},
        {"n_drawn": 11, "n_wrong": 0, "population": 10, "alpha": 0.1},
        {"n_drawn": 1, "n_wrong": 0, "population": 10, "alpha": 1.0},
        {"n_drawn": 1, "n_wrong": 0, "population": 10, "alpha": 0.1, "a": 0.0},
    ):
        with pytest.raises(ParameterError):
            errors_upper(**mistake)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        PriorPosterior(-1, alpha=0.1)
