"""Label propagation."""

import numpy as np

from bela.learning import _graph
from bela.learning._graph import build_graph, deal_folds, propagate


def two_clusters(n=150):
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], n)
    X = (np.array([[0, 0], [12, 0]])[label] + rng.normal(size=(2 * n, 2))).astype(np.float32)
    return X, label


def test_one_answer_labels_its_cluster():
    """Each cluster takes the label of its only answer."""
    X, label = two_clusters()
    shares, _ = propagate(build_graph(X), np.array([5, 160]), np.array([0, 1]), 2, np.random.default_rng(0))
    assert np.mean(shares.argmax(axis=1) == label) > 0.99


def test_the_iteration_solves_its_equation():
    """Twelve steps come within a few per cent of (1 - alpha S)^-1."""
    X, _ = two_clusters()
    graph = build_graph(X)
    source = np.zeros((len(X), 2), np.float32)
    source[[5, 160], [0, 1]] = 1
    exact = np.linalg.solve(np.eye(len(X)) - _graph.ALPHA * graph.symmetric.toarray(), source)
    assert np.abs(_graph._spread(graph, source) - exact).max() < 0.05 * exact.max()


def test_an_answer_does_not_foretell_itself():
    """A wrong answer in the middle of a cluster is predicted as the others say, by single folds and by four."""
    X, label = two_clusters()
    graph = build_graph(X)
    for n in (10, 60):
        rows = np.concatenate([np.arange(n), 150 + np.arange(n)])
        classes = label[rows].copy()
        classes[0] = 1
        shares, left_out = propagate(graph, rows, classes, 2, np.random.default_rng(0))
        assert left_out[0].argmax() == 0
        changed = classes.copy()
        changed[0] = 0
        if n == 10:  # every answer is a fold: its own class cannot change what the others say, but for their number
            again = propagate(graph, rows, changed, 2, np.random.default_rng(0))[1]
            assert again[0].argmax() == left_out[0].argmax()
        assert np.isfinite(shares).all()


def test_more_answers_are_no_louder():
    """A class with ten answers in one place does not drown one with a single answer elsewhere."""
    X, label = two_clusters()
    rows = np.append(np.arange(10), 160)
    shares, _ = propagate(build_graph(X), rows, label[rows], 2, np.random.default_rng(0))
    assert np.mean(shares.argmax(axis=1) == label) > 0.99


def test_folds_are_even():
    """Each fold has its share of every class, to within one."""
    classes = np.repeat([0, 1, 2], [40, 21, 7])
    fold = deal_folds(classes, 4, np.random.default_rng(0))
    for c in range(3):
        counts = np.bincount(fold[classes == c], minlength=4)
        assert np.ptp(counts) <= 1


def test_rows_that_no_answer_reaches_are_undecided():
    """Far from all answers every class is as likely as any."""
    X = np.concatenate([np.zeros((30, 1)), np.full((30, 1), 1e3)]).astype(np.float32)
    X += np.random.default_rng(0).normal(size=X.shape).astype(np.float32)
    shares, _ = propagate(build_graph(X), np.array([0, 1]), np.array([0, 1]), 2, np.random.default_rng(0))
    np.testing.assert_allclose(shares[30:], np.log(0.5), atol=1e-5)
