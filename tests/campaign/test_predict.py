"""Labels of rows that were not in a campaign: by what it has learnt, and outside of its certificate."""

import sys
import types
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import bela
from bela import BelaLabeler
from bela.errors import BelaError


def blobs(n, seed):
    """Three clouds that are easy to tell apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(0, 0.5, (n, 4)) + 3 * np.eye(3, 4)[y], y


def test_new_rows_of_an_array():
    """Rows of the same shape get the label of their cloud; of another shape it is an error."""
    X, y = blobs(300, 0)
    result = bela.label(X, y, budget=40)
    new, truth = blobs(50, 1)
    found = result.predict(new)
    assert np.mean(found.labels == truth) > 0.95
    assert found.probability.shape == (50,)
    assert "certificate" in found.note
    with pytest.raises(BelaError, match="shape"):
        result.predict(new[:, :2])


def test_new_rows_of_a_table():
    """A frame with the same columns is labelled; one that lacks a column is an error that names it."""
    X, y = blobs(240, 2)
    frame = pd.DataFrame(X, columns=[*"abcd"])
    result = bela.label(frame, y, budget=40)
    new, truth = blobs(40, 3)
    assert np.mean(result.predict(pd.DataFrame(new, columns=[*"abcd"])).labels == truth) > 0.9
    with pytest.raises(BelaError, match="'d'"):
        result.predict(pd.DataFrame(new[:, :3], columns=[*"abc"]))


def test_new_rows_need_the_predictions_that_the_old_ones_had():
    """Where labels rest on a prediction, that of the new rows is needed as well."""
    truth = np.arange(300) % 4
    campaign = bela.Campaign(None, predictions={"m": (truth + 1) % 4}, budget=40)
    result = campaign.run(truth)
    new = np.arange(20) % 4
    np.testing.assert_array_equal(result.predict(None, {"m": (new + 1) % 4}).labels, new)
    with pytest.raises(BelaError, match="prediction"):
        result.predict(None)


def test_new_rows_may_be_predicted_by_names_that_classes_had():
    """Whoever predicted "a" goes on to say so, although the class is called otherwise by now."""
    names = np.array([*"abcd"])
    campaign = bela.Campaign(None, predictions={"m": names[np.arange(300) % 4]}, budget=60)
    for question in campaign.ask(30):
        campaign.tell(question.id, names[question.row % 4])
    for old, new in (("a", "first"), ("first", "1st"), ("b", "a")):
        campaign.rename_class(old, new)
    found = campaign.result().predict(None, {"m": ["b", "c", "first", "1st"]})
    assert found.labels.tolist() == ["a", "c", "1st", "1st"]


def test_a_name_that_another_class_has_got_since_leads_nobody_astray():
    """What was called "a" was merged as "q" into "b"; "q" is the name of what was "c", and "a" is "b" all the same."""
    names = np.array([*"abcd"])
    campaign = bela.Campaign(None, predictions={"m": names[np.arange(300) % 4]}, budget=60)
    for question in campaign.ask(30):
        campaign.tell(question.id, names[question.row % 4])
    campaign.rename_class("a", "q")
    campaign.merge_class("q", "b")
    campaign.rename_class("c", "q")
    found = campaign.result().predict(None, {"m": ["a", "b", "c", "q", "d"]})
    assert found.labels.tolist() == ["b", "b", "q", "q", "d"]
    campaign.delete_class("q")
    assert "q" not in campaign.result().predict(None, {"m": ["a", "b", "c", "q", "d"]}).labels


def test_predictions_that_say_nothing_label_nothing():
    """Without an answer there is no label to give, however many rows have none predicted."""
    campaign = bela.Campaign(np.eye(30), predictions={"m": [None] * 30}, budget=10)
    with pytest.raises(BelaError, match="no label is known"):
        campaign.result().predict(np.eye(30)[:2], {"m": [None] * 2})


def test_the_estimator_predicts():
    """`BelaLabeler.predict` labels rows that `fit` has not seen."""
    X, y = blobs(300, 4)
    labeler = BelaLabeler(oracle=y, budget=40).fit(X)
    new, truth = blobs(30, 5)
    assert np.mean(labeler.predict(new) == truth) > 0.9


def test_new_rows_that_cannot_be_read_are_named_by_their_own_numbers():
    """The first new row is row 0, whatever number it gets among the old ones; a single row must be an array of rows."""
    X, y = blobs(100, 0)
    result = bela.label(X, y, budget=30)
    new = blobs(5, 1)[0]
    new[2, 1] = np.nan
    with pytest.raises(BelaError, match="the first in row 2:"):
        result.predict(new)
    with pytest.raises(BelaError, match=r"shape \(n, 4\)"):
        result.predict(new[0])


def test_the_estimator_predicts_by_the_same_model(tmp_path, monkeypatch):
    """What has read the texts that `fit` saw reads new ones too, and no text twice."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nothing was read before
    read = []

    def vectors(texts):
        read.extend(texts)
        return [[len(text), text.count("o"), 1.0] for text in texts]

    module = types.ModuleType("reads_for_the_estimator")
    module.vectors = vectors
    with patch.dict(sys.modules, {module.__name__: module}):
        texts = [f"{'oo' if i % 2 else 'x'} {i:03}" for i in range(80)]
        labeler = BelaLabeler(oracle=np.arange(80) % 2, budget=20, embed="reads_for_the_estimator:vectors").fit(texts)
        read.clear()
        assert labeler.predict(["oo 991", "x 992"]).tolist() == [1, 0]
    assert sorted(read) == ["oo 991", "x 992"]
