"""small-text: breaking ties (its margin sampling) by a logistic regression that is fitted anew for each question."""

from __future__ import annotations

from typing import Any

import numpy as np

INSTALL = (("small-text",),)
VARIABLES: dict[str, str] = {}
PACKAGE = "small-text"
ABOUT = "`PoolBasedActiveLearner` with `BreakingTies`"


class SmallTextLearner:
    """A pool-based learner over its own kind of dataset."""

    def __init__(self, X: Any, n_classes: int, rows: Any, labels: Any, seed: int) -> None:
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression
        from small_text import BreakingTies, PoolBasedActiveLearner, SklearnClassifierFactory, SklearnDataset

        model = LogisticRegression(C=10.0, max_iter=200)
        self.data = SklearnDataset(csr_matrix(X), np.zeros(len(X), dtype=np.int64), target_labels=np.arange(n_classes))
        factory = SklearnClassifierFactory(model, n_classes)
        self.learner = PoolBasedActiveLearner(factory, BreakingTies(), self.data)
        self.learner.initialize_data(np.asarray(rows), np.asarray(labels))

    def ask(self, n: int) -> Any:
        """Return the rows that are most nearly tied."""
        return self.learner.query(num_samples=n)

    def tell(self, rows: Any, labels: Any) -> None:
        """Fit the model to all that is known."""
        self.learner.update(np.asarray(labels))

    def label(self) -> Any:
        """Predict each row; by the model itself, as its wrapper forgets which classes have not been seen."""
        model = self.learner.classifier.model
        return model.predict(self.data.x)


LEARNER = SmallTextLearner
