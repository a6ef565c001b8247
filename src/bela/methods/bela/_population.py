"""Sets of nearly all rows, and drawing from them, without a number for each row."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

import numpy as np

from bela.methods._deciding import choose_bin
from bela.records import BoolArray, FloatArray, IntArray

_BLOCK = 1 << 14  # rows that are looked through at once
_COUNTED = 1 << 20  # rows that are counted at once


@dataclass(frozen=True, slots=True, eq=False)
class AllBut:
    """All rows but a few `others`, which are in order: what can be drawn, or what a bound is about."""

    n_rows: int
    others: IntArray

    @classmethod
    def of(cls, n_rows: int, *others: Iterable[int] | IntArray) -> "AllBut":
        """Return all rows but these."""
        rows = [np.asarray(some if isinstance(some, np.ndarray) else list(some), dtype=np.intp) for some in others]
        return cls(n_rows, np.unique(np.concatenate([np.array([], dtype=np.intp), *rows])))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AllBut):
            return NotImplemented
        return self.n_rows == other.n_rows and np.array_equal(self.others, other.others)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __len__(self) -> int:
        return self.n_rows - len(self.others)

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, (int, np.integer)) or not 0 <= row < self.n_rows:
            return False
        place = int(np.searchsorted(self.others, row))
        return place == len(self.others) or int(self.others[place]) != row

    def inside(self, rows: IntArray) -> BoolArray:
        """Return which of some rows are among them."""
        if not len(self.others):
            return np.ones(len(rows), dtype=bool)
        place = np.minimum(np.searchsorted(self.others, rows), len(self.others) - 1)
        return np.asarray(self.others[place] != rows)

    def but(self, *others: Iterable[int] | IntArray) -> "AllBut":
        """Return these rows without some more."""
        return AllBut.of(self.n_rows, self.others, *others)

    def mask(self) -> BoolArray:
        """Return for every row whether it is among them."""
        mask = np.ones(self.n_rows, dtype=bool)
        mask[self.others] = False
        return mask

    def first(self, n: int) -> int:
        """Return how many of them are among the first n rows."""
        return n - int(np.searchsorted(self.others, n))

    def at(self, place: int) -> int:
        """Return the row that has so many of them before it."""
        low, high = 0, len(self.others)
        while low < high:  # how many others come before it
            middle = (low + high) // 2
            low, high = (middle + 1, high) if int(self.others[middle]) - middle <= place else (low, middle)
        return place + low


class Pool:
    """The rows that can be drawn, by bin. Drawing and removing take no time, and nothing is kept for each row.

    The rows of a bin stand in a line, in ascending order at first. One that is removed leaves its place to the last;
    only rows that are not at the place where they began are written down.
    """

    def __init__(self, drawable: AllBut, bin_: IntArray | None = None, n_bins: int = 1) -> None:
        self._drawable, self._bin = drawable, bin_
        self._row_at: dict[tuple[int, int], int] = {}  # bin and place to the row that has moved there
        self._place_of: dict[int, int] = {}  # the same from the row, -1 for one that is gone
        self.left: IntArray = np.array([len(drawable)])  # in each bin
        if bin_ is not None:
            starts = range(0, drawable.n_rows, _BLOCK)
            counts = np.array([np.bincount(bin_[s : s + _BLOCK] + 1, minlength=n_bins + 1)[1:] for s in starts])
            others = drawable.others[bin_[drawable.others] >= 0]
            np.subtract.at(counts, (others // _BLOCK, bin_[others]), 1)
            self._before = np.concatenate([np.zeros((1, n_bins), dtype=np.int64), np.cumsum(counts, axis=0)])
            self.left = self._before[-1].copy()

    def holds(self, row: int) -> bool:
        """Whether a row is still to be drawn."""
        return row in self._drawable and self._place_of.get(row, 0) >= 0 and self._bin_of(row) >= 0

    def draw(self, weights: FloatArray, rng: np.random.Generator, but: Container[int] = ()) -> int:
        """Choose a row, with probability proportional to the weight of its bin; one of those in `but` is drawn anew."""
        while True:
            bin_ = choose_bin(weights, self.left, rng.random())
            row = self._row(bin_, int(rng.integers(self.left[bin_])))
            if row not in but:
                return row

    def remove(self, row: int) -> None:
        """Take out a row if it is there."""
        if not self.holds(row):
            return
        bin_ = self._bin_of(row)
        place = self._place_of.get(row)
        place = self._began_at(bin_, row) if place is None else place
        self.left[bin_] -= 1
        last = int(self.left[bin_])
        moved = self._row(bin_, last)
        self._row_at.pop((bin_, last), None)
        if moved != row:
            self._row_at[bin_, place], self._place_of[moved] = moved, place
        self._place_of[row] = -1

    def _row(self, bin_: int, place: int) -> int:
        moved = self._row_at.get((bin_, place))
        return self._begins_at(bin_, place) if moved is None else moved

    def _bin_of(self, row: int) -> int:
        return 0 if self._bin is None else int(self._bin[row])

    def _began_at(self, bin_: int, row: int) -> int:
        """Return the place in its bin where a row was at first."""
        if self._bin is None:
            return self._drawable.first(row)
        block = row // _BLOCK
        inside = self._of_bin(self._bin, block, bin_)
        return int(self._before[block, bin_]) + int(inside[: row - block * _BLOCK].sum())

    def _begins_at(self, bin_: int, place: int) -> int:
        """Return the row that was at a place of a bin at first."""
        if self._bin is None:
            return self._drawable.at(place)
        block = int(np.searchsorted(self._before[:, bin_], place, side="right")) - 1
        inside = np.flatnonzero(self._of_bin(self._bin, block, bin_))
        return block * _BLOCK + int(inside[place - int(self._before[block, bin_])])

    def _of_bin(self, bins: IntArray, block: int, bin_: int) -> BoolArray:
        """Return which rows of a block are in a bin, and can be drawn at first."""
        start = block * _BLOCK
        found = np.asarray(bins[start : start + _BLOCK] == bin_)
        low, high = np.searchsorted(self._drawable.others, [start, start + _BLOCK])
        found[self._drawable.others[low:high] - start] = False
        return found


def count_rows(codes: IntArray, among: BoolArray | None = None, n_codes: int = 0) -> IntArray:
    """Count the rows of each code, among some or all; those that have none in no place.

    Block by block, as counting takes eight bytes a row.
    """
    counts: IntArray = np.zeros(max(n_codes, int(codes.max()) + 1 if len(codes) else 0), dtype=np.int64)
    for start in range(0, len(codes), _COUNTED):
        rows = slice(start, start + _COUNTED)
        some = codes[rows] if among is None else codes[rows][among[rows]]
        counts += np.bincount(some[some >= 0], minlength=len(counts))
    return counts
