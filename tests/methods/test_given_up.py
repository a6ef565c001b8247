"""Releases that are given up by somebody who knows what is to come: what their bets are worth then."""

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
from scipy.stats import binomtest

from bela import Campaign
from bela.learning import Fit
from bela.methods import METHODS
from bela.methods.bela import Bela
from bela.methods.bela._planning import Plan
from bela.methods.bela._replay import Replay
from bela.records import Role
from bela.shares import allowed_errors

RUNS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("whole_runs.py"))))
ALPHA, N_ROWS, N_RUNS = 0.2, 300, 30


class AlwaysReleased(Bela):
    """Certifies whatever there is."""

    trains = False

    def _current_plan(self, book: Any) -> Plan:
        return super()._current_plan(book) if self.trains else Plan(role=Role.BOUNDS)


class SomeWrong(RUNS.Nearby):  # type: ignore[misc,name-defined]
    """Has so many rows wrong that it has not learnt from, and others at each fit."""

    def __init__(self, X: np.ndarray, y: np.ndarray, seed: int, n_wrong: Callable[[], int]) -> None:
        super().__init__(X, seed, vain=True)
        self.y, self.n_wrong, self.seed = y, n_wrong, seed

    def fit(self, rows: np.ndarray, codes: np.ndarray) -> Fit:
        fit: Fit = super().fit(rows, codes)
        rng = np.random.default_rng([self.seed, self.n_fits, 77])
        rest = np.setdiff1d(np.arange(len(self.y)), rows)
        said = self.y.copy()
        wrong = rng.choice(rest, min(self.n_wrong(), len(rest)), replace=False)
        said[wrong] = 1 - said[wrong]
        classes = [self.y[rows[np.asarray(codes) == code][0]] for code in fit.classes]
        proba = np.where(said[:, None] == np.array(classes), 0.999, 0.001)
        return replace(fit, proba=proba / proba.sum(axis=1, keepdims=True))


def begin(seed: int, target: float, n_wrong: Callable[[], int]) -> tuple[Campaign, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N_ROWS, 2)), rng.permutation(np.arange(N_ROWS) % 2)
    learner = SomeWrong(X, y, seed, n_wrong)
    with patch.dict(METHODS._loaded, {"bela": AlwaysReleased}):
        options: dict[str, Any] = {"learner": learner, "classes": [0, 1]}
        return Campaign(X, seed=seed, target=target, confidence=1 - ALPHA, **options), y


def is_ever_false(seed: int) -> bool:
    """Give a release up, by a target that is one error higher, whenever the draw that is open would be wrong."""
    allowed = [N_ROWS // 4]
    campaign, y = begin(seed, 1 - allowed[0] / N_ROWS, lambda: allowed[0] + 1)
    certificates, n_raised = campaign.method.certificates, 0  # type: ignore[attr-defined]
    while campaign.stop_reason is None and campaign.n_asked < N_ROWS - 20 and n_raised < 14:
        question, index = campaign.ask()[0], certificates.certified
        label = int(y[question.row])
        if index is not None and question.role is Role.BOUNDS:
            said = campaign.book.codes.classes[certificates.revisions[index].codes[question.row]]
            if said != label:
                while allowed_errors(N_ROWS, 1 - allowed[0] / N_ROWS) >= certificates.aims[index]:
                    allowed[0] -= 1
                campaign.set_target(target=1 - allowed[0] / N_ROWS, budget=None)
                n_raised += 1
        campaign.tell(question.id, label)
        if campaign.certificate.lower > (campaign.result().labels == y).mean() + 1e-12:
            return True
    return False


@pytest.mark.parametrize("broken", [False, True])
def test_a_draw_that_is_open_counts_as_wrong_when_a_release_is_given_up(broken, monkeypatch):
    """Else whoever sees that it is wrong gives the release up before it is counted, and has all of alpha back."""
    if broken:
        monkeypatch.setattr(Replay, "worth", lambda self, said: self.bets.worth)
    n_false = sum(is_ever_false(seed) for seed in range(N_RUNS))
    refuted = binomtest(n_false, N_RUNS, ALPHA, alternative="greater").pvalue < 0.01
    assert refuted == broken, n_false


@pytest.mark.parametrize("budget", [None, 200])
def test_without_its_target_a_release_is_not_drawn_for_any_more(budget):
    """Its bets could show nothing better: training goes on, and later labels are certified further."""
    campaign, y = begin(4, 0.8, lambda: 3)
    certificates = campaign.method.certificates
    while certificates.certified is None or campaign.book.questions[-1].role is Role.TRAINING:
        question = campaign.ask()[0]
        campaign.tell(question.id, int(y[question.row]))
    campaign.method.trains = True
    campaign.set_target(target=None, budget=budget)
    assert certificates.certified is None
    while campaign.stop_reason is None and campaign.n_asked < 200:
        question = campaign.ask()[0]
        campaign.tell(question.id, int(y[question.row]))
    assert campaign.certificate.lower > 0.9


def test_what_a_release_has_said_when_it_ends_is_its_last_word():
    """A draw that was skipped, and is answered once the release was given up, makes nothing better."""
    campaign, y = begin(1, 0.9, lambda: 3)
    certificates = campaign.method.certificates
    skipped: list[int] = []
    while len(skipped) < 2:
        question = campaign.ask()[0]
        if certificates.certified is not None and question.role is Role.BOUNDS:
            campaign.skip(question.id)
            skipped.append(question.row)
        else:
            campaign.tell(question.id, int(y[question.row]))
    index = certificates.certified
    campaign.set_target(target=0.95, budget=None)
    [bound] = [bound for bound in certificates.bounds if bound.revision == index and bound.look is None]
    said = certificates.errors_upper(bound, campaign.book)
    question = campaign.undo()
    campaign.tell(question.id, int(y[question.row]))
    assert certificates.errors_upper(bound, campaign.book) >= said
