"""Answers that are changed by somebody who has seen the draws: no bound gets better by what is denied."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bela import Campaign
from bela.methods.bela._certificates import Certificates

RUNS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("whole_runs.py"))))
N_ROWS, SEED = 600, 1  # a seed with which much is denied


def deny(then: str) -> tuple[float, float]:
    """Deny many answers that agree with the labels, then change the classes; say how much too high is claimed.

    Of all labels, and of those of the worst class. The rows are no draws of the look, which would count them as wrong.
    """
    rng = np.random.default_rng(SEED)
    truth = rng.integers(0, 3, N_ROWS)
    X = rng.normal(size=(N_ROWS, 2)) + 2.2 * np.array([(0, 0), (1, 0), (0, 1)])[truth]
    campaign = Campaign(X, seed=SEED, learner=RUNS.Nearby(X, SEED), classes=range(6))
    while campaign.n_asked < N_ROWS // 2:
        for question in campaign.ask():
            campaign.tell(question.id, int(truth[question.row]))

    def excess() -> tuple[float, float]:
        labels = campaign.result().labels
        right = labels == truth
        by_class = max(one.lower - right[labels == one.label].mean() for one in campaign.by_class())
        return campaign.certificate.lower - right.mean(), by_class

    certificates, book = campaign.method.certificates, campaign.book
    best, _ = certificates.best(book)
    bounds = [bound for bound in certificates.bounds if certificates.revisions[bound.revision] is best]
    drawn = campaign.method.epoch.drawn[: max(bound.look.n_draws for bound in bounds)]
    rows = [row for row in book.answered if best.codes[row] == book.known[row] and row not in drawn]
    rows = [row for row in rows if all(row in bound.population for bound in bounds)]
    assert len(rows) > 100
    for row in rows:
        campaign.relabel(row, 3)
        truth[row] = 3
    most = np.array(excess())
    if then == "merge":
        campaign.merge_class(3, 4)
        truth[truth == 3] = 4
    elif then == "delete":
        campaign.delete_class(3)
        for row in rows:
            campaign.tell(next(q.id for q in campaign.open_questions if q.row == row), 4)
            truth[row] = 4
    return tuple(np.maximum(most, excess()).tolist())


@pytest.mark.parametrize("then", ["nothing", "merge", "delete"])
def test_what_is_denied_corrects_nothing(then):
    """A row that was said to be what its label is, and something else later, is no error that was put right."""
    all_labels, by_class = deny(then)
    assert all_labels <= 1e-9
    assert by_class <= 1e-9


def test_counting_denied_rows_as_corrected_shows(monkeypatch):
    """The rule is needed: without it bounds by class are too high at once, and the certificate after a merge."""
    monkeypatch.setattr(Certificates, "disputed", lambda self, codes: np.array([], dtype=np.intp))
    all_labels, by_class = deny("merge")
    assert all_labels > 0.05
    assert by_class > 0.05


def test_labels_given_unasked_correct_nothing_by_class():
    """What nobody asked for was chosen by somebody who has seen the draws: the rows move, and the bounds stay."""
    rng = np.random.default_rng(SEED)
    X, truth = RUNS.balanced(rng)
    campaign = Campaign(X, seed=SEED, learner=RUNS.Nearby(X, SEED))
    while campaign.n_asked < 100:
        for question in campaign.ask():
            campaign.tell(question.id, int(truth[question.row]))
    n_wrong = {one.label: round((1 - one.lower) * one.n_rows) for one in campaign.by_class()}
    labels, known = campaign.result().labels, campaign.result().known
    rows = np.flatnonzero((labels == 0) & ~known)[:5]
    assert n_wrong[0] <= ((labels == 0) & ~known).sum() - len(rows)
    for row in rows:
        campaign.relabel(int(row), 1)
    after = {one.label: round((1 - one.lower) * one.n_rows) for one in campaign.by_class()}
    assert after[0] == n_wrong[0]
