"""The choice of training questions."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from bela.learning._graph import build_graph
from bela.learning._questions import SKIPPED, choose_questions, cold_start


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(2000, centers=12, n_features=6, cluster_std=0.5, random_state=0)
    X = X.astype(np.float32)
    return X, y, build_graph(X)


def test_the_cold_start_sees_every_cluster(data):
    """The first fifteen questions already meet all of twelve clusters, with no class list known."""
    X, y, graph = data
    rows = cold_start(graph.smooth(X), seed=1)
    assert len(rows) == len(set(rows.tolist())) == 45
    assert len(set(y[rows[:15]])) == 12
    np.testing.assert_array_equal(rows, cold_start(graph.smooth(X), seed=1))


@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_the_cold_start_stands_copies_and_few_rows(n):
    """Rows that are all the same, and fewer rows than wanted, give distinct rows, as many as there can be."""
    for X in (np.ones((n, 2), np.float32), np.arange(n, dtype=np.float32)[:, None]):
        rows = cold_start(X, n=50)
        assert len(set(rows.tolist())) == len(rows) == min(50, n)


def test_doubt_comes_first_and_neighbours_wait(data):
    """Active questions are the most doubtful rows, none a near neighbour of an earlier one, none asked before."""
    X, _, graph = data
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), len(X)).astype(np.float32)
    asked = np.zeros(len(X), bool)
    asked[:500] = True
    picks = choose_questions(proba, asked, graph, 40, rng=np.random.default_rng(1))
    active = picks.rows[~picks.uniform]
    assert picks.uniform.sum() == 8
    assert not asked[picks.rows].any()
    assert len(set(picks.rows.tolist())) == 40
    for i, row in enumerate(active):
        assert row not in graph.neighbours[active[:i], :SKIPPED]
    top = np.sort(proba, axis=1)
    margin = top[:, -1] - top[:, -2]
    assert margin[active].max() < np.quantile(margin[~asked], 0.06)


def test_uniform_questions_are_uniform(data):
    """The share at random falls evenly on the rows that are neither asked nor chosen for doubt."""
    X, _, graph = data
    proba = np.tile(np.array([0.9, 0.1], np.float32), (len(X), 1))
    proba[:20] = 0.5
    counts = np.zeros(len(X))
    for seed in range(300):
        picks = choose_questions(proba, np.zeros(len(X), bool), graph, 25, rng=np.random.default_rng(seed))
        counts[picks.rows[picks.uniform]] += 1
    quarters = counts[20:].reshape(4, -1).sum(axis=1)
    expected = quarters.sum() / 4
    assert np.sum((quarters - expected) ** 2 / expected) < 16.3  # chi-squared, 3 degrees of freedom, 0.1 %


def test_the_last_questions_are_all_that_is_left(data):
    """When more are wanted than are open, all open rows come, each once; with one class any row will do."""
    X, _, graph = data
    asked = np.ones(len(X), bool)
    asked[:30] = False
    picks = choose_questions(np.ones((len(X), 1), np.float32), asked, graph, 100, rng=np.random.default_rng(0))
    assert sorted(picks.rows.tolist()) == list(range(30))


def test_few_answers_a_class_are_spread_over_doubtful_rows(data):
    """With hardly an answer a class, questions meet every cluster that is in doubt, and none where nothing is."""
    X, y, graph = data
    proba = np.tile(np.array([0.98] + [0.02 / 11] * 11, np.float32), (len(X), 1))
    doubtful = y < 8
    proba[doubtful] = 1 / 12
    asked = np.zeros(len(X), bool)
    asked[:20] = True
    picks = choose_questions(proba, asked, graph, 16, X=X, uniform_share=0.0, rng=np.random.default_rng(0))
    assert len(set(picks.rows.tolist())) == 16
    assert set(y[picks.rows]) >= set(range(8))
    assert np.mean(doubtful[picks.rows]) > 0.8
