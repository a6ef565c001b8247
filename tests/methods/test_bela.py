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
from bela.methods.bela import Bela, _method
from bela.methods.bela._planning import Plan, Situation
from bela.methods.bela._replay import Replay
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
    """No draw that counts, by a look or by bets, is of a row that the revision has learnt from."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=3, background=background)
    answer(campaign, lambda question: None if question.row % 11 == 0 else int(y[question.row]), 170, batch)
    certificates = campaign.method.certificates
    assert campaign.certificate.lower > 0
    looks = [bound for bound in certificates.bounds if bound.look is not None]
    bets = [bound for bound in certificates.bounds if bound.look is None]
    assert looks
    assert bets or background  # how often there was a release depends on how long fits take there
    rows = [event.row for event in certificates.log]
    assert len(set(rows)) == len(rows)
    for bound in looks:
        learnt = certificates.revisions[bound.revision].outside.others
        assert not bound.population.inside(learnt).any()
    for bound in bets:
        later = certificates.log[certificates.starts[bound.revision] :]
        assert all(event.row in certificates.revisions[bound.revision].outside for event in later)


def test_training_chooses_as_if_no_draw_existed(clusters):
    """With other draws, training goes the same way: rows, labels and sizes of the revisions, and what looks may spend.

    A row that was drawn before it is picked is not asked again: it is in training for nothing.
    """
    X, y = clusters
    campaigns = []
    for key in (1, 2, 3):
        campaign = start(X, seed=3)
        campaign.method.setup = replace(campaign.method.setup, key=key)
        # what is random in training follows from the key as well: let it be the same
        campaign.method.setup = RUNS.SameTraining(campaign.method.setup)
        answer(campaign, lambda question: int(y[question.row]), 150)
        campaigns.append(campaign)
    one, *others = (campaign.method for campaign in campaigns)
    n_free = 0
    for other in others:
        assert other.epoch.drawn != one.epoch.drawn
        n = min(len(one.certificates.revisions), len(other.certificates.revisions))
        assert n > 4
        for a, b in zip(one.certificates.revisions[:n], other.certificates.revisions[:n], strict=True):
            assert a.outside == b.outside
        size = min(len(one.epoch.picks), len(other.epoch.picks))
        assert one.epoch.picks[:size] == other.epoch.picks[:size]
        looks = [[(b.look.n_draws, b.alpha) for b in method.certificates.bounds][:n] for method in (one, other)]
        assert looks[0] == looks[1]
        n_free += len(set(other.epoch.drawn) & set(other.epoch.picks))
    assert n_free > 5


def test_a_look_is_at_a_number_of_draws_that_was_fixed_before(clusters):
    """Draws made beyond that number, and training that has run ahead of it, do not enter."""
    X, y = clusters
    campaign = start(X, seed=4)
    answer(campaign, lambda question: int(y[question.row]), 120)
    certificates, epoch = campaign.method.certificates, campaign.method.epoch
    due = [bound for bound in certificates.bounds if bound.look.due]
    assert len(due) > 4
    for bound in due:
        revision = certificates.revisions[bound.revision]
        upper = bound.look.errors_upper(revision, certificates.said)
        rest = epoch.drawn[bound.look.n_draws :]
        certificates.said.update((row, [-7]) for row in rest)  # as wrong as can be
        assert bound.look.errors_upper(revision, certificates.said) == upper
        assert max(epoch.asked_until[: bound.look.n_draws]) <= bound.look.n_batches
    late = due[-1].look
    epoch.asked_until[0] = late.n_batches + 1  # training was further than it may have been
    assert not late.due


def test_the_first_answer_teaches_until_everything_is_released(clusters):
    """A training answer that is changed after draws were seen corrects the output and teaches nothing else."""
    X, y = clusters
    campaigns = [start(X, seed=5) for _ in range(2)]
    for campaign in campaigns:
        answer(campaign, lambda question: int(y[question.row]), 40)
    row = campaigns[1].method.epoch.picks[0]
    campaigns[1].relabel(row, int(y[row] + 1) % 25)
    for campaign in campaigns:
        answer(campaign, lambda question: int(y[question.row]), 100)
    one, other = (campaign.method.certificates.revisions for campaign in campaigns)
    assert all((a.codes == b.codes).all() for a, b in zip(one, other, strict=True))
    assert campaigns[1].result().labels[row] == (y[row] + 1) % 25


def test_a_slip_that_is_undone_at_once_teaches_nothing(clusters):
    """Taken back before any draw has shown anything, an answer is as if it had not been."""
    X, y = clusters
    campaign = start(X, seed=5)
    question = campaign.ask()[0]
    campaign.tell(question.id, 24)
    campaign.undo()
    campaign.tell(question.id, int(y[question.row]))
    assert campaign.method._teaches[question.row] == campaign.book.known[question.row]


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


def test_no_row_is_asked_twice_and_a_release_learns_from_everything(clusters):
    """Every answer is learnt from in a release, whatever it was asked for; before that, draws teach nothing."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=6)
    asked: list[int] = []
    sizes: list[tuple[bool, int, int]] = []

    def label(question: Question) -> int:
        asked.append(question.row)
        new = campaign.book.revisions[len(sizes) :]
        sizes.extend((event.separated, event.n_answers, campaign.n_asked) for event in new)
        return int(y[question.row])

    answer(campaign, label, 200)
    assert len(set(asked)) == len(asked) == campaign.n_asked
    assert all(n == n_asked for separated, n, n_asked in sizes if not separated)
    assert any(n < n_asked for separated, n, n_asked in sizes if separated)
    assert {separated for separated, _, _ in sizes} == {True, False}


def fresh(campaign: Campaign, index: int) -> Replay:
    """The bets on a release, replayed from the beginning of the log."""
    certificates = campaign.method.certificates
    bound = next(bound for bound in certificates.bounds if bound.revision == index and bound.look is None)
    replay = Replay(
        index, certificates.revisions, certificates.log, bound.alpha, aim=certificates.aims[index],
        start=certificates.starts[index], returns=bound.returns, told=certificates.told,
    )  # fmt: skip
    replay.advance(certificates.said, campaign.book.declined, bound.end)
    return replay


def releases(campaign: Campaign) -> list[int]:
    return [bound.revision for bound in campaign.method.certificates.bounds if bound.look is None]


@pytest.mark.parametrize("batch", [1, 6])
def test_the_bets_are_a_function_of_the_log(batch, clusters):
    """At every moment the bets on each release, old ones too, are those of the log replayed from its beginning."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=8)
    for n in (40, 70, 100, 150):
        answer(campaign, lambda question: None if question.row % 9 == 0 else int(y[question.row]), n, batch)
        assert campaign.certificate.lower > 0
        for index in releases(campaign):
            live, again = campaign.method.certificates.replay(index, campaign.book.declined), fresh(campaign, index)
            assert live.n_draws == again.n_draws
            assert live.bets.errors_upper == again.bets.errors_upper
            np.testing.assert_allclose(live.bets._log_m, again.bets._log_m, atol=1e-9)
    assert len(releases(campaign)) > 1


@pytest.mark.parametrize("restless", [False, True])
def test_an_answer_taken_back_and_given_again_changes_nothing(restless, clusters):
    """An undo with the same answer after it leaves the certificate as it was."""
    X, y = clusters
    campaign = start(X, restless=restless, target=0.95, seed=10)
    for n in (45, 90, 150):
        answer(campaign, lambda question: int(y[question.row]), n)
        before = campaign.certificate
        question = campaign.undo()
        campaign.tell(question.id, int(y[question.row]))
        assert campaign.certificate == before


@pytest.mark.parametrize("restless", [False, True])
def test_a_draw_counts_as_wrong_if_any_of_its_answers_was(restless, clusters):
    """Changing an answer to a draw never raises the certificate, neither there nor back."""
    X, y = clusters
    campaign = start(X, restless=restless, target=0.95, seed=10)
    for n in (60, 90, 150):
        answer(campaign, lambda question: int(y[question.row]), n)
        drawn = [question.row for question in campaign.book.questions if question.role is Role.BOUNDS]
        row = next(row for row in reversed(drawn) if row in campaign.book.answered)
        before = campaign.certificate.lower
        campaign.relabel(row, int(y[row] + 1) % 25)
        changed = campaign.certificate.lower
        assert changed <= before + 1 / campaign.n_rows + 1e-9  # the row itself is right by now
        campaign.relabel(row, int(y[row]))
        assert campaign.certificate.lower <= before + 1e-9


def test_skipped_draws_count_as_wrong_until_they_are_answered(clusters):
    """A skip is an error that nobody corrects; taken back and answered, it is as if it had never been."""
    X, y = clusters
    skipping, telling = (start(X, seed=11) for _ in range(2))
    for campaign in (skipping, telling):
        answer(campaign, lambda question: int(y[question.row]), 60)
        while campaign.ask()[0].role is Role.TRAINING:
            answer(campaign, lambda question: int(y[question.row]), campaign.n_asked + 1)
    question = telling.ask()[0]
    telling.tell(question.id, int(y[question.row]))
    skipping.skip(skipping.ask()[0].id)
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


@pytest.mark.parametrize("name", ["no end", "budget", "balanced, hard target", "useless features", "restless"])
def test_no_more_than_alpha_is_spent(name):
    """All that looks and bets spend adds up to less than alpha, but for what those that were given up had not lost."""
    design = RUNS.DESIGNS[name]
    X, y = design.population(np.random.default_rng(13))
    campaign = start(X, seed=13, restless=design.method is not Bela, confidence=0.8, **design.options)
    answer(campaign, lambda question: int(y[question.row]), 230)
    certificates = campaign.method.certificates
    spent = sum(bound.alpha for bound in certificates.bounds)
    returned = sum(
        bound.alpha * certificates.replay(bound.revision, campaign.book.declined).bets.worth
        for bound in certificates.bounds
        if bound.end is not None
    )
    assert 0 < spent - returned <= 0.2 - certificates.alpha.left + 1e-12
    events = campaign.book.revisions
    drawn_for = [event for index, event in enumerate(events) if event.alpha == 0 or index in certificates.starts]
    assert spent == pytest.approx(sum(event.alpha + sum(alpha for _, alpha in event.looks) for event in drawn_for))


def test_a_release_that_nothing_was_drawn_for_has_spent_nothing(clusters, monkeypatch):
    """Where the labels of a release turn out to be too bad to draw for, training goes on, and alpha is there again."""
    X, y = clusters
    given_up: list[float] = []

    def plan(situation: Situation) -> Plan:
        if situation.released:
            given_up.append(situation.alpha)
        return Plan(role=Role.TRAINING if situation.released or given_up else Role.BOUNDS)

    monkeypatch.setattr(_method, "make_plan", plan)
    campaign = start(X, target=0.999)
    answer(campaign, lambda question: int(y[question.row]), 120)
    assert given_up
    assert not releases(campaign)
    revisions = campaign.book.revisions
    released = [event.separated for event in revisions].index(False)
    assert revisions[released].alpha == given_up[0]
    assert len(revisions) > released + 2, "no revision follows"
    live = sum(alpha for event in revisions for _, alpha in event.looks)
    left = campaign.method.certificates.alpha.left
    assert live + left < 0.05
    assert left > given_up[0], "what it could spend is lost"
    draws = sum(question.role is Role.BOUNDS for question in campaign.book.questions)
    assert draws < 60, "the planner wanted training"


def until_released(campaign: Campaign, y: np.ndarray, n_draws: int) -> int:
    """Answer until so many draws were made for a release; return its number."""
    certificates = campaign.method.certificates
    while (index := certificates.certified) is None or len(certificates.log) < certificates.starts[index] + n_draws:
        question = campaign.ask()[0]
        campaign.tell(question.id, int(y[question.row]))
    return index


def test_a_release_that_is_given_up_returns_what_its_bets_have_not_lost(clusters):
    """Its bets end there: it gives back what they are worth, and no draw that comes later changes what it says."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=8)
    certificates = campaign.method.certificates
    index = until_released(campaign, y, 4)
    while certificates.certified == index:
        left, alpha, worth = certificates.alpha.left, certificates.alpha_of(index), fresh(campaign, index).bets.worth
        answer(campaign, lambda question: int(y[question.row]), campaign.n_asked + 1)
    assert 0.0 < worth <= 1.0
    epoch = campaign.method.epoch.alpha  # which the release's end has begun
    assert certificates.alpha.left + epoch == pytest.approx(left + worth * alpha)
    said = certificates.replay(index, campaign.book.declined).bets.errors_upper
    answer(campaign, lambda question: int(y[question.row]), campaign.n_asked + 40)
    assert certificates.replay(index, campaign.book.declined).bets.errors_upper == said
    assert certificates.replay(index, campaign.book.declined).bets.worth == pytest.approx(worth)


def test_parts_of_the_rows_have_no_alpha_that_came_back(clusters):
    """What statements about parts may spend, of all bounds and epochs together, is never more than alpha."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.999, seed=8)
    certificates = campaign.method.certificates
    for _ in range(6):
        answer(campaign, lambda question: int(y[question.row]), campaign.n_asked + 30)
        assert sum(bound.firm for bound in certificates.bounds) <= 0.05 * (1 + 1e-9)
        assert all(bound.firm <= bound.alpha * (1 + 1e-9) for bound in certificates.bounds)
    assert sum(bound.alpha for bound in certificates.bounds) > sum(bound.firm for bound in certificates.bounds)


def test_a_raised_target_needs_another_release(clusters):
    """Bets that return what they have not lost claim nothing beyond their target, so a higher one ends them."""
    X, y = clusters
    campaign = start(X, restless=True, target=0.8, seed=3)
    certificates = campaign.method.certificates
    index = until_released(campaign, y, 2)
    aim = certificates.aims[index]
    assert certificates.replay(index, campaign.book.declined).bets.errors_upper >= aim
    campaign.set_target(target=0.7, budget=None)
    assert certificates.certified == index, "a lower target is in reach as before"
    campaign.set_target(target=0.95, budget=None)
    assert certificates.certified is None
    assert certificates.n_released == 0, "nothing was released for this target"
    assert until_released(campaign, y, 1) > index
    assert certificates.aims[certificates.certified] < aim


# ----------------------------------------------------------------------------------------------- data of many shapes


def test_a_budget_that_is_raised_goes_on_being_looked_at() -> None:
    """Whoever raises a small budget is not left with the few looks that it had room for."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 1200)
    X = rng.normal(size=(1200, 4)) + 5 * np.eye(3, 4)[y]
    lower = {}
    for begun_with in (20, 400):
        campaign = start(X, budget=begun_with)
        campaign.set_target(target=None, budget=400)
        answer(campaign, lambda question: int(y[question.row]), 230)
        lower[begun_with] = campaign.certificate.lower
    assert lower[20] > lower[400] - 0.1  # their looks are at other numbers of draws


def test_looks_of_an_epoch_never_spend_more_than_it_has() -> None:
    """Also where a journal has looks that were given more than the parts of today."""
    epoch = start(np.eye(200)[:, :3]).method.epoch
    parts = [epoch.part(look) for look in range(epoch.n_looks)]
    assert sum(parts) == pytest.approx(epoch.alpha)
    epoch.look(0, 10, 0.9 * epoch.alpha)
    for look in range(1, epoch.n_looks):
        epoch.look(look, 10, epoch.part(look))
    assert epoch.spent == pytest.approx(epoch.alpha)
    assert epoch.part(epoch.n_looks - 1) < 1e-12


@pytest.mark.parametrize("budget", [8, 20, 30])
def test_a_small_budget_is_for_learning_and_for_a_look(budget: int) -> None:
    """Labels are learnt, and certified by draws, also where the budget ends before the usual first look."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1200)
    campaign = start(rng.normal(size=(1200, 4)) + 5 * np.eye(3, 4)[y], budget=budget)
    answer(campaign, lambda question: int(y[question.row]), budget)
    assert campaign.stop_reason is StopReason.BUDGET
    assert campaign.book.n_answers[Role.BOUNDS] >= 1
    assert right(campaign, y) > 0.9
    assert 2 * budget / len(y) < campaign.certificate.lower <= right(campaign, y)


def test_a_look_waits_for_a_draw_however_many_rows_were_picked() -> None:
    """With none, nothing would ever be released, and without a release nothing drawn: training would go on for ever."""
    epoch = start(np.eye(200)[:, :3], budget=20).method.epoch
    epoch.picks.extend(range(60))
    assert epoch.n_draws(0) == 1


def test_useless_features_are_seen_through():
    """Where features say nothing, little more is certified than was asked, and the forecast says so early."""
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 5, 300)
    campaign = start(X, cheap=False, target=0.95, seed=14)
    answer(campaign, lambda question: int(y[question.row]), 60)
    forecast = campaign.forecast
    assert forecast is not None
    assert forecast.answers + 60 > 0.75 * 300
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
    assert (np.diff(sizes) >= 3).all()


def test_labels_that_are_brought_meet_draws_of_their_own(clusters):
    """A second campaign with the answers of a first one, and the same seed, does not follow in its steps."""
    X, y = clusters
    drawn = []
    for rows in ([], [3, 5, 8], [3, 5, 8], [3, 5]):
        method = start(X, target=0.9, seed=3, labels={row: int(y[row]) for row in rows}).method
        drawn.append(method.setup.rng(12, 0).random(4).tolist())
    assert drawn[1] == drawn[2]
    assert drawn[0] != drawn[1] != drawn[3] != drawn[0]
