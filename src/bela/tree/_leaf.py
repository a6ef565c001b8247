"""A leaf of a tree that grows: its rows, what is known of them, and the order in which they are drawn."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bela.records import IntArray, Matrix
from bela.tree._priority import draw_order


class RowState(IntEnum):
    """What became of a row in its leaf."""

    FREE = 0  # may be drawn
    BOUNDS = 1
    TRAINING = 2
    OPEN = 3  # is being asked
    SKIPPED = 4


class LeafBound(Protocol):
    """A bound on the number of rows of a leaf that carry its label."""

    def rows(self, size: int, known: int, n_majority: int, n_bounds: int) -> float: ...


def count(counts: list[int], code: int, step: int) -> None:
    """Add to the count of a class that may not have been seen before."""
    if code >= len(counts):
        counts.extend([0] * (code + 1 - len(counts)))
    counts[code] += step


class Leaf:
    """A set of rows that get one label."""

    __slots__ = (
        "block", "candidate", "counts", "cursor", "exhausted", "fallback", "id", "n_fitted", "n_known", "n_open",
        "order", "rows", "training", "training_counts",
    )  # fmt: skip

    def __init__(self, rows: IntArray, fallback: int) -> None:
        self.id = 0
        self.rows = rows
        self.fallback = fallback  # the label while B is empty
        self.order: list[int] | None = None
        self.cursor = 0
        self.exhausted = False
        self.counts: list[int] = []
        self.training: list[int] = []
        self.training_counts: list[int] = []
        self.n_known = 0
        self.n_open = 0
        self.n_fitted = 0
        self.candidate: Candidate | None = None
        self.block: Matrix | None = None

    def label(self) -> int:
        if not any(self.counts):
            return self.fallback
        return max(range(len(self.counts)), key=self.counts.__getitem__)

    def next(self, state: npt.NDArray[np.uint8], seed: int) -> int | None:
        """Take the next row that may be drawn.

        Each leaf has a draw order of its own. Under one order for all, the forgotten training rows of the parent would
        come first, and those are the rows that the cut has learnt by heart.
        """
        if self.order is None:
            self.order = draw_order(self.rows, seed, stream=1 + self.id).tolist()
        free = int(RowState.FREE)
        while self.cursor < len(self.order):
            row = self.order[self.cursor]
            self.cursor += 1
            if state[row] == free:
                return row
        self.exhausted = True
        return None


class Candidate:
    """A cut that is not made yet: the counts of the children it would have, and the sum of their bounds."""

    __slots__ = ("bound", "counts", "labels", "n_known", "sizes", "total", "values")

    def __init__(
        self,
        bound: LeafBound,
        labels: list[int],
        sizes: list[int],
        n_known: list[int],
        counts: list[list[int]],
    ) -> None:
        self.bound, self.labels, self.sizes, self.n_known, self.counts = bound, labels, sizes, n_known, counts
        self.values = [self._rows(child) for child in range(len(sizes))]
        self.total = sum(self.values)

    def _rows(self, child: int) -> float:
        counts = self.counts[child]
        return self.bound.rows(self.sizes[child], self.n_known[child], max(counts), sum(counts))

    def update(self, child: int) -> None:
        """Take note that the counts of a child have changed."""
        self.values[child] = self._rows(child)
        self.total = sum(self.values)
