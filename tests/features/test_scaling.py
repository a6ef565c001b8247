"""Matrices of any kind to features in which distances mean something."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine

from bela.errors import DataError
from bela.features import prepare_features

RNG = np.random.default_rng(0)


def test_tables_lose_their_units():
    """Multiplying the columns of a table by anything changes nothing."""
    X = load_wine().data
    scales = 10.0 ** RNG.integers(-3, 4, X.shape[1])
    np.testing.assert_allclose(prepare_features(X).dense, prepare_features(X * scales).dense, atol=1e-4)


def test_numbers_beyond_single_precision_are_its_largest():
    """A value of 1e200 in an array is clipped before it is cast, and the others can still be told apart."""
    X = RNG.normal(size=(200, 2))
    X[0, 0] = 1e200
    prepared = prepare_features(X)
    assert all(np.isfinite(form).all() for form in prepared.forms)
    assert prepared.dense[1:, 0].std() > 0.3


def test_embeddings_and_pixels_keep_theirs():
    """Columns of one kind keep the ratios of their spreads, and linear models and trees are spared."""
    pixels = load_digits().data
    dense = prepare_features(pixels).dense
    used = pixels.std(axis=0) > 0
    ratio = dense.std(axis=0)[used] / pixels.std(axis=0)[used]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)
    embedding = RNG.normal(size=(500, 300)) * np.linspace(1, 1.5, 300)
    assert prepare_features(embedding).linear is None


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_texts_become_directions(dtype):
    """Rows of a sparse matrix get length 1; twice the same text, once doubled, has about the same direction."""
    X = sparse.random(200, 1000, 0.02, random_state=0, format="lil")
    X = sparse.csr_array((X > 0).astype(dtype))
    X = sparse.vstack([X, X[:5] * 2]).tocsr()
    prepared = prepare_features(X)
    assert prepared.dense.shape[0] == 205
    np.testing.assert_allclose(np.linalg.norm(prepared.dense, axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(prepared.dense[:5], prepared.dense[200:], atol=0.05)


def test_of_many_columns_in_units_of_their_own_the_direction_counts():
    """A row that has twice as much of everything stays where it was; columns that share a unit keep their lengths."""
    X = RNG.normal(size=(300, 400))
    X -= X.mean(axis=0)
    twice = (np.vstack([X, X[:5] * 1.5]) + 1) * 10.0 ** RNG.uniform(-2, 2, 400)
    dense = prepare_features(twice).dense
    np.testing.assert_allclose(np.linalg.norm(dense, axis=1), 1, atol=1e-4)
    assert np.einsum("ij,ij->i", dense[:5], dense[300:]).min() > 0.98
    alike = prepare_features(np.vstack([X, X[:5] * 1.5])).dense
    assert (np.linalg.norm(alike[300:], axis=1) > 1.2 * np.linalg.norm(alike[:5], axis=1)).all()


def test_mean_squared_norm_is_one():
    """Whatever the data, the learner sees rows of mean squared norm 1."""
    for X in (load_wine().data, load_digits().data, RNG.normal(size=(400, 600)) + 5):
        dense = prepare_features(X).dense
        assert np.mean((dense**2).sum(axis=1)) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("X", [np.ones((5, 3)), np.zeros((1, 1)), sparse.csr_array((6, 500)), np.ones((4, 400))])
def test_features_without_content_stay_finite(X):
    """Constant, empty and single rows give finite features."""
    assert np.isfinite(prepare_features(X).dense).all()


@pytest.mark.parametrize("X", [np.ones(3), np.ones((0, 3)), np.array([["a"]]), np.array([[np.nan, 1.0]])])
def test_what_is_no_matrix_of_numbers_is_refused(X):
    """Wrong shapes, letters and NaN get one sentence."""
    with pytest.raises(DataError):
        prepare_features(X)
