"""Neighbours and the graph."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from bela.learning._graph import build_graph, nearest, nearest_among, propagate
from bela.learning._questions import choose_questions


def clustered(n, d=16, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(40, d))[rng.integers(0, 40, n)] + 0.5 * rng.normal(size=(n, d))).astype(np.float32)


def test_all_pairs_find_the_nearest():
    """The exact search agrees with scikit-learn's, nearest first, the row itself left out."""
    X = clustered(3000)
    index, squared = nearest(X, 15)
    distance, expected = NearestNeighbors(n_neighbors=16).fit(X).kneighbors(X)
    assert np.mean(index == expected[:, 1:]) > 0.999
    np.testing.assert_allclose(np.sqrt(squared), distance[:, 1:], atol=2e-3)


def test_cells_find_nearly_all():
    """The search by cells finds at least 95 % of the nearest, the same ones every time."""
    X = clustered(12_000, d=32)
    exact, _ = nearest(X, 15, exact=True)
    found, _ = nearest(X, 15, exact=False, seed=1)
    recall = np.mean([len(set(a) & set(b)) / 15 for a, b in zip(exact[::20], found[::20], strict=True)])
    assert recall >= 0.95
    np.testing.assert_array_equal(found, nearest(X, 15, exact=False, seed=1)[0])


def test_cells_stand_many_copies():
    """A cell that swallows most rows is no trouble."""
    X = np.zeros((3000, 4), np.float32)
    X[:300] = clustered(300, d=4)
    index, squared = nearest(X, 10, exact=False)
    assert np.all(index != np.arange(3000)[:, None])
    assert np.all(squared[300:] == 0)


def test_operators_are_what_they_should_be():
    """S is symmetric with spectrum within -1 and 1, rows of P sum to 1, and nobody is their own neighbour."""
    graph = build_graph(clustered(400))
    symmetric = graph.symmetric.toarray()
    np.testing.assert_allclose(symmetric, symmetric.T, atol=1e-6)
    assert np.abs(np.linalg.eigvalsh(symmetric)).max() < 1 + 1e-5
    np.testing.assert_allclose(graph.walk.sum(axis=1), 1, atol=1e-5)
    assert np.all(symmetric.diagonal() == 0)
    assert np.all((symmetric > 0).sum(axis=1) >= 10)


def test_smoothing_pulls_clusters_together():
    """After smoothing, rows lie closer to the middle of their cluster and no row leaves the data's range."""
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 200)
    X = (np.array([[0, 0], [10, 0]])[label] + rng.normal(size=(400, 2))).astype(np.float32)
    smooth = build_graph(X).smooth(X)
    assert all(smooth[label == c].std() < X[label == c].std() for c in (0, 1))
    assert smooth.min() >= X.min()
    assert smooth.max() <= X.max()


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_few_rows_and_copies(n):
    """Fewer rows than neighbours, and rows that are all the same, give finite operators."""
    for X in (np.arange(n, dtype=np.float32)[:, None], np.ones((n, 2), np.float32)):
        graph = build_graph(X)
        assert np.isfinite(graph.symmetric.data).all()
        np.testing.assert_allclose(graph.walk.sum(axis=1), 1, atol=1e-6)
        assert graph.neighbours.shape == (n, min(15, n - 1))


def test_marks_that_rows_lean_on_are_the_nearest():
    """Nearly all rows get their nearest marks, by cells as well."""
    X = clustered(9_000, d=32)
    marks = np.ascontiguousarray(X[::2])
    found, squared = nearest_among(X, marks, 4)
    distance, expected = NearestNeighbors(n_neighbors=4).fit(marks).kneighbors(X)
    assert np.mean([len(set(a) & set(b)) / 4 for a, b in zip(expected, found, strict=True)]) > 0.95
    assert np.mean(np.abs(squared[:, 0] - distance[:, 0] ** 2) < 1e-3) > 0.97


def test_landmarks_stand_for_their_surroundings():
    """With landmarks, a constant stays one when smoothed, a landmark is its own place, and clusters stay apart."""
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 2000)
    X = (np.array([[0, 0], [12, 0]])[label] + rng.normal(size=(4000, 2))).astype(np.float32)
    graph = build_graph(X, most_rows=1000, n_landmarks=300)
    assert (graph.n_rows, graph.n_places) == (4000, 300)
    np.testing.assert_allclose(graph.smooth(np.ones((4000, 1), np.float32)), 1, atol=1e-5)
    np.testing.assert_array_equal(graph.places(graph.landmarks), np.arange(300))
    np.testing.assert_array_equal(label[graph.landmarks[graph.places(np.arange(4000))]], label)
    shares, _ = propagate(graph, np.array([5, 2160]), np.array([0, 1]), 2, rng)
    assert np.mean(shares.argmax(axis=1) == label) > 0.99
    picks = choose_questions(np.full((4000, 2), 0.5, np.float32), np.zeros(4000, bool), graph, 40, rng=rng)
    places = graph.places(picks.rows[~picks.uniform])
    assert len(np.unique(places)) == len(places)
