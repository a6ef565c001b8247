"""Revisions made in the background: nobody waits for them, and a journal says when each was begun and taken up."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from bela.campaign import Campaign
from bela.features import prepare_features
from bela.learning import Fit, Picks, TransductiveLearner
from bela.records import Role
from bela.storage import MemoryArrays, MemoryJournal


class GatedLearner:
    """Fits only when it is let to."""

    def __init__(self, X: np.ndarray) -> None:
        self._learner = TransductiveLearner(prepare_features(X, seed=0), seed=0)
        self.gate = threading.Event()

    def prepare(self) -> None:
        """Nothing needs to be made."""

    def first_questions(self) -> Any:
        return self._learner.first_questions()

    def fit(self, rows: Any, codes: Any) -> Fit:
        assert self.gate.wait(30)
        return self._learner.fit(rows, codes)

    def next_questions(self, *args: Any, **options: Any) -> Picks:
        return self._learner.next_questions(*args, **options)


class Disk:
    """What stays of a campaign: its events and its arrays."""

    def __init__(self) -> None:
        self.journal, self.arrays = MemoryJournal(), MemoryArrays()


def begin(blobs: tuple[np.ndarray, np.ndarray]) -> tuple[Campaign, GatedLearner, Disk]:
    """Return a campaign that is fitting its first revision."""
    X, y = blobs
    learner, disk = GatedLearner(X), Disk()
    campaign = Campaign(X, target=0.95, journal=disk.journal, arrays=disk.arrays, learner=learner, background=True)
    while not campaign.revising:
        for question in campaign.ask(20, wait=False):
            campaign.tell(question.id, int(y[question.row]))
    return campaign, learner, disk


def go_on(campaign: Campaign, learner: GatedLearner, y: np.ndarray, n: int) -> None:
    """Let fits go on, and answer n more questions."""
    learner.gate.set()
    for _ in range(n):
        [question] = campaign.ask()
        campaign.tell(question.id, int(y[question.row]))


def same_again(campaign: Campaign, disk: Disk, X: np.ndarray) -> None:
    """The journal replayed, with revisions in the background or without, gives the same state."""
    for background in (False, True):
        again = Campaign(X, target=0.95, journal=disk.journal, arrays=disk.arrays, background=background)
        assert again.certificate == campaign.certificate
        assert again.open_questions == campaign.open_questions
        assert again.stop_reason == campaign.stop_reason
        assert (again.result().labels == campaign.result().labels).all()
        assert again.book.n_revisions == campaign.book.n_revisions


def test_nobody_waits_who_does_not_want_to(blobs):
    """While the first revision is made, draws are asked: nothing about them depends on it."""
    campaign, learner, disk = begin(blobs)
    assert [question.role for question in campaign.ask(wait=False)] == [Role.BOUNDS]
    assert campaign.stop_reason is None
    assert Campaign(blobs[0], target=0.95, journal=disk.journal, arrays=disk.arrays).stop_reason is None
    go_on(campaign, learner, blobs[1], 1)
    same_again(campaign, disk, blobs[0])


def test_a_journal_made_in_the_background_is_read_by_anybody(blobs):
    """What was asked while a fit was under way is asked again in a replay, with or without threads."""
    X, y = blobs
    campaign, learner, disk = begin(blobs)
    go_on(campaign, learner, y, 12)
    learner.gate.clear()
    n_more = 3
    while n_more:  # past the moment when the next fit is due, no further than draws are made ahead
        [question] = campaign.ask()
        campaign.tell(question.id, int(y[question.row]))
        n_more -= campaign.revising
    same_again(campaign, disk, X)
    go_on(campaign, learner, y, 20)
    same_again(campaign, disk, X)


@pytest.mark.parametrize("action", ["undo", "relabel", "merge"])
def test_what_happens_during_a_fit_is_no_part_of_it(blobs, action):
    """A fit rests on the answers at its beginning; answers taken back or changed meanwhile do not change a replay."""
    X, y = blobs
    campaign, learner, disk = begin(blobs)
    row = next(row for row in range(400) if campaign.book.label(row) is not None)
    if action == "undo":
        campaign.undo()
    elif action == "relabel":
        campaign.relabel(row, (campaign.book.label(row) + 1) % 3)
    else:
        campaign.merge_class(2, 1)
    go_on(campaign, learner, np.minimum(y, 1) if action == "merge" else y, 25)
    if action == "merge":
        assert set(campaign.result().labels.tolist()) == {0, 1}
    same_again(campaign, disk, X)
