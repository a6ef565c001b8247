"""Margin sampling, a classifier, a hold-out: what users of active-learning libraries do."""

from __future__ import annotations

from typing import Any

import numpy as np

from bela.methods._holdout import HoldoutMethod
from bela.protocols import Cut
from bela.records import FloatArray, Matrix


class MarginSampling(HoldoutMethod):
    """Train on the rows whose two likeliest labels are closest; parameters are those of `HoldoutMethod`.

    The hold-out is drawn uniformly and the classifier never trains on it. As training takes doubtful rows from the
    others and never from the hold-out, the hold-out holds if anything more hard rows than what it speaks for.
    """

    name = "margin"

    _queue: list[int] | None = None
    _n_asked_by_margin = 0

    def _next_training(self) -> int | None:
        while self._queue:
            row = self._queue.pop()
            if self._free(row):
                return row
        return self._next_uniform()  # before the first fit

    def _fitted(self, model: Cut) -> None:
        margins = self._features.scan(lambda X: _margins(model, X))
        n_next = int(self.growth * self._n_fitted) + 100
        taken = np.fromiter(self._roles, dtype=np.intp, count=len(self._roles))
        margins[taken] = np.inf
        margins[self._known >= 0] = np.inf
        closest = np.argsort(margins, kind="stable")[:n_next]
        self._queue = [int(row) for row in closest[::-1] if np.isfinite(margins[row])]


def _margins(model: Any, X: Matrix) -> FloatArray:
    """Return how far apart the two likeliest labels of each row are, in the classifier's own unit."""
    scores = model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)
    if scores.ndim == 1:
        return np.asarray(np.abs(scores), dtype=np.float64)
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0], dtype=np.float64)
