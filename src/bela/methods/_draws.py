"""The bounds questions of a campaign: how each row was drawn, and what the draws say about a revision.

The log is the only memory. A revision's certificate is the log replayed on the rows outside the revision's training
answers, with bets on the draws from after its adoption only; after an undo it is replayed anew. docs/guarantees.md
proves that these are weighted draws without replacement from a labelling that was fixed before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bela.methods._revision import Revision
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Draw:
    """A row drawn for the bound: from the bins of a revision, with these weights for the rows of each bin."""

    row: int
    revision: int
    weights: FloatArray


@dataclass(frozen=True, slots=True)
class Asked:
    """A row asked for training: from here on it cannot be drawn."""

    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """What a revision's certificate rests on for good, as classes have been merged since.

    Which classes are merged is decided by people who have seen the draws, so these go on to count as they did before.
    A merge only makes wrong labels right: what was certain without it is certain with it.

    `revision` has the labels and `known` the answers from before; `end` is the place in the log where bets end; `seen`
    are the rows that were answered, or declined, by then.
    """

    revision: Revision
    end: int
    known: IntArray
    declined: BoolArray
    seen: BoolArray


class Pool:
    """The rows that can be drawn, by bin; drawing and removing take no time."""

    def __init__(self, bin_: IntArray, drawable: BoolArray, n_bins: int) -> None:
        self._bin = bin_
        rows = np.flatnonzero(drawable)
        by_bin = rows[np.argsort(bin_[rows], kind="stable")]
        ends = np.cumsum(np.bincount(bin_[rows], minlength=n_bins))
        self._rows = [part.copy() for part in np.split(by_bin, ends[:-1])]
        self._left = np.array([len(part) for part in self._rows])
        self._place = np.full(len(bin_), -1, dtype=np.int64)
        for part in self._rows:
            self._place[part] = np.arange(len(part))

    @property
    def left(self) -> IntArray:
        """How many rows are left in each bin."""
        return self._left

    def draw(self, weights: FloatArray, rng: np.random.Generator) -> int:
        """Take a row, with probability proportional to the weight of its bin."""
        chances = np.cumsum(weights * self._left)
        bin_ = int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))
        bin_ = min(bin_, int(np.flatnonzero(self._left)[-1]))
        row = int(self._rows[bin_][rng.integers(self._left[bin_])])
        self.remove(row)
        return row

    def remove(self, row: int) -> None:
        """Take out a row if it is there."""
        place = int(self._place[row])
        if place < 0:
            return
        bin_ = int(self._bin[row])
        last = int(self._left[bin_]) - 1
        moved = self._rows[bin_][last]
        self._rows[bin_][place] = moved
        self._place[moved] = place
        self._place[row] = -1
        self._left[bin_] = last


class Replay:
    """What the log says about one revision, as far as its answers are known.

    Parameters
    ----------
    revision, alpha
        What is certified, and with what probability it may fail.
    index
        The revision's number in `revisions`.
    revisions
        All revisions, for the bins that older draws were made from.
    log
        The draws and the training questions, in the order in which they happened.
    aim
        The number of errors to stay below.
    start
        Where in the log the bets begin. Rows drawn before are known like others, and nothing is bet on them: what they
        showed may then have decided that this revision is certified.
    """

    def __init__(
        self,
        index: int,
        revisions: list[Revision],
        log: list[Draw | Asked],
        alpha: float,
        *,
        aim: int | None,
        start: int = 0,
    ) -> None:
        self.revision = revisions[index]
        self.index, self._revisions, self._log = index, revisions, log
        self._next, self._start = 0, start
        self.bets = self.revision.bets(alpha, aim)
        self.n_draws = 0
        self._taken = ~self.revision.outside  # rows that are not in the population, or left it
        self._crossed_with = index
        self._cell_of: IntArray = self.revision.bin
        self._weight_of_cell: IntArray = np.arange(len(self.revision.sizes))

    @property
    def place(self) -> int:
        """Where in the log it has come to."""
        return self._next

    def advance(self, known: IntArray, declined: BoolArray, end: int | None = None) -> None:
        """Take in the events whose outcome is known by now, up to the first that is open, or to `end`."""
        while self._next < (len(self._log) if end is None else end):
            event = self._log[self._next]
            row = event.row
            if known[row] == UNKNOWN and not declined[row]:
                return
            bet_on = isinstance(event, Draw) and self._next >= self._start
            self._next += 1
            if self._taken[row]:
                continue  # among this revision's training answers, so not in its population
            wrong = bool(known[row] != self.revision.codes[row])
            if isinstance(event, Draw) and bet_on:
                self._cross_with(event.revision)
                weights = event.weights[self._weight_of_cell]
                self.bets.observe(int(self._cell_of[row]), wrong=wrong, weights=weights)
                self.n_draws += 1
            else:
                self.bets.know(int(self._cell_of[row]), wrong=wrong)
            self._taken[row] = True

    def _cross_with(self, other: int) -> None:
        """Cut the rows left so finely that the weights of another revision's bins, and its own, are constant in a cell.

        Draws come in long runs from the bins of one revision, so this happens rarely.
        """
        if other == self._crossed_with:
            return
        self._crossed_with = other
        bin_, n_bins = self.revision.bin, len(self.revision.sizes)
        rows = np.flatnonzero(~self._taken)
        if other == self.index:
            self._cell_of, self._weight_of_cell = bin_, np.arange(n_bins)
            self.bets.regroup(np.bincount(bin_[rows], minlength=n_bins))
            return
        key = bin_[rows].astype(np.int64) * n_bins + self._revisions[other].bin[rows]
        cells, cell_of_row, counts = np.unique(key, return_inverse=True, return_counts=True)
        self._cell_of = np.full(len(bin_), -1, dtype=np.int64)
        self._cell_of[rows] = cell_of_row
        self._weight_of_cell = cells % n_bins
        self.bets.regroup(counts, cells // n_bins)

    def weights(self) -> FloatArray:
        """Return good weights for the next draw, one for each of today's bins."""
        if self._crossed_with == self.index:
            return self.bets.weights()
        twin = self.bets.copy()
        twin.regroup(np.bincount(self.revision.bin[~self._taken], minlength=len(self.revision.sizes)))
        return twin.weights()

    def right_lower(self, answered: IntArray, wrong: BoolArray) -> int:
        """Bound the rows from below that are labelled right: as the revision says, corrected by the answers.

        Parameters
        ----------
        answered
            Rows that are answered by now, or known from the data.
        wrong
            Whether the revision has a wrong label for each of them.
        """
        outside = self.revision.outside
        corrected = int((outside[answered] & wrong).sum())
        taken_back = self.revision.n_training - int((~outside[answered]).sum())
        return len(outside) - max(self.bets.errors_upper - corrected, 0) - taken_back
