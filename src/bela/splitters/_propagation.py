"""Label propagation: answers spread along the graph and fade with every step (Zhou et al. 2004)."""

from __future__ import annotations

import numpy as np

from bela.splitters._graph import Graph
from bela.splitters._neighbours import Floats, Rows

ALPHA = 0.97  # what is left after a step
STEPS = 12  # of a Chebyshev iteration: as good as a hundred plain ones
COLUMNS = 50  # spread at once, at the least 4 folds: few answers get leave-one-out
FLOOR = 1e-3  # share of the mass that every class has anywhere, so that no answer is ruled out


def propagate(
    graph: Graph, rows: Rows, classes: Rows, n_classes: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return log-shares of the classes at every row, and at each answer from the answers of the other folds.

    Spreading is linear: each fold of the answers is spread in columns of its own, everything is their sum, and an
    answer's out-of-fold mass is the sum without its own fold. With few answers every one is a fold of its own.

    Parameters
    ----------
    graph
        Where the answers spread.
    rows, classes
        The answered rows and their classes, numbered from 0.
    n_classes
        How many classes there are.
    rng
        Deals the folds.
    """
    n_folds = len(rows) if len(rows) <= COLUMNS else max(4, COLUMNS // n_classes)
    fold = deal_folds(classes, n_folds, rng)
    keys, column = np.unique(fold * n_classes + classes, return_inverse=True)
    source = np.zeros((graph.n_rows, len(keys)), np.float32)
    source[rows, column] = 1
    mass = graph.to_rows(_spread(graph, graph.to_places(source)))
    to_class = np.zeros((len(keys), n_classes), np.float32)
    to_class[np.arange(len(keys)), keys % n_classes] = 1
    counts = np.bincount(column, minlength=len(keys)).astype(np.float32)
    left_out = np.empty((len(rows), n_classes), np.float32)
    for f in range(n_folds):
        inside = fold == f
        others = to_class * (keys // n_classes != f)[:, None]
        left_out[inside] = _log_shares(mass[rows[inside]] @ others, counts @ others)
    return _log_shares(mass @ to_class, counts @ to_class), left_out


def deal_folds(classes: Rows, n_folds: int, rng: np.random.Generator) -> Rows:
    """Deal answers into folds, each class as evenly as it goes."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    fold = np.empty(len(classes), np.intp)
    fold[order] = np.arange(len(classes)) % max(1, n_folds)
    return fold


def _spread(graph: Graph, source: Floats) -> Floats:
    """Solve (1 - ALPHA S) mass = source; the eigenvalues of S lie between -1 and 1."""
    before, mass, omega = np.zeros_like(source), source, 1.0
    for step in range(STEPS):
        omega = 1 / (1 - ALPHA**2 / 2) if step == 0 else 1 / (1 - ALPHA**2 * omega / 4)
        after = graph.symmetric @ mass
        after *= np.float32(ALPHA)
        after += source
        after -= before
        after *= np.float32(omega)
        after += before
        before, mass = mass, after
    return np.maximum(mass, 0)


def _log_shares(mass: Floats, counts: Floats) -> Floats:
    """A class with more answers has more mass to spread, which says nothing about the row."""
    shares = mass / np.maximum(counts, np.float32(1))
    total = shares.sum(axis=1, keepdims=True)
    uniform = np.float32(1 / mass.shape[1])
    shares = np.divide(shares, total, out=np.full_like(shares, uniform), where=total > 0)
    return np.asarray(np.log((1 - np.float32(FLOOR)) * shares + np.float32(FLOOR) * uniform), np.float32)
