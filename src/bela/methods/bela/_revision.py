"""One revision of the certified method: what the training answers so far say about every row, and its making."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from bela.book import Book, Revised
from bela.features import is_many
from bela.learning import Answers, Fit, Picks
from bela.methods._deciding import N_BINS
from bela.methods.bela._cut import cut_rows
from bela.methods.bela._population import AllBut
from bela.records import UNKNOWN, AnyArray, BoolArray, FloatArray, IntArray
from bela.storage import digest_arrays, empty_array

VERSION = 12  # to be raised with every change of what a revision comes to, or of when one is made
SAMPLED_VERSION = 13  # the same where it comes by a sample of the rows
_CAUTION = 20.0  # nats of log-loss that it takes to change the fit's own view of its errors by a factor of e
# What the learner thinks of its errors is right within a factor of two with a hundred answers, later within a third:
# it is worth as much as so many errors that were seen.
_ANSWERS_AN_ERROR = 80
_ERRORS = (1.0, 8.0)
_MOST = 5_000  # draws
_ROWS = 1 << 20  # whose codes are looked up at once
_KEPT = ("codes", "confidence", "bin", "sizes", "guess", "seen", "wrong")  # all but what follows from the training rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A labelling of all rows, and where it expects to be wrong, from the answers that were known when it was made.

    The rows outside its training answers are its *population*, cut into bins of confidence, the least sure first;
    `bin` is -1 for the others. `guess` is the share of errors expected in each bin; `seen` and `wrong` are the evidence
    from answers that were drawn uniformly.
    """

    n_training: int
    outside: AllBut
    codes: IntArray
    confidence: FloatArray
    bin: IntArray
    sizes: IntArray
    guess: FloatArray
    seen: FloatArray
    wrong: FloatArray

    @property
    def error_rate(self) -> float:
        """The share of its population that it expects to have wrong."""
        n = int(self.sizes.sum())
        return float(self.guess @ self.sizes) / n if n else 0.0

    def to_arrays(self) -> list[AnyArray]:
        """Return what it takes to make it again, next to the training rows."""
        return [getattr(self, name) for name in _KEPT]

    @classmethod
    def from_arrays(cls, arrays: Sequence[AnyArray], training: IntArray) -> "Revision":
        """Make a revision again."""
        outside = AllBut.of(len(arrays[0]), training)
        return cls(n_training=len(training), outside=outside, **dict(zip(_KEPT, arrays, strict=True)))


def make_revision(fit: Fit, answers: IntArray, representative: FloatArray) -> Revision:
    """Cut all rows by a fit to `answers`, the class codes of `fit.rows`.

    Each is `representative` of so many rows: 1 for uniform draws, less if drawn more often than others, 0 if chosen.
    """
    outside = AllBut.of(fit.n_rows, fit.rows)
    predicted = fit.left_out_labels == answers
    judged = fit.can_judge(answers)
    power = _power(fit, fit.columns_of(answers), np.where(judged, representative, 0.0))
    cut = cut_rows(fit, power, outside)
    sizes, guess = cut.sizes, cut.guess

    # the bin that each drawn answer would lie in, by its left-out margin
    drawn = np.flatnonzero((representative > 0) & judged)
    places = np.minimum(np.searchsorted(cut.upper, fit.left_out_sure[drawn]), N_BINS - 1)
    seen = np.bincount(places, minlength=N_BINS).astype(float)
    wrong = np.bincount(places, weights=(~predicted[drawn]).astype(float), minlength=N_BINS)
    # What the fit thinks of its errors stands in for some draws more.
    errors = np.clip(len(answers) / _ANSWERS_AN_ERROR, *_ERRORS)
    rate = float(guess @ sizes) / max(sizes.sum(), 1)
    weak = min(errors / max(rate, 1e-6), _MOST) * sizes / max(sizes.sum(), 1)
    return Revision(
        n_training=len(fit.rows), outside=outside, codes=cut.codes, confidence=cut.confidence, bin=cut.bin, sizes=sizes,
        guess=np.clip(guess, 1e-4, 0.98), seen=seen + weak, wrong=wrong + weak * np.clip(guess, 0.0, 1.0),
    )  # fmt: skip


def _power(fit: Fit, place: IntArray, weight: FloatArray) -> float:
    """Return the power of what the fit thinks that is as sure of the labels as it may be.

    The fit's probabilities suit all answers, most of which were asked because they were in doubt. A power of them that
    suits the answers that were drawn (of class `place` and with a `weight` each) suits the other rows better: it is
    chosen by the held-out log-loss of these answers, and stays close to 1 if they are few.
    """
    used = weight > 0
    log_p = np.log(np.maximum(fit.out_of_fold[used], 1e-9)).astype(float)
    best, least = 1.0, np.inf
    for log_power in np.linspace(-1.0, 1.5, 51):
        scaled = log_p * np.exp(log_power)
        norm = np.log(np.exp(scaled).sum(axis=1))
        losses = norm - scaled[np.arange(len(scaled)), place[used]]
        loss = float(weight[used] @ losses) + _CAUTION * log_power**2
        if loss < least:
            best, least = float(np.exp(log_power)), loss
    return best


class Learner(Protocol):
    """A function of training answers, deterministic, with no memory."""

    def prepare(self) -> None:
        """Make what every fit needs, if it is not there: it may be called beside everything else."""

    def first_questions(self) -> IntArray:
        """Return rows to ask before anything is known."""

    def fit(
        self, rows: IntArray, codes: IntArray, predicted: Sequence[IntArray] = (), *, helped: Answers | None = None
    ) -> Fit:
        """Label every row from these answers, from what others have predicted, and from what a helper says, if any.

        The last two are given only where there are some, so that a learner need not know of them.
        """

    def next_questions(
        self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        """Return up to n rows that were not asked, this share of them drawn uniformly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionJob:
    """Fits answers, cuts all rows anew, and chooses what to ask next: a function of what it holds."""

    optional = False

    version: int
    rows: IntArray
    codes: IntArray
    representative: FloatArray  # how many rows like it each row stands for
    taken: BoolArray  # rows that were asked, or need not be
    learner: Callable[[], Learner]
    n_answers: int
    n_next: Callable[[float, int], int]  # how many rows to pick, by the error that the fit expects, and the classes
    rng: np.random.Generator
    name: str
    separated: bool
    is_due: Callable[[], bool]  # not any more where an epoch has begun since: its picks and parts are of the one before
    predicted: tuple[IntArray, ...] = ()  # class codes of all rows, by others
    looks: tuple[tuple[int, float], ...] = ()
    alpha: float = 0.0
    helped: Answers | None = None  # what a helper says, which is not believed
    declined: IntArray = field(default_factory=lambda: np.array([], dtype=np.intp))  # rows that it could not tell

    @property
    def method_version(self) -> int:
        """A number that is raised with every change of what revisions come to, of very many rows or of others."""
        return SAMPLED_VERSION if is_many(len(self.taken)) else VERSION

    def compute(self) -> Sequence[AnyArray]:
        """Return the arrays of the revision, the training rows, the next questions, and which were drawn uniformly."""
        # Class codes are given in the order in which labels are first seen, draws included. The learner sees them in
        # the order in which training answers bring them, as a fit may depend on that in its last digits; predicted
        # classes, which were there before, come first.
        brought = np.concatenate([*(classes_in(some) for some in self.predicted), self.codes])
        classes, first = np.unique(brought, return_index=True)
        classes = classes[np.argsort(first)]
        place = np.full(int(classes.max()) + 2, UNKNOWN, dtype=np.int32)  # the last for UNKNOWN
        place[classes] = np.arange(len(classes), dtype=np.int32)
        codes, learner = place[self.codes], self.learner()
        fitting = partial(learner.fit, self.rows, codes)
        if self.predicted:
            fitting = partial(fitting, [_recoded(some, place) for some in self.predicted])
        helped = None if self.helped is None else _of_classes(self.helped, place)
        if helped is not None and len(helped.rows):
            fitting = partial(fitting, helped=helped)
        fit = fitting()
        revision = make_revision(fit, codes, self.representative)
        seen, *arrays = revision.to_arrays()
        n_next = 0 if self.taken.all() else self.n_next(revision.error_rate, len(classes))
        declined = self.declined[: n_next // 4]
        taken = self.taken.copy() if len(declined) else self.taken
        taken[declined] = True
        n_next = min(n_next - len(declined), int((~taken).sum()))
        picks = learner.next_questions(fit, taken, n_next, uniform_share=0.0, rng=self.rng)
        chosen = np.concatenate([declined, picks.rows]).astype(np.intp)
        uniform = np.concatenate([np.zeros(len(declined), dtype=bool), picks.uniform])
        return [_recoded(seen, classes), *arrays, self.rows, chosen, uniform]

    def decide(self, book: Book, arrays: Sequence[AnyArray]) -> Revised | None:
        """Adopt the revision, with the parts of alpha that its certificates may spend, unless it comes too late."""
        if not self.is_due():
            return None
        return Revised(
            version=self.version, n_answers=self.n_answers, arrays=self.name, digest=digest_arrays(arrays),
            method_version=self.method_version, separated=self.separated, looks=self.looks, alpha=self.alpha,
            returns=self.alpha > 0,
        )  # fmt: skip


def classes_in(codes: IntArray) -> IntArray:
    """Return the class codes that rows have, in order; block by block."""
    there = np.zeros(1, dtype=bool)  # and one more in front, for UNKNOWN
    for start in range(0, len(codes), _ROWS):
        some = codes[start : start + _ROWS]
        there = np.pad(there, (0, max(0, int(some.max()) + 2 - len(there))))
        there[some + 1] = True
    return np.flatnonzero(there[1:])


def _recoded(codes: IntArray, classes: IntArray) -> IntArray:
    """Return the classes that codes stand for, in no wider a type; block by block, as there may be very many."""
    width = codes.dtype if int(classes.max(initial=0)) <= np.iinfo(codes.dtype).max else np.int32
    found = empty_array(codes.shape, width)
    for start in range(0, len(codes), _ROWS):
        found[start : start + _ROWS] = classes[codes[start : start + _ROWS]]
    return found


def _of_classes(helped: Answers, place: IntArray) -> Answers:
    """Return what a helper says of classes that training has met: which others there are, draws may have shown."""
    inside = helped.codes < len(place)
    codes = np.where(inside, place[np.where(inside, helped.codes, 0)], UNKNOWN)
    return Answers(rows=helped.rows[codes != UNKNOWN], codes=codes[codes != UNKNOWN])


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """Makes what the first revision will need, while the first questions are answered."""

    optional, method_version = True, VERSION

    version: int
    learner: Callable[[], Learner]

    def compute(self) -> Sequence[AnyArray]:
        """Have the learner prepared; nothing is to be kept."""
        self.learner().prepare()
        return ()

    def decide(self, book: Book, arrays: Sequence[AnyArray]) -> None:
        """Nothing is decided."""
