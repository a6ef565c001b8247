"""The one-look bound of a hold-out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from bela.bounds import share_lower
from bela.errors import ParameterError


def failure(lower, share: float, n: int) -> float:
    """Sum the probability of all samples whose bound is above the share."""
    k = np.arange(n + 1)
    return float(binom(n, share).pmf(k)[lower(k) > share].sum())


@given(st.floats(0.01, 0.99), st.integers(1, 60), st.sampled_from([0.05, 0.2]))
def test_it_fails_with_probability_alpha_at_most(share, n, alpha):
    """By exact enumeration of all samples, for any share."""
    assert failure(lambda k: share_lower(n, n - k, alpha=alpha), share, n) <= alpha + 1e-12


@given(st.integers(0, 30), st.integers(1, 30))
def test_it_is_conservative_without_replacement(n_right, n):
    """By exact enumeration of all samples from a small population."""
    share = n_right / 30
    k = np.arange(n + 1)
    bad = share_lower(n, n - k, alpha=0.1) > share
    assert hypergeom(30, n_right, n).pmf(k)[bad].sum() <= 0.1 + 1e-12


def test_the_plain_share_fails():
    """Broken on purpose: the observed share itself is above the truth half of the time."""
    assert failure(lambda k: k / 40, 0.8, 40) > 0.2


def test_no_right_draw_says_nothing():
    """Zero of n gives zero, none at all gives zero."""
    assert share_lower(10, 10, alpha=0.05) == 0
    assert share_lower(0, 0, alpha=0.05) == 0


@pytest.mark.parametrize(("n_right", "n", "alpha"), [(5, 4, 0.05), (-1, 4, 0.05), (1, 4, 0), (1, 4, 1)])
def test_impossible_counts_are_refused(n_right, n, alpha):
    """Counts and alpha have their ranges."""
    with pytest.raises(ParameterError):
        share_lower(n, n - n_right, alpha=alpha)
