"""BELA as a scikit-learn estimator."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from bela import BelaLabeler
from bela.errors import BelaError


@parametrize_with_checks([BelaLabeler()])
def test_scikit_learn_accepts_it(estimator, check):
    """All of scikit-learn's own checks that apply pass."""
    check(estimator)


@pytest.mark.parametrize("missing", [-1, None, np.nan])
def test_missing_labels_are_asked_for(blobs, missing):
    """-1, None and NaN mark the rows without a label; the others are kept and free."""
    X, y = blobs
    partly = y.astype(object if missing is None else float)
    partly[20:] = missing
    labeler = BelaLabeler(oracle=y, budget=60).fit(X, partly)
    assert (labeler.transduction_[:20] == y[:20]).all()
    assert labeler.n_asked_ == 60
    assert (labeler.transduction_ == y).mean() > 0.95
    assert labeler.classes_.tolist() == [0, 1, 2]
    assert labeler.termination_condition_ == "budget"
    assert labeler.certificate_.lower > 0.3


def test_distributions_agree_with_the_labels(blobs):
    """Each row's distribution sums to one and, for known rows, is certain."""
    X, y = blobs
    labeler = BelaLabeler(oracle=y, budget=90).fit(X)
    shares = labeler.label_distributions_
    assert shares.shape == (400, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == labeler.transduction_).mean() > 0.97


def test_without_an_oracle_the_labels_at_hand_label_the_rest(blobs):
    """A partly labelled dataset is completed, at no cost."""
    X, y = blobs
    partly = np.where(np.arange(400) % 4 == 0, y, -1)
    labeler = BelaLabeler().fit(sparse.csr_matrix(X), partly)
    assert labeler.n_asked_ == 0
    assert (labeler.transduction_ == y).mean() > 0.9


def test_words_are_labels(blobs):
    """String labels come back as they went in, and -1 as a word is a class."""
    X, y = blobs
    words = np.array(["-1", "nan", "c"], dtype=object)[y]
    partly = words.copy()
    partly[50:] = None
    labeler = clone(BelaLabeler(oracle=words, budget=80)).fit(X, partly)
    assert set(labeler.classes_) == {"-1", "nan", "c"}
    assert (labeler.fit_predict(X, partly) == words).mean() > 0.95


def test_a_wrong_number_of_labels_is_refused(blobs):
    """y has one entry for each row."""
    with pytest.raises(BelaError):
        BelaLabeler().fit(blobs[0], [1, 2, 3])


def test_minus_one_among_words_is_refused(blobs):
    """NumPy makes a word of -1 among words: taken for a class, it would label all unknown rows."""
    with pytest.raises(BelaError, match="'-1'"):
        BelaLabeler().fit(blobs[0], np.array(["a", -1] * 200))


def test_texts_are_rows_too():
    """What a campaign takes, the estimator takes: texts, tables and files."""
    texts = ["a red apple", "a green pear"] * 40
    truth = np.array(["apple", "pear"] * 40)
    labeler = BelaLabeler(oracle=truth, budget=20).fit(texts)
    assert (labeler.transduction_ == truth).all()
