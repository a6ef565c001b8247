"""BELA as a scikit-learn estimator."""

import reprlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bela.campaign import Campaign, predict_new
from bela.errors import DataError
from bela.features import Embed
from bela.labels import is_missing
from bela.methods import DEFAULT_METHOD
from bela.records import AnyArray, FloatArray, IntArray, Label, Result


class BelaLabeler(BaseEstimator):  # type: ignore[misc]
    """Complete a partly labelled dataset, asking an oracle about a few rows.

    Parameters
    ----------
    oracle
        An array of true labels, or a callable from an array of rows to labels. Without one, the rest is labelled from
        the labels that are there.
    target, budget, confidence, method, splitter, embed, random_state
        As for `bela.Campaign`; the random state is its seed.
    predictions
        Labels that others have given to the rows of X, by name, as for `bela.Campaign`.
    progress
        Whether to show how far `fit` has come: if it takes a while, by default.

    Attributes
    ----------
    transduction_, classes_
        The label of each row, and all labels, sorted.
    label_distributions_
        For each row, how likely each class is; all on the answer where the row is known.
    certificate_, n_asked_
        The lower bound on the share of right labels, and how many answers the oracle gave.
    termination_condition_
        Why it stopped: "target", "budget" or "exhausted".

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
        self, *, oracle: object = None, target: float | None = None, budget: int | None = None,
        confidence: float = 0.95, method: str = DEFAULT_METHOD, splitter: object = "auto", embed: Embed = "auto",
        random_state: int = 0, predictions: Mapping[str, object] | None = None, progress: bool | None = None,
    ) -> None:  # fmt: skip
        self.oracle, self.target, self.budget, self.confidence = oracle, target, budget, confidence
        self.method, self.splitter, self.embed, self.random_state = method, splitter, embed, random_state
        self.predictions, self.progress = predictions, progress

    def fit(self, X: object, y: object = None) -> "BelaLabeler":
        """Label every row of X: features, or whatever else `bela.Campaign` takes.

        In y are the labels that are known, with -1, None or NaN for the others; it is None where no label is known.
        """
        if _is_numeric(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32)
        campaign = Campaign(
            X, method=self.method, target=self.target, budget=self.budget, confidence=self.confidence,
            labels=None if y is None else _known_labels(y), splitter=self.splitter, embed=self.embed,
            seed=int(self.random_state or 0), predictions=self.predictions,
        )  # fmt: skip
        oracle = (lambda rows: [None] * len(rows)) if self.oracle is None else self.oracle
        result = campaign.run(oracle, progress=self.progress)
        self.classes_, self.transduction_ = np.array(sorted(result.classes)), result.labels
        self.label_distributions_ = _distributions(result, np.searchsorted(self.classes_, result.labels))
        self.certificate_, self.n_asked_ = result.certificate, result.n_asked
        self.termination_condition_ = str(result.stop_reason)
        self._rows, self._known = X, {int(row): result.labels[row].item() for row in np.flatnonzero(result.known)}
        return self

    def predict(self, X: object, predictions: Mapping[str, object] | None = None) -> AnyArray:
        """Label rows that `fit` has not seen, which the certificate says nothing of."""
        check_is_fitted(self)
        if _is_numeric(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        known = Campaign(
            self._rows, labels=self._known, predictions=self.predictions, embed=self.embed,
            seed=int(self.random_state or 0),
        )  # fmt: skip
        return predict_new(known, X, predictions).labels

    def fit_predict(self, X: object, y: object = None) -> AnyArray:
        """Label every row of X and return the labels."""
        return self.fit(X, y).transduction_

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Say what it was made with, in a line: an oracle may be an array of all labels."""
        usual = type(self)().get_params()
        said = {name: value for name, value in self.get_params().items() if repr(value) != repr(usual[name])}
        return f"BelaLabeler({', '.join(f'{name}={_in_short(value)}' for name, value in said.items())})"

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        """Show the certificate below what scikit-learn shows of its estimators."""
        shown: dict[str, str] = super()._repr_mimebundle_(**options)
        if hasattr(self, "certificate_") and "text/html" in shown:
            shown["text/html"] += self.certificate_._repr_html_()
        return shown

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _in_short(value: object) -> str:
    return " ".join(reprlib.repr(value).split())


def _is_numeric(X: object) -> bool:
    """Whether rows are numbers already, for scikit-learn to check; texts, tables and files are taken as they are."""
    if isinstance(X, (str, Path)):
        return False
    if isinstance(X, (list, tuple)):
        return not (X and isinstance(X[0], (str, dict)))
    kinds = getattr(X, "dtypes", None)  # of the columns of a frame
    return kinds is None or all(getattr(kind, "kind", "O") in "biuf" for kind in kinds)


def _known_labels(y: object) -> list[Label | None]:
    values = np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    if values.ndim != 1:
        raise DataError(f"y must be one label for each row, not an array of shape {values.shape}")
    labels = values.tolist()
    if values.dtype.kind == "U" and "-1" in labels:  # -1 among words, which NumPy has made a word
        raise DataError("y has the text '-1', which would be a class of its own: use None where no label is known")
    return [None if is_missing(v) or (not isinstance(v, (str, bool)) and v == -1) else v for v in labels]


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
