"""The search for the end of an interval, and the bounds of one pair of counts that rest on it."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from bela.bounds import errors_upper
from bela.bounds._prior_posterior import errors_upper_of_one
from bela.bounds._search import last_inside


@given(*[st.integers(0, 10**9)] * 3, st.floats(0.1, 1e9), st.sampled_from([0.2, 1.0, 4.0, math.inf]))
def test_the_end_is_found(low, length, beyond, step, power):
    """Whatever the shape of a rising excess, finite or not, its last number without any is found, in few looks."""
    end, high = low + length, low + length + beyond + 1
    looks = 0

    def excess(x):
        nonlocal looks
        looks += 1
        assert low <= x < high
        if x > end:
            return float(x - end) ** power if x > end + 1 else 1.0
        return -float(end - x) if math.isinf(power) else -(float(end - x) ** power)

    assert last_inside(excess, low, high, step) == end
    assert looks < 3 * 31 + 64


@given(st.data(), st.integers(1, 10**9), st.floats(0.001, 0.9), st.floats(0.1, 10), st.floats(0.1, 10))
def test_one_pair_of_counts_has_the_bound_that_many_have(data, population, alpha, a, b):
    """The quick way and the one for arrays agree to the last row."""
    n_drawn = data.draw(st.integers(0, min(population, 5000)))
    n_wrong = data.draw(st.integers(0, n_drawn))
    options = {"population": population, "alpha": alpha, "a": a, "b": b}
    assert errors_upper_of_one(n_drawn, n_wrong, **options) == int(errors_upper([n_drawn], [n_wrong], **options)[0])
