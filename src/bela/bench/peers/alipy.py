"""ALiPy: margin sampling by a logistic regression that is fitted anew for each question."""

from __future__ import annotations

import collections
import collections.abc
from typing import Any

import numpy as np

INSTALL = (("alipy",),)
VARIABLES: dict[str, str] = {}
PACKAGE = "alipy"
ABOUT = "`QueryInstanceUncertainty(measure='margin')`; it looks for `collections.Iterable`, which was put back for it"


class AlipyLearner:
    """A query strategy, a classifier, and what is known and what is left as index lists."""

    def __init__(self, X: Any, n_classes: int, rows: Any, labels: Any, seed: int) -> None:
        collections.Iterable = collections.abc.Iterable  # type: ignore[attr-defined] # gone since Python 3.10
        from alipy.query_strategy import QueryInstanceUncertainty
        from sklearn.linear_model import LogisticRegression

        self.X, self.y = X, np.zeros(len(X), dtype=np.int64)
        self.known, self.left = np.zeros(0, dtype=np.int64), np.arange(len(X))
        self.strategy = QueryInstanceUncertainty(X, self.y, measure="margin")
        self.model = LogisticRegression(C=10.0, max_iter=200)
        self.tell(rows, labels)

    def ask(self, n: int) -> Any:
        """Return the rows with the smallest margin."""
        return self.strategy.select(self.known, self.left, model=self.model, batch_size=n)

    def tell(self, rows: Any, labels: Any) -> None:
        """Fit the model to all that is known."""
        self.y[rows] = labels
        self.known, self.left = np.concatenate([self.known, rows]), np.setdiff1d(self.left, rows)
        self.model.fit(self.X[self.known], self.y[self.known])

    def label(self) -> Any:
        """Predict each row."""
        return self.model.predict(self.X)


LEARNER = AlipyLearner
