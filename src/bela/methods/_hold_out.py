"""A look at a sample: labels first, then uniform draws whose number is fixed, then one bound that holds for good."""

import numpy as np

from bela.book import Book, Change, Deleted, Merged, RowChanged, Undeleted, Unmerged
from bela.bounds import errors_upper_one_look
from bela.methods._deciding import DecidingMethod, codes_now
from bela.protocols import Setup
from bela.records import UNKNOWN, BoolArray, IntArray


class HoldOut:
    """Labels of all rows, and a sample by which to judge them.

    The `sample` is uniform among the rows `inside`, and drawn after the labels were made; its bound fails with
    probability `alpha` at most. A row of it is right if that was said of it and the contrary never: whoever changes an
    answer mends the output, and not the count. So at any time at least the true number counts as wrong, and the bound,
    which grows with it, holds at all times or never.
    """

    def __init__(self, book: Book, labels: IntArray, inside: BoolArray, sample: IntArray, alpha: float) -> None:
        self.labels, self.sample, self.alpha = labels, sample, alpha
        self.population, self.void = int(inside.sum()), False
        self._others = inside.copy()  # which nobody draws
        self._others[sample] = False
        self._n_changes = sum(1 for _ in book.class_changes())
        known = book.known != UNKNOWN
        self._right: BoolArray = known & (book.known == labels)  # that was said at some time
        self._wrong: BoolArray = known & (book.known != labels)  # and that

    def follow(self, book: Book, change: Change) -> None:
        """Take in what was said about a row, and what became of the classes."""
        match change:
            case RowChanged() if change.code != UNKNOWN:
                said = self._right if change.code == self.labels[change.row] else self._wrong
                said[change.row] = True
            case Merged():
                # From now on nobody says which of the two classes a row is of: neither answer will count as good.
                unclear = (book.known == UNKNOWN) & np.isin(self.labels, (change.code, change.into))
                self._right |= unclear
                self._wrong |= unclear
            case Deleted():
                # Nobody will ever know which of the rows that were not answered would have been of that class.
                self._right |= book.known == UNKNOWN
                self._wrong |= book.known == UNKNOWN
            case Unmerged() | Undeleted():
                # Labels of merged classes may be wrong by the classes that are told apart again, and so may those that
                # were made without a class be by that.
                self.void |= sum(1 for _ in book.class_changes()) < self._n_changes

    @property
    def wrong(self) -> BoolArray:
        """For each row, whether a draw of it counts as wrong."""
        return self._wrong | ~self._right

    def rows_right(self, book: Book) -> int:
        """Bound from below the number of rows that are right, if those that are known carry their answers."""
        n_wrong = int(self.wrong[self.sample].sum())
        upper = errors_upper_one_look(len(self.sample), n_wrong, population=self.population, alpha=self.alpha)
        known = book.known != UNKNOWN
        corrected = int((self._others & known & self._wrong & ~self._right).sum())
        right = known | (self._others & (codes_now(book, self.labels) != UNKNOWN))  # none of a class that was deleted
        return int(right.sum()) - max(0, int(upper) - n_wrong - corrected)


class LookingMethod(DecidingMethod):
    """A method whose looks follow what happens."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._looks: list[HoldOut] = []

    def follow(self, book: Book, change: Change) -> None:
        """Advance looks and memo by what has just happened."""
        for look in self._looks:
            look.follow(book, change)
        super().follow(book, change)
