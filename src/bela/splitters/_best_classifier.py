"""The classifier that a practitioner would take: the best of a few, by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from bela.protocols import Cut
from bela.records import FloatArray, IntArray, Matrix
from bela.splitters._quiet import few_answers

_MOST = 1_500
"""Answers used to compare the candidates; the winner is fitted on all of them."""


def fit_best_classifier(X: Matrix, y: IntArray, seed: int) -> Cut | None:
    """Fit the classifier with the best cross-validated accuracy, or return None where there is but one class."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        return None
    candidates = _candidates(X, seed)
    rng = np.random.default_rng([seed, len(y)])
    sample = rng.choice(len(y), _MOST, replace=False) if len(y) > _MOST else np.arange(len(y))
    # A class with a single answer cannot be stratified: compare on the others.
    frequent = np.isin(y[sample], classes[counts >= 2])
    sample = sample[frequent]
    folds = int(min(3, np.unique(y[sample], return_counts=True)[1].min())) if len(sample) else 0
    best = candidates[0]
    with few_answers():
        if folds >= 2 and len(np.unique(y[sample])) > 1:
            split = StratifiedKFold(folds, shuffle=True, random_state=seed)
            scores = [cross_val_score(model, X[sample], y[sample], cv=split).mean() for model in candidates]
            best = candidates[int(np.argmax(scores))]
        fitted: Cut = best.fit(X, y)
    return fitted


def _candidates(X: Matrix, seed: int) -> list[Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    dense = isinstance(X, np.ndarray)
    models: list[Any] = []
    for penalty in (1.0, 10.0):
        models.append(SVC(C=penalty, kernel=_gaussian))
        models.append(make_pipeline(StandardScaler(with_mean=dense), SVC(C=penalty, kernel=_gaussian)))
    models.append(make_pipeline(StandardScaler(with_mean=dense), RidgeClassifier(alpha=10.0)))
    models.append(RandomForestClassifier(50, random_state=seed))
    return models


def _gaussian(X: Matrix, answered: Matrix) -> FloatArray:
    """Return the kernel that `SVC` has by default, by matrix products: as wide as the answered rows vary.

    The library's own goes row by row, which takes four times as long.
    """
    from sklearn.metrics.pairwise import rbf_kernel

    mean = float(answered.mean())
    variance = float((answered.multiply(answered) if issparse(answered) else answered**2).mean()) - mean**2
    kernel: FloatArray = rbf_kernel(X, answered, gamma=1.0 / (answered.shape[1] * variance) if variance > 0 else 1.0)
    return kernel
