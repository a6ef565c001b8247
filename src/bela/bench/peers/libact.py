"""libact: hierarchical sampling (Dasgupta and Hsu 2008) on Ward's tree, with its own labels for the rest."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

# Its last release builds with nothing newer than these, and two of its extensions, not needed here, with nothing here.
INSTALL = (
    (
        "setuptools<60",
        "wheel",
        "Cython<3",
        "numpy<1.24",
        "scipy<1.11",
        "scikit-learn<1.3",
        "matplotlib",
        "joblib",
        "six",
    ),
    ("--no-build-isolation", "--no-deps", "libact"),
)
VARIABLES = {"LIBACT_BUILD_HINTSVM": "0", "LIBACT_BUILD_VARIANCE_REDUCTION": "0"}
PACKAGE = "libact"
ABOUT = (
    "`HierarchicalSampling`, which labels the rest by itself; `pip install libact` alone fails (it wants Cython before "
    "it says so, and a scikit-learn of 2020), so that it was given older packages"
)


class LibactLearner:
    """A dataset of libact's, and its hierarchical sampling."""

    def __init__(self, X: Any, n_classes: int, rows: Any, labels: Any, seed: int) -> None:
        import joblib

        sys.modules.setdefault("sklearn.externals.joblib", joblib)  # where it was when libact was written
        sys.setrecursionlimit(10 * len(X) + 10_000)  # it goes down its tree by recursion, and Ward's may be deep
        from libact.base.dataset import Dataset
        from libact.query_strategies.multiclass.hierarchical_sampling import HierarchicalSampling

        self.data = Dataset(X, [None] * len(X))
        self.strategy = HierarchicalSampling(self.data, list(range(n_classes)), random_state=seed)
        self.tell(rows, labels)

    def ask(self, n: int) -> Any:
        """Return the row that it wants; one at a time."""
        return np.array([self.strategy.make_query()])

    def tell(self, rows: Any, labels: Any) -> None:
        """Take in answers."""
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
            self.data.update(row, label)  # which tells the strategy

    def label(self) -> Any:
        """Return the label of the part of the tree that each row is in."""
        return self.strategy.report_all_label()


LEARNER = LibactLearner
