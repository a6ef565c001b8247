"""Whole campaigns of the baselines against people who want their certificates false, and twins with a rule broken.

All of it by the public interface. What a classifier says is a column of the data, so that a run takes no time: a
certificate needs no good one. A run fails if the certificate was above the truth at any moment; rows that were answered
are right by definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binomtest

from bela import Campaign
from bela.book import Merged, RowChanged, Unmerged
from bela.learning import Fit, Picks
from bela.methods import METHODS, baselines
from bela.methods._hold_out import HoldOut
from bela.methods.baselines import HoldoutMethod, MarginSampling, PacLabels, RandomSampling
from bela.records import UNKNOWN, Guarantee, Proposal, Role
from bela.shares import allowed_errors

ALPHA, N_RUNS = 0.2, 25
CHANCE = 1e-3  # below this, so many failures are none

# ------------------------------------------------------------------------------------------- what the rows are


class Told:
    """A classifier that says what a column of the data says, and is as sure as another column."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0].astype(int)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, 1]


class Nearest:
    """A classifier that says of each row what was said of the nearest one."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y = X, y

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.y[np.abs(X[:, :1] - self.X[:, 0]).argmin(axis=1)]

    decision_function = Told.decision_function


class ToldLearner:
    """The same for `pac`, which asks the learner of `bela`."""

    def __init__(self, X: np.ndarray, n_classes: int) -> None:
        self.guess, self.sure, self.n_classes = X[:, 0].astype(int), X[:, 1], n_classes

    def first_questions(self) -> np.ndarray:
        return np.arange(5)

    def fit(self, rows: np.ndarray, codes: np.ndarray) -> Fit:
        proba = np.zeros((len(self.guess), self.n_classes))
        proba[np.arange(len(self.guess)), self.guess] = self.sure
        classes = np.arange(self.n_classes)
        return Fit(rows=rows, classes=classes, proba=proba, out_of_fold=proba[rows], loss=0.0, weights={})

    def next_questions(self, fit: Fit, asked: np.ndarray, n: int, **_: Any) -> Picks:
        rows = np.flatnonzero(~asked)[:n]
        return Picks(rows=rows, uniform=np.zeros(len(rows), dtype=bool))


class Rows:
    """A population: what is true, what the classifier says, and how sure it is of that."""

    def __init__(self, truth: np.ndarray, guess: np.ndarray, sure: np.ndarray | None = None) -> None:
        self.truth, self.guess = truth, guess
        self.X = np.stack([guess, np.ones(len(truth)) if sure is None else sure], axis=1).astype(float)
        self.classes = list(range(int(max(truth.max(), guess.max())) + 1))

    @classmethod
    def with_errors(cls, rng: np.random.Generator, n_rows: int, n_wrong: int, n_classes: int = 2) -> Rows:
        """So many rows wrong, anywhere."""
        guess = rng.integers(n_classes, size=n_rows)
        truth = guess.copy()
        wrong = rng.permutation(n_rows)[:n_wrong]
        truth[wrong] = (guess[wrong] + rng.integers(1, n_classes, size=n_wrong)) % n_classes
        return cls(truth, guess, rng.uniform(0.5, 1.0, n_rows))


@contextmanager
def told(method: str, rows: Rows, twin: dict[str, Any], model: Any = None) -> Iterator[None]:
    """Let classifiers say what the data say, and rules be broken: a `HoldOut` or a method of another kind."""
    fit = (lambda X, y, seed: Told()) if model is None else (lambda X, y, seed: model(X, y))
    with ExitStack() as stack:
        stack.enter_context(patch.object(baselines, "fit_best_classifier", fit))
        stack.enter_context(patch.object(PacLabels, "_learner", ToldLearner(rows.X, len(rows.classes))))
        stack.enter_context(patch.object(baselines, "HoldOut", twin.get("look", HoldOut)))
        if "method" in twin:
            METHODS[method]  # so that it is loaded
            stack.enter_context(patch.dict(METHODS._loaded, {method: twin["method"]}))
        yield


def limits(method: str, *, budget: int, target: float) -> dict[str, Any]:
    """When to stop: after a budget, or `pac`, which cannot do without, at a target."""
    return {"n_training": 20, "n_calibration": 60, "target": target} if method == "pac" else {"budget": budget}


class Failed(Exception):  # noqa: N818 - reads as what happened
    """The certificate was above the truth: whatever comes then, the run has failed."""


class Run:
    """A campaign that somebody watches all the time, and whose answers they choose."""

    def __init__(self, method: str, rows: Rows, seed: int, **options: Any) -> None:
        self.rows, self.truth = rows, rows.truth.copy()
        self.campaign = Campaign(
            rows.X, method=method, seed=seed, confidence=1 - ALPHA, classes=rows.classes, **options
        )

    def look(self) -> None:
        """See whether the certificate is above the truth; what was answered last is what the oracle says."""
        campaign = self.campaign
        if campaign.n_asked:
            result = campaign.result()
            right = result.known | (result.labels == self.truth)
            assert result.certificate.guarantee.holds
            if result.certificate.lower > right.mean() + 1e-12:
                raise Failed

    def label(self, row: int) -> int:
        """What the oracle says, in classes as they are merged."""
        return int(self.truth[row])

    def answer(
        self, until: Callable[[], bool], skips: Callable[[Any], bool] = lambda question: False, n: int = 1
    ) -> None:
        """Ask n at a time and answer, until something is so; the last certificate, and every tenth, is looked at."""
        campaign = self.campaign
        while not until() and campaign.stop_reason is None:
            questions = campaign.ask(n)
            for question in questions:
                if skips(question):
                    campaign.skip(question.id)
                else:
                    campaign.tell(question.id, self.label(question.row))
            if not questions:
                break
            if campaign.n_asked % 10 == 0:
                self.look()
        self.look()

    def merge(self, one: int, other: int) -> None:
        """Take two classes for one."""
        self.campaign.merge_class(one, other)
        self.truth[self.truth == one] = other
        self.look()


Story = Callable[[str, np.random.Generator, int, dict[str, Any]], None]


def chance(story: Story, method: str, twin: dict[str, Any] | None = None, n_runs: int = N_RUNS) -> float:
    """Return how likely it is, if certificates are true, that so many runs of a story fail; by the exact test."""
    failed = 0
    for seed in range(n_runs):
        try:
            story(method, np.random.default_rng([seed, 77]), seed, twin or {})
        except Failed:
            failed += 1
    print(f"{story.__name__}, {method}, {twin}: {failed} of {n_runs} runs failed")
    return float(binomtest(failed, n_runs, ALPHA, alternative="greater").pvalue)


# ----------------------------------------------------------------------------------------------------- stories


def skipped_training(method: str, rng: np.random.Generator, seed: int, twin: dict[str, Any]) -> None:
    """Whoever answers skips the hard rows, as long as they are to be learnt from."""
    rows = Rows.with_errors(rng, 300, 90)
    hard = rows.truth != rows.guess
    with told(method, rows, twin):
        run = Run(method, rows, seed, budget=180)
        run.answer(lambda: False, lambda question: question.role is Role.TRAINING and hard[question.row])


def sure_and_wrong(method: str, rng: np.random.Generator, seed: int, twin: dict[str, Any]) -> None:
    """The doubtful rows are right, and most of the sure ones wrong."""
    guess, doubtful = rng.integers(2, size=400), rng.permutation(400) < 200
    truth = np.where(doubtful | (rng.random(400) < 0.1), guess, 1 - guess)
    rows = Rows(truth, guess, np.where(doubtful, 0.1, 0.9) + rng.uniform(0, 0.1, 400))
    with told(method, rows, twin):
        run = Run(method, rows, seed, budget=240)
        run.answer(lambda: False)


def steered_training(method: str, rng: np.random.Generator, seed: int, twin: dict[str, Any]) -> None:
    """What is learnt from depends on what was drawn: of rows near a draw, only those of its class are answered."""
    place, truth = rng.permutation(400).astype(float), rng.integers(2, size=400)
    rows = Rows(truth, truth)
    rows.X[:, 0] = place
    drawn: list[int] = []

    def skips(question: Any) -> bool:
        if question.role is Role.BOUNDS:
            drawn.append(question.row)
            return False
        near = [row for row in drawn if abs(place[row] - place[question.row]) <= 6]
        return any(truth[row] != truth[question.row] for row in near)

    with told(method, rows, twin, Nearest):
        run = Run(method, rows, seed, budget=120)
        run.answer(lambda: False, skips)


def raised_budget(method: str, rng: np.random.Generator, seed: int, twin: dict[str, Any]) -> None:
    """Whenever the budget is used up, it is raised, and somebody looks again."""
    rows, target = Rows.with_errors(rng, 1000, 150), twin.get("target")
    with told(method, rows, twin):
        run = Run(method, rows, seed, budget=60, target=target)
        for budget in range(90, 330, 30):
            run.answer(lambda: False)
            run.campaign.set_target(target=target, budget=budget)


def merged_classes(method: str, rng: np.random.Generator, seed: int, twin: dict[str, Any]) -> None:
    """Half-way through the draws and after them, people merge what they saw confused."""
    rows = Rows.with_errors(rng, 600, 300, n_classes=40)
    options: dict[str, Any] = (
        {"budget": 150} if method != "pac" else {"n_training": 20, "n_calibration": 60, "target": 0.6}
    )
    with told(method, rows, twin):
        run = Run(method, rows, seed, **options)
        book, used = run.campaign.book, set()
        for n_drawn in (25, 40, 49):
            run.answer(lambda n=n_drawn: book.n_answers[Role.BOUNDS] >= n)
            confused = Counter(
                tuple(sorted((int(rows.guess[question.row]), int(rows.truth[question.row]))))
                for question in book.questions
                if question.role is Role.BOUNDS and rows.guess[question.row] != rows.truth[question.row]
            )
            for pair, _ in confused.most_common():
                if not used & set(pair):
                    used |= set(pair)
                    run.merge(*pair)
        run.answer(lambda: False)
        assert set(run.campaign.result().labels.tolist()) <= set(run.campaign.classes)


def changed_answers(method: str, rng: np.random.Generator, seed: int, twin: dict[str, Any]) -> None:
    """Whoever draws a wrong row says later that it was right, and in the end what it is."""
    rows = Rows.with_errors(rng, 600, 180)
    options: dict[str, Any] = (
        {"budget": 120} if method != "pac" else {"n_training": 20, "n_calibration": 60, "target": 0.9}
    )
    with told(method, rows, twin):
        run = Run(method, rows, seed, **options)
        campaign, lied = run.campaign, []
        while campaign.stop_reason is None and campaign.n_asked < 120:
            for question in campaign.ask():
                row = question.row
                campaign.tell(question.id, run.label(row))
                if question.role is Role.BOUNDS and rows.truth[row] != rows.guess[row]:
                    lied.append(row)
                    if len(lied) % 2:
                        campaign.relabel(row, int(rows.guess[row]))
                    else:
                        campaign.undo()
                        campaign.tell(question.id, int(rows.guess[row]))
            run.look()
        for row in lied:
            campaign.relabel(row, run.label(row))
            run.look()


def moved_target(method: str, rng: np.random.Generator, seed: int, twin: dict[str, Any]) -> None:
    """When the sample of `pac` is answered, and before it is looked at, the target is set where it deceives most."""
    rows = Rows.with_errors(rng, 3000, 0)
    wrong = rng.random(3000) < 1.2 * (1 - rows.X[:, 1]) ** 2  # the less the surer
    rows.truth[wrong] = 1 - rows.guess[wrong]
    with told(method, rows, twin):
        run = Run(method, rows, seed, n_training=20, n_calibration=100, target=0.9)
        campaign, pac = run.campaign, run.campaign.method
        run.answer(lambda: pac._calibration is not None and (campaign.book.known[pac._calibration] != UNKNOWN).all())
        before, excess = pac._allowed, {}
        for percent in range(80, 99):
            pac._allowed = allowed_errors(3000, percent / 100)
            unknown = campaign.book.known == UNKNOWN
            excess[percent] = int((wrong & unknown)[pac._sure_rows(pac._looks[0])].sum()) - pac._allowed
        pac._allowed = before
        campaign.set_target(target=max(excess, key=excess.__getitem__) / 100, budget=None)
        run.answer(lambda: False, n=400)


# -------------------------------------------------------------------------------------------- rules to be broken


class SpeaksForSkipped(HoldOut):
    """Broken: what was drawn is said to speak for rows as well that were skipped before, and never could be drawn."""

    def __init__(self, book, labels, inside, sample, alpha):
        super().__init__(book, labels, inside | (book.declined & (book.known == UNKNOWN)), sample, alpha)


class LastWord(HoldOut):
    """Broken: what counts is the last answer."""

    def follow(self, book, change):
        if isinstance(change, RowChanged):
            self._right[change.row] = self._wrong[change.row] = False
        super().follow(book, change)


class Recounting(HoldOut):
    """Broken: draws are judged anew by the merged classes."""

    def follow(self, book, change):
        if isinstance(change, Merged):
            self.labels = np.where(self.labels == change.code, change.into, self.labels)
            known = book.known != UNKNOWN
            self._right, self._wrong = known & (book.known == self.labels), known & (book.known != self.labels)
        else:
            super().follow(book, change)


class Interleaved(HoldoutMethod):
    """Broken: every third question is held out, from the first on, and speaks for what the training has left over."""

    n_chosen = 0

    def _choose(self, book, n):
        left = self._left(book)
        self.n_chosen += 1
        held_out = self.n_chosen % 3 == 0
        row = self._next_uniform(left) if held_out else self._next_training(left)
        if row is None:
            return []
        self._taken[row] = True
        return [Proposal(row=row, role=Role.BOUNDS if held_out else Role.TRAINING)]

    def _fit_if_due(self, book):
        last = book.n_asked >= book.budget
        if last or book.n_known in (20, 40, 80):
            asked = {role: [question.row for question in book.questions if question.role is role] for role in Role}
            trained = np.zeros(book.n_rows, dtype=bool)
            trained[asked[Role.TRAINING]] = True
            known = book.known.copy()
            book.known[asked[Role.BOUNDS]] = UNKNOWN  # not to be learnt from
            self._n_fitted, self._predicted = book.n_known, self._fit(book)
            book.known[:] = known
            if last:
                held_out = np.array(asked[Role.BOUNDS])
                self._looks, self._alpha = [HoldOut(book, self._predicted, ~trained, held_out, self._alpha)], 0.0


class InterleavedMargin(Interleaved, MarginSampling):
    """The same, trained on doubtful rows."""


class Spendthrift(RandomSampling):
    """Broken: each look has the whole of alpha."""

    def _look(self, book, n_draws, **options):
        self._alpha, self._n_looks = ALPHA, 0 if book.target is None else -1
        super()._look(book, n_draws, **options)
        self._alpha = ALPHA


class LateTarget(PacLabels):
    """Broken: the sample is looked at for the target of that time, whatever it has shown."""

    def _next_phase(self, book):
        if self._calibration is not None and self._sure is None:
            self._allowed = allowed_errors(book.n_rows, book.target)
        super()._next_phase(book)


# ------------------------------------------------------------------------------------------------------- the tests

BOTH, ALL = ("random", "margin"), ("random", "margin", "pac")
SOUND = [
    *((story, method) for story in (skipped_training, sure_and_wrong, steered_training) for method in BOTH),
    *((story, method) for story in (merged_classes, changed_answers) for method in ALL),
    (raised_budget, "random"),
    (moved_target, "pac"),
]
BROKEN = [
    *((skipped_training, method, {"look": SpeaksForSkipped}, 12) for method in BOTH),
    (sure_and_wrong, "margin", {"method": InterleavedMargin}, 12),
    (steered_training, "random", {"method": Interleaved}, 30),
    *((merged_classes, method, {"look": Recounting}, 12) for method in ALL),
    *((changed_answers, method, {"look": LastWord}, 12) for method in ALL),
    (raised_budget, "random", {"method": Spendthrift}, 15),
    (raised_budget, "random", {"method": Spendthrift, "target": 0.9}, 15),
    (moved_target, "pac", {"method": LateTarget}, 80),
]


@pytest.mark.parametrize(("story", "method"), SOUND, ids=lambda value: getattr(value, "__name__", value))
def test_certificates_survive(story, method):
    """Whatever somebody does who wants them false, no more of them are than may be."""
    assert chance(story, method) > CHANCE


def test_looks_with_a_target_survive_a_raised_budget():
    """With a target there is a look after each fit: all of them together are one chance to be wrong."""
    assert chance(raised_budget, "random", {"target": 0.9}) > CHANCE


@pytest.mark.parametrize(("story", "method", "twin", "n_runs"), BROKEN)
def test_each_rule_is_needed(story, method, twin, n_runs):
    """With one rule broken, the same story makes more certificates false than can be chance."""
    assert chance(story, method, twin, n_runs) < CHANCE


def all_taken_back(method: str, look: type[HoldOut]) -> tuple[float, float]:
    """Merge all classes, certify, take everything back; return certificate and share of right labels."""
    rows = Rows(np.random.default_rng(5).integers(2, size=300), np.zeros(300, dtype=int))
    with told(method, rows, {"look": look}):
        campaign = Run(method, rows, 0, **limits(method, budget=90, target=0.9)).campaign
        campaign.merge_class(1, 0)
        while campaign.stop_reason is None:
            for question in campaign.ask(10):
                campaign.tell(question.id, 0)
        assert campaign.certificate.lower >= 0.9
        while campaign.book.steps:
            campaign.undo()
        return campaign.certificate.lower, float((campaign.result().labels == rows.truth).mean())


class Unmoved(HoldOut):
    """Broken: merges that are taken back change nothing."""

    def follow(self, book, change):
        if not isinstance(change, Unmerged):
            super().follow(book, change)


@pytest.mark.parametrize("method", ALL)
def test_classes_that_are_told_apart_again(method):
    """What was certain of merged classes is not certain of those that they were merged from."""
    lower, right = all_taken_back(method, HoldOut)
    assert lower <= right
    lower, right = all_taken_back(method, Unmoved)
    assert lower > right + 0.1


@pytest.mark.parametrize("method", ALL)
def test_labels_are_of_the_merged_class(method):
    """A class that was merged is no label any more, and what was certain stays."""
    rows = Rows.with_errors(np.random.default_rng(1), 400, 12, n_classes=3)
    with told(method, rows, {}):
        campaign = Run(method, rows, 0, **limits(method, budget=150, target=0.9)).campaign
        while campaign.stop_reason is None:
            for question in campaign.ask():
                campaign.tell(question.id, int(rows.truth[question.row]))
        before = campaign.certificate
        assert before.lower > 0.85
        assert before.guarantee is Guarantee.ONE_LOOK
        campaign.merge_class(0, 2)
        assert set(campaign.result().labels.tolist()) == {1, 2}
        assert campaign.certificate == before
