"""Campaigns with predictions: alive from the first draw, and as honest as without, whatever was predicted."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import bela
from bela.campaign import Campaign, _inputs
from bela.errors import BelaError
from bela.methods.bela._planning import make_ladder, take_stock
from bela.records import Prospect, Role

RUNS, N = 14, 150


def predicted(rng, *, how):
    """What is true of N rows, and what somebody has predicted, with scores that may lead astray."""
    truth = rng.integers(0, 3, N)
    scores = rng.random(N)
    chance = {"honest": 0.4 + 0.5 * scores, "sure where wrong": 0.9 - 0.5 * scores, "useless": np.full(N, 0.33)}[how]
    labels = np.where(rng.random(N) < chance, truth, (truth + rng.integers(1, 3, N)) % 3)
    return truth, labels, scores


def ever_too_high(campaign, truth):
    """Answer until the end, and say whether the certificate was above the truth at any time."""
    too_high = False
    while campaign.stop_reason is None:
        for question in campaign.ask():
            campaign.tell(question.id, int(truth[question.row]))
        right = np.mean(campaign.result().labels == truth)
        too_high |= bool(campaign.certificate.lower > right + 1e-12)
    return too_high


@pytest.mark.parametrize("how", ["honest", "sure where wrong", "useless"])
def test_the_certificate_is_seldom_too_high(how):
    """Over whole campaigns that are looked at after every answer, no more fail than may."""
    failed = 0
    for seed in range(RUNS):
        truth, labels, scores = predicted(np.random.default_rng([seed, 1]), how=how)
        campaign = Campaign(None, predictions={"m": (labels, scores)}, target=0.85, confidence=0.8, seed=seed)
        failed += ever_too_high(campaign, truth)
    assert stats.binomtest(failed, RUNS, 0.2, alternative="greater").pvalue > 0.01


def test_a_prediction_of_few_rows_is_not_what_a_campaign_begins_with():
    """It is learnt from like others, but a look at its labels would be wasted, and a small budget with it."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 600)
    labels = [int(truth[7]) if row == 7 else None for row in range(600)]
    campaign = Campaign(rng.normal(size=(600, 6)) + 5 * np.eye(4, 6)[truth], predictions={"m": labels}, budget=20)
    while campaign.stop_reason is None:
        for question in campaign.ask():
            campaign.tell(question.id, int(truth[question.row]))
    result = campaign.result()
    right = np.mean(result.labels == truth)
    assert right > 0.8
    assert result.probability.mean() < right + 0.1


def mended(truth, labels, n_draws):
    """Return predictions put right where the first draws of a campaign found them wrong."""
    campaign = Campaign(None, predictions={"m": labels}, target=0.9, confidence=0.8)
    labels = labels.copy()
    for question in campaign.ask(n_draws):
        assert question.role is Role.BOUNDS
        labels[question.row] = truth[question.row]
    return labels


def certified_after(truth, labels, n_answers):
    """Return what is certified after so many answers, and what is right."""
    campaign = Campaign(None, predictions={"m": labels}, target=0.9, confidence=0.8)
    for _ in range(n_answers):
        for question in campaign.ask():
            campaign.tell(question.id, int(truth[question.row]))
    return campaign.certificate.lower, np.mean(campaign.result().labels == truth)


@pytest.mark.parametrize("broken", [False, True])
def test_predictions_that_were_mended_meet_other_draws(broken, monkeypatch):
    """Draws follow from a key that has the predictions in it; without, whoever mended them meets them again."""
    if broken:
        monkeypatch.setattr(_inputs, "draw_key", lambda *_: "0" * 15)
    truth = np.arange(400) % 4
    labels = (truth + 1) % 4  # all are wrong
    lower, right = certified_after(truth, mended(truth, labels, 5), 5)
    assert bool(lower > right) is broken


@pytest.mark.parametrize("background", [False, True])
def test_labels_are_the_predictions_from_the_first_moment(background):
    """Before any answer the result is what was predicted; after the first draws something is certified.

    Draws come first also while the first revision is made beside: a look counts none that come after training.
    """
    truth = np.arange(600) % 5
    labels = np.where(np.arange(600) % 10 == 0, (truth + 1) % 5, truth)
    campaign = Campaign(None, predictions={"m": labels}, target=0.95, background=background)
    np.testing.assert_array_equal(campaign.result().labels, labels)
    for question in campaign.ask(6):
        assert question.role is Role.BOUNDS
        campaign.tell(question.id, int(truth[question.row]))
    assert background or campaign.certificate.lower > 0.1


def test_far_fewer_answers_than_without():
    """Rows that nothing else is known of: with nothing predicted, nine tenths of them would have to be asked."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 40, 1_500)
    scores = rng.random(1_500)
    labels = np.where(rng.random(1_500) < 0.7 + 0.3 * scores, truth, rng.integers(0, 40, 1_500))
    result = bela.label(None, truth, predictions={"m": (labels, scores)}, target=0.9)
    assert result.certificate.lower >= 0.9
    assert result.n_asked < 1_000
    assert np.mean(result.labels == truth) >= 0.9


def test_predictions_that_say_nothing_are_none():
    """As many rows are learnt from at each revision, and each is looked at in the same way, as if there were none."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 400)
    rows, found = rng.normal(size=(400, 4)) + 4 * np.eye(3, 4)[truth], []
    for predictions in (None, {"m": [None] * len(truth)}):
        campaign = Campaign(rows, predictions=predictions)
        while campaign.n_asked < 70:
            for question in campaign.ask():
                campaign.tell(question.id, int(truth[question.row]))
        found.append([(event.n_answers, event.looks) for event in campaign.book.revisions])
    assert len(found[0]) > 2
    assert found[0] == found[1]


@pytest.mark.parametrize("wrong", [5, [("m", [0] * 30)], np.zeros(30), {"m": 5}, {"m": None}])
def test_what_is_no_prediction(wrong):
    """One sentence says how predictions are given, to begin with and for new rows."""
    with pytest.raises(BelaError, match="prediction"):
        bela.label(np.eye(30), np.arange(30) % 2, budget=10, predictions=wrong)
    result = bela.label(np.eye(30), np.arange(30) % 2, budget=10, predictions={"m": [0] * 30})
    with pytest.raises(BelaError, match="prediction"):
        result.predict(np.eye(30)[:2], wrong)


@pytest.mark.parametrize("n_answers", [60, 220])
def test_it_is_too_early_to_say_before_200_answers_only(n_answers):
    """Where all draws were just released there is hardly one: with answers enough something is said all the same."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 600)
    campaign = Campaign(rng.normal(size=(600, 4)) + 1.2 * np.eye(3, 4)[truth])
    while campaign.n_asked < n_answers:
        for question in campaign.ask():
            campaign.tell(question.id, int(truth[question.row]))
    stock = take_stock(campaign.book, campaign.method.certificates, campaign.method.epoch)
    early = {rung.prospect is Prospect.TOO_EARLY for rung in make_ladder(replace(stock, n_draws=0), campaign.book, 0.0)}
    assert early == {n_answers < 200}


def test_what_others_have_predicted_is_on_no_learning_curve():
    """How fast errors become fewer is told by revisions that have learnt from answers, if there are any."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    rows = rng.normal(size=(400, 4)) + 1.2 * np.eye(3, 4)[truth]
    campaign = Campaign(rows, predictions={"m": rng.integers(0, 3, 400)}, target=0.9)
    while len(campaign.method.certificates.revisions) < 3:
        for question in campaign.ask():
            campaign.tell(question.id, int(truth[question.row]))
    stock = take_stock(campaign.book, campaign.method.certificates, campaign.method.epoch)
    assert campaign.method.certificates.revisions[0].n_training == 0
    assert stock.sizes.min() > 1
