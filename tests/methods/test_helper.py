"""A helper: it teaches and is not believed. Draws never go to it, and nothing that it does depends on them."""

from __future__ import annotations

import runpy
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from bela import Campaign
from bela.book import Helped, HelperBegan, HelperEnded, read_event
from bela.errors import OracleError, ParameterError
from bela.learning import Answers, TransductiveLearner
from bela.learning._helped import helper_scores
from bela.records import UNKNOWN, Answer, IntArray, Role
from bela.storage import MemoryArrays, MemoryJournal

RUNS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("whole_runs.py"))))


@pytest.fixture(scope="module")
def clusters() -> tuple[Any, Any]:
    return make_blobs(600, centers=4, cluster_std=1.4, random_state=0)


class Helper:
    """A helper that is right in most rows, cannot tell in some, costs something, and perhaps fails after so many."""

    batch = 0

    def __init__(self, y: Any, *, right: float = 0.8, fails_after: int | None = None, name: str = "helper") -> None:
        rng = np.random.default_rng(1)
        self.labels = np.where(rng.random(len(y)) < right, y, rng.integers(0, y.max() + 1, len(y)))
        self.silent = rng.random(len(y)) < 0.1
        self.name, self.asked, self._fails_after = name, [], fails_after  # type: ignore[var-annotated]
        self.shown: list[dict[int, Any]] = []  # the examples before each batch of rows

    def show_examples(self, labels: Mapping[int, Any]) -> None:
        self.shown.append(dict(labels))

    def answers(self, rows: IntArray) -> Generator[Answer, None, None]:
        for row in rows.tolist():
            if self._fails_after is not None and len(self.asked) >= self._fails_after:
                raise OracleError("the money is gone")
            self.asked.append(row)
            yield Answer(row=row, label=None if self.silent[row] else int(self.labels[row]), cost=0.01)

    def close(self) -> None:
        """Nothing is held open."""


def begin(X: Any, **options: Any) -> Campaign:
    """Begin a campaign with a learner that takes no time."""
    return Campaign(X, learner=RUNS.Learning(X, 1), **options)


def go(campaign: Campaign, y: Any, n: int) -> None:
    """Answer n questions, or until there are no more."""
    for _ in range(n):
        for question in campaign.ask():
            campaign.tell(question.id, int(y[question.row]))


def kinds(journal: MemoryJournal) -> list[str]:
    return [entry.kind for entry in journal.events()]


def test_what_a_helper_says_is_no_answer(clusters: Any) -> None:
    """Its rows are neither known nor asked, stay in what is certified, and are counted apart with their cost."""
    X, y = clusters
    helper = Helper(y)
    campaign = begin(X, target=0.9, helper=helper, seed=1)
    go(campaign, y, 40)
    book = campaign.book
    picked = set(campaign.method.epoch.picks)
    only = [row for row in book.help.said if row not in picked and not book.asked[row]]
    assert len(only) > 50
    assert (book.known[only] == UNKNOWN).all()
    assert campaign.method.epoch.population().inside(only).all()
    assert book.n_asked == 40
    assert book.cost == 0
    assert book.help.cost == pytest.approx(0.01 * len(helper.asked))
    assert len(helper.asked) == len(set(helper.asked)) == len(book.help.said)
    assert book.help.n_answers == sum(not helper.silent[row] for row in book.help.said)
    draws = [question for question in book.questions if question.role is Role.BOUNDS]
    assert any(question.row in book.help.said for question in draws)  # a draw of such a row is a draw like any other
    assert all(book.label(question.row) == y[question.row] for question in draws if question.row in book.answered)


def test_it_teaches(clusters: Any) -> None:
    """With few answers of people, labels are better where a helper teaches; a learner gives it weight."""
    X, y = clusters
    learner = TransductiveLearner(np.asarray(X, np.float32))
    rows = learner.first_questions()[:6]
    rng = np.random.default_rng(2)
    taught = rng.choice(600, 200, replace=False)
    helped = Answers(rows=taught, codes=Helper(y).labels[taught])
    alone, together = learner.fit(rows, y[rows]), learner.fit(rows, y[rows], helped=helped)
    right = [(fit.classes[fit.proba.argmax(axis=1)] == y).mean() for fit in (alone, together)]
    assert right[1] >= right[0]
    assert together.weights["helper"] > 0


def test_its_word_counts_where_rows_say_nothing() -> None:
    """Where features are useless, rows get what the helper says of them, as far as it has agreed with people."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    learner = TransductiveLearner(np.asarray(X, np.float32))
    rows = rng.choice(400, 60, replace=False)
    others = np.setdiff1d(np.arange(400), rows)
    for labels, low, high in ((Helper(y, right=0.9).labels, 0.8, 1.0), (rng.integers(0, 3, 400), 0.2, 0.5)):
        fit = learner.fit(rows, y[rows], helped=Answers(rows=np.arange(400), codes=labels))
        assert low < (fit.classes[fit.proba.argmax(axis=1)] == y)[others].mean() < high


def test_its_word_says_something_of_every_row(clusters: Any) -> None:
    """Where it has said nothing, its words around a row stand in: nothing else may be there to count."""
    X, y = clusters
    learner = TransductiveLearner(np.asarray(X, np.float32))
    learner.prepare()
    rng = np.random.default_rng(4)
    taught, rows = rng.choice(600, 150, replace=False), rng.choice(600, 30, replace=False)
    helped, answers = Answers(rows=taught, codes=Helper(y).labels[taught]), Answers(rows=rows, codes=y[rows])
    views = {"clusters": learner._views["clusters"]}
    found = helper_scores(helped, answers, views, learner.graph, n_classes=4, seed=0)
    scores = {name: (everywhere, left_out) for name, everywhere, left_out in found}
    word, left_out = scores["helper's word"]
    others = np.setdiff1d(np.arange(600), taught)
    assert np.mean(word.argmax(axis=1)[others] == y[others]) > 0.8
    assert (word[others] == scores["helper's graph"][0][others]).all()
    silent = ~np.isin(rows, taught)
    assert (left_out[silent] == word[rows[silent]]).all()


@pytest.mark.parametrize("method", ["random", "bela-paper"])
def test_methods_that_learn_from_no_helper(clusters: Any, method: str) -> None:
    """A helper that would be ignored is refused."""
    X, y = clusters
    with pytest.raises(ParameterError, match="learns from no helper"):
        Campaign(X, method=method, helper=Helper(y)).ask()


def test_nothing_that_a_helper_sees_depends_on_draws(clusters: Any) -> None:
    """With other draws, the helper is asked the same rows in the same order, and training goes the same way."""
    X, y = clusters
    found = []
    for key in (1, 2, 3):
        helper = Helper(y)
        campaign = begin(X, helper=helper, seed=3)
        campaign.method.setup = RUNS.SameTraining(replace(campaign.method.setup, key=key))
        go(campaign, y, 150)
        found.append((helper, campaign.method))
    (one, first), *others = found
    for other, method in others:
        n = min(len(one.asked), len(other.asked))
        assert n > 200
        assert one.asked[:n] == other.asked[:n]
        n_shown = min(len(one.shown), len(other.shown))
        assert one.shown[:n_shown] == other.shown[:n_shown]
        assert len(one.shown[n_shown - 1]) > 20
        assert method.epoch.drawn != first.epoch.drawn
        size = min(len(first.epoch.picks), len(method.epoch.picks))
        assert first.epoch.picks[:size] == method.epoch.picks[:size]
        pairs = list(zip(first.certificates.revisions, method.certificates.revisions, strict=False))
        assert len(pairs) > 3
        for a, b in pairs:
            assert a.outside == b.outside
            assert (_by_rank(a.codes) == _by_rank(b.codes)).all()


def test_a_helper_is_shown_what_was_learnt(clusters: Any) -> None:
    """Until a revision has learnt from answers there is nothing to show; then its training rows, and never a draw."""
    X, y = clusters
    helper = Helper(y)
    campaign = begin(X, helper=helper, seed=3)
    go(campaign, y, 120)
    assert helper.shown[0] == {}
    last, epoch = helper.shown[-1], campaign.method.epoch
    assert set(last) <= set(epoch.picks)
    assert all(label == y[row] for row, label in last.items())
    draws = {question.row for question in campaign.book.questions if question.role is Role.BOUNDS}
    assert draws - set(epoch.picks)
    assert not set(last) & (draws - set(epoch.picks))


def test_people_are_asked_where_a_helper_cannot_tell(clusters: Any) -> None:
    """Rows that it declined are picked for people next, first of all, and up to a quarter of what they are to teach."""
    X, y = clusters
    campaign = begin(X, helper=Helper(y), seed=3)
    go(campaign, y, 200)
    said, epoch = campaign.book.help.said, campaign.method.epoch
    for batch in range(2, epoch.n_batches + 1):
        rows = [row for row in epoch.picks if epoch.batch_of[row] == batch]
        declined = [row for row in rows if said.get(row, "") is None]
        n = min(len(declined), len(rows) // 4)
        assert n > 0
        assert rows[:n] == declined[:n]


def _by_rank(codes: Any) -> Any:
    """Return codes in the order in which they first stand in a labelling: a book numbers classes as draws show them."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


def test_people_are_asked_to_teach_less(clusters: Any) -> None:
    """While a helper is worth something, more of people's answers certify, and fewer teach."""
    X, y = clusters
    shares = []
    for helper in (None, Helper(y)):
        campaign = begin(X, target=0.99, helper=helper)
        go(campaign, y, 60)
        shares.append(campaign.book.n_answers[Role.TRAINING])
    assert shares[1] < shares[0]


@pytest.mark.parametrize("silent", [False, True])
def test_a_worthless_helper_is_asked_no_more(clusters: Any, silent: bool) -> None:
    """One that agrees with people no more than a guess would, or tells nothing, is found out, and not asked again."""
    X, y = clusters
    helper = Helper(y, right=0.0)
    helper.labels = (y + 1) % 4
    helper.silent |= silent
    campaign = begin(X, helper=helper)
    go(campaign, y, 80)
    n = len(helper.asked)
    assert not campaign.method.epoch.helped
    go(campaign, y, 80)
    assert len(helper.asked) == n < 600


def test_a_helper_that_fails_is_given_up(clusters: Any) -> None:
    """What it said is kept, people go on, and an epoch begins: who ended it may have seen the draws."""
    X, y = clusters
    journal, helper = MemoryJournal(), Helper(y, fails_after=70)
    campaign = begin(X, target=0.9, helper=helper, journal=journal)
    go(campaign, y, 60)
    assert len(campaign.book.help.said) == 70
    assert campaign.book.help.name is None
    assert campaign.book.help.ended == "the money is gone"
    assert kinds(journal).count("helper ended") == 1
    assert campaign.n_asked == 60


@pytest.mark.parametrize("background", [False, True])
def test_a_function_that_fails_as_a_helper(clusters: Any, background: bool, caplog: pytest.LogCaptureFixture) -> None:
    """However it fails, it is given up, which is told, and the person goes on alone."""
    X, y = clusters

    def helper(rows: IntArray) -> list[int]:
        raise ZeroDivisionError("no luck")

    campaign = begin(X, budget=40, background=background)
    campaign.use_helper(helper)
    campaign.run(y)
    assert campaign.n_asked == 40
    assert campaign.book.help.name is None
    assert "helper failed with ZeroDivisionError: no luck" in campaign.book.help.ended
    assert "given up" in caplog.text


def test_a_helper_that_goes_and_one_that_comes(clusters: Any) -> None:
    """Whoever goes on without it ends it; another one begins afresh; each begins an epoch of its own."""
    X, y = clusters
    journal, arrays = MemoryJournal(), MemoryArrays()
    campaign = begin(X, target=0.95, helper=Helper(y), journal=journal, arrays=arrays)
    go(campaign, y, 30)
    first = campaign.method.epoch
    campaign.use_helper(None)
    go(campaign, y, 10)
    assert kinds(journal).count("helper ended") == 1
    assert campaign.method.epoch is not first
    assert campaign.book.help.said
    campaign.use_helper(Helper(y, name="another"))
    go(campaign, y, 1)
    assert campaign.book.help.name == "another"
    before = campaign.book.help.cost
    assert before > 0


def test_it_is_all_in_the_journal(clusters: Any) -> None:
    """A campaign that is opened again is as it was, and goes on with the same helper without asking it twice."""
    X, y = clusters
    journal, arrays = MemoryJournal(), MemoryArrays()
    campaign = begin(X, target=0.95, helper=Helper(y), journal=journal, arrays=arrays)
    go(campaign, y, 50)
    helper = Helper(y)
    again = begin(X, target=0.95, helper=helper, journal=journal, arrays=arrays)
    assert again.book.help == campaign.book.help
    assert again.certificate == campaign.certificate
    assert again.method.epoch.picks == campaign.method.epoch.picks
    go(again, y, 20)
    go(campaign, y, 0)
    assert "helper ended" not in kinds(journal)
    assert not set(helper.asked) & set(campaign.book.help.said)
    events = [read_event(entry.seq, entry.kind, entry.data) for entry in journal.events()]
    assert isinstance(events[1], HelperBegan)
    assert sum(isinstance(event, Helped) for event in events) > 1
    assert not any(isinstance(event, HelperEnded) for event in events)


def test_in_the_background(clusters: Any) -> None:
    """A helper may be asked beside the answering: nobody waits, and it comes to the same rows."""
    X, y = clusters
    helper = Helper(y)
    campaign = begin(X, target=0.9, helper=helper, background=True)
    go(campaign, y, 60)
    assert campaign.book.help.said
    assert campaign.n_asked == 60


def test_classes_that_are_renamed_and_merged(clusters: Any) -> None:
    """What a helper said is of the class that it meant, whatever that is called by now."""
    X, y = clusters
    names = np.array(["a", "b", "c", "d"])
    campaign = begin(X, helper=names[y])
    for _ in range(30):
        for question in campaign.ask():
            campaign.tell(question.id, str(names[y[question.row]]))
    book = campaign.book
    row = next(row for row, label in book.help.said.items() if label == "a")
    other = next(row for row, label in book.help.said.items() if label == "b")
    campaign.rename_class("a", "A")
    assert book.help.codes(book.codes, book.steps)[row] == book.code_of("A")
    campaign.merge_class("A", "b")
    said = book.help.codes(book.codes, book.steps)
    assert said[row] == said[other] == book.code_of("b")
    campaign.undo()
    campaign.undo()
    assert book.help.codes(book.codes, book.steps)[row] == book.code_of("a")
