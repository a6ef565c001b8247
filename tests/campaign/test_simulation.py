"""Campaigns that an oracle answers from beginning to end: when points are taken, and when it stops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bela
from bela.campaign import run_campaign
from bela.errors import ParameterError
from bela.oracles import TruthOracle
from bela.records import StopReason

N_ROWS = 900
TRUTH = np.arange(N_ROWS) % 3
X = np.random.default_rng(0).normal(size=(N_ROWS, 2)) + 9 * TRUTH[:, None]


def start(**options: Any) -> tuple[bela.Campaign, TruthOracle]:
    """Begin a campaign, and have its truth answer."""
    return bela.Campaign(X, method="bela-paper", **options), TruthOracle(TRUTH, N_ROWS)


@pytest.mark.parametrize("batch", [None, 1, 7, 64])
def test_points_are_taken_where_they_are_compared(batch: int | None) -> None:
    """There are points after each half per cent of the rows and at 100, 200, 400, 800 answers, however many at once."""
    campaign, oracle = start(budget=850)
    trajectory = run_campaign(campaign, oracle, truth=TRUTH, batch=batch)
    asked = [point.asked for point in trajectory]
    assert asked == sorted(set(asked))
    assert {1, 100, 200, 400, 800, 850} <= set(asked)
    assert max(np.diff(asked)) <= 0.005 * N_ROWS
    assert trajectory[-1].lower == campaign.certificate.lower
    assert trajectory[-1].accuracy == (campaign.result().labels == TRUTH).mean()


def test_points_are_the_same_after_a_pause() -> None:
    """A campaign that is taken up again has the points of one in one go, and asks the same rows."""
    whole, oracle = start(budget=300)
    expected = run_campaign(whole, oracle, truth=TRUTH)
    paused, oracle = start(budget=300)
    first = run_campaign(paused, oracle, truth=TRUTH, stop_after=137)
    second = run_campaign(paused, oracle, truth=TRUTH)
    assert {point.asked for point in expected} <= {point.asked for point in (*first, *second)}
    assert set(expected) <= {*first, *second}


@pytest.mark.parametrize("batch", [None, 64])
def test_stopping_is_not_told(batch: int | None) -> None:
    """`stop_after` ends a run there; the campaign has no budget, no reason to stop, and goes on if asked to."""
    campaign, oracle = start()
    trajectory = run_campaign(campaign, oracle, stop_after=50, batch=batch)
    assert (campaign.n_asked, trajectory[-1].asked) == (50, 50)
    assert (campaign.budget, campaign.stop_reason, campaign.result().stop_reason) == (None, None, StopReason.STOPPED)
    run_campaign(campaign, oracle, stop_after=50)
    assert campaign.n_asked == 50
    run_campaign(campaign, oracle, stop_after=60)
    assert campaign.n_asked == 60
    simulation = bela.simulate(X, TRUTH, method="bela-paper", stop_after=60)
    assert np.array_equal(simulation.result.labels, campaign.result().labels) or batch == 64
    with pytest.raises(ParameterError, match="stop_after"):
        run_campaign(campaign, oracle, stop_after=-1)


def test_a_release_is_reconsidered_after_each_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many questions the method liked at once before a release, its draws are put one by one."""
    truth = np.arange(N_ROWS) % 2
    rows = np.random.default_rng(1).normal(size=(N_ROWS, 3)) + 1.5 * truth[:, None]
    campaign = bela.Campaign(rows, target=0.75, seed=1)
    proposed, propose = list[Any](), campaign.method.propose
    monkeypatch.setattr(campaign.method, "propose", lambda *said: proposed.append(found := propose(*said)) or found)
    run_campaign(campaign, TruthOracle(truth, N_ROWS), every=None)
    assert {len(some) for some in proposed if some and some[0].weights} == {1}
    assert max(map(len, proposed)) > 1


def test_a_truth_of_some_rows() -> None:
    """The accuracy is that of the rows whose truth is known, whatever the type of their labels; NaN if none is."""
    campaign, oracle = start(budget=40)
    assert all(math.isnan(point.accuracy) for point in run_campaign(campaign, oracle))
    [point] = run_campaign(campaign, oracle, truth={})
    assert math.isnan(point.accuracy)
    labels = campaign.result().labels
    some = {row: str(TRUTH[row]) for row in range(0, N_ROWS, 7)}
    [point] = run_campaign(campaign, oracle, truth=some)
    assert point.accuracy == np.mean([labels[row] == TRUTH[row] for row in some])


def test_nothing_to_do() -> None:
    """Without any answer there is no point; where all is given there is one."""
    campaign, oracle = start(budget=0)
    assert run_campaign(campaign, oracle, truth=TRUTH) == ()
    campaign, oracle = start(labels=dict(enumerate(TRUTH.tolist())), target=0.9)
    [point] = run_campaign(campaign, oracle, truth=TRUTH)
    assert (point.asked, point.lower, point.accuracy) == (0, 1.0, 1.0)


def test_progress_after_each_answer() -> None:
    """Whoever watches sees each answer."""
    campaign, oracle = start(budget=30)
    seen: list[int] = []
    run_campaign(campaign, oracle, batch=8, progress=lambda campaign: seen.append(campaign.n_asked))
    assert seen == list(range(1, 31))
