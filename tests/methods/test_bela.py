"""The laws of the certified method that hold in every run, whatever the draws."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from bela import Campaign
from bela.learning import TransductiveLearner
from bela.methods import METHODS
from bela.methods.bela import Bela
from bela.methods.bela._certificates import Draw, Replay
from bela.records import Question, Role, StopReason

RUNS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("whole_runs.py"))))


def start(X: np.ndarray, *, restless: bool = False, cheap: bool = True, seed: int = 0, **options: Any) -> Campaign:
    """Begin a campaign, if wanted with the cheap learner, and with one that goes through many revisions."""
    if cheap:
        options["learner"] = RUNS.Nearby(X, seed)
    with patch.dict(METHODS._loaded, {"bela": RUNS.Restless if restless else Bela}):
        return Campaign(X, seed=seed, **options)


def answer(campaign: Campaign, label: Callable[[Question], int | None], n: int, batch: int = 1) -> None:
    """Answer until so many answers are there; None skips."""
    while campaign.stop_reason is None and campaign.n_asked < n:
        for question in campaign.ask(batch):
            said = label(question)
            if said is None:
                campaign.skip(question.id)
            else:
                campaign.tell(question.id, said)


def right(campaign: Campaign, y: np.ndarray) -> float:
    """The share of labels that are right."""
    return float((campaign.result().labels == y).mean())


@pytest.fixture(scope="module")
def clusters() -> tuple[np.ndarray, np.ndarray]:
    """Many classes that overlap: some are first seen by a draw."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 25, 200)
    return rng.normal(size=(200, 4)) + 2.5 * rng.normal(size=(25, 4))[y], y


# ------------------------------------------------------------------------------------------------------ honesty


@pytest.mark.parametrize("batch", [1, 6])
@pytest.mark.parametrize("background", [False, True])
def test_a_certificate_rests_on_draws_that_nothing_before_it_has_seen(batch, background, clusters):
    """What a revision learnt from was known before its first draw that counts, and none of it counts."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=3, background=background)
    answer(campaign, lambda question: None if question.row % 11 == 0 else int(y[question.row]), 170, batch)
    method = campaign.method
    assert campaign.certificate.lower > 0
    assert len(method.certificates.replays) > 2
    rows = [event.row for event in method.certificates.log]
    assert len(set(rows)) == len(rows)
    for index, replay in method.certificates.replays.items():
        learnt = ~method.certificates.revisions[index].outside
        later = method.certificates.log[method.certificates.starts[index] :]
        assert not learnt[[event.row for event in later]].any()
        drawn = [event for event in later if isinstance(event, Draw)]
        assert replay.n_draws <= len(drawn)
        # A draw was made with weights for the bins of a revision that was there already.
        assert all(method.certificates.starts[event.revision] <= place for place, event in _draws(method))


def test_every_row_that_a_certificate_takes_for_left_can_be_drawn(clusters):
    """And no other: at each moment the rows left of every certificate are the rows in the pool."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=3)
    n_replays = 0
    for n in range(20, 180, 3):
        answer(campaign, lambda question: None if question.row % 11 == 0 else int(y[question.row]), n)
        assert campaign.certificate.lower > 0
        for replay in campaign.method.certificates.replays.values():
            assert (~replay._taken).sum() == replay.bets.n_left == campaign.method._pool.left.sum()
            n_replays += 1
    assert n_replays > 100


def _draws(method: Bela) -> list[tuple[int, Draw]]:
    return [(place, event) for place, event in enumerate(method.certificates.log) if isinstance(event, Draw)]


def test_what_comes_after_a_revision_does_not_change_it(clusters):
    """With other draws and other answers after a revision was made, the revision is the same."""
    X, y = clusters
    campaigns = []
    for draws in (1, 2):
        campaign = start(X, restless=True, target=0.999, seed=3)
        answer(campaign, lambda question: int(y[question.row]), 60)
        n = len(campaign.method.certificates.revisions)
        campaign.method.setup = replace(campaign.method.setup, key=draws)
        answer(campaign, lambda question, draws=draws: int(y[question.row] + draws) % 3, 170)
        campaigns.append(campaign)
    one, other = (campaign.method.certificates.revisions[:n] for campaign in campaigns)
    for a, b in zip(one, other, strict=True):
        assert (a.codes == b.codes).all()
        assert (a.bin == b.bin).all()
    first, second = ([event.row for event in c.method.certificates.log] for c in campaigns)
    assert first != second


def test_the_draws_have_a_stream_of_their_own(monkeypatch):
    """No fit of the learner begins with the random numbers of the draws or of the training questions."""
    from bela.learning import _transductive

    X = np.random.default_rng(1).normal(size=(40, 3))
    states: list[Any] = []
    fit_kernel_ridge = _transductive.fit_kernel_ridge

    def spy(features, classes, n_classes, rng):
        states.append(rng.bit_generator.state["state"])
        return fit_kernel_ridge(features, classes, n_classes, rng)

    monkeypatch.setattr(_transductive, "fit_kernel_ridge", spy)
    method = start(X, seed=7).method
    learner = TransductiveLearner(X, seed=7)
    for n in (10, 11, 12, 13):
        learner.fit(np.arange(n), np.arange(n) % 2)
    streams = [method.setup.rng(stream, number) for stream in (11, 12) for number in range(50)]
    assert not any(stream.bit_generator.state["state"] in states for stream in streams)


# ------------------------------------------------------------------------------------------- the draws and their log


def test_no_row_is_asked_twice_and_draws_teach_later_revisions(clusters):
    """Every answer is learnt from in the next revision, whatever it was asked for."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=6)
    asked: list[tuple[int, Role]] = []

    def label(question: Question) -> int:
        asked.append((question.row, question.role))
        return int(y[question.row])

    answer(campaign, label, 200)
    method = campaign.method
    rows = [row for row, _ in asked]
    assert len(set(rows)) == len(rows) == campaign.n_asked
    last = method.certificates.revisions[-1]
    learnt = [(row, role) for row, role in asked if not last.outside[row]]
    assert len(learnt) == last.n_training
    assert {role for _, role in learnt} == {Role.TRAINING, Role.BOUNDS}
    for replay in method.certificates.replays.values():
        assert replay.bets.population == int(replay.revision.outside.sum())


def fresh(campaign: Campaign, index: int | None = None) -> Replay:
    """The present certificate, or that of an older revision, replayed from the beginning of the log."""
    certificates = campaign.method.certificates
    index = certificates.certified if index is None else index
    assert index is not None
    replay = certificates.begin_replay(index)
    replay.advance(campaign.book.known, campaign.book.declined)
    return replay


def present(campaign: Campaign) -> Replay:
    """The present certificate."""
    certificates = campaign.method.certificates
    return certificates.replay(certificates.certified, campaign.book)


def same_bets(live: Replay, replayed: Replay) -> None:
    assert live.n_draws == replayed.n_draws
    assert live.bets.errors_upper == replayed.bets.errors_upper
    assert (live.bets.found, live.bets.n_left) == (replayed.bets.found, replayed.bets.n_left)
    np.testing.assert_allclose(live.bets._log_m, replayed.bets._log_m, atol=1e-9)


@pytest.mark.parametrize("batch", [1, 6])
def test_the_certificate_is_a_function_of_the_log(batch, clusters):
    """At every moment each live certificate, old ones too, is that of the log replayed from its beginning."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=8)
    for n in (40, 70, 100, 150):
        answer(campaign, lambda question: None if question.row % 9 == 0 else int(y[question.row]), n, batch)
        assert campaign.certificate.lower > 0
        for index, live in campaign.method.certificates.replays.items():
            same_bets(live, fresh(campaign, index))
    assert len(campaign.method.certificates.replays) > 2


def test_changes_are_replayed(clusters):
    """After an undo or a relabelling, of either role, the certificate is that of the log with the new answers."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=9)
    for n in (60, 100, 150):
        answer(campaign, lambda question: int(y[question.row]), n)
        question = campaign.undo()
        same_bets(present(campaign), fresh(campaign))
        campaign.tell(question.id, int(y[question.row]))
        same_bets(present(campaign), fresh(campaign))
        for row in (question.row, int(campaign.method._picks[n % 40])):
            campaign.relabel(row, 3)
            same_bets(present(campaign), fresh(campaign))


@pytest.mark.parametrize("restless", [False, True])
def test_an_answer_taken_back_and_given_again_changes_nothing(restless, clusters):
    """An undo with the same answer after it, or a relabelling and back, leaves the certificate as it was."""
    X, y = clusters
    campaign = start(X, restless=restless, target=0.95, seed=10)
    for n in (45, 90, 150):
        answer(campaign, lambda question: int(y[question.row]), n)
        before = campaign.certificate
        question = campaign.undo()
        campaign.tell(question.id, int(y[question.row]))
        assert campaign.certificate == before
        campaign.relabel(question.row, int(y[question.row]) + 1)
        campaign.relabel(question.row, int(y[question.row]))
        assert campaign.certificate == before


def test_skipped_draws_count_as_wrong_until_they_are_answered(clusters):
    """A skip is an error found that nobody corrects; taken back and answered, it is as if it had never been."""
    X, y = clusters
    skipping, telling = (start(X, restless=True, target=0.999, seed=11) for _ in range(2))
    for campaign in (skipping, telling):
        answer(campaign, lambda question: int(y[question.row]), 60)
        while campaign.ask()[0].role is Role.TRAINING:
            answer(campaign, lambda question: int(y[question.row]), campaign.n_asked + 1)
    before = fresh(telling).bets.found
    question = telling.ask()[0]
    codes = telling.method.certificates.revisions[telling.method.certificates.certified].codes
    truly_wrong = telling.classes[codes[question.row]] != y[question.row]
    telling.tell(question.id, int(y[question.row]))
    skipping.skip(skipping.ask()[0].id)
    assert fresh(telling).bets.found == before + truly_wrong
    assert fresh(skipping).bets.found == before + 1
    assert skipping.certificate.lower <= telling.certificate.lower
    again = skipping.undo()
    skipping.tell(again.id, int(y[again.row]))
    assert skipping.certificate == telling.certificate


def test_a_whole_batch_of_skips_does_not_end_training(blobs):
    """When nobody answers a training question for a while, others are asked."""
    X, y = blobs
    campaign = start(X, target=0.999, seed=12)
    n_declined = 0

    def label(question: Question) -> int | None:
        nonlocal n_declined
        if question.role is Role.TRAINING and campaign.n_asked >= 10 and n_declined < 12:
            n_declined += 1
            return None
        return int(y[question.row])

    answer(campaign, label, 150)
    assert n_declined == 12
    assert campaign.method.certificates.revisions[-1].n_training > 10
    assert campaign.certificate.lower <= right(campaign, y)


# ---------------------------------------------------------------------------------------------------------- alpha


@pytest.mark.parametrize("name", ["balanced, hard target", "useless features", "many small revisions"])
def test_no_more_than_alpha_is_spent(name):
    """All that revisions spend adds up to less than alpha, and each replay has what its revision spends."""
    design = RUNS.DESIGNS[name]
    X, y = design.population(np.random.default_rng(13))
    campaign = start(X, seed=13, confidence=0.8, **design.options)
    answer(campaign, lambda question: int(y[question.row]), 200)
    method = campaign.method
    assert 0 < sum(method.certificates.alphas) <= 0.2
    assert len(method.certificates.alphas) == len(method.certificates.revisions)
    for index, replay in method.certificates.replays.items():
        assert replay.bets.alpha == method.certificates.alphas[index]


# ----------------------------------------------------------------------------------------------- data of many shapes


def test_useless_features_are_seen_through():
    """Where features say nothing, little more is certified than was asked, and the forecast says so early."""
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 5, 300)
    campaign = start(X, cheap=False, target=0.95, seed=14)
    answer(campaign, lambda question: int(y[question.row]), 60)
    forecast = campaign.forecast
    assert forecast is not None
    assert forecast.low + 60 > 0.75 * 300
    for n in range(80, 300, 40):
        answer(campaign, lambda question: int(y[question.row]), n)
        assert n / 300 <= campaign.certificate.lower + 1e-9 <= n / 300 + 0.35 * (1 - n / 300)
    answer(campaign, lambda question: int(y[question.row]), 300)
    assert campaign.stop_reason is StopReason.TARGET
    assert campaign.n_asked > 0.75 * 300


def two_classes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 2, 600)
    return rng.normal(size=(600, 3)) + 4.0 * y[:, None], y


def many_classes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.permutation(np.arange(900) % 150)
    return rng.normal(size=(900, 10)) + 4.0 * rng.normal(size=(150, 10))[y], y


def one_in_a_thousand(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.permutation(np.concatenate([np.full(2, 2), np.full(2, 3), rng.integers(0, 2, 1996)]))
    return rng.normal(size=(2000, 3)) + 5.0 * np.array([(0, 0, 0), (1, 1, 0), (0, 2, 2), (2, 0, 2)])[y], y


@pytest.mark.parametrize(
    ("shape", "target", "most"), [(two_classes, 0.95, 0.3), (many_classes, 0.9, 0.55), (one_in_a_thousand, 0.97, 0.2)]
)
def test_from_no_labels_to_the_target(shape, target, most):
    """With 2 classes, 150 classes, classes of 0.1 %, and nothing known at first: the target is reached, and is true."""
    X, y = shape(np.random.default_rng(15))
    campaign = start(X, cheap=False, target=target, seed=15)
    result = campaign.run(y)
    assert result.stop_reason is StopReason.TARGET
    assert result.n_asked < most * len(y)
    assert target <= result.certificate.lower <= (result.labels == y).mean()


@pytest.mark.parametrize("restless", [False, True])
def test_questions_between_revisions_fit_nothing(restless, clusters):
    """A fit is made for each revision and for nothing else, and each revision has new training answers."""
    X, y = clusters
    campaign = start(X, restless=restless, budget=150, seed=16)
    learner, method = campaign.method.learner(), campaign.method
    while campaign.stop_reason is None:
        question = campaign.ask()[0]
        n_fits = learner.n_fits
        campaign.ask()
        campaign.tell(question.id, int(y[question.row]))
        campaign.result()
        campaign.forecast  # noqa: B018 - to look is what is tested
        assert learner.n_fits == n_fits == len(method.certificates.revisions)
    sizes = [revision.n_training for revision in method.certificates.revisions]
    assert len(sizes) > 4
    assert (np.diff(sizes) >= 4).all()


def test_labels_that_are_brought_meet_draws_of_their_own(clusters):
    """A second campaign with the answers of a first one, and the same seed, does not follow in its steps."""
    X, y = clusters
    drawn = []
    for rows in ([], [3, 5, 8], [3, 5, 8], [3, 5]):
        method = start(X, target=0.9, seed=3, labels={row: int(y[row]) for row in rows}).method
        drawn.append(method.setup.rng(12, 0).random(4).tolist())
    assert drawn[1] == drawn[2]
    assert drawn[0] != drawn[1] != drawn[3] != drawn[0]
