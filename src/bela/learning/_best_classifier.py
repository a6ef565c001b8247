"""The classifier that a practitioner would take: the best of a few, by cross-validation."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from scipy.sparse import issparse

from bela.protocols import Cut
from bela.records import FloatArray, IntArray, Matrix

_MOST = 1_500  # answers used to compare the candidates; the winner is fitted on all of them


class _Classifier(Protocol):
    def fit(self, X: Matrix, y: IntArray) -> Cut: ...


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
    sample = sample[np.isin(y[sample], classes[counts >= 2])]
    folds = int(min(3, np.unique(y[sample], return_counts=True)[1].min())) if len(sample) else 0
    best = candidates[0]
    with few_answers():
        if folds >= 2 and len(np.unique(y[sample])) > 1:
            split = StratifiedKFold(folds, shuffle=True, random_state=seed)
            scores = [cross_val_score(model, X[sample], y[sample], cv=split).mean() for model in candidates]
            best = candidates[int(np.argmax(scores))]
        return best.fit(X, y)


def _candidates(X: Matrix, seed: int) -> list[_Classifier]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    scaler = StandardScaler(with_mean=isinstance(X, np.ndarray))
    soft, firm = (SVC(C=penalty, kernel=_gaussian) for penalty in (1.0, 10.0))
    scaled = [make_pipeline(scaler, model) for model in (soft, firm, RidgeClassifier(alpha=10.0))]
    return [soft, scaled[0], firm, *scaled[1:], RandomForestClassifier(50, random_state=seed)]


def _gaussian(X: Matrix, answered: Matrix) -> FloatArray:
    """Return the default kernel of `SVC` by matrix products: the library's own goes row by row, four times as long."""
    from sklearn.metrics.pairwise import rbf_kernel

    mean = float(answered.mean())
    variance = float((answered.multiply(answered) if issparse(answered) else answered**2).mean()) - mean**2
    gamma = 1.0 / (answered.shape[1] * variance) if variance > 0 else 1.0
    return np.asarray(rbf_kernel(X, answered, gamma=gamma))


@contextmanager
def few_answers() -> Iterator[None]:
    """Let pass that classes are nearly as many as answers, as when a campaign starts, and that a fit stopped early."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
