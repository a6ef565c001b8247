"""The live certificate: draws held out from training, looked at for every revision, from the first answers on.

An *epoch* is a stretch of a campaign in which training chooses as if no draw existed, and draws are uniform. So the
draws are a uniform sample for every revision of the epoch, those from before it was made included, and one exact *look*
at a number of them that was fixed beforehand bounds its errors (docs/guarantees.md, "Looks at held-out draws").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from bela.book import Book
from bela.bounds import errors_upper_one_look
from bela.learning import Answers
from bela.methods.bela._population import AllBut
from bela.methods.bela._revision import Revision
from bela.protocols import Setup
from bela.records import UNKNOWN, BoolArray

TRAINING = 11  # the stream of all that is random in training
GROWTH = math.sqrt(2.0)  # of the answers from one revision to the next
FIRST = 50  # answers to the first look, where there are rows enough
_MOST_FIRST = 200
_LEAST_FIRST = 4  # as one of these is drawn
_OF_BASE = 0.25  # what an epoch asks until its first look, as a share of the answers that it begins with
SHARES = np.arange(0.30, 0.61, 0.05)  # of the questions, that may be draws
TOWARDS_TARGET = 0.15  # that share where there is a target: then they are mainly for the planner
WITH_A_BUDGET = 100  # the same where there is a budget, in draws: fewer would say too little of what to plan for
MOST_TOWARDS = 0.25  # that share at most where there is a target or a budget
PREDICTED = 0.25  # the same where it is to be seen how good predictions are
HELPED = 0.6  # the same where a helper teaches: then people need not teach as much
SPARED, SPARING = 200, 0.1  # that share beyond so many answers, where most that is drawn would not have to be asked
USUAL = 0.4  # that share while nothing is known about the labels
_USUAL_SLOPE = 0.35
_FEW = 0.1
_FALL = 1.2  # how fast the parts of alpha fall: like (k + 2) ** -1.2
_PRIOR = 4.0  # draws that a fit's own view of its errors is worth
_OTHERS = 10  # rows to try next where all that were picked were declined
_AHEAD, _LEAST_AHEAD = 1.5, 20  # of the draws that the next look needs, and some more, while its labels are made
_ENOUGH = 8  # answers a class, before which training pays beyond the next look


@dataclass(kw_only=True)
class Epoch:
    """What separates training from draws since some moment: all that training may depend on, and the draws in order.

    Everything that is known when it begins belongs to training (the `base`). `alpha` is what all its looks together may
    fail with, divided by `part`; that, `firm` (the share of it that statements about parts of the rows have), `first`
    and `share` (of the draws among the questions; None if that is to follow from the errors) are fixed then.
    """

    base: Answers
    start: int  # the place in the log of all draws
    drawable: AllBut  # rows that could be drawn when it began
    alpha: float
    firm: float
    first: int
    n_looks: int
    share: float | None
    sparing: bool = False  # whether there are predictions: what is asked is to be put right, rather than to teach
    early: bool = False  # whether the first look is at labels that others have predicted, before anything is learnt
    picks: list[int] = field(default_factory=list)  # rows chosen for training since, in order, drawn ones too
    batch_of: dict[int, int] = field(default_factory=dict)  # which batch of picks a row came with, from 1 on
    n_batches: int = 0
    n_looked: int = 0  # looks that revisions have got
    spent: float = 0.0  # of alpha, by these
    drawn: list[int] = field(default_factory=list)
    asked_until: list[float] = field(default_factory=list)  # the batch that training had come to, at each draw
    batch: int = 0  # the last of which a row was asked
    spoken: frozenset[int] = frozenset()  # rows that a helper had said something about when it began
    helped: bool = False  # whether somebody helps who was worth something so far
    weighted: bool = False  # whether rows were drawn with weights: no look may count these
    again: list[int] = field(default_factory=list)  # open again when it began, to be learnt from when all are answered

    @classmethod
    def begin(
        cls, book: Book, alpha: float, *, firm: float = 1.0, start: int = 0, asking: Sequence[int] = (),
        sparing: bool = False, early: bool = False,
    ) -> "Epoch":  # fmt: skip
        """Begin with all that is known; rows that are `asking`ed just now are still to come."""
        rows = np.array([*book.given, *book.answered], dtype=np.intp)
        first = max(first_size(book.n_rows), min(round(_OF_BASE * len(rows)), _MOST_FIRST))
        if book.budget and not book.questions:  # so that something is learnt, and looked at
            first = min(first, max(book.budget, _LEAST_FIRST))
        taken = AllBut.of(book.n_rows, book.given.keys(), asked_rows(book)).others
        drawable = AllBut(book.n_rows, np.setdiff1d(taken, np.array(asking, dtype=np.intp)))
        # To all rows, whatever the budget: it may be raised, and the looks that come then need their parts.
        n_looks = 1 + max(0, math.floor(math.log(max(book.n_rows / first, 1.0)) / math.log(GROWTH) + 1e-9))
        return cls(
            base=Answers(rows=rows, codes=book.known[rows]), start=start, drawable=drawable, alpha=alpha,
            firm=firm, first=first, n_looks=n_looks + early, early=early,
            share=_share(book, predicted=sparing), sparing=sparing,
            spoken=frozenset(book.help.said), helped=book.help.name is not None,
        )  # fmt: skip

    def size(self, look: int) -> int:
        """How many answers of the epoch there are at a look."""
        return round(self.first * GROWTH ** max(look - self.early, 0))

    def part(self, look: int) -> float:
        """Return the part of alpha that a look may fail with; all parts add up to alpha at most.

        Looks that a journal has from before the parts were as they are may have got more: what is left is left.
        """
        if look >= self.n_looks:
            return 0.0
        whole = sum((k + 2.0) ** -_FALL for k in range(self.n_looks))
        return max(min(float(self.alpha * (look + 2.0) ** -_FALL / whole), self.alpha - self.spent), 0.0)

    def n_draws(self, look: int) -> int:
        """How many of the draws a look is at: what is left when the rows picked by then are taken from its answers.

        One at least, as nothing is released before a draw was made, and without a release none would be.
        """
        return max(self.size(look) - len(self.picks), 1)

    def draws_ahead(self, n_learnt: int) -> int:
        """How many draws may be made while batches beyond n_learnt wait for their revision.

        A fast answerer shall not draw all rows meanwhile.
        """
        if n_learnt == self.n_batches:
            return self.drawable.n_rows
        return max(round(_AHEAD * self.n_draws(self.n_looked)) + _LEAST_AHEAD - len(self.drawn), 0)

    @property
    def first_draws(self) -> int:
        """How many draws a look is at that comes before any training: at labels that others have predicted."""
        return self.first - round((1.0 - self._usual_share) * self.first)

    @property
    def _usual_share(self) -> float:
        """The share of draws while nothing is known about the labels, or where it does not depend on that."""
        return HELPED if self.helped else USUAL if self.share is None else self.share

    def n_picks(self, look: int, n_learnt: int = 0, error: float | None = None, n_classes: int = 0) -> int:
        """Choose how many rows to pick until a look, by what training says of the error of the labels before it."""
        size, alpha = self.size(look), max(self.part(look), 1e-6)
        if self.share is not None or self.helped or error is None:
            share = self._usual_share
            many = error is not None and error >= _FEW  # with few errors, most that is asked is not put right either
            if not self.helped and self.share is not None and self.sparing and many and size > SPARED:
                share = (PREDICTED * SPARED + SPARING * (size - SPARED)) / size
        else:
            share = best_share(error, n_learnt, len(self.base.rows) + size, alpha, n_classes)
        return max(round((1.0 - share) * size) - len(self.picks), 1)

    def add_batch(self, rows: Sequence[int]) -> None:
        """Take note of what training picks next."""
        self.n_batches += 1
        self.picks += rows
        self.batch_of.update(dict.fromkeys(rows, self.n_batches))

    def training(self, teaches: Mapping[int, int], *, again: bool = False) -> Answers:
        """Return what revisions learn from by now: the base, and picks by the first answer to each.

        Rows that were open again when the epoch began are learnt from all at once, or not: `again`.
        """
        rows = [row for row in [*(self.again if again else ()), *self.picks] if teaches.get(row, UNKNOWN) != UNKNOWN]
        codes = np.array([teaches[row] for row in rows], dtype=self.base.codes.dtype)
        return Answers(
            rows=np.concatenate([self.base.rows, np.array(rows, dtype=np.intp)]),
            codes=np.concatenate([self.base.codes, codes]),
        )

    def waits_for(self, teaches: Mapping[int, int], *, again: bool) -> bool:
        """Whether something that the next revision learns from is still to be answered or declined."""
        return any(row not in teaches for row in [*(self.again if again else ()), *self.picks])

    def draw(self, row: int, *, weighted: bool) -> None:
        """Take note of a draw."""
        self.drawn.append(row)
        self.asked_until.append(math.inf if weighted else self.batch)
        self.weighted |= weighted

    def complete_batch(self, rows: Sequence[int]) -> None:
        """Let the first of these rows be the first batch; some were asked already, if a journal has told so."""
        asked, self.picks, self.n_batches = self.picks, [], 0
        first = rows[: self.n_picks(self.n_looked)]
        self.add_batch([*first, *(row for row in asked if row not in set(first))])

    def pick_others(self, teaches: Mapping[int, int], setup: Setup) -> None:
        """Pick others where nothing can be learnt from, as all that were picked were declined; drawn rows like any."""
        while self.picks and not len(self.base.rows) and all(teaches.get(row) == UNKNOWN for row in self.picks):
            n_rows = self.drawable.n_rows
            order = setup.rng(TRAINING, n_rows).permutation(n_rows)
            others = order[self.population().inside(order)][:_OTHERS].tolist()
            if not others:
                return
            self.add_batch(others)

    def train(self, row: int) -> None:
        """Take note of a training question; one that was in no batch joins the last, or is the first."""
        if row not in self.batch_of:
            self.n_batches = max(self.n_batches, 1)
            self.picks.append(row)
            self.batch_of[row] = self.n_batches
        self.batch = max(self.batch, self.batch_of[row])

    def population(self) -> AllBut:
        """Return the rows that the draws so far sample: those that could be drawn and that training has not picked."""
        return self.drawable.but(self.picks)

    def look(self, revision: int, n_draws: int, alpha: float, *, taught: bool = True, own: bool = True) -> "Look":
        """Plan a look, at a part of the epoch's alpha if that is its `own`.

        Labels that nobody `taught` have learnt from no pick, whether some were made by now or not.
        """
        self.spent += alpha if own else 0.0
        return Look(
            revision=revision, population=self.population() if taught else self.drawable, n_draws=n_draws, alpha=alpha,
            epoch=self, n_batches=self.n_batches if taught else 0,
        )  # fmt: skip


def _share(book: Book, *, predicted: bool) -> float | None:
    if book.target is None and book.budget is None:
        return None
    if predicted:
        return PREDICTED
    if book.budget is None:
        return TOWARDS_TARGET
    return min(max(WITH_A_BUDGET / max(book.budget, 1), TOWARDS_TARGET), MOST_TOWARDS)


def asked_rows(book: Book) -> list[int]:
    """Return the rows that were asked at some time, or never will be."""
    return [*book.set_aside, *(question.row for question in book.questions)]


def first_size(n_rows: int) -> int:
    """Return how many answers there are at the first look."""
    return min(FIRST, math.ceil(math.sqrt(n_rows)))


def best_share(error: float, n_learnt: int, n_answers: int, alpha: float, n_classes: int = 0) -> float:
    """Return the share of draws with which the most is certified after n_answers, by an error after n_learnt of them.

    >>> best_share(0.02, 50, 100, 0.003) > best_share(0.4, 50, 100, 0.003)
    True
    """
    if error >= _FEW and n_learnt < _ENOUGH * n_classes:
        return float(SHARES[1])
    n_draws = SHARES * n_answers
    left = np.clip(error * ((n_answers - n_draws) / n_learnt) ** -_USUAL_SLOPE, 1e-4, 0.9)
    width = NormalDist().inv_cdf(1.0 - alpha) * np.sqrt(left * (1.0 - left) / n_draws)
    return float(SHARES[np.argmin(left + width - math.log(alpha) / (2.0 * n_draws))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One bound on the errors of one revision, by the first so many draws of its epoch that lie in its population."""

    revision: int
    population: AllBut
    n_draws: int
    alpha: float
    epoch: Epoch
    n_batches: int  # training may have come so far when its draws were made, and no further

    @property
    def due(self) -> bool:
        """Whether all its draws were made, in the order that it rests on."""
        made = self.epoch.asked_until[: self.n_draws]
        return len(made) == self.n_draws and max(made, default=0) <= self.n_batches

    def is_settled(self, said: Mapping[int, Sequence[int]], declined: BoolArray) -> bool:
        """Whether all its draws are answered or declined."""
        return all(row in said or declined[row] for row in self.epoch.drawn[: self.n_draws])

    def errors_upper(self, revision: Revision, said: Mapping[int, Sequence[int]]) -> int:
        """Bound the errors of the population; what nobody has answered, or ever answered otherwise, counts as wrong."""
        drawn = np.array(self.epoch.drawn[: self.n_draws], dtype=np.intp)
        rows = drawn[self.population.inside(drawn)].tolist()
        wrong = sum(is_wrong(said.get(row, ()), int(revision.codes[row])) for row in rows)
        n = len(self.population)
        return int(errors_upper_one_look(len(rows), wrong, population=n, alpha=self.alpha)) if rows else n


def is_wrong(said: Sequence[int], code: int) -> bool:
    """Whether a drawn row counts as wrong: nobody has said anything, or somebody at some time said something else."""
    return not said or any(one != code for one in said)


def likely_error(revision: Revision, epoch: Epoch, said: Mapping[int, Sequence[int]]) -> float:
    """Estimate the share of rows that a revision has wrong, for planning only."""
    drawn = np.array([row for row in epoch.drawn if row in said], dtype=np.intp)
    rows = drawn[revision.outside.inside(drawn)].tolist()
    wrong = sum(is_wrong(said[row], int(revision.codes[row])) for row in rows)
    return (wrong + _PRIOR * revision.error_rate) / (len(rows) + _PRIOR)
