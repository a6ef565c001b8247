"""Whole campaigns of the method `bela` on populations of many shapes: was the certificate ever above the truth?

The small version runs in test_bela_coverage.py, the full one with `python benchmarks/coverage.py`. Somebody looks after
every answer, skip, undo and relabelling, and would stop at the best moment: one look above the truth fails the run.
Most runs have cheap learners, some of them as bad as can be; a certificate needs no good one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from bela import Campaign
from bela.book import Book, Change, Revised, RowChanged
from bela.learning import Answers, Fit, Picks
from bela.methods import METHODS
from bela.methods._deciding import N_BINS
from bela.methods.bela import Bela, _parts
from bela.methods.bela._planning import Plan
from bela.methods.bela._revision import RevisionJob
from bela.records import SURE_SHARES, UNKNOWN, Assessment, BoolArray, FloatArray, IntArray, Parts, Proposal, Role

Rng = np.random.Generator
Data = tuple[npt.NDArray[np.float64], IntArray]

# ---------------------------------------------------------------------------------------------------- learners


class Nearby:
    """Every row is labelled by the answers near it; deterministic, with left-out probabilities, in no time.

    With a small `width` it memorises: an answer says nothing about any other row. A `sharpness` above 1 makes it
    surer than it has a right to be. If it is `vain`, it says to have predicted all answers: bets on its word are high.
    """

    def __init__(
        self,
        X: FloatArray,
        seed: int,
        *,
        width: float = 1.0,
        sharpness: float = 1.0,
        vain: bool = False,
        n_first: int = 10,
    ) -> None:
        square = (X**2).sum(axis=1)
        distance = np.maximum(square[:, None] + square - 2 * X @ X.T, 0.0)
        self._near = np.exp(-distance / width) + 1e-6
        self._first = np.random.default_rng([seed, 1, 31]).permutation(len(X))[:n_first]
        self._sharpness, self._vain = sharpness, vain
        self.n_fits = 0

    def prepare(self) -> None:
        """Nothing needs to be made."""

    def first_questions(self) -> IntArray:
        return self._first

    def fit(self, rows: IntArray, codes: IntArray) -> Fit:
        self.n_fits += 1
        classes, y = np.unique(codes, return_inverse=True)
        votes = np.eye(len(classes))[y]
        others = self._near[np.ix_(rows, rows)] * (1.0 - np.eye(len(rows)))
        return Fit(
            rows=rows,
            classes=classes,
            proba=self._shares(self._near[:, rows] @ votes),
            out_of_fold=votes if self._vain else self._shares(others @ votes),
            loss=0.0,
            weights={},
        )

    def next_questions(self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: Rng) -> Picks:
        rest = np.flatnonzero(~asked)
        n_uniform = round(uniform_share * min(n, len(rest)))
        two = np.sort(np.pad(fit.proba, ((0, 0), (1, 0))), axis=1)[rest, -2:]
        doubtful = rest[np.argsort(two[:, 1] - two[:, 0], kind="stable")[: min(n, len(rest)) - n_uniform]]
        uniform = rng.choice(np.setdiff1d(rest, doubtful), n_uniform, replace=False)
        rows = np.concatenate([doubtful, uniform])
        return Picks(rows=rows, uniform=np.arange(len(rows)) >= len(doubtful))

    def _shares(self, votes: FloatArray) -> FloatArray:
        powers: FloatArray = np.maximum(votes, 1e-9) ** self._sharpness
        return powers / powers.sum(axis=1, keepdims=True)


class Fickle(Nearby):
    """A vain learner of another mind at every revision: what one gets wrong says nothing about the next."""

    def __init__(self, X: FloatArray, seed: int) -> None:
        super().__init__(X, seed, vain=True)
        self._seed = seed

    def fit(self, rows: IntArray, codes: IntArray) -> Fit:
        fit = super().fit(rows, codes)
        rng = np.random.default_rng([self._seed, len(rows), 32])
        return replace(fit, proba=rng.dirichlet(np.ones(len(fit.classes)), len(fit.proba)))


class Trusting(Nearby):
    """A learner that takes every word of a helper for true, where people have said nothing."""

    def fit(self, rows: IntArray, codes: IntArray, *, helped: Answers | None = None) -> Fit:
        fit = super().fit(rows, codes)
        if helped is None:
            return fit
        proba = fit.proba.copy()
        for row, code in zip(helped.rows.tolist(), helped.codes.tolist(), strict=True):
            if row not in rows and code in fit.classes:
                proba[row] = np.where(fit.classes == code, 0.98, 0.02 / len(fit.classes))
        return replace(fit, proba=proba / proba.sum(axis=1, keepdims=True))


class Learning(Nearby):
    """A learner to which a helper's word is as good as anybody's."""

    def fit(self, rows: IntArray, codes: IntArray, *, helped: Answers | None = None) -> Fit:
        if helped is None:
            return super().fit(rows, codes)
        new = ~np.isin(helped.rows, rows)
        fit = super().fit(np.concatenate([rows, helped.rows[new]]), np.concatenate([codes, helped.codes[new]]))
        own = super().fit(rows, codes)
        return replace(own, proba=fit.proba)


# ------------------------------------------------------------------------------------------------- populations


def balanced(rng: Rng) -> Data:
    """Three clusters that overlap."""
    y = rng.integers(0, 3, 200)
    return rng.normal(size=(200, 2)) + 2.2 * np.array([(0, 0), (1, 0), (0, 1)])[y], y


def rare(rng: Rng) -> Data:
    """Two large classes, one of 1 % and one of 0.2 %, in places of their own or hidden among the others."""
    y = np.concatenate([rng.integers(0, 2, 495), np.full(4, 2), [3]])
    X = rng.normal(size=(500, 2)) + 2.5 * np.array([(0, 0), (1, 1), (3, 0), (0, 1)])[y]
    return X, y


def noisy(rng: Rng) -> Data:
    """Clusters as classes, and a quarter of the labels are anything."""
    X, y = balanced(rng)
    return X, np.where(rng.random(200) < 0.25, rng.integers(0, 3, 200), y)


def useless(rng: Rng) -> Data:
    """Features that say nothing, and classes of 60 and 40 %."""
    return rng.normal(size=(200, 2)), (rng.random(200) < 0.4).astype(int)


def duplicates(rng: Rng) -> Data:
    """Twenty distinct rows, ten times each; one in eight has another label than its likes."""
    X = np.repeat(rng.normal(size=(20, 2)), 10, axis=0)
    y = np.repeat(rng.integers(0, 4, 20), 10)
    return X, np.where(rng.random(200) < 0.125, rng.integers(0, 4, 200), y)


def in_order(rng: Rng) -> Data:
    """Rows sorted by class and, within it, the hardest last."""
    X, y = balanced(rng)
    middle = np.array([X[y == k].mean(axis=0) for k in range(3)])
    order = np.lexsort((((X - middle[y]) ** 2).sum(axis=1), y))
    return X[order], y[order]


def many_classes(rng: Rng) -> Data:
    """Thirty classes of about eight rows."""
    y = rng.integers(0, 30, 240)
    return rng.normal(size=(240, 2)) + 9.0 * rng.normal(size=(30, 2))[y], y


def traps(rng: Rng) -> Data:
    """A class sits in the middle of each of the others: the model errs where it is surest."""
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) + np.array([(-4, 0), (4, 0)])[y]
    inner = ((X - np.array([(-4, 0), (4, 0)])[y]) ** 2).sum(axis=1) < 0.35
    return X, np.where(inner & (rng.random(200) < 0.8), 2, y)


def easy_and_hard(rng: Rng) -> Data:
    """Two clear clusters, and between them a cloud of rows that nobody can tell apart."""
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) * 0.5 + np.array([(-6, 0), (6, 0)])[y]
    X[:80] = rng.normal(size=(80, 2)) * 0.5
    return X, y


def more_of_both(rng: Rng) -> Data:
    """The same, with four times as many rows, and four classes in the cloud."""
    parts = [easy_and_hard(rng) for _ in range(4)]
    X, y = np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    return X, np.where(np.abs(X[:, 0]) < 3.0, rng.integers(0, 4, len(y)), y)


def clear_and_muddled(rng: Rng) -> Data:
    """Two classes that anybody can tell apart, and two that nobody can."""
    y = rng.integers(0, 4, 300)
    return rng.normal(size=(300, 2)) * 0.5 + np.array([(-6, 0), (6, 0), (0, 6), (0, 6)])[y], y


# ------------------------------------------------------------------------------------------------------ designs


class Restless(Bela):
    """Any division of effort is as valid: release now and then, draw while luck lasts, train when it turns."""

    def _current_plan(self, book: Book) -> Plan:
        certificates, drawn = self.certificates, self.epoch.drawn
        released = certificates.certified
        last = len(certificates.revisions) - 1 if released is None else released
        codes = certificates.revisions[last].codes
        luck = len(drawn) < 40 and all(book.known[row] == codes[row] for row in drawn[-3:])
        go_on = len(drawn) < 6 if released is not None else last % 3 == 2
        return Plan(role=Role.BOUNDS if luck or go_on else Role.TRAINING)


@dataclass(frozen=True, kw_only=True)
class Design:
    """A population, a learner, and the manners of those who answer.

    `skips` says which rows nobody answers, `brings` which labels are there from the start, `helps` what a helper says;
    all know all labels.
    With `batch` questions are answered in any order. With `slips`, some answers are wrong at first and changed later,
    and some are taken back and given again. Who `denies` errors changes the answer to a draw that was labelled wrong
    into that label, once it is known. `about` is the statement that is watched: the certificate, the bounds of all
    classes, or the sure parts; the last two are looked at after every sixth answer, as they take longer.
    """

    population: Callable[[Rng], Data]
    learner: Callable[[FloatArray, int], Any] | None = Nearby
    method: type[Bela] = Bela
    options: dict[str, Any] = field(default_factory=dict)
    skips: Callable[[Rng, FloatArray, IntArray], BoolArray] | None = None
    brings: Callable[[Rng, FloatArray, IntArray], IntArray] | None = None
    helps: Callable[[Rng, FloatArray, IntArray], list[int | None]] | None = None
    batch: int = 1
    slips: bool = False
    denies: bool = False
    until: float = 0.6  # of the rows: the last answers are of no interest
    about: Literal["certificate", "classes", "sure"] = "certificate"


def memorising(X: FloatArray, seed: int) -> Nearby:
    """A model that is sure of everything, and knows its answers by heart."""
    return Nearby(X, seed, width=1e-3, sharpness=3.0)


def overconfident(X: FloatArray, seed: int) -> Nearby:
    """A model that is sure of everything, and says to have been right all along."""
    return Nearby(X, seed, sharpness=6.0, vain=True)


def hardly_answered(rng: Rng, X: FloatArray, y: IntArray) -> BoolArray:
    """Of the rows with neighbours of another label, nine in ten are skipped."""
    likes = np.array([(y[np.argsort(((X - x) ** 2).sum(axis=1))[1:9]] == k).mean() for x, k in zip(X, y, strict=True)])
    result: BoolArray = (likes < 0.8) & (rng.random(len(y)) < 0.9)
    return result


def never_answered(rng: Rng, X: FloatArray, y: IntArray) -> BoolArray:
    """Nobody can tell the rows between the clusters."""
    return np.asarray(np.abs(X[:, 0]) < 3.0)


def one_in_ten(rng: Rng, X: FloatArray, y: IntArray) -> BoolArray:
    """Rows skipped for no reason."""
    return np.asarray(rng.random(len(y)) < 0.1)


def easiest(rng: Rng, X: FloatArray, y: IntArray) -> IntArray:
    """Thirty rows that lie in the middle of their classes."""
    middle = np.array([X[y == k].mean(axis=0) if (y == k).any() else X[0] for k in range(y.max() + 1)])
    return np.argsort(((X - middle[y]) ** 2).sum(axis=1))[:30]


def fair_help(rng: Rng, X: FloatArray, y: IntArray) -> list[int | None]:
    """A helper that is right in four of five rows, and cannot tell in some."""
    said = np.where(rng.random(len(y)) < 0.8, y, rng.integers(0, y.max() + 1, len(y)))
    return [None if luck < 0.1 else int(label) for luck, label in zip(rng.random(len(y)), said, strict=True)]


def treacherous_help(rng: Rng, X: FloatArray, y: IntArray) -> list[int | None]:
    """A helper that is right about every other row, to be believed, and always wrong about the rest."""
    wrong = (y + 1) % (y.max() + 1)
    return [int(label) for label in np.where(rng.random(len(y)) < 0.5, y, wrong)]


DESIGNS = {
    "no end": Design(population=balanced),
    "no end, noisy labels": Design(population=noisy),
    "no end, useless features, a vain model": Design(population=useless, learner=overconfident),
    "no end, another mind at every revision": Design(population=useless, learner=Fickle, until=0.9),
    "no end, hard rows skipped": Design(population=balanced, skips=hardly_answered),
    "no end, labels brought": Design(population=noisy, brings=easiest),
    "balanced": Design(population=balanced, options={"target": 0.85}),
    "balanced, hard target": Design(population=balanced, options={"target": 0.9}),
    "rare classes": Design(population=rare, options={"target": 0.95}, until=0.45),
    "noisy labels, impossible target": Design(population=noisy, method=Restless, options={"target": 1.0}),
    "useless features": Design(population=useless, options={"target": 0.7}),
    "useless features, a vain model": Design(population=useless, learner=overconfident, options={"target": 0.9}),
    "duplicates": Design(population=duplicates, method=Restless, options={"target": 0.93}),
    "sorted rows": Design(population=in_order, options={"target": 0.85}),
    "many classes": Design(population=many_classes, options={"target": 0.9}),
    "errors where the model is sure": Design(population=traps, learner=overconfident, options={"target": 0.9}),
    "a model that memorises": Design(population=noisy, learner=memorising, method=Restless, options={"target": 0.8}),
    "budget": Design(population=balanced, options={"budget": 120}),
    "budget, a target out of reach": Design(population=noisy, options={"budget": 110, "target": 0.99}),
    "hard rows skipped": Design(population=balanced, method=Restless, options={"target": 0.9}, skips=hardly_answered),
    "a tenth skipped, in grids": Design(population=balanced, options={"target": 0.8}, skips=one_in_ten, batch=9),
    "labels brought": Design(population=noisy, options={"target": 0.85}, brings=easiest),
    "answers taken back and changed": Design(population=balanced, options={"target": 0.85}, slips=True),
    "by class": Design(population=noisy, about="classes"),
    "by class, budget": Design(population=balanced, options={"budget": 120}, about="classes"),
    "by class, restless": Design(population=useless, method=Restless, options={"target": 0.9}, about="classes"),
    "sure part": Design(population=traps, about="sure", until=0.9),
    "sure part, a vain model": Design(population=more_of_both, learner=overconfident, about="sure"),
    "sure part, restless": Design(population=balanced, method=Restless, options={"target": 0.99}, about="sure"),
    "class target": Design(population=balanced, options={"target": 0.85, "class_target": 0.8}),
    "class target, by class": Design(population=noisy, options={"target": 0.7, "class_target": 0.75}, about="classes"),
    "class target, budget, by class": Design(
        population=balanced, options={"budget": 120, "class_target": 0.9}, about="classes"
    ),
    "class target, restless": Design(
        population=many_classes,
        method=Restless,
        options={"target": 0.99, "class_target": 0.9},
        skips=one_in_ten,
        batch=5,
    ),
    "class target, restless, by class": Design(
        population=rare, method=Restless, options={"target": 0.99, "class_target": 0.9}, about="classes", until=0.45
    ),
    "restless": Design(population=balanced, method=Restless, options={"target": 0.99}),
    "restless, vain, a tenth skipped, in grids": Design(
        population=noisy, learner=overconfident, method=Restless, options={"target": 0.99}, skips=one_in_ten, batch=5
    ),
    "restless, errors denied": Design(population=noisy, method=Restless, options={"target": 0.99}, denies=True),
    "a fair helper": Design(population=balanced, learner=Learning, helps=fair_help, options={"target": 0.85}),
    "a fair helper, no end": Design(population=noisy, learner=Learning, helps=fair_help),
    "a treacherous helper that is believed": Design(
        population=balanced, learner=Trusting, helps=treacherous_help, options={"target": 0.85}
    ),
    "a treacherous helper, restless": Design(
        population=noisy, learner=Trusting, method=Restless, helps=treacherous_help, options={"target": 0.99}
    ),
}

REAL = {
    "own learner, balanced": Design(population=balanced, learner=None, options={"target": 0.95}),
    "own learner, rare classes": Design(population=rare, learner=None, options={"target": 0.99}, until=0.3),
    "own learner, noisy labels": Design(population=noisy, learner=None, options={"target": 0.85}),
    "own learner, useless features": Design(population=useless, learner=None, options={"target": 0.7}),
}


# ------------------------------------------------------------------------------------------------ broken on purpose


class Leaking(Bela):
    """The model learns from draws, and they still count."""

    def _separated(self, book: Book) -> RevisionJob:
        job = super()._separated(book)
        rows = np.array([row for row in self.epoch.drawn if book.known[row] != UNKNOWN], dtype=np.intp)
        learner = _ToldMore(self.learner(), job.codes, rows, book.known[rows])
        return replace(job, learner=lambda: learner)


class _ToldMore:
    """A learner that is given more answers than it says."""

    def __init__(self, learner: Any, told: IntArray, rows: IntArray, codes: IntArray) -> None:
        self._learner, self._told, self._rows, self._codes = learner, told, rows, codes

    def fit(self, rows: IntArray, codes: IntArray) -> Fit:
        place = dict(zip(self._told.tolist(), codes.tolist(), strict=True))
        known = np.array([code in place for code in self._codes.tolist()], dtype=bool)
        more = np.array([place[code] for code in self._codes[known].tolist()], dtype=codes.dtype)
        fit: Fit = self._learner.fit(np.concatenate([rows, self._rows[known]]), np.concatenate([codes, more]))
        return replace(fit, rows=rows, out_of_fold=fit.out_of_fold[: len(rows)])

    def next_questions(self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: Rng) -> Picks:
        picks: Picks = self._learner.next_questions(fit, asked, n, uniform_share=uniform_share, rng=rng)
        return picks


class PassingOver(Bela):
    """Training passes over rows that were drawn, so that what it picks depends on the draws."""

    def _separated(self, book: Book) -> RevisionJob:
        job = super()._separated(book)
        taken = job.taken.copy()
        taken[self.epoch.drawn] = True
        return replace(job, taken=taken)


class EasyFirst(Bela):
    """Rows that the model is sure of are drawn more, and it is not taken into account."""

    def _draw(self, book: Book, n: int, but: Sequence[Proposal]) -> list[Proposal]:
        if not self.certificates.revisions:
            return super()._draw(book, n, but)
        taken = {proposal.row for proposal in but}
        rows = np.array([row for row in range(book.n_rows) if self._pool.holds(row) and row not in taken])
        weights = (self.certificates.revisions[-1].bin[rows] + 2.0) ** 6
        rng = self.setup.rng(12, len(book.questions))
        chosen = rng.choice(rows, min(n, len(rows)), replace=False, p=weights / weights.sum()) if len(rows) else rows
        return [Proposal(row=int(row), role=Role.BOUNDS, revision=book.n_revisions) for row in chosen]


class Uncounted(Bela):
    """Nobody counts what looks have spent, so that there is always more of it."""

    def _adopt(self, book: Book, event: Revised) -> None:
        super()._adopt(book, event)
        self.epoch.spent = 0.0


class WholeAlphas(Uncounted):
    """Each of three looks at every revision may fail with all of alpha, and the best of them is reported."""

    def _separated(self, book: Book) -> RevisionJob:
        job = super()._separated(book)
        alpha = 1 - self.setup.confidence
        return replace(job, looks=tuple((n * part // 3, alpha) for n, _ in job.looks for part in (1, 2, 3)))


class Peeking(Uncounted):
    """The bound for one look is looked at after every draw, and the best is kept."""

    def _adopt(self, book: Book, event: Revised) -> None:
        n = [(d, 1 - self.setup.confidence) for d in range(2, book.n_rows // 2)] if event.looks else []
        super()._adopt(book, event.model_copy(update={"looks": tuple(n)}))

    def _draws_due(self, book: Book) -> int:
        return max(20 * len(self.certificates.revisions) - len(self.epoch.drawn), 0)


class SkipsForgotten(Bela):
    """Draws that nobody answered are not counted."""

    def follow(self, book: Book, change: Change) -> None:
        super().follow(book, change)
        if isinstance(change, RowChanged) and change.declined and change.row in self.epoch.drawn:
            place = self.epoch.drawn.index(change.row)
            del self.epoch.drawn[place], self.epoch.asked_until[place]


class LastWord(Bela):
    """Only the last answer to a draw counts."""

    def follow(self, book: Book, change: Change) -> None:
        super().follow(book, change)
        if isinstance(change, RowChanged) and change.code != UNKNOWN:
            self.certificates.said[change.row] = [change.code]


class UndividedParts(Bela):
    """Each class of each look may fail with twice of all that there is, and each part always does."""

    def _assess(self, book: Book) -> Assessment:
        return replace(super()._assess(book), take_parts=partial(self._take_parts, book))

    def _take_parts(self, book: Book) -> Parts:
        best, _ = self.certificates.best(book)
        parts = _parts.take_parts(book, self.certificates, best, self.setup.confidence)
        snapshot: _parts.Snapshot = parts.find_sure.args[0]  # type: ignore[attr-defined]
        each = min(2.0 * (1.0 - self.setup.confidence), 0.9)
        by_class, by_share = (
            replace(snapshot, evidence=[replace(one, alpha=alpha) for one in snapshot.evidence])
            for alpha in (each * len(np.unique(snapshot.codes)), 0.99 * len(SURE_SHARES))
        )
        return replace(
            parts, bound_classes=partial(_parts.bound_classes, by_class), find_sure=partial(_parts.find_sure, by_share)
        )


class HelperCertifies(Bela):
    """What a helper has said about a row is taken for its answer when it is drawn."""

    def follow(self, book: Book, change: Change) -> None:
        if isinstance(change, RowChanged) and change.role is Role.BOUNDS and change.code != UNKNOWN:
            said = book.help.codes(book.codes, book.steps)
            change = replace(change, code=said.get(change.row, change.code))
        super().follow(book, change)


class FavouredUnseen(Bela):
    """Rows of the two classes that are easy are drawn far more often once there are labels, and nobody counts it."""

    def _current_plan(self, book: Book) -> Plan:
        return Plan(role=Role.BOUNDS)

    def _weights(self, book: Book, index: int) -> FloatArray:
        factors = [64.0 if label in (0, 1) else 1.0 for label in book.codes.classes]
        n_codes = int(self.certificates.revisions[index].codes.max()) + 1
        return np.concatenate([np.ones(N_BINS), factors[:n_codes]])

    def _take_question(self, proposal: Proposal) -> None:
        super()._take_question(replace(proposal, weights=proposal.weights[:N_BINS]))


class Surest(Nearby):
    """Asks where it is in no doubt at all."""

    def next_questions(self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: Rng) -> Picks:
        rest = np.flatnonzero(~asked)
        rows = rest[np.argsort(-fit.proba[rest].max(axis=1), kind="stable")[:n]]
        return Picks(rows=rows, uniform=np.zeros(len(rows), dtype=bool))


BROKEN: dict[str, tuple[type[Bela], Design]] = {
    "draws leak into the model": (Leaking, Design(population=useless, learner=memorising, until=0.5)),
    "easy rows drawn more, weights ignored": (EasyFirst, Design(population=more_of_both, learner=Surest, until=0.25)),
    "no union over looks": (WholeAlphas, Design(population=useless, learner=Fickle, until=0.9)),
    "one look, taken after every draw": (Peeking, Design(population=useless, learner=Fickle, until=0.9)),
    "skipped draws ignored": (
        SkipsForgotten,
        Design(population=easy_and_hard, learner=Surest, skips=never_answered, until=0.5),
    ),
    "alpha not divided by classes": (
        UndividedParts,
        Design(population=many_classes, learner=overconfident, about="classes", until=0.9),
    ),
    "alpha not divided by parts": (UndividedParts, Design(population=balanced, learner=overconfident, about="sure")),
    "a favoured class, not counted": (
        FavouredUnseen,
        Design(population=clear_and_muddled, options={"target": 0.97, "class_target": 0.9}, until=0.5),
    ),
    "only the last answer counts": (LastWord, Design(population=useless, denies=True, until=0.5)),
    "a helper's answer counts as a draw": (
        HelperCertifies,
        Design(population=useless, learner=Trusting, helps=treacherous_help, until=0.5),
    ),
}
"""Rules broken on purpose, each in a design where it must show; with the design's own method it must not."""

DESIGNS |= {f"honest: {name}": design for name, (_, design) in BROKEN.items()}


# --------------------------------------------------------------------------------------------------------- runs


class SameTraining:
    """A set-up whose draws alone depend on the key."""

    def __init__(self, setup: Any) -> None:
        self._setup = setup

    def __getattr__(self, name: str) -> Any:
        return getattr(self._setup, name)

    def rng(self, stream: int, number: int, salt: int = 0) -> np.random.Generator:
        return self._setup.rng(stream, number, salt) if stream == 12 else np.random.default_rng([5, stream, number])


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a run: was the certificate ever above the truth, and how far did it go?"""

    failed: bool
    n_rows: int
    n_asked: int
    n_draws: int
    n_revisions: int
    n_certified: int
    lower: float
    right: float


def run(design: Design, alpha: float, seed: int, method: type[Bela] | None = None) -> Outcome:
    """Run one campaign, looking at every moment; with another `method`, to break a rule on purpose."""
    rng = np.random.default_rng([seed, 2, 33])  # no stream of the package has these numbers
    X, y = design.population(rng)
    n = len(y)
    skipped = design.skips(rng, X, y) if design.skips else np.zeros(n, dtype=bool)
    brought = design.brings(rng, X, y) if design.brings else np.zeros(0, dtype=int)
    options = dict(design.options)
    if design.helps is not None:
        options["helper"] = np.array(design.helps(rng, X, y), dtype=object)
    if design.learner is not None:
        options["learner"] = design.learner(X, seed)
    with patch.dict(METHODS._loaded, {"bela": method or design.method}):
        campaign = Campaign(
            X, confidence=1 - alpha, seed=seed, labels={int(row): int(y[row]) for row in brought}, **options
        )
    watch = _Watch(campaign, y, design.about)
    slips = {int(row): int((y[row] + 1) % (y.max() + 1)) for row in np.flatnonzero(rng.random(n) < 0.1) if design.slips}
    while campaign.stop_reason is None and watch.n_closed < design.until * n and not watch.failed:
        questions = campaign.ask(design.batch)
        for i in rng.permutation(len(questions)):
            question = questions[i]
            watch.n_closed += 1
            if skipped[question.row]:
                campaign.skip(question.id)
                watch.look()
                continue
            watch.tell(question.id, question.row, slips.get(question.row, int(y[question.row])))
            if design.denies and question.role is Role.BOUNDS:
                watch.deny(question.row)
            if design.slips:
                _wander(watch, rng, slips)
    labelled = campaign.method
    assert isinstance(labelled, Bela)
    return Outcome(
        failed=watch.failed,
        n_rows=n,
        n_asked=campaign.n_asked,
        n_draws=campaign.certificate.n_bounds,
        n_revisions=len(labelled.certificates.revisions),
        n_certified=len(labelled.certificates.bounds),
        lower=campaign.certificate.lower,
        right=watch.right,
    )


class _Watch:
    """Somebody who looks after everything that happens, and knows the truth."""

    def __init__(self, campaign: Campaign, y: IntArray, about: str) -> None:
        self.campaign, self.meant, self.truth, self.about = campaign, y, y.copy(), about
        self.failed, self.right = False, 0.0
        self.answered: list[int] = []
        self.n_closed = 0  # questions answered or skipped

    def tell(self, question: int, row: int, label: int) -> None:
        self.truth[row] = label  # the truth is what the oracle says, as long as it says so
        self.campaign.tell(question, label)
        self.answered.append(row)
        self.look()

    def relabel(self, row: int, label: int) -> None:
        self.truth[row] = label
        self.campaign.relabel(row, label)
        self.look()

    def deny(self, row: int) -> None:
        """Change the answer to a row to the label that it has without it, as if that had been the truth."""
        revisions = self.campaign.method.certificates.revisions
        if revisions:
            self.relabel(row, self.campaign.book.codes.classes[int(revisions[-1].codes[row])])

    def undo(self) -> None:
        """Take back the last answer, look, and give it again."""
        question = self.campaign.undo()
        self.answered.pop()
        self.look()
        self.tell(question.id, question.row, int(self.truth[question.row]))

    def look(self) -> None:
        codes = self.campaign.assessment.labelling.codes
        if codes[0] < 0:
            return  # no label is known
        labels = np.array(self.campaign.classes)[codes]
        right = labels == self.truth
        self.right = float(right.mean())
        parts = self.campaign.assessment.parts
        if self.about == "certificate":
            self.failed |= self.campaign.certificate.lower > self.right + 1e-9
        elif self.campaign.n_asked % 6 == 0 and parts is not None:
            if self.about == "classes":
                self.failed |= any(one.lower > right[labels == one.label].mean() + 1e-9 for one in parts.by_class)
            else:
                sure = {share: part.rows for share, part in parts.sure.items() if part.n_rows}
                self.failed |= any(right[rows].mean() < share - 1e-9 for share, rows in sure.items())


def _wander(watch: _Watch, rng: Rng, slips: dict[int, int]) -> None:
    """Now and then take an answer back and give it again, or change one that was a slip."""
    luck = rng.random()
    if luck < 0.04:
        watch.undo()
    elif luck < 0.1:
        slipped = [row for row in watch.answered if row in slips]
        if slipped:
            row = slipped[int(rng.integers(len(slipped)))]
            del slips[row]
            watch.relabel(row, int(watch.meant[row]))


def refuted(n_failures: int, n_runs: int, alpha: float) -> bool:
    """Say whether so many failures are too many for a failure probability of alpha: one in a thousand by chance."""
    return p_value(n_failures, n_runs, alpha) < 1e-3


def p_value(n_failures: int, n_runs: int, alpha: float) -> float:
    """Return the chance of so many failures or more, if a run fails with probability alpha."""
    return float(binomtest(n_failures, n_runs, alpha, alternative="greater").pvalue)
