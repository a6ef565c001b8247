"""Any scikit-learn classifier or clusterer as a splitter, and the ones that the paper compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from bela.errors import ParameterError
from bela.protocols import Cut, Splitter
from bela.records import IntArray, Matrix
from bela.splitters._linear_svm import LinearSVM
from bela.splitters._quiet import few_answers


class ClassifierSplitter:
    """Cut a leaf into the classes that a scikit-learn classifier predicts.

    Parameters
    ----------
    estimator
        Cloned for every fit, never changed itself.
    densify
        Turn sparse rows into dense ones, for estimators that take no others.
    """

    supervised = True

    def __init__(self, estimator: Any, *, densify: bool = False) -> None:
        self.estimator, self.densify = estimator, densify

    def fit(self, X: Matrix, y: IntArray, seed: int) -> Cut | None:
        if len(np.unique(y)) < 2:
            return None
        return _fitted(self.estimator, seed, self.densify, X, y)


class ClustererSplitter:
    """Cut a leaf into the clusters that a scikit-learn clusterer finds in a sample of its rows."""

    supervised = False

    def __init__(self, estimator: Any, *, densify: bool = False) -> None:
        self.estimator, self.densify = estimator, densify

    def fit(self, X: Matrix, y: IntArray, seed: int) -> Cut | None:
        if X.shape[0] < 2 or not (X.max(axis=0) != X.min(axis=0)).sum():
            return None  # all rows are the same
        return _fitted(self.estimator, seed, self.densify, X, None)


class PCAKMeans:
    """Cut a leaf in two by k-means on its leading principal components."""

    supervised = False

    def __init__(self, n_components: int = 10) -> None:
        self.n_components = n_components

    def fit(self, X: Matrix, y: IntArray, seed: int) -> Cut | None:
        from sklearn.cluster import KMeans
        from sklearn.decomposition import PCA
        from sklearn.pipeline import make_pipeline

        # a sparse solver finds no more than one component less than there are rows or columns
        n_components = max(1, min(self.n_components, min(X.shape) - 1))
        solver = "full" if isinstance(X, np.ndarray) else "arpack"
        pipeline = make_pipeline(PCA(n_components, svd_solver=solver), KMeans(2, n_init=2))
        return ClustererSplitter(pipeline, densify=min(X.shape) < 3).fit(X, y, seed)


class _EstimatorCut:
    def __init__(self, model: Any, densify: bool) -> None:
        self.model, self.densify = model, densify

    def predict(self, X: Matrix) -> IntArray:
        result: IntArray = self.model.predict(_dense(X, self.densify))
        return result


def _dense(X: Matrix, densify: bool) -> Matrix:
    return X.toarray() if densify and not isinstance(X, np.ndarray) else X


def _fitted(estimator: Any, seed: int, densify: bool, X: Matrix, y: IntArray | None) -> Cut:
    from sklearn.base import clone

    model = clone(estimator)
    seeded = {name: seed % (1 << 31) for name in model.get_params() if name.split("__")[-1] == "random_state"}
    model.set_params(**seeded)
    with few_answers():
        return _EstimatorCut(model.fit(_dense(X, densify), y), densify)


def _mlp() -> Splitter:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier((64,), solver="adam", learning_rate_init=0.003, max_iter=60, tol=1e-3, n_iter_no_change=5)
    return ClassifierSplitter(make_pipeline(StandardScaler(with_mean=False), network))


def _decision_tree() -> Splitter:
    from sklearn.tree import DecisionTreeClassifier

    return ClassifierSplitter(DecisionTreeClassifier(min_samples_leaf=2))


def _naive_bayes() -> Splitter:
    from sklearn.naive_bayes import GaussianNB

    # On pixels most variances are zero in some class: they are raised to a share of the largest.
    return ClassifierSplitter(GaussianNB(var_smoothing=0.1), densify=True)


def _k_means() -> Splitter:
    from sklearn.cluster import KMeans

    return ClustererSplitter(KMeans(2, n_init=2))


_BY_NAME = {
    "auto": LinearSVM,
    "svm": LinearSVM,
    "mlp": _mlp,
    "tree": _decision_tree,
    "nb": _naive_bayes,
    "kmeans": _k_means,
    "pca-kmeans": PCAKMeans,
}

SPLITTERS = tuple(_BY_NAME)
"""The names that `make_splitter` knows."""


def make_splitter(splitter: str | Any) -> Splitter:
    """Return a splitter by its name, or wrap a scikit-learn classifier or clusterer as one.

    Examples
    --------
    >>> make_splitter("svm").supervised, make_splitter("kmeans").supervised
    (True, False)
    """
    if isinstance(splitter, str):
        if splitter not in _BY_NAME:
            raise ParameterError(f"there is no splitter {splitter!r}: choose one of {', '.join(SPLITTERS)}")
        return _BY_NAME[splitter]()
    if isinstance(splitter, Splitter):
        return splitter
    from sklearn.base import BaseEstimator, is_classifier, is_clusterer

    if isinstance(splitter, BaseEstimator) and is_classifier(splitter):
        return ClassifierSplitter(splitter)
    if isinstance(splitter, BaseEstimator) and is_clusterer(splitter) and hasattr(splitter, "predict"):
        return ClustererSplitter(splitter)
    raise ParameterError(f"a splitter is a name, a scikit-learn classifier or clusterer, not {type(splitter).__name__}")
