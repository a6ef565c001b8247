"""scikit-activeml: margin sampling by a logistic regression that is fitted anew for each question."""

from __future__ import annotations

from typing import Any

import numpy as np

INSTALL = (("scikit-activeml",),)
VARIABLES: dict[str, str] = {}
PACKAGE = "scikit-activeml"
ABOUT = "`UncertaintySampling(method='margin_sampling')`"


class SkactivemlLearner:
    """A query strategy, a wrapped classifier, and labels with NaN where nothing is known."""

    def __init__(self, X: Any, n_classes: int, rows: Any, labels: Any, seed: int) -> None:
        from skactiveml.classifier import SklearnClassifier
        from skactiveml.pool import UncertaintySampling
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=10.0, max_iter=200)
        self.X, self.y = X, np.full(len(X), np.nan)
        self.strategy = UncertaintySampling(method="margin_sampling", random_state=seed)
        self.model = SklearnClassifier(model, classes=np.arange(n_classes), random_state=seed)
        self.tell(rows, labels)

    def ask(self, n: int) -> Any:
        """Return the rows with the smallest margin."""
        return self.strategy.query(X=self.X, y=self.y, clf=self.model, fit_clf=False, batch_size=n)

    def tell(self, rows: Any, labels: Any) -> None:
        """Fit the model to all that is known."""
        self.y[rows] = labels
        self.model.fit(self.X, self.y)

    def label(self) -> Any:
        """Predict each row."""
        return self.model.predict(self.X)


LEARNER = SkactivemlLearner
