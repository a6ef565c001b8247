"""BELA as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from bela._labels import is_missing
from bela.campaign import Campaign
from bela.errors import DataError
from bela.methods import DEFAULT_METHOD
from bela.records import FloatArray, IntArray, Result


class BelaLabeler(BaseEstimator):  # type: ignore[misc]
    """Complete a partly labelled dataset, asking an oracle about a few rows.

    Parameters
    ----------
    oracle
        An array of true labels, or a callable from an array of rows to labels. Without one, the rest is labelled from
        the labels that are there.
    target, budget, confidence, method, splitter
        As for `bela.Campaign`.
    random_state
        The seed.

    Attributes
    ----------
    transduction_
        The label of each row.
    classes_
        The labels, sorted.
    label_distributions_
        For each row, how likely each class is; all on the answer where the row is known.
    certificate_
        The lower bound on the share of right labels.
    termination_condition_
        Why it stopped: "target", "budget" or "exhausted".
    n_asked_
        How many answers the oracle gave.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(500, centers=3, cluster_std=0.5, random_state=0)
    >>> partly = y.copy()
    >>> partly[10:] = -1
    >>> labeler = BelaLabeler(oracle=y, budget=120).fit(X, partly)
    >>> float((labeler.transduction_ == y).mean())
    1.0
    """

    def __init__(
        self,
        *,
        oracle: Any = None,
        target: float | None = None,
        budget: int | None = None,
        confidence: float = 0.95,
        method: str = DEFAULT_METHOD,
        splitter: Any = "auto",
        random_state: int = 0,
    ) -> None:
        self.oracle = oracle
        self.target = target
        self.budget = budget
        self.confidence = confidence
        self.method = method
        self.splitter = splitter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BelaLabeler:
        """Label every row of X.

        Parameters
        ----------
        X
            The features.
        y
            The labels that are known, with -1, None or NaN for the others; None where no label is known.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32)
        campaign = Campaign(
            X,
            method=self.method,
            target=self.target,
            budget=self.budget,
            confidence=self.confidence,
            labels=None if y is None else _known_labels(y, X.shape[0]),
            seed=0 if self.random_state is None else int(self.random_state),
            splitter=self.splitter,
        )
        result = campaign.run(_no_answer if self.oracle is None else self.oracle)
        self.classes_ = np.array(sorted(result.classes))  # type: ignore[type-var]
        self.transduction_ = result.labels
        self.label_distributions_ = _distributions(result, np.searchsorted(self.classes_, result.labels))
        self.certificate_ = result.certificate
        self.termination_condition_ = str(result.stop_reason)
        self.n_asked_ = result.n_asked
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Label every row of X and return the labels."""
        return self.fit(X, y).transduction_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _no_answer(rows: IntArray) -> list[None]:
    return [None] * len(rows)


def _known_labels(y: Any, n_rows: int) -> list[Any]:
    values = np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    if values.ndim != 1 or len(values) != n_rows:
        raise DataError(f"y must be one label for each of the {n_rows} rows, not an array of shape {values.shape}")
    return [None if is_missing(v) or (not isinstance(v, (str, bool)) and v == -1) else v for v in values.tolist()]


def _distributions(result: Result, codes: IntArray) -> FloatArray:
    """Put each row's probability on its label, and share out the rest like the answers in its leaf that disagree."""
    n_leaves, n_classes = int(result.leaf.max()) + 1, len(result.classes)
    counts = np.full((n_leaves, n_classes), 1e-3)
    np.add.at(counts, (result.leaf[result.known], codes[result.known]), 1.0)
    rows = np.arange(len(codes))
    shares: FloatArray = counts[result.leaf]
    shares[rows, codes] = 0.0
    shares *= ((1.0 - result.probability) / np.maximum(shares.sum(axis=1), 1e-300))[:, None]
    shares[rows, codes] = result.probability if n_classes > 1 else 1.0
    return shares
