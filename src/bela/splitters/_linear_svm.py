"""Linear support vector machine: the splitter of the paper's main experiments."""

from __future__ import annotations

import numpy as np

from bela.records import FloatArray, IntArray, Matrix
from bela.splitters._quiet import few_answers


class LinearSVM:
    """Cut a leaf by a linear SVM, one against one, into the classes that it predicts.

    The penalty is relative to the mean squared distance of the answers from their mean, so that it means the same
    for pixels in 0..1 and in 0..255.

    Parameters
    ----------
    penalty
        How much a training answer on the wrong side costs.
    """

    supervised = True

    def __init__(self, penalty: float = 3.0) -> None:
        self.penalty = penalty

    def fit(self, X: Matrix, y: IntArray, seed: int) -> LinearCut | None:
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
        return LinearCut(
            classes,
            (sign * weights.T).astype(np.float32),
            (sign * (model.intercept_ - weights @ centre)).astype(np.float32),
        )


class LinearCut:
    """Classes by the votes of one linear function for each pair of them."""

    def __init__(self, classes: IntArray, weights: FloatArray, offsets: FloatArray) -> None:
        self.classes, self.weights, self.offsets = classes, weights, offsets
        first, second = np.triu_indices(len(classes), 1)
        pairs = np.arange(len(first))
        self._wins = np.zeros((len(first), len(classes)), dtype=np.float32)
        self._wins[pairs, first] = 1
        self._losses = np.zeros_like(self._wins)
        self._losses[pairs, second] = 1

    def predict(self, X: Matrix) -> IntArray:
        scores: FloatArray = X @ self.weights + self.offsets
        if len(self.classes) == 2:
            return np.asarray(self.classes[(scores[:, 0] < 0).astype(np.intp)])
        # sum of decisions, squashed to less than half a vote, breaks ties
        total = scores @ (self._wins - self._losses)
        for_first = (scores > 0).astype(np.float32)
        votes = for_first @ (self._wins - self._losses) + self._losses.sum(axis=0)
        return np.asarray(self.classes[np.argmax(votes + total / (3 * (np.abs(total) + 1)), axis=1)])
