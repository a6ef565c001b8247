"""Rows in memory."""

import numpy as np
import pytest
from scipy import sparse

from bela.data import ArraySource
from bela.errors import DataError


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.coo_array, lambda X: X.tolist()])
def test_take_and_scan_see_the_same_rows(form):
    """Whatever the form, take gives the rows asked for and scan all of them in order."""
    X = np.arange(12.0).reshape(4, 3)
    source = ArraySource(form(X))
    assert (source.n_rows, source.n_features) == (4, 3)
    taken = source.take(np.array([2, 0]))
    assert (np.asarray(taken.todense() if sparse.issparse(taken) else taken) == X[[2, 0]]).all()
    assert source.scan(lambda block: np.asarray(block.sum(axis=1)).ravel()).tolist() == [3, 12, 21, 30]


def test_images_are_flattened():
    """An array of images is one row an image."""
    assert ArraySource(np.zeros((5, 8, 8))).n_features == 64


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, np.nan]],
        [[np.inf, 1.0]],
        sparse.csr_array([[np.nan, 0.0]]),
        np.empty((0, 3)),
        np.empty((3, 0)),
        [1, 2, 3],
        [["a", "b"]],
        [[1], [2, 3]],
        np.array([[1j]]),
        5,
    ],
)
def test_features_that_cannot_be_used_are_refused(X):
    """NaN, infinity, nothing, one dimension, words, ragged rows: one sentence each."""
    with pytest.raises(DataError) as caught:
        ArraySource(X)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_first_bad_row_is_named(form):
    """In whichever form."""
    X = np.eye(5)
    X[3, 1] = X[4, 0] = np.nan
    with pytest.raises(DataError, match=r"2 place\(s\), the first in row 3"):
        ArraySource(form(X))


def test_large_values_are_no_infinity():
    """A sum that overflows is looked at again, value by value."""
    ArraySource(np.full((1000, 1000), 3e38, dtype=np.float32))


def test_infinities_of_both_signs_are_told_without_a_warning():
    """Their sum is what shows them, and nobody is told of that sum."""
    X = np.ones((4, 2))
    X[1] = np.inf, -np.inf
    with pytest.raises(DataError, match="in 2 place"):  # a warning would be another error
        ArraySource(X)
