"""The whole of it in one call."""

from __future__ import annotations

from typing import Any

from bela.campaign._campaign import Campaign
from bela.methods import DEFAULT_METHOD
from bela.records import Result


def label(
    X: Any,
    oracle: Any,
    *,
    target: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    method: str = DEFAULT_METHOD,
    seed: int = 0,
    **options: Any,
) -> Result:
    """Label every row of X by asking the oracle about a few of them.

    Parameters are those of `Campaign`; `oracle` is an array of true labels, or a callable from an array of rows to
    labels (None for a row that it will not answer).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(600, centers=3, cluster_std=0.5, random_state=0)
    >>> result = label(X, y, target=0.9)
    >>> bool((result.labels == y).mean() >= result.certificate.lower >= 0.9)
    True
    """
    return Campaign(X, method=method, target=target, budget=budget, confidence=confidence, seed=seed, **options).run(
        oracle
    )
