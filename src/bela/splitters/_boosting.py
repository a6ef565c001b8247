"""Boosted trees, for tables with enough answers: columns of different kinds, steps and interactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bela.splitters._neighbours import Floats, Rows
from bela.splitters._propagation import deal_folds
from bela.splitters._threads import one_thread

FEWEST = 100  # answers
FEWEST_OF_CLASS = 4
MOST_CLASSES = 30  # a tree for each class and round
FOLDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """A fitted model: log-probabilities of any rows, and of each answer by a fit without its fold."""

    model: Any
    left_out: Floats

    def score(self, columns: Floats) -> Floats:
        """Log-probabilities of rows, one column for each class."""
        with one_thread():
            return _log(self.model.predict_proba(columns))


def trees_apply(classes: Rows) -> bool:
    """Whether there are answers enough for trees to have a chance."""
    counts = np.bincount(classes)
    return len(classes) >= FEWEST and len(counts) <= MOST_CLASSES and int(counts.min()) >= FEWEST_OF_CLASS


def fit_trees(columns: Floats, classes: Rows, rng: np.random.Generator) -> Trees:
    """Fit to all answers, and once more for each fold without it.

    Parameters
    ----------
    columns
        The answered rows of the table.
    classes
        Their classes, numbered from 0, each with as many answers as `trees_apply` wants.
    rng
        Deals the folds and seeds the trees.
    """
    seed = int(rng.integers(2**31))
    fold = deal_folds(classes, FOLDS, rng)
    left_out = np.empty((len(classes), int(classes.max()) + 1), np.float32)
    with one_thread():
        for f in range(FOLDS):
            inside = fold == f
            model = _model(seed).fit(columns[~inside], classes[~inside])
            left_out[inside] = _log(model.predict_proba(columns[inside]))
        return Trees(model=_model(seed).fit(columns, classes), left_out=left_out)


def _model(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=50, learning_rate=0.12, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False, random_state=seed
    )


def _log(probabilities: Any) -> Floats:
    return np.log(np.maximum(np.asarray(probabilities, np.float32), np.float32(1e-4)))
