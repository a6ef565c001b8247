"""Warnings of scikit-learn that mean nothing where there are few answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_answers() -> Iterator[None]:
    """Let pass that there are nearly as many classes as answers, and that a fit was stopped early.

    The first is how a campaign starts; the second is judged by what the fit is good for.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
