"""Splitters that cut a leaf, all to one contract."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, MiniBatchKMeans
from sklearn.linear_model import LogisticRegression, Ridge

from bela.errors import ParameterError
from bela.methods.paper import SPLITTERS, LinearSVM, make_splitter


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_cut_separates_what_is_separable(name, form, blobs):
    """On clusters that are classes, dense or sparse, each child holds almost one class only."""
    X, y = blobs
    X = form((X + 20).astype(np.float32))  # k-means by principal directions must not live on the mean
    splitter = make_splitter(name)
    training = np.arange(60) if splitter.supervised else np.arange(400)
    cut = splitter.fit(X[training], y[training] if splitter.supervised else y[:0], seed=0)
    child = cut.predict(X)
    assert child.shape == (400,)
    if splitter.supervised:
        assert (child == y).mean() > 0.97
    else:
        majority = sum(np.bincount(y[child == c]).max() for c in np.unique(child))
        assert majority >= 0.6 * 400


@pytest.mark.parametrize("name", SPLITTERS)
def test_nothing_to_cut_by_gives_no_cut(name):
    """One class, or rows that are all the same, cannot be cut."""
    X = np.ones((30, 3), dtype=np.float32)
    splitter = make_splitter(name)
    y = np.zeros(30, dtype=int) if splitter.supervised else np.empty(0, dtype=int)
    assert splitter.fit(X, y, seed=0) is None


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_same_seed_gives_the_same_cut(name, digits):
    """A fit depends on its data and its seed alone."""
    X, y = digits[0].astype(np.float32), digits[1]
    splitter = make_splitter(name)
    children = [splitter.fit(X[:200], y[:200] if splitter.supervised else y[:0], seed=3).predict(X) for _ in range(2)]
    assert (children[0] == children[1]).all()


def test_the_linear_svm_votes_as_scikit_learn_does(digits):
    """Our float32 votes are those of SVC, for two classes and for ten."""
    from sklearn.svm import SVC

    X, y = digits[0].astype(np.float32), digits[1]
    for classes in (2, 10):
        rows = np.flatnonzero(y < classes)
        training = rows[:150]
        ours = LinearSVM().fit(X[training], y[training], seed=0).predict(X[rows])
        centred = X.astype(float) - X[training].mean(axis=0, dtype=float)
        spread = (centred[training] ** 2).sum(axis=1).mean()
        theirs = SVC(kernel="linear", C=3.0 / spread, break_ties=True).fit(centred[training], y[training])
        assert (ours == theirs.predict(centred[rows])).mean() > 0.999


def test_the_linear_svm_does_not_depend_on_the_unit(digits):
    """Pixels in 0..16 and in 0..1 are cut alike."""
    X, y = digits[0].astype(np.float32), digits[1]
    cuts = [LinearSVM().fit(scale * X[:200], y[:200], seed=0).predict(scale * X) for scale in (1.0, 1 / 16)]
    assert (cuts[0] == cuts[1]).mean() > 0.995


def test_scikit_learn_objects_are_splitters():
    """A classifier is a supervised splitter, a clusterer that can predict an unsupervised one."""
    assert make_splitter(LogisticRegression()).supervised
    assert not make_splitter(MiniBatchKMeans(2)).supervised


@pytest.mark.parametrize("bad", ["forest", Ridge(), AgglomerativeClustering(), 7, None])
def test_anything_else_is_refused(bad):
    """Neither a regressor nor a clusterer that cannot predict nor a misspelt name is a splitter."""
    with pytest.raises(ParameterError):
        make_splitter(bad)
