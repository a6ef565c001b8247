"""The learner before its first fit: what it prepares, and what it asks of many rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bela.splitters import TransductiveLearner, _transductive


def clusters(n_rows: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around points far apart, and which of them each row is near."""
    rng = np.random.default_rng(0)
    label = rng.integers(n_clusters, size=n_rows)
    return (20.0 * rng.normal(size=(n_clusters, 6))[label] + rng.normal(size=(n_rows, 6))).astype(np.float32), label


def test_first_questions_about_many_rows_cover_them_without_a_graph_of_all(monkeypatch):
    """With more rows than a graph is quickly made for, a sample is looked at; every cluster is still asked about."""
    monkeypatch.setattr(_transductive, "MOST_ROWS", 2000)
    monkeypatch.setattr(_transductive, "SAMPLE", 500)
    X, label = clusters(5000, 12)
    learner = TransductiveLearner(X, seed=3)
    rows = learner.first_questions()
    assert learner._graph is None
    assert len(set(rows.tolist())) == len(rows)
    assert set(label[rows[:24]]) == set(range(12))
    learner.prepare()
    np.testing.assert_array_equal(learner.first_questions(), rows)  # prepared or not


def test_whoever_comes_first_prepares_for_all():
    """Several threads that want the graph at once get the same one."""
    learner = TransductiveLearner(clusters(800, 4)[0])
    with ThreadPoolExecutor(4) as pool:
        graphs = list(pool.map(lambda _: learner.graph, range(8)))
    assert len({id(graph) for graph in graphs}) == 1
