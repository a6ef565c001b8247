"""The classifier of practitioners: the same as the library's, and quicker."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from bela.learning._best_classifier import _gaussian


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_kernel_is_that_of_the_library(form):
    """A support vector machine with our kernel says what one with the library's default says."""
    X, y = load_digits(return_X_y=True)
    ours = SVC(kernel=_gaussian).fit(form(X[:400]), y[:400])
    theirs = SVC().fit(form(X[:400]), y[:400])
    np.testing.assert_array_equal(ours.predict(form(X[400:])), theirs.predict(form(X[400:])))
    np.testing.assert_allclose(
        ours.decision_function(form(X[400:])), theirs.decision_function(form(X[400:])), rtol=1e-5, atol=1e-5
    )
