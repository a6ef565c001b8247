"""How far predictions of others are believed, by score, by class, and by what answers show."""

import numpy as np
import pytest

from bela.learning import PredictionLearner, TransductiveLearner
from bela.learning._around import predicted_around
from bela.learning._belief import fit_belief
from bela.records import UNKNOWN

NOTHING = np.array([], dtype=np.intp)


def model(rng, n=2_000, k=5, *, right=0.7):
    """Labels of a model that is right the more often the surer it is, and what is true."""
    truth = rng.integers(0, k, n)
    scores = rng.random(n)
    is_right = rng.random(n) < np.clip(right + 0.6 * (scores - 0.5), 0, 1)
    labels = np.where(is_right, truth, (truth + rng.integers(1, k, n)) % k)
    return truth, labels, scores


def test_predictions_are_labels_before_anything_is_known():
    """With no answer at all, every row has the label that was predicted, the surest first."""
    truth, labels, scores = model(np.random.default_rng(0))
    fit = PredictionLearner([scores], n_rows=len(truth)).fit(NOTHING, NOTHING, [labels])
    np.testing.assert_array_equal(fit.labels, labels)
    assert np.all(np.diff(fit.sure[np.argsort(scores)]) >= -1e-6)


def test_belief_is_about_as_high_as_it_should_be():
    """From two hundred answers, the chance to be right is right on average, and where it is high."""
    truth, labels, scores = model(np.random.default_rng(1))
    rows = np.random.default_rng(2).choice(len(truth), 200, replace=False)
    belief = fit_belief(labels, scores, rows, truth[rows], 5)
    right = labels == truth
    assert abs(belief.right.mean() - right.mean()) < 0.07
    upper = belief.right > np.median(belief.right)
    assert abs(belief.right[upper].mean() - right[upper].mean()) < 0.08
    assert belief.right[right].mean() > belief.right[~right].mean() + 0.1


def test_a_model_that_always_says_the_next_class_is_found_out():
    """Predictions that are always wrong in the same way are as good as right ones."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 800)
    rows = rng.choice(800, 60, replace=False)
    fit = PredictionLearner([None], n_rows=800).fit(rows, truth[rows], [(truth + 1) % 4])
    assert np.mean(fit.labels == truth) > 0.95


def test_the_better_of_two_has_the_say():
    """Where a good and a random prediction disagree, the good one is taken."""
    rng = np.random.default_rng(4)
    truth, good, _ = model(rng, right=0.9)
    noise = rng.integers(0, 5, len(truth))
    rows = rng.choice(len(truth), 150, replace=False)
    fit = PredictionLearner([None, None], n_rows=len(truth)).fit(rows, truth[rows], [noise, good])
    assert np.mean(fit.labels == truth) > np.mean(good == truth) - 0.03


def test_rows_without_a_prediction_are_labelled_too():
    """A label or a score may be missing anywhere."""
    rng = np.random.default_rng(5)
    truth, labels, scores = model(rng, right=0.95)
    labels[rng.random(len(labels)) < 0.3] = UNKNOWN
    scores[rng.random(len(labels)) < 0.3] = np.nan
    rows = rng.choice(len(truth), 100, replace=False)
    fit = PredictionLearner([scores], n_rows=len(truth)).fit(rows, truth[rows], [labels])
    assert np.all(fit.labels >= 0)
    assert np.mean(fit.sure[labels == UNKNOWN]) < np.mean(fit.sure[labels != UNKNOWN])


def test_nothing_has_a_column_for_each_of_thousands_of_classes():
    """What a fit without features holds does not grow with the classes."""
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 5_000, 8_000)
    labels = np.where(rng.random(8_000) < 0.6, truth, rng.integers(0, 5_000, 8_000))
    rows = rng.choice(8_000, 500, replace=False)
    fit = PredictionLearner([None], n_rows=8_000).fit(rows, truth[rows], [labels])
    assert fit.proba.shape == (8_000, 3)
    assert abs(fit.sure[labels >= 0].mean() - 0.6) < 0.1


@pytest.mark.parametrize("kind", ["random", "constant", "one class"])
def test_a_useless_column_costs_hardly_anything(kind):
    """Beside features that tell the classes, a prediction that says nothing changes next to no label."""
    rng = np.random.default_rng(7)
    truth = np.repeat(np.arange(4), 150)
    X = rng.normal(0, 1, (600, 6)).astype(np.float32) + 4 * np.eye(4, 6, dtype=np.float32)[truth]
    noise = rng.integers(0, 4, 600)
    column = {"random": noise, "constant": np.full(600, 2), "one class": np.where(truth == 1, 1, noise)}[kind]
    rows = rng.choice(600, 60, replace=False)
    alone = TransductiveLearner(X).fit(rows, truth[rows])
    fit = TransductiveLearner(X, scores=[rng.random(600)]).fit(rows, truth[rows], [column])
    assert np.mean(fit.labels == truth) > np.mean(alone.labels == truth) - 0.02


def test_good_predictions_help_features():
    """A model that is mostly right beats a few answers alone, classes that nobody has answered included."""
    rng = np.random.default_rng(8)
    truth, labels, scores = model(rng, 900, 6, right=0.9)
    X = rng.normal(0, 1, (900, 5)).astype(np.float32) + 2 * np.eye(6, 5, dtype=np.float32)[truth]
    rows = rng.choice(np.flatnonzero(truth < 5), 50, replace=False)
    alone = TransductiveLearner(X).fit(rows, truth[rows])
    fit = TransductiveLearner(X, scores=[scores]).fit(rows, truth[rows], [labels])
    assert np.mean(fit.labels == truth) > np.mean(alone.labels == truth) + 0.05
    assert np.mean(fit.labels[truth == 5] == 5) > 0.5


def test_errors_are_outvoted_by_the_rows_around():
    """Where rows that are alike are of one class, a weak prediction is right with hardly an answer."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 4, 1_200)
    X = (rng.normal(size=(4, 6))[truth] * 4 + rng.normal(size=(1_200, 6))).astype(np.float32)
    weak = np.where(rng.random(1_200) < 0.6, truth, rng.integers(0, 4, 1_200)).astype(np.int32)
    learner = TransductiveLearner(X, scores=[None])
    assert np.mean(learner.fit(NOTHING, NOTHING.astype(np.int32), [weak]).labels == truth) > 0.7
    rows = rng.choice(1_200, 12, replace=False)
    assert np.mean(learner.fit(rows, truth[rows], [weak]).labels == truth) > 0.95
    codes, sure = predicted_around(learner.graph, weak, 4)
    assert np.mean(codes == truth) > 0.95
    assert ((sure >= 0) & (sure <= 1)).all()


def test_what_lies_around_many_classes_and_gaps():
    """More classes than are looked at together, rows of which nothing is said, and places where nothing is."""
    rng = np.random.default_rng(8)
    truth = np.repeat(np.arange(150), 12)
    X = (rng.normal(size=(150, 8))[truth] * 9 + 0.1 * rng.normal(size=(1_800, 8))).astype(np.float32)
    said = np.where(rng.random(1_800) < 0.5, truth, UNKNOWN).astype(np.int32)
    said[truth == 149] = UNKNOWN
    codes, _ = predicted_around(TransductiveLearner(X).graph, said, 150)
    assert np.mean(codes[truth != 149] == truth[truth != 149]) > 0.98
    assert np.mean(codes[truth == 149] == UNKNOWN) > 0.9
