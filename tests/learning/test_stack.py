"""The stack, and the learner as a whole."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine, make_blobs

from bela.errors import DataError, ParameterError
from bela.features import Prepared, prepare_features
from bela.learning import TransductiveLearner
from bela.learning._stack import fit_stack


def rng():
    return np.random.default_rng(0)


def members(n=300, k=3, strengths=(2.0, 0.0), seed=0):
    """Scores of members that know the classes by different strengths, each with noise of its own."""
    r = np.random.default_rng(seed)
    y = r.integers(0, k, n)
    return [(s * np.eye(k)[y] + r.normal(size=(n, k))).astype(np.float32) for s in strengths], y


def test_a_useless_member_gets_no_say():
    """Weight goes to the member that foretells answers."""
    scores, y = members(strengths=(3.0, 0.0))
    weights = fit_stack(scores, y, rng(), usual=[1, 1]).weights
    assert weights[0] > 20 * weights[1]


def test_two_members_are_better_than_one():
    """Members that err apart are both used, and the stack's loss is below that of each."""
    scores, y = members(strengths=(2.0, 2.0))
    both = fit_stack(scores, y, rng(), usual=[1, 1])
    assert np.all(both.weights > 0.1)
    assert both.loss < min(fit_stack([s], y, rng(), usual=[1]).loss for s in scores)


def test_it_falls_back_to_one():
    """A member that is right alone is taken alone rather than mixed with ones that mislead in some rows."""
    r = rng()
    y = r.integers(0, 2, 400)
    good = (4.0 * np.eye(2)[y] + 0.5 * r.normal(size=(400, 2))).astype(np.float32)
    bad = r.normal(size=(400, 2)).astype(np.float32)
    stack = fit_stack([good, bad], y, rng(), usual=[1, 1])
    assert stack.combine([good, None if stack.weights[1] == 0 else bad]).argmax(axis=1).tolist() == y.tolist()


def test_probabilities_are_calibrated():
    """Mean confidence is near the share that is right, for strong, weak and useless members."""
    for strength in (4.0, 1.5, 0.0):
        scores, y = members(n=400, strengths=(strength,))
        unseen, truth = members(n=4000, strengths=(strength,), seed=1)
        proba = fit_stack(scores, y, rng(), usual=[1]).combine(unseen)
        assert proba.max(axis=1).mean() == pytest.approx(np.mean(proba.argmax(axis=1) == truth), abs=0.05)


def test_few_perfect_answers_are_no_reason_to_be_certain():
    """Thirty answers predicted without a miss leave room for doubt."""
    y = np.arange(30) % 2
    scores = [np.eye(2, dtype=np.float32)[y]]
    assert fit_stack(scores, y, rng(), usual=[1]).combine(scores).max() < 0.999


def test_digits_are_learnt_from_sixty_answers():
    """Sixty answers at random label at least 93 % of the digits, and the same ones every time."""
    X, y = load_digits(return_X_y=True)
    rows = rng().choice(len(y), 60, replace=False)
    learner = TransductiveLearner(prepare_features(X), seed=3)
    fit = learner.fit(rows, y[rows])
    assert np.mean(fit.classes[fit.proba.argmax(axis=1)] == y) > 0.93
    assert fit.out_of_fold.shape == (60, len(fit.classes))
    again = TransductiveLearner(prepare_features(X), seed=3).fit(rows, y[rows])
    np.testing.assert_array_equal(fit.proba, again.proba)
    np.testing.assert_array_equal(fit.out_of_fold, again.out_of_fold)


def test_a_fit_depends_on_its_answers_only():
    """What was fitted before leaves no trace."""
    X, y = load_wine(return_X_y=True)
    learner, fresh = (TransductiveLearner(prepare_features(X)) for _ in range(2))
    rows = rng().permutation(len(y))[:40]
    learner.fit(rows[:20], y[rows[:20]])
    np.testing.assert_array_equal(learner.fit(rows, y[rows]).proba, fresh.fit(rows, y[rows]).proba)


def test_useless_features_make_no_claims():
    """On pure noise mean confidence stays near chance."""
    r = rng()
    X, y = r.normal(size=(1500, 20)), r.integers(0, 3, 1500)
    rows = np.arange(150)
    fit = TransductiveLearner(prepare_features(X)).fit(rows, y[rows])
    assert fit.proba.max(axis=1).mean() < 0.45


def test_trees_are_taken_where_they_help():
    """Steps in columns of different units are found by trees, which then have the most say."""
    r = rng()
    X = np.column_stack([r.lognormal(0, 2, 900), r.integers(0, 5, 900), r.normal(1000, 300, 900)])
    y = (X[:, 0] > 1.2).astype(int) ^ (X[:, 1] == 2).astype(int)
    fit = TransductiveLearner(prepare_features(X)).fit(np.arange(200), y[:200])
    assert fit.weights["trees"] > 0
    assert np.mean(fit.classes[fit.proba.argmax(axis=1)] == y) > 0.9


@pytest.mark.parametrize(
    ("X", "rows", "codes"),
    [
        (np.ones((1, 1)), [0], [4]),
        (np.array([[0.0], [1.0]]), [0, 1], [4, 2]),
        (np.ones((50, 3)), [0, 1, 2, 3], [0, 1, 0, 1]),
        (np.repeat(np.eye(5), 20, axis=0), [0, 20, 40, 60, 80], [0, 1, 2, 3, 4]),
        (make_blobs(600, centers=150, n_features=8, random_state=0)[0], range(0, 600, 4), range(150)),
        (sparse.random(60, 300, 0.05, random_state=0, format="csr"), [1, 5, 9, 30, 31, 50], [0, 1, 0, 1, 1, 0]),
        (make_blobs(40, random_state=0)[0], [3], [7]),
        (make_blobs(40, random_state=0)[0], range(40), [0, 1] * 20),
    ],
)
def test_degenerate_data_give_probabilities(X, rows, codes):
    """One row, two, copies, constant features, one class, 150 with one answer each, every row answered."""
    fit = TransductiveLearner(prepare_features(X)).fit(np.array(rows), np.array(codes))
    assert fit.proba.shape == (X.shape[0], len(set(codes)))
    assert sorted(set(codes)) == fit.classes.tolist()
    for proba in (fit.proba, fit.out_of_fold):
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-4)


def test_150_classes_with_an_answer_each_are_told_apart():
    """One answer a class labels well-separated blobs."""
    X, y = make_blobs(1500, centers=150, n_features=16, random_state=0)
    rows = np.unique(y, return_index=True)[1]
    fit = TransductiveLearner(prepare_features(X)).fit(rows, y[rows])
    assert np.mean(fit.classes[fit.proba.argmax(axis=1)] == y) > 0.98


def test_no_answers_and_no_rows_are_refused():
    """A fit without answers and a learner without rows get one sentence."""
    with pytest.raises(ParameterError):
        TransductiveLearner(np.ones((3, 1), np.float32)).fit(np.array([], int), np.array([], int))
    with pytest.raises(DataError):
        TransductiveLearner(Prepared(dense=np.ones((0, 2), np.float32)))
