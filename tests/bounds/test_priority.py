"""The random order of the rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from bela.bounds import draw_order, priorities

seeds = st.integers(0, 2**63)


@given(seeds, st.integers(0, 1000), st.integers(1, 500))
def test_a_row_has_one_priority_whatever_comes_with_it(seed, stream, n):
    """The priority depends on seed, stream and row alone, not on the block that it is computed in."""
    rows = np.arange(n)
    whole = priorities(rows, seed, stream)
    assert len(np.unique(whole)) == n
    assert (whole[n // 2 :] == priorities(rows[n // 2 :], seed, stream)).all()


@given(seeds, st.permutations(range(30)))
def test_a_subset_keeps_the_order(seed, rows):
    """Drawing from a subset is drawing from the whole and leaving out the others."""
    order = draw_order(np.arange(60), seed)
    subset = draw_order(np.array(rows), seed)
    assert subset.tolist() == [row for row in order if row < 30]


def first_of_five(streams: int, stride: int) -> np.ndarray:
    return np.array([draw_order(np.arange(5), seed=7, stream=i * stride)[0] for i in range(streams)])


def test_each_row_is_first_equally_often():
    """Over many streams, every row comes first with the same frequency (chi-squared, fixed seed)."""
    counts = np.bincount(first_of_five(5000, 1), minlength=5)
    assert chisquare(counts).pvalue > 0.001


def test_one_stream_for_all_would_be_seen():
    """Broken on purpose: without the stream, the same row comes first always."""
    counts = np.bincount(first_of_five(5000, 0), minlength=5)
    assert chisquare(counts).pvalue < 0.001


def test_pairs_are_ordered_both_ways():
    """For all pairs of rows, the first precedes the second about half of the time over seeds."""
    before = np.mean(
        [priorities(np.arange(40), seed)[:, None] < priorities(np.arange(40), seed) for seed in range(400)], 0
    )
    off = before[~np.eye(40, dtype=bool)]
    assert abs(off.mean() - 0.5) < 0.01
    assert np.abs(off - 0.5).max() < 0.15
