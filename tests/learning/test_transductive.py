"""The learner before its first fit: what it prepares, and what it asks of many rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bela.features import Prepared
from bela.learning import TransductiveLearner, _transductive
from bela.learning._stack import Stack


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


def test_where_no_member_says_anything_every_class_is_as_likely(monkeypatch):
    """Answers that nothing predicts leave every member without weight, and every row undecided."""
    X, label = clusters(60, 3)

    def weightless(left_out, *_, **__):
        return Stack(weights=np.zeros(len(left_out)), loss=float(np.log(3)))

    monkeypatch.setattr(_transductive, "fit_stack", weightless)
    rows = np.arange(12)
    fit = TransductiveLearner(X).fit(rows, label[rows])
    np.testing.assert_array_equal(fit.proba, np.full((60, len(fit.classes)), 1 / len(fit.classes), np.float32))


def test_a_view_has_a_say_of_its_own():
    """What one view tells is learnt from it, though it is lost amid the rest; a view of noise costs next to nothing."""
    X, label = clusters(500, 4)
    noise = np.random.default_rng(1).normal(size=(500, 40)).astype(np.float32)
    rows = np.random.default_rng(2).choice(500, 60, replace=False)

    def right(*views: np.ndarray) -> tuple[float, dict[str, float]]:
        fit = TransductiveLearner(Prepared(dense=noise, views=views)).fit(rows, label[rows])
        return float((fit.classes[fit.proba.argmax(axis=1)] == label).mean()), fit.weights

    assert right()[0] < 0.5
    for views in ((X,), (noise[:, :9], X)):
        share, weights = right(*views)
        assert share > 0.95
        assert weights[f"view {len(views)}"] == max(weights.values())
