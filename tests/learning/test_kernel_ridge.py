"""Ridge regression with leave-one-out in closed form."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

from bela.learning import _kernel_ridge
from bela.learning._kernel_ridge import fit_kernel_ridge, fit_linear_ridge
from bela.learning._stack import sharpen


def moons(n=120):
    X, y = make_moons(n, noise=0.2, random_state=0)
    return X.astype(np.float32), y


def rng():
    return np.random.default_rng(0)


def refit_without(X, y, i, model):
    """The score of row i by the model with the same parameters, fitted to the others."""
    others = np.arange(len(y)) != i
    target = np.full((len(y), 2), -0.5)
    target[np.arange(len(y)), y] += 1
    kernel = np.exp(-model.gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2).astype(float))
    inside = kernel[np.ix_(others, others)] + model.ridge * np.eye(len(y) - 1)
    return kernel[i, others] @ np.linalg.solve(inside, target[others])


def test_leave_one_out_is_what_refitting_gives():
    """The closed form equals the fit without the row."""
    X, y = moons()
    model = fit_kernel_ridge(X, y, 2, rng())
    for i in (0, 17, 99):
        np.testing.assert_allclose(model.left_out[i], refit_without(X, y, i, model), atol=2e-3)


def test_landmarks_give_nearly_the_same(monkeypatch):
    """Seen through landmarks, scores and leave-one-out scores hardly change."""
    X, y = moons(600)
    exact = fit_kernel_ridge(X, y, 2, rng())
    monkeypatch.setattr(_kernel_ridge, "EXACT_ROWS", 300)
    monkeypatch.setattr(_kernel_ridge, "LANDMARKS", 250)
    close = fit_kernel_ridge(X, y, 2, rng())
    assert len(close.basis) == 250
    assert np.abs(close.score(X) - exact.score(X)).mean() < 0.02
    assert np.abs(close.left_out - exact.left_out).mean() < 0.02


def test_it_bends_where_a_line_cannot():
    """On two moons the RBF model foretells answers that it has not seen better than the linear one."""
    X, y = moons(200)
    losses = [sharpen(fit(X, y, 2, rng()).left_out, y)[1] for fit in (fit_kernel_ridge, fit_linear_ridge)]
    assert losses[0] < losses[1] - 0.05


def test_linear_scores_do_not_depend_on_the_form_of_the_matrix():
    """Dense and sparse features give the same model."""
    X = np.random.default_rng(1).normal(size=(80, 30)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.intp)
    dense, thin = fit_linear_ridge(X, y, 2, rng()), fit_linear_ridge(sparse.csr_array(X), y, 2, rng())
    np.testing.assert_allclose(dense.score(X), thin.score(sparse.csr_array(X)), atol=1e-3)
    assert np.mean(dense.score(X).argmax(axis=1) == y) > 0.95


def test_noise_is_known_for_noise():
    """Where features say nothing, leave-one-out supports hardly any sharpness."""
    r = np.random.default_rng(2)
    X, y = r.normal(size=(200, 10)).astype(np.float32), r.integers(0, 3, 200)
    model = fit_kernel_ridge(X, y, 3, rng())
    assert sharpen(model.left_out, y)[1] > np.log(3) - 0.05


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((4, 3), np.float32), [0, 1, 0, 1]),
        (np.arange(150, dtype=np.float32)[:, None], range(150)),
        (np.ones((2, 1), np.float32), [0, 1]),
        (np.zeros((40, 2), np.float32), [0] * 39 + [1]),
    ],
)
def test_degenerate_answers_give_finite_scores(X, y):
    """Copies of one row with different answers, an answer for each class, features of zeros: all finite."""
    y = np.array(y, np.intp)
    for fit in (fit_kernel_ridge, fit_linear_ridge):
        model = fit(X, y, y.max() + 1, rng())
        assert np.isfinite(model.score(X)).all()
        assert np.isfinite(model.left_out).all()


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 500])
def test_the_inverse_of_a_triangular_matrix(n):
    """In blocks or at once, it is the inverse, and triangular again."""
    rows = np.random.default_rng(n).normal(size=(n, n + 20))
    factor = np.linalg.cholesky(rows @ rows.T / n + np.eye(n))
    inverse = _kernel_ridge._inverse_of_lower(factor)
    np.testing.assert_allclose(inverse @ factor, np.eye(n), atol=1e-9)
    assert not np.triu(inverse, 1).any()
