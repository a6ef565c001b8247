"""The paper's bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import zeta

from bela.bounds import AdaptiveHoeffding
from bela.errors import ParameterError

counts = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def by_brute_force(bound: AdaptiveHoeffding, n_majority: int, n_bounds: int) -> float:
    """Maximise over a fine grid of q, from the formula as it stands in the paper (with zeta(2a/c) and t = |B|)."""
    a, c, t, p = bound.a, bound.c, n_bounds, n_majority / n_bounds
    q = np.linspace(0, p, 100_001)
    delta = zeta(2 * a / c) * np.exp(-(2 / c) * (q**2 * t - a * np.log(np.log(t) / np.log(c) + 1)))
    return float(np.max((1 - delta) * (p - q)))


@given(counts, st.sampled_from([(0.6, 1.1), (0.8, 1.5), (1.5, 2.0)]))
def test_the_maximum_over_q_is_that_of_a_grid(pair, constants):
    """The bisection finds what brute force finds, never less and hardly more."""
    n_majority, n_bounds = pair
    bound = AdaptiveHoeffding(*constants)
    grid = by_brute_force(bound, n_majority, n_bounds)
    assert grid - 1e-9 <= bound.share(n_majority, n_bounds) <= grid + 1e-6


@given(counts)
def test_one_leaf_and_many_leaves_agree(pair):
    """The table for one leaf and the vectorised formula are the same function."""
    bound = AdaptiveHoeffding()
    assert bound.share(*pair) == pytest.approx(float(bound.shares(*pair)), abs=1e-12)


@given(counts)
def test_more_agreement_raises_the_bound(pair):
    """The share grows with each answer that agrees, and falls with each that does not."""
    n_majority, n_bounds = pair
    bound = AdaptiveHoeffding()
    now = bound.share(n_majority, n_bounds)
    assert 0 <= now <= n_majority / n_bounds
    assert bound.share(n_majority + 1, n_bounds + 1) >= now
    assert bound.share(n_majority, n_bounds + 1) <= now + 1e-12


@given(st.integers(1, 10_000), st.floats(0, 1), counts)
def test_rows_lie_between_the_known_and_the_size(size, known_share, pair):
    """Known rows are right; no more rows than there are can be; a leaf that is known is certain."""
    bound, known = AdaptiveHoeffding(), int(known_share * size)
    assert known <= bound.rows(size, known, *pair) <= size
    assert bound.rows(size, size, *pair) == size


def test_speculation_is_one_more_answer_that_agrees():
    """Labelling speculates on one more known row and one more bounds answer for the majority."""
    bound = AdaptiveHoeffding()
    assert bound.rows_if_labelled(100, 30, 12, 14) == bound.rows(100, 31, 13, 15)


def test_leaves_are_bounded_one_by_one():
    """The vectorised bound of leaves is each leaf's bound."""
    bound = AdaptiveHoeffding()
    size, known, majority, n = (np.array(x) for x in ([100, 50, 7], [30, 50, 0], [12, 20, 0], [14, 25, 0]))
    each = [bound.rows(*(int(x) for x in leaf)) for leaf in zip(size, known, majority, n, strict=True)]
    assert bound.rows_right(size, known, majority, n).tolist() == pytest.approx(each)


@pytest.mark.parametrize(("a", "c"), [(0.6, 1.0), (0.6, 0.5), (0.55, 1.1), (0.5, 1.1), (np.nan, 1.1), (0.6, np.inf)])
def test_constants_outside_their_range_are_refused(a, c):
    """The inequality needs c > 1 and a > c / 2."""
    with pytest.raises(ParameterError):
        AdaptiveHoeffding(a, c)


def test_as_printed_needs_a_finite_zeta():
    """zeta(a/c) of the printed theorem diverges for a <= c."""
    with pytest.raises(ParameterError):
        AdaptiveHoeffding(0.6, 1.1, as_printed=True)
    AdaptiveHoeffding(1.2, 1.1, as_printed=True)


def test_impossible_counts_are_refused():
    """A majority cannot be larger than the sample."""
    with pytest.raises(ParameterError):
        AdaptiveHoeffding().shares(5, 4)


def times_exceeded(bound: AdaptiveHoeffding, share: float, q_of: float, n_draws: int = 400, runs: int = 4000) -> float:
    """Simulate peeking at every draw: the share of runs in which p_t - share >= q(t) ever, for delta(q(t)) = q_of."""
    rng = np.random.default_rng(0)
    draws = rng.random((runs, n_draws)) < share
    t = np.arange(1, n_draws + 1)
    log_scale = bound._log_scale(t.astype(float))
    q = np.sqrt(np.maximum(log_scale - np.log(q_of), 0) * bound.c / (2 * t))
    means = np.cumsum(draws, axis=1) / t
    return float(np.mean((means - share >= q).any(axis=1)))


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_inequality_holds_at_all_times_at_once(share):
    """Whoever peeks at every draw sees the share exceeded with probability at most delta."""
    assert times_exceeded(AdaptiveHoeffding(), share, 0.2) <= 0.2


class TooTight(AdaptiveHoeffding):
    """A broken twin: the price of peeking is left out."""

    def _log_scale(self, t):
        return np.zeros_like(t)


def test_without_the_price_of_peeking_it_fails():
    """Broken on purpose (no zeta, no iterated logarithm), the same simulation finds it out."""
    assert times_exceeded(TooTight(), 0.5, 0.2) > 0.2


def expected_shortfall(bound: AdaptiveHoeffding, n_wrong: int, size: int, n_bounds: int) -> float:
    """Enumerate all samples of n_bounds from a leaf: expected bound minus the rows right, label fixed beforehand."""
    from scipy.stats import hypergeom

    right = size - n_wrong
    k = np.arange(0, n_bounds + 1)
    weights = hypergeom(size, right, n_bounds).pmf(k)
    values = np.array([bound.rows(size, n_bounds, int(i), n_bounds) for i in k])
    truth = n_bounds + (right - k)  # the sampled rows are known, of the others the right ones count
    return float(weights @ (values - truth))


@pytest.mark.parametrize("n_wrong", [0, 1, 5, 20, 40])
@pytest.mark.parametrize("n_bounds", [1, 5, 10, 30])
def test_the_expectation_is_bounded_on_every_small_leaf(n_wrong, n_bounds):
    """By exact enumeration: the expected bound is at most the expected number of right rows."""
    assert expected_shortfall(AdaptiveHoeffding(), n_wrong, 60, n_bounds) <= 0


def test_the_bound_as_printed_is_above_the_truth():
    """By the same enumeration, t = |V - L| promises more than is there."""
    printed = AdaptiveHoeffding(1.2, 1.1, as_printed=True)
    big = [expected_shortfall(printed, 1500, 3000, n_bounds) for n_bounds in (1, 2, 3)]
    fixed_label = max(big)
    # with the label chosen as the majority of the same few draws, as the algorithm does
    rng = np.random.default_rng(0)
    agree = np.abs(rng.binomial(3, 0.5, 20_000) - 1.5) + 1.5
    chosen = np.mean([printed.rows(3000, 3, int(m), 3) for m in agree[:500]])
    assert fixed_label <= 0 < chosen - 1500 - 3
