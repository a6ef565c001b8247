"""Training, predictions and helpers go their way as if no draw existed; opened again, a campaign is the same."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from bela import Campaign
from bela.book import Asked, Book, Change, Helped, RowChanged
from bela.features import _rows
from bela.learning import _sampled
from bela.methods import METHODS
from bela.methods.bela import Bela
from bela.methods.bela._helping import helped_answers
from bela.methods.bela._replay import Draw
from bela.methods.bela._revision import RevisionJob
from bela.protocols import Setup
from bela.records import Role
from bela.storage import MemoryArrays, MemoryJournal

RUNS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("whole_runs.py"))))
HELPERS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("test_helper.py"))))
N, N_CLASSES = 200, 25


def data(seed: int, *, predicted: bool, helper: float | None) -> tuple[np.ndarray, dict[str, Any]]:
    """What is true of rows of many classes, some of which nobody predicts, and what a campaign knows of them."""
    rng = np.random.default_rng(seed)
    y, scores = rng.integers(0, N_CLASSES, N), rng.random(N)
    labels = np.where(rng.random(N) < 0.2 + 0.7 * scores, y, rng.integers(0, 12, N))
    X = rng.normal(size=(N, 4)) + 2.5 * rng.normal(size=(N_CLASSES, 4))[y]
    options: dict[str, Any] = {"data": X, "learner": RUNS.Learning(X, 1)}
    if predicted:
        options = {"data": None, "predictions": {"m": (np.minimum(labels, 14), scores)}}
    if helper is not None:
        options["helper"] = HELPERS.Helper(y, right=helper)
    return y, options


def begin(options: dict[str, Any], method: type[Bela] = Bela, **more: Any) -> Campaign:
    with patch.dict(METHODS._loaded, {"bela": method}):
        return Campaign(**{"seed": 3, **options, **more})


def go(campaign: Campaign, y: np.ndarray, n: int, batch: int = 1) -> None:
    while campaign.n_asked < n and campaign.stop_reason is None:
        for question in campaign.ask(batch):
            campaign.tell(question.id, int(y[question.row]))


def path(campaign: Campaign) -> list[Any]:
    """All that training came to: for each revision what it learnt from, says, and expects, and how it is looked at."""
    names, found = np.array(campaign.book.codes.classes), []
    for event, revision in zip(campaign.book.revisions, campaign.method.certificates.revisions, strict=True):
        arrays = (revision.outside.others, names[revision.codes], revision.guess)
        found.append((event.looks, *(array.tolist() for array in arrays)))
    return found


def paths(method: type[Bela], batch: int, *, features: bool = False, **how: Any) -> list[Any]:
    """What training came to, and what it picked and asked a helper, with other draws each time."""
    found, drawn = [], []
    for key in (1, 2, 3):
        y, options = data(0, **how)
        campaign = begin(options | {"data": np.eye(N_CLASSES)[y]} if features else options, method)
        campaign.method.setup = RUNS.SameTraining(replace(campaign.method.setup, key=key))
        go(campaign, y, 150, batch)
        helper = options.get("helper")
        found.append((path(campaign), campaign.method.epoch.picks, [] if helper is None else helper.asked))
        drawn.append(campaign.method.epoch.drawn)
        both = set(drawn[-1]) & set(campaign.method.epoch.picks)  # picked though drawn, of which twins leave some out
        assert len(both) > 20 or method is not Bela
    assert drawn[0] != drawn[1] != drawn[2]
    assert min(len(revisions) for revisions, _, _ in found) > 5
    return found


def are_same(found: list[Any]) -> bool:
    """Whether all went the same way, as far as they went."""
    first, *others = found
    pairs = [(one, another) for other in others for one, another in zip(first, other, strict=True)]
    return all(one[: len(another)] == another[: len(one)] for one, another in pairs)


@pytest.mark.parametrize("batch", [1, 9])
@pytest.mark.parametrize(
    ("predicted", "helper"), [(True, None), (True, 0.6), (False, 0.3), (False, 0.12)],
    ids=["predictions", "predictions and a helper", "a helper", "a helper that is next to worthless"],
)  # fmt: skip
def test_training_chooses_as_if_no_draw_existed(predicted, helper, batch):
    """With other draws: the same rows, labels, expectations, sizes and parts, and the same rows for the helper."""
    assert are_same(paths(Bela, batch, predicted=predicted, helper=helper))


def test_passing_over_draws_shows():
    """The twin: where training leaves out rows that were drawn, it goes another way with other draws."""
    assert not are_same(paths(RUNS.PassingOver, 1, predicted=True, helper=None))


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize(("method", "helper"), [(Bela, None), (Bela, 0.6), (RUNS.PassingOver, None)])
def test_so_it_does_on_a_sample(method, helper, features, monkeypatch):
    """Of very many rows with predictions, some of which are learnt on; and the twin."""
    monkeypatch.setattr(_rows, "MANY_ROWS", N - 1)
    monkeypatch.setattr(_sampled, "SAMPLE_ROWS", 150)
    assert are_same(paths(method, 1, predicted=True, helper=helper, features=features)) == (method is Bela)


class OthersThanDrawn(Bela):
    """Where all that was picked is declined, rows are tried next that were not drawn."""

    def follow(self, book: Book, change: Change) -> None:
        picks = len(self.epoch.picks) if book.questions else 0
        super().follow(book, change)
        if isinstance(change, RowChanged) and 0 < picks < len(self.epoch.picks):
            rows = [row for row in range(book.n_rows) if not book.asked[row]]
            self.epoch.picks[picks:] = rows[: len(self.epoch.picks) - picks]


@pytest.mark.parametrize(("method", "same"), [(Bela, True), (OthersThanDrawn, False)])
def test_what_is_tried_after_declined_rows_depends_on_no_draw(method, same):
    """Training that gets no answer tries the same rows whatever was drawn, and those that were drawn count."""
    found = []
    for key in (1, 2, 3):
        y, options = data(0, predicted=False, helper=None)
        campaign = begin(options, method)
        campaign.method.setup = RUNS.SameTraining(replace(campaign.method.setup, key=key))
        declined = 0
        while campaign.n_asked < 60:
            for question in campaign.ask(3):
                if question.role is Role.TRAINING and declined < 25:
                    campaign.skip(question.id)
                    declined += 1
                else:
                    campaign.tell(question.id, int(y[question.row]))
        found.append([campaign.method.epoch.picks, path(campaign)])
        assert campaign.book.n_revisions > 0
    assert are_same(found) == same


def test_what_a_helper_says_late_is_not_heard_before_the_release():
    """An answer that was asked for in an epoch before, and comes in this one, comes by its draws: nobody learns it."""
    y, X = np.arange(900) % 3, np.random.default_rng(0).normal(size=(900, 2))
    campaign = begin({"data": X, "learner": RUNS.Learning(X, 1), "helper": HELPERS.Helper(y, right=0.6)})
    go(campaign, y, 40)
    method, book = campaign.method, campaign.book
    campaign.merge_class(campaign.classes[0], campaign.classes[1])  # an epoch begins
    wanted = set(method.epoch.picks) | set(method.helper_rows(book)) | set(book.help.said)
    late = next(row for row in range(900) if row not in wanted)
    before = helped_answers(book, method.setup, method.epoch)
    campaign._recorder.make(Helped, rows=(late,), labels=(int(y[late]),), cost=0.0)
    after, released = (helped_answers(book, method.setup, epoch) for epoch in (method.epoch, None))
    assert before.rows.tolist() == after.rows.tolist()
    assert late in released.rows  # the twin: what was heard before depended on when it came


@pytest.mark.parametrize("batch", [1, 9])
@pytest.mark.parametrize("helper", [None, 0.6])
@pytest.mark.parametrize("target", [None, 0.9])
def test_opened_again_it_rests_on_the_same_rows(batch, helper, target):
    """A row that was drawn before it was picked is asked by nobody, and is no less in training for that."""
    y, options = data(0, predicted=True, helper=helper)
    options |= {"journal": MemoryJournal(), "arrays": MemoryArrays(), "target": target, "seed": 6}
    campaign = begin(options)
    for n in range(1, 60):
        go(campaign, y, n, batch)
        again = begin(options)
        assert again.certificate == campaign.certificate
        bounds = zip(again.method.certificates.bounds, campaign.method.certificates.bounds, strict=True)
        assert all(a.population == b.population for a, b in bounds)
        if len(campaign.book.revisions) > 1:
            assert again.method.epoch.picks == campaign.method.epoch.picks


def counted_as_uniform(campaign: Campaign) -> set[int]:
    """Rows that were drawn with weights and are counted as if they had not been."""
    weighted = {q.row for q in campaign.book.questions if q.role is Role.BOUNDS and q.weights}
    epoch = campaign.method.epoch
    uniform = {row for row, until in zip(epoch.drawn, epoch.asked_until, strict=True) if until < np.inf}
    log = campaign.method.certificates.log
    return weighted & (uniform | {event.row for event in log if isinstance(event, Draw) and event.weights is None})


class Mixing(RUNS.Restless):
    """Asks for training and draws together, though the draws are made for a release that training gives up."""

    def propose(self, book, n):
        proposals = [*super().propose(book, n)]
        if self.certificates.certified is not None and any(one.role is Role.TRAINING for one in proposals):
            proposals += self._draw(book, 3, proposals)
        return proposals


@pytest.mark.parametrize("method", [RUNS.Restless, Mixing])
def test_weighted_draws_are_not_counted_as_uniform(method):
    """Whoever asks for many gets training or weighted draws; of a journal that has both, these count nothing."""
    for seed in (0, 2):
        X, y = RUNS.noisy(np.random.default_rng(seed))
        with patch.dict(METHODS._loaded, {"bela": method}):
            campaign = Campaign(X, seed=seed, target=0.99, learner=RUNS.Nearby(X, seed))
        with patch.object(campaign._recorder, "ask", wraps=campaign._recorder.ask) as asked:
            while campaign.n_asked < 120:
                go(campaign, y, campaign.n_asked + 1, 9)
                assert not counted_as_uniform(campaign)
        events: list[Asked] = [call.args[0] for call in asked.call_args_list]
        mixed = [e for e in events if {(q.role, bool(q.weights)) for q in e.questions} >= {
            (Role.TRAINING, False), (Role.BOUNDS, True)}]  # fmt: skip
        assert bool(mixed) is (method is Mixing)


def test_a_revision_that_comes_too_late_is_not_adopted():
    """Classes are merged and parted while it is made: parts of alpha that it was to have may be others' by then."""
    X, y = RUNS.balanced(np.random.default_rng(0))
    y = np.where(y == 2, 2 + np.arange(len(y)) % 2, y)
    campaign = Campaign(X, seed=0, budget=80, learner=RUNS.Nearby(X, 0))
    job = None
    while not (isinstance(job, RevisionJob) and not job.separated):
        go(campaign, y, campaign.n_asked + 1)
        job = campaign.method.revise(campaign.book)
    arrays = job.compute()
    assert job.decide(campaign.book, arrays) is not None
    for _ in range(3):
        campaign.merge_class(3, 2)
        campaign.undo()
    assert job.decide(campaign.book, arrays) is None
    go(campaign, y, 80)
    assert campaign.n_asked == 80


def test_training_goes_on_after_a_merge_at_any_moment():
    """Also where all that was picked is answered, and the revision that would pick more is not made yet."""
    X, y = RUNS.balanced(np.random.default_rng(0))
    y = np.where(y == 2, 2 + np.arange(len(y)) % 2, y)
    campaign = Campaign(X, seed=0, learner=RUNS.Nearby(X, 0))
    go(campaign, y, 60)
    while not (isinstance(campaign.method.revise(campaign.book), RevisionJob)):
        go(campaign, y, campaign.n_asked + 1)
    campaign.merge_class(3, 2)
    before = len(campaign.book.revisions)
    go(campaign, np.minimum(y, 2), len(y) - 20)
    assert len(campaign.book.revisions) > before + 1


@pytest.mark.parametrize("broken", [False, True])
def test_a_helper_that_knows_earlier_draws_meets_others(broken, monkeypatch):
    """Draws follow from what a helper says as well; without, one that was mended by draws certifies itself."""
    if broken:
        monkeypatch.setattr(Setup, "rng", lambda self, *place: np.random.default_rng([self.key, *place[:2]]))
    failed = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = RUNS.useless(rng)
        said = np.where(rng.random(len(y)) < 0.6, y, 1 - y)
        failed += _is_ever_too_high(X, y, _mended(X, y, said), 60)
    assert (failed > 4) is broken


def _mended(X: Any, y: Any, said: Any) -> Any:
    """Return what a helper says, put right where a first campaign has drawn."""
    campaign = Campaign(X, confidence=0.8, learner=RUNS.Trusting(X, 0), helper=said)
    go(campaign, y, 40)
    drawn = [question.row for question in campaign.book.questions if question.role is Role.BOUNDS]
    mended = said.copy()
    mended[drawn] = y[drawn]
    return mended


def _is_ever_too_high(X: Any, y: Any, said: Any, n: int) -> bool:
    campaign, too_high = Campaign(X, confidence=0.8, learner=RUNS.Trusting(X, 0), helper=said), False
    for n_asked in range(1, n):
        go(campaign, y, n_asked)
        too_high |= bool(campaign.certificate.lower > (campaign.result().labels == y).mean() + 1e-9)
    return too_high


@pytest.mark.parametrize("reopened", [False, True])
def test_another_helper_of_the_same_name_begins_an_epoch(reopened):
    """Whoever brings one has seen the draws; the same one, brought again, changes nothing."""
    X, y = RUNS.balanced(np.random.default_rng(0))
    options = {"data": X, "learner": RUNS.Learning(X, 1), "journal": MemoryJournal(), "arrays": MemoryArrays()}
    campaign = begin(options, helper=y)
    go(campaign, y, 40)
    salt, epochs = campaign.book.help.salt, []
    for helper in (y, (y + 1) % 3):
        if reopened:
            campaign = begin(options, helper=helper)
        elif helper is not y:
            campaign.use_helper(helper)
        before = campaign.method.epoch
        go(campaign, y, campaign.n_asked + 1)
        epochs.append(campaign.method.epoch is not before)
    assert epochs == [False, True]
    assert campaign.book.help.salt != salt


def test_a_new_name_begins_an_epoch_where_a_helper_has_spoken():
    """Its words may be classes by another name: whoever renames has seen the draws. Without one, nothing changes."""
    X, y = RUNS.balanced(np.random.default_rng(0))
    for helper, begins in ((y, True), (None, False)):
        campaign = begin({"data": X, "learner": RUNS.Learning(X, 1)}, helper=helper)
        go(campaign, y, 40)
        before = campaign.method.epoch
        campaign.rename_class(campaign.classes[0], 7)
        assert (campaign.method.epoch is not before) == begins
        between = campaign.method.epoch
        campaign.undo()
        assert (campaign.method.epoch is not between) == begins
