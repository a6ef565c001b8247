"""The bounds by their names, and what they share: checks of counts, a population, the order in which rows are drawn."""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bela._registry import Registry
from bela.errors import ParameterError
from bela.records import AnyArray, FloatArray, IntArray

Counts: TypeAlias = npt.ArrayLike

BOUNDS: Registry[Callable[..., object]] = Registry("bound", "bela.bounds", package="bela.bounds")
"""Every bound, each of one of the shapes in `bela.protocols`: SequentialBound, CountBound, LeafBound."""

ROUNDING = 1e-9  # of the logarithm that is compared with log alpha: far above what rounding adds up to
_MASK = (1 << 64) - 1


def check_inside(name: str, value: float) -> None:
    """Refuse a share or a probability that does not lie strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ParameterError(f"{name} lies strictly between 0 and 1, not {value}")


def check_counts(n_drawn: Counts, n_wrong: Counts, population: int | None = None) -> tuple[AnyArray, ...]:
    """Return counts of draws as arrays of one shape, if there can be such draws."""
    n, w = np.broadcast_arrays(np.asarray(n_drawn), np.asarray(n_wrong))
    if np.any(w < 0) or np.any(w > n) or (population is not None and np.any(n > population)):
        raise ParameterError("counts satisfy 0 <= n_wrong <= n_drawn <= population")
    return n, w


class Population:
    """Rows in cells, all those of a cell with the same chance to be drawn: how many are left, how many were wrong.

    `sizes` are the rows of each cell, a single number where all rows have the same chance. Of `left`, the rows of each
    cell that are neither drawn nor known, every state is a new array, so that a copy of the population stays as it is.
    """

    def __init__(self, sizes: Counts, *, alpha: float) -> None:
        counts = np.atleast_1d(np.array(sizes))
        if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 0):
            raise ParameterError("sizes are the numbers of rows of the bins, one whole number a bin, none negative")
        check_inside("alpha", alpha)
        self.alpha, self.population = alpha, int(counts.sum())
        self.left: IntArray = counts.astype(np.int64)
        self._threshold = math.log(1.0 / alpha) + ROUNDING  # of what rules a number of errors out, in nats
        self.found = 0  # rows that were seen to be wrong

    @property
    def n_left(self) -> int:
        """How many rows are neither drawn nor known."""
        return int(self.left.sum())

    def _check_draw(self, cell: int, weights: Counts) -> FloatArray:
        """Return the weights of a draw, if a row of this cell can have been drawn by them."""
        w = np.asarray(weights, dtype=float)
        if w.shape != self.left.shape or not np.all((w > 0.0) & np.isfinite(w) | (self.left == 0)):
            raise ParameterError("draw weights are positive and finite, one a cell")
        self._check_left(cell)
        return w

    def _check_left(self, cell: int) -> None:
        if not 0 <= cell < len(self.left) or self.left[cell] == 0:
            raise ParameterError(f"no row of cell {cell} is left")

    def _take(self, cell: int, wrong: bool) -> None:
        """Take a row out."""
        self._check_left(cell)
        self.left = self.left - (np.arange(len(self.left)) == cell)
        self.found += wrong


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble 64-bit words (the finaliser of splitmix64, a bijection)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def priorities(rows: IntArray, seed: int, stream: int = 0) -> npt.NDArray[np.uint64]:
    """Give each row its random priority, a keyed hash of its number; another stream is another, independent order.

    Rows taken in this order are a uniform sample without replacement of any set of rows, whatever the layout of the
    data, and a subset keeps it.

    >>> p = priorities(np.arange(1000), seed=0)
    >>> len(np.unique(p)), bool((p[:10] == priorities(np.arange(10), seed=0)).all())
    (1000, True)
    """
    key = np.array([seed & _MASK, (stream + 1) & _MASK], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = _mix(_mix(key[:1]) + key[1:])
    return _mix(_mix(np.asarray(rows).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + mixed) ^ mixed)


def draw_order(rows: IntArray, seed: int, stream: int = 0) -> IntArray:
    """Sort rows into a uniformly random order, the same whatever order they came in."""
    # The keyed hash is a bijection of the row number, so priorities never tie.
    return np.asarray(rows)[np.argsort(priorities(rows, seed, stream))]
