"""What methods share: one assessment a version of the book, labels by majority, a memo that choices move."""

from collections.abc import Mapping, Sequence

import numpy as np

from bela.book import Asked, Began, Book, Change, ClassChange, RowChanged
from bela.errors import ReplayError
from bela.protocols import Job, Setup
from bela.records import (
    UNKNOWN,
    Assessment,
    BoolArray,
    Certificate,
    FloatArray,
    Guarantee,
    IntArray,
    Label,
    Labelling,
    Proposal,
    Role,
)

N_BINS = 20  # of rows by how sure their labels are


class AssessingMethod:
    """A method that says by `_assess` how good the labels are, once for each version of the book."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.source = setup, setup.source
        self._assessed: tuple[int, Assessment] | None = None  # with the version of the book

    def assess(self, book: Book) -> Assessment:
        """Say how good the labels are as things stand."""
        if self._assessed is None or self._assessed[0] != book.version:
            self._assessed = book.version, self._assess(book)
        return self._assessed[1]

    def revise(self, book: Book) -> Job | None:
        """Nothing takes long enough to be made beside the answering, unless a subclass says so."""
        return None

    def helper_rows(self, book: Book) -> Sequence[int] | None:
        """Nothing is learnt from a helper, unless a subclass says so."""
        return None

    def helper_examples(self, book: Book) -> Mapping[int, Label]:
        """Nothing is shown to a helper, unless a subclass says so."""
        return {}

    def _assess(self, book: Book) -> Assessment:
        raise NotImplementedError

    def _certificate(self, book: Book, lower: float, guarantee: Guarantee) -> Certificate:
        """Certify this share of right labels, if that many can be read."""
        return Certificate(
            lower=min(1.0 - len(book.set_aside) / book.n_rows, max(0.0, lower)),
            confidence=self.setup.confidence, guarantee=guarantee,
            n_training=book.n_answers[Role.TRAINING], n_bounds=book.n_answers[Role.BOUNDS],
        )  # fmt: skip


class DecidingMethod(AssessingMethod):
    """A method that is told of every change to a row, and that decides again what was asked when a book is folded.

    Subclasses have `_begin`, `_choose`, `_changed` and `_assess`. `_choose` looks at the labels that are known and at
    its own memo, not at which questions the book has: when a journal is read, the book has them already. It marks the
    rows that it chooses in `_taken`. It is called only while a row is left to ask, so that a choice of none, which no
    book records, moves nothing unless it waits for answers.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._taken: BoolArray = np.zeros(setup.source.n_rows, dtype=bool)
        self._chosen: tuple[Proposal, ...] | None = None  # proposed, and not in the book yet

    def follow(self, book: Book, change: Change) -> None:
        """Advance the memo by what has just happened."""
        match change:
            case Began():
                self._taken[book.set_aside] = True
                self._begin(book)
            case Asked():
                chosen, self._chosen = self._chosen, None
                if chosen is None:
                    chosen = self._decide(book, change.n)
                if chosen != change.questions:
                    raise ReplayError(tuple(q.row for q in change.questions), tuple(q.row for q in chosen))
            case RowChanged():
                self._changed(book, change)
            case ClassChange():
                for row in change.rows:
                    self._changed(book, row)

    def propose(self, book: Book, n: int) -> Sequence[Proposal]:
        """Choose up to n further questions; asking again before they are in the book gives the same ones."""
        if not self._chosen:
            self._chosen = self._decide(book, n)
        return self._chosen

    def _decide(self, book: Book, n: int) -> tuple[Proposal, ...]:
        return tuple(self._choose(book, n)) if self._left(book).any() else ()

    def _left(self, book: Book) -> BoolArray:
        return np.asarray((book.known == UNKNOWN) & ~self._taken)

    def _begin(self, book: Book) -> None:
        """Take in the labels that were given, before the first question."""

    def _choose(self, book: Book, n: int) -> Sequence[Proposal]:
        """Choose up to n further questions, none of them about a row that is known, was asked, or is chosen already."""
        raise NotImplementedError

    def _changed(self, book: Book, change: RowChanged) -> None:
        """Take in what is known about a row by now; the book has it already."""


def majority(codes: IntArray) -> int:
    """Return the most frequent class of rows, UNKNOWN if none of them has a label."""
    codes = codes[codes != UNKNOWN]
    return int(np.bincount(codes).argmax()) if len(codes) else UNKNOWN


def codes_now(book: Book, codes: IntArray) -> IntArray:
    """Return class codes with all merges made, UNKNOWN for deleted classes; the same array if that changes nothing."""
    for step in book.class_changes():
        if (codes == step.code).any():
            codes = np.where(codes == step.code, step.into, codes)  # into UNKNOWN where it was deleted
    return codes


def label_by_class(known: IntArray, guess: IntArray) -> Labelling:
    """Label rows as guessed, or by the majority, those that are known as they are; each class guessed is a leaf."""
    guess = np.where(guess == UNKNOWN, majority(known), guess)
    classes, leaf = np.unique(guess, return_inverse=True)
    return Labelling(codes=np.where(known == UNKNOWN, guess, known), leaf=leaf, n_leaves=len(classes))


def bin_edges(n_rows: int) -> IntArray:
    """Return where bins of sorted rows end: fine where labels are least sure, coarse where they hardly err."""
    return np.rint(n_rows * (np.arange(N_BINS + 1) / N_BINS) ** 2).astype(int)


def choose_bin(weights: FloatArray, left: IntArray, place: float) -> int:
    """Return the bin at this place between 0 and 1, where a bin is as wide as its weight times the rows left in it."""
    chances = np.cumsum(weights * left)
    return min(int(np.searchsorted(chances, place * chances[-1], side="right")), int(np.flatnonzero(left)[-1]))


def guess_all(known: IntArray, predicted: IntArray | None) -> IntArray:
    """Return a guess for every row: what a model predicts, and before there is one the majority."""
    return np.full(len(known), majority(known), dtype=np.int32) if predicted is None else predicted
