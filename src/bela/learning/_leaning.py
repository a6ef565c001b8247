"""Rows that are too many to be linked by a graph lean on the nearest rows of a sample of them.

The sample is cut into cells, so that a row is compared with the rows of the cells around it: a thousand or so. What
a row leans on is found once and takes a few bytes; whatever is learnt about the sample later is said of all other rows
by the rows that they lean on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bela.features import Prepared
from bela.learning._graph import LEANING, Floats, Rows, closest, cluster
from bela.records import AnyArray

CELL_ROWS = 150  # rows a cell, on average
PROBED_CELLS = 8  # nearest to a row, whose rows it is compared with: for 99 of 100 rows, the nearest of all is there
MOST_MARKS = 1 << 16  # so that their numbers take two bytes
FULL = np.float32(255)  # a weight of 1
LEAN = np.dtype([("on", "<u2", LEANING), ("weight", "u1", LEANING)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A sample of rows in the order of their cells, for others to lean on.

    `number` says which row of the sample each is; the cells begin at `edges`.
    """

    rows: Floats
    number: Rows
    centres: Floats
    edges: Rows

    @classmethod
    def of(cls, sample: Floats, seed: int) -> Marks:
        """Cut a sample into cells."""
        if len(sample) > MOST_MARKS:
            raise ValueError(f"no more than {MOST_MARKS} rows can be leaned on, not {len(sample)}")
        centres = cluster(sample, len(sample) // CELL_ROWS, np.random.default_rng([seed, 6]))
        cell, _ = closest(sample, centres)
        used, cell = np.unique(cell, return_inverse=True)
        number = np.argsort(cell, kind="stable")
        edges = np.searchsorted(cell[number], np.arange(len(used) + 1))
        return cls(rows=sample[number], number=number, centres=centres[used], edges=edges)

    def __call__(self, block: Prepared) -> AnyArray:
        """Return what each row of a block leans on, the nearest first, and how much on each: as LEAN."""
        found = np.zeros(len(block.dense), LEAN)
        on, weight = self.lean(block.dense)
        found["on"][:, : on.shape[1]] = on
        found["weight"][:, : on.shape[1]] = np.rint(weight * FULL)
        return found

    def lean(self, X: Floats) -> tuple[Rows, Floats]:
        """Return the rows of the sample that each row leans on, the nearest first, and how much on each."""
        n, k, n_probed = len(X), min(LEANING, len(self.rows)), min(PROBED_CELLS, len(self.centres))
        halves = np.einsum("ij,ij->i", self.rows, self.rows) * np.float32(-0.5)
        # Pairs of a row and a cell around it, in the order of the cells: the rows of each are compared at once.
        cell = self._probed(X, n_probed).ravel()
        order = np.argsort(cell, kind="stable")
        ends = np.searchsorted(cell[order], np.arange(len(self.centres) + 1))
        place, closeness = np.zeros((len(cell), k), np.intp), np.full((len(cell), k), -np.inf, np.float32)
        for c in np.flatnonzero(np.diff(ends)).tolist():
            pairs, start, stop = order[ends[c] : ends[c + 1]], int(self.edges[c]), int(self.edges[c + 1])
            values = X[pairs // n_probed] @ self.rows[start:stop].T
            values += halves[start:stop]
            found, largest = _largest(values, min(k, stop - start))
            place[pairs, : found.shape[1]], closeness[pairs, : found.shape[1]] = found + start, largest
        best, largest = _largest(closeness.reshape(n, -1), k)
        on = self.number[np.take_along_axis(place.reshape(n, -1), best, axis=1)]
        squared = np.maximum(np.einsum("ij,ij->i", X, X)[:, None] - 2 * largest, 0)
        weight = np.exp(-2 * squared / np.maximum(squared[:, -1:], np.finfo(np.float32).tiny))
        return on, np.asarray(weight / weight.sum(axis=1, keepdims=True), np.float32)

    def _probed(self, X: Floats, n: int) -> Rows:
        """Return the n cells that are nearest to each row, in any order."""
        closeness = X @ self.centres.T
        closeness += np.einsum("ij,ij->i", self.centres, self.centres) * np.float32(-0.5)
        m = closeness.shape[1]
        return np.argpartition(closeness, m - n, axis=1)[:, m - n :]


def _largest(values: Floats, k: int) -> tuple[Rows, Floats]:
    """The places of the k largest values of each row, largest first, and these values; the array is used up.

    For the few that are wanted here, so many passes are faster than any partial sort.
    """
    some = np.arange(len(values))
    place, found = np.empty((len(values), k), np.intp), np.empty((len(values), k), np.float32)
    for i in range(k):
        place[:, i] = values.argmax(axis=1)
        found[:, i] = values[some, place[:, i]]
        values[some, place[:, i]] = -np.inf
    return place, found
