"""How leaves are cut: any scikit-learn classifier or clusterer, and the ones that the paper compares."""

from typing import TYPE_CHECKING

import numpy as np

from bela.errors import ParameterError
from bela.learning._best_classifier import few_answers
from bela.protocols import Cut, Splitter
from bela.records import FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.preprocessing import FunctionTransformer


class LinearSVM:
    """Cut a leaf by a linear SVM, one against one, into the classes that it predicts.

    The penalty is relative to the mean squared distance of the answers from their mean, so that it means the same
    for pixels in 0..1 and in 0..255. It is what a training answer on the wrong side costs.
    """

    supervised = True

    def __init__(self, penalty: float = 3.0) -> None:
        self.penalty = penalty

    def fit(self, X: Matrix, y: IntArray, seed: int) -> "LinearCut | None":
        from sklearn.svm import SVC

        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            return None
        # libsvm wants doubles; centring keeps the offsets well conditioned, but would fill a sparse matrix
        X = X.astype(np.float64)
        dense = isinstance(X, np.ndarray)
        centre = X.mean(axis=0) if dense else np.zeros(X.shape[1])
        if dense:
            X = X - centre
            spread = float(np.einsum("ij,ij->", X, X)) / len(X)
        else:
            spread = float((X.data**2).sum()) / X.shape[0]
        if spread <= 0:
            return None
        with few_answers():
            model = SVC(kernel="linear", C=self.penalty / spread, cache_size=400).fit(X, codes)
        weights = model.coef_ if dense else model.coef_.toarray()
        sign = 1.0 if len(classes) > 2 else -1.0  # with two classes, scikit-learn flips the sign of its only column
        offsets = sign * (model.intercept_ - weights @ centre)
        return LinearCut(classes, (sign * weights.T).astype(np.float32), offsets.astype(np.float32))


class LinearCut:
    """Classes by the votes of one linear function for each pair of them."""

    def __init__(self, classes: IntArray, weights: FloatArray, offsets: FloatArray) -> None:
        self.classes, self.weights, self.offsets = classes, weights, offsets
        first, second = np.triu_indices(len(classes), 1)
        each = np.eye(len(classes), dtype=np.float32)
        self._sides, self._losses = each[first] - each[second], each[second].sum(axis=0)

    def predict(self, X: Matrix) -> IntArray:
        scores: FloatArray = X @ self.weights + self.offsets
        if len(self.classes) == 2:
            return np.asarray(self.classes[(scores[:, 0] < 0).astype(np.intp)])
        # sum of decisions, squashed to less than half a vote, breaks ties
        total = scores @ self._sides
        votes = (scores > 0).astype(np.float32) @ self._sides + self._losses
        return np.asarray(self.classes[np.argmax(votes + total / (3 * (np.abs(total) + 1)), axis=1)])


class EstimatorSplitter:
    """Cut a leaf into what a clone of a scikit-learn classifier predicts, or a clusterer finds in a sample of it."""

    def __init__(self, estimator: "BaseEstimator", *, supervised: bool) -> None:
        self.estimator, self.supervised = estimator, supervised

    def fit(self, X: Matrix, y: IntArray, seed: int) -> Cut | None:
        from sklearn.base import clone

        varied = y[:, None] if self.supervised else X
        if X.shape[0] < 2 or not (varied.max(axis=0) != varied.min(axis=0)).sum():
            return None  # all rows, or their classes, are the same
        model = clone(self.estimator)
        seeded = {name: seed % (1 << 31) for name in model.get_params() if name.split("__")[-1] == "random_state"}
        model.set_params(**seeded)
        with few_answers():
            fitted: Cut = model.fit(X, y if self.supervised else None)
        return fitted


class PCAKMeans:
    """Cut a leaf in two by k-means on its ten leading principal components."""

    supervised = False

    def fit(self, X: Matrix, y: IntArray, seed: int) -> Cut | None:
        from sklearn.cluster import KMeans
        from sklearn.decomposition import PCA
        from sklearn.pipeline import make_pipeline

        # a sparse solver finds no more than one component less than there are rows or columns
        n_components = max(1, min(10, min(X.shape) - 1))
        solver = "full" if isinstance(X, np.ndarray) else "arpack"
        dense = [_to_dense()] if min(X.shape) < 3 else []
        pipeline = make_pipeline(*dense, PCA(n_components, svd_solver=solver), KMeans(2, n_init=2))
        return EstimatorSplitter(pipeline, supervised=False).fit(X, y, seed)


def _to_dense() -> "FunctionTransformer":
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(lambda X: X if isinstance(X, np.ndarray) else X.toarray())


def _estimator(name: str) -> "BaseEstimator":
    from sklearn.cluster import KMeans
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    match name:
        case "mlp":
            network = MLPClassifier(64, learning_rate_init=0.003, max_iter=60, tol=1e-3, n_iter_no_change=5)
            return make_pipeline(StandardScaler(with_mean=False), network)
        case "tree":
            return DecisionTreeClassifier(min_samples_leaf=2)
        case "nb":  # on pixels most variances are zero in some class: they are raised to a share of the largest
            return make_pipeline(_to_dense(), GaussianNB(var_smoothing=0.1))
        case _:
            return KMeans(2, n_init=2)


SPLITTERS = ("auto", "svm", "mlp", "tree", "nb", "kmeans", "pca-kmeans")
"""The names that `make_splitter` knows."""


def make_splitter(splitter: object) -> Splitter:
    """Return a splitter by its name, or wrap a scikit-learn classifier or clusterer as one.

    Examples
    --------
    >>> make_splitter("svm").supervised, make_splitter("kmeans").supervised
    (True, False)
    """
    if splitter in ("auto", "svm"):
        return LinearSVM()
    if splitter == "pca-kmeans":
        return PCAKMeans()
    if isinstance(splitter, str):
        if splitter not in SPLITTERS:
            raise ParameterError(f"there is no splitter {splitter!r}: choose one of {', '.join(SPLITTERS)}")
        splitter = _estimator(splitter)
    if isinstance(splitter, Splitter):
        return splitter
    from sklearn.base import BaseEstimator, is_classifier, is_clusterer

    if isinstance(splitter, BaseEstimator):
        if is_classifier(splitter):
            return EstimatorSplitter(splitter, supervised=True)
        if is_clusterer(splitter) and hasattr(splitter, "predict"):
            return EstimatorSplitter(splitter, supervised=False)
    raise ParameterError(f"a splitter is a name, a scikit-learn classifier or clusterer, not {type(splitter).__name__}")
