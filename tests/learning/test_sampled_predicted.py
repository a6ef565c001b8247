"""Very many rows with predictions: what was said of a row is heard for that row, as far as answers bear it out."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from bela.data import ArraySource, _blocks
from bela.features import learner_features, learner_rows
from bela.learning import (
    Answers,
    PredictionLearner,
    SampledLearner,
    SampledPredictionLearner,
    TransductiveLearner,
    _sampled,
    _voices,
)
from bela.learning._belief import Ranks, fit_belief
from bela.records import UNKNOWN

N, CLASSES = 12_000, 6
NOTHING = np.array([], dtype=np.intp)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """A sample of 1,500 rows."""
    monkeypatch.setattr(_sampled, "SAMPLE_ROWS", 1_500)


def rows_and_labels(seed: int, *, width: float, right: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows around points as far apart, what each is, and what a model says of it, more often right if surer."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(12, size=N)
    X = (width * rng.normal(size=(12, 6))[cluster] + rng.normal(size=(N, 6))).astype(np.float32)
    truth, scores = cluster % CLASSES, rng.random(N)
    is_right = rng.random(N) < np.clip(right + 0.3 * (scores - 0.5) * (right > 0), 0, 1)
    return X, truth, np.where(is_right, truth, rng.integers(0, CLASSES, N)).astype(np.int32), scores


def accuracy(fit, truth) -> float:
    return float(np.mean(fit.labels == truth))


def answered(n: int = 250) -> np.ndarray:
    return np.random.default_rng(1).choice(N, n, replace=False)


def test_where_features_say_nothing_the_prediction_does():
    """As often right as if all rows were in memory, and as the prediction is; nobody hears it from a neighbour."""
    X, truth, said, scores = rows_and_labels(0, width=0.0, right=0.9)
    rows = answered()
    whole = TransductiveLearner(learner_features(ArraySource(X)), scores=[scores]).fit(rows, truth[rows], [said])
    fit = SampledLearner(learner_rows(ArraySource(X)), scores=[scores]).fit(rows, truth[rows], [said])
    assert accuracy(fit, truth) > max(accuracy(whole, truth), float(np.mean(said == truth))) - 0.01
    assert abs(float(fit.chances(1.0).mean()) - accuracy(fit, truth)) < 0.08
    wrong = fit.labels != truth
    assert wrong[np.argsort(fit.sure)[: N // 2]].sum() > 0.6 * wrong.sum()  # the score tells where


def test_a_useless_prediction_is_not_believed():
    """Labels are as good as without it."""
    X, truth, said, scores = rows_and_labels(1, width=3.0, right=0.0)
    rows = answered()
    alone = SampledLearner(learner_rows(ArraySource(X))).fit(rows, truth[rows])
    fit = SampledLearner(learner_rows(ArraySource(X)), scores=[scores]).fit(rows, truth[rows], [said])
    assert accuracy(fit, truth) > accuracy(alone, truth) - 0.01


@pytest.mark.parametrize("gaps", [False, True])
def test_both_together_are_better_than_either(gaps):
    """Where features tell something and the prediction something else; also if it is silent about many rows."""
    X, truth, said, scores = rows_and_labels(2, width=1.8, right=0.8)
    if gaps:
        rng = np.random.default_rng(3)
        said[rng.random(N) < 0.3], scores[rng.random(N) < 0.3] = UNKNOWN, np.nan
    rows = answered()
    alone = SampledLearner(learner_rows(ArraySource(X))).fit(rows, truth[rows])
    fit = SampledLearner(learner_rows(ArraySource(X)), scores=[scores]).fit(rows, truth[rows], [said])
    whole = TransductiveLearner(learner_features(ArraySource(X)), scores=[scores]).fit(rows, truth[rows], [said])
    assert accuracy(fit, truth) > max(accuracy(alone, truth), float(np.mean(said == truth))) + 0.02
    assert accuracy(fit, truth) > accuracy(whole, truth) - 0.015
    if gaps:
        there = said != UNKNOWN
        assert np.mean((fit.labels == truth)[there]) > np.mean((fit.labels == truth)[~there])


def test_blocks_give_the_same_as_one():
    """What is said of rows does not depend on which others they are looked at with."""
    X, truth, said, scores = rows_and_labels(4, width=1.5, right=0.8)
    scores[::5] = np.nan
    rows = answered(150)
    fit = SampledLearner(learner_rows(ArraySource(X)), scores=[scores]).fit(rows, truth[rows], [said])
    assert fit.voices
    proba = np.random.default_rng(0).dirichlet(np.ones(CLASSES), N).astype(np.float32)
    whole, names = _voices.add_voices(proba, fit.classes, fit.voices, slice(0, N))
    parts = [
        _voices.add_voices(proba[i : i + 999], fit.classes, fit.voices, slice(i, i + 999)) for i in range(0, N, 999)
    ]
    np.testing.assert_allclose(np.concatenate([part for part, _ in parts]), whole, rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(np.concatenate([some for _, some in parts]), names)


def test_a_class_that_the_sample_has_not_is_given_all_the_same():
    """Rows of a class so rare that no row of the sample was predicted to be of it keep the label if it is believed."""
    X, truth, said, scores = rows_and_labels(5, width=0.5, right=0.97)
    learner = SampledLearner(learner_rows(ArraySource(X)), scores=[scores, None])
    rare = np.setdiff1d(np.arange(N), learner.sample)[:40]
    rows = np.setdiff1d(answered(), rare)
    said[rare], truth[rare] = 9, 9
    said[rare[20:]] = 8
    other = np.where(np.arange(N) % 2, said, UNKNOWN).astype(np.int32)
    fit = learner.fit(rows, truth[rows], [said, other])
    assert 9 not in fit.classes
    assert np.mean(fit.labels[rare[:20]] == 9) > 0.8
    assert np.mean(fit.labels[rare[20:]] == 8) > 0.8
    assert ((fit.chances(1.0) >= 0) & (fit.chances(1.0) <= 1)).all()
    assert not np.isin(fit.labels[np.setdiff1d(np.arange(N), rare)], [8, 9]).any()


def test_answers_outside_of_the_sample_bring_their_scores():
    """Rows that join the sample are judged by what was predicted of them, as those in it are."""
    X, truth, said, scores = rows_and_labels(6, width=0.0, right=0.9)
    learner = SampledLearner(learner_rows(ArraySource(X)), scores=[scores])
    rows = np.setdiff1d(answered(400), learner.sample)[:200]
    assert accuracy(learner.fit(rows, truth[rows], [said]), truth) > 0.88
    helped = Answers(rows=rows[100:], codes=truth[rows[100:]])
    assert accuracy(learner.fit(rows[:100], truth[rows[:100]], [said], helped=helped), truth) > 0.88
    assert accuracy(learner.fit(NOTHING, NOTHING, [said]), truth) > 0.4  # before anything is known


def test_without_features_a_sample_judges_all():
    """Nearly the chances that all rows in memory would give, the same labels, and fitting answers left out."""
    _, truth, said, scores = rows_and_labels(7, width=0.0, right=0.8)
    scores[::7], said[::11] = np.nan, UNKNOWN
    noise = np.random.default_rng(0).integers(0, CLASSES, N).astype(np.int32)
    rows = answered(200)
    whole = PredictionLearner([scores, None], n_rows=N).fit(rows, truth[rows], [said, noise])
    learner = SampledPredictionLearner([scores, None], n_rows=N)
    fit = learner.fit(rows, truth[rows], [said, noise])
    assert fit.n_rows == N
    assert np.mean(fit.labels == whole.labels) > 0.97
    assert np.abs(fit.chances(1.0) - whole.chances(1.0)).mean() < 0.02
    assert accuracy(fit, truth) > accuracy(whole, truth) - 0.01
    assert np.mean(fit.left_out_labels == whole.left_out_labels) > 0.95
    np.testing.assert_array_equal(fit.columns_of(truth[rows]), whole.columns_of(truth[rows]))
    asked = np.zeros(N, dtype=bool)
    asked[rows] = True
    picks = learner.next_questions(fit, asked, 40, uniform_share=0.2, rng=np.random.default_rng(0)).rows
    assert not asked[picks].any()
    assert np.mean((fit.labels == truth)[picks]) < accuracy(fit, truth)
    first = learner.first_questions()
    assert len(np.unique(first)) == len(first) == 50


def test_without_features_a_helper_is_heard():
    """What it says of some rows is one prediction more, of those."""
    _, truth, said, scores = rows_and_labels(8, width=0.0, right=0.6)
    rows, others = answered(300)[:200], answered(2_000)[300:]
    fit = SampledPredictionLearner([scores], n_rows=N).fit(
        rows, truth[rows], [said], helped=Answers(rows=others, codes=truth[others])
    )
    assert np.mean((fit.labels == truth)[others]) > np.mean(fit.labels == truth) + 0.1
    beyond = Answers(rows=others[:9], codes=np.full(9, CLASSES + 3))  # which nobody else knows
    fit = SampledPredictionLearner([scores], n_rows=N).fit(rows, truth[rows], [said], helped=beyond)
    assert len(fit.classes) == CLASSES + 4


def test_scores_of_other_rows_rank_between_those_of_the_sample():
    """By how many are lower at the scores that were ranked, in between in between, 0 where nobody knows."""
    scores = np.random.default_rng(0).random(500).round(2)
    scores[3] = np.nan
    said = np.arange(500) % 9 != 0
    ranks = Ranks.of(scores, said)
    there = said & ~np.isnan(scores)
    middle = (rankdata(scores[there]) - 0.5) / there.sum()
    np.testing.assert_allclose(ranks(scores, said)[there], ndtri(middle), rtol=1e-12)
    assert not ranks(scores, said)[~there].any()
    found = ranks(np.array([-9.0, 0.105, 9.0, np.nan, 0.5]), np.array([True, True, True, True, False]))
    low, high = ranks(np.array([0.10, 0.11]), np.ones(2, dtype=bool))
    assert found[0] == ranks.deviates[0] < low < found[1] < high < found[2] == ranks.deviates[-1]
    assert found[3] == found[4] == 0
    all_said = np.ones(5, dtype=bool)
    assert Ranks.of(np.ones(5), all_said)(np.arange(5.0), all_said) is None  # no two differ
    assert Ranks.of(None, said)(scores, said) is None
    assert ranks(None, said) is None


def test_any_rows_can_be_judged():
    """What is said of the rows that a belief was learnt on, it says of the same rows when they come as others."""
    _, truth, said, scores = rows_and_labels(9, width=0.0, right=0.7)
    said[::6] = UNKNOWN
    rows = answered(100)
    belief = fit_belief(said, scores, rows, truth[rows], CLASSES)
    right = belief.judge(said, scores)
    np.testing.assert_allclose(right, belief.right, rtol=1e-12)
    np.testing.assert_array_equal(belief.log_chances_of(said, right), belief.log_chances())
    beyond = belief.log_chances_of(np.array([CLASSES]), np.array([0.9]))
    np.testing.assert_allclose(np.exp(beyond).sum(), 0.1, rtol=1e-4)


def test_a_prediction_that_is_silent_about_the_sample_is_heard_where_it_speaks():
    """Nothing speaks for it or against it but what is usual, and nothing that it says is lost or no number."""
    X, truth, said, scores = rows_and_labels(10, width=0.0, right=0.7)
    learner = SampledLearner(learner_rows(ArraySource(X)), scores=[scores, None])
    few = np.setdiff1d(np.arange(N), learner.sample)[:30]
    sparse = np.full(N, UNKNOWN, np.int32)
    sparse[few] = truth[few]
    rows = np.setdiff1d(answered(), few)
    alone = SampledPredictionLearner([scores, None], n_rows=N)
    for fit in (learner.fit(rows, truth[rows], [said, sparse]), alone.fit(rows, truth[rows], [said, sparse])):
        assert np.isfinite(fit.chances(1.0)).all()
        assert accuracy(fit, truth) > 0.6
    silent = SampledLearner(learner_rows(ArraySource(X)), scores=[None])
    before = silent.fit(NOTHING, NOTHING, [sparse])  # of no row of the sample is anything known
    np.testing.assert_array_equal(before.labels[few], truth[few])
    assert np.isfinite(before.chances(1.0)).all()


def test_a_sample_of_one_class_leaves_the_others_their_own():
    """A class so rare that the sample lacks it is given where it was predicted, by what answers say of the other."""
    X, _, _, scores = rows_and_labels(11, width=1.0, right=0.9)
    learner = SampledLearner(learner_rows(ArraySource(X)), scores=[scores])
    rare = np.setdiff1d(np.arange(N), learner.sample)[:25]
    truth, rows = np.ones(N, np.int32), np.setdiff1d(answered(), rare)
    truth[rare] = 4
    fit = learner.fit(rows, truth[rows], [truth])
    assert fit.classes.tolist() == [1]
    np.testing.assert_array_equal(fit.labels, truth)
    assert fit.sure[rare].max() < np.delete(fit.sure, rare).min()
    assert len(np.unique(np.delete(fit.sure, rare))) == 1  # whatever others are in their block
    assert (learner.fit(rows, truth[rows]).labels == 1).all()


@pytest.mark.parametrize("with_features", [False, True])
def test_it_takes_a_few_bytes_a_row(with_features, tmp_path, monkeypatch):
    """With many more rows, a fit and what it says of them all take no more than some bytes for each."""
    monkeypatch.setattr(_blocks, "count_threads", lambda: 1)  # how many blocks are under way at once is luck
    peaks, sizes = [], (40_000, 200_000)
    for n_rows in sizes:
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 40, n_rows).astype(np.int32)
        said = np.where(rng.random(n_rows) < 0.8, truth, 0).astype(np.int32)
        np.save(tmp_path / f"{n_rows}.npy", rng.normal(size=(n_rows, 4)).astype(np.float32))
        scores, rows = [rng.random(n_rows)], np.arange(90)
        learner = SampledPredictionLearner(scores, n_rows=n_rows)
        if with_features:
            source = ArraySource(np.load(tmp_path / f"{n_rows}.npy", mmap_mode="r"))
            learner = SampledLearner(learner_rows(source), scores=scores)
        tracemalloc.start()
        learner.fit(rows, truth[rows], [said]).scan(1.0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 60 * (sizes[1] - sizes[0])  # a number for each class would be 160
