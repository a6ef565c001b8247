"""modAL: margin sampling by a logistic regression that is fitted anew for each question."""

from __future__ import annotations

from typing import Any

import numpy as np

INSTALL = (("modAL-python", "scikit-learn<1.8"),)
VARIABLES: dict[str, str] = {}
PACKAGE = "modAL-python"
ABOUT = "`ActiveLearner` with `margin_sampling`; it needs a scikit-learn before 1.8, which pip does not know"


class ModalLearner:
    """An `ActiveLearner` and the rows that are left for it."""

    def __init__(self, X: Any, n_classes: int, rows: Any, labels: Any, seed: int) -> None:
        from modAL.models import ActiveLearner
        from modAL.uncertainty import margin_sampling
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=10.0, max_iter=200)
        self.X, self.left = X, np.setdiff1d(np.arange(len(X)), rows)
        self.learner = ActiveLearner(
            estimator=model, query_strategy=margin_sampling, X_training=X[rows], y_training=labels
        )

    def ask(self, n: int) -> Any:
        """Return the rows with the smallest margin."""
        places, _ = self.learner.query(self.X[self.left], n_instances=n)
        return self.left[np.asarray(places)]

    def tell(self, rows: Any, labels: Any) -> None:
        """Fit the model to all that is known."""
        self.learner.teach(self.X[rows], labels)
        self.left = np.setdiff1d(self.left, rows)

    def label(self) -> Any:
        """Predict each row."""
        return self.learner.predict(self.X)


LEARNER = ModalLearner
