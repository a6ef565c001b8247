"""Rows that are too many to be linked by a graph lean on the nearest rows of a sample of them.

The sample is cut into cells, so that a row is compared with the rows of the cells around its own: a few thousand. What
a row leans on is found once and takes a few bytes; whatever is learnt about the sample later is said of all other rows
by the rows that they lean on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bela.features import Prepared
from bela.learning._graph import CELL_ROWS, LEANING, Floats, Rows, closest, cluster
from bela.records import AnyArray

PROBED = 2_400  # rows of the sample that a row is compared with, at least, if there are as many
MOST_MARKS = 1 << 16  # so that their numbers take two bytes
FULL = np.float32(255)  # a weight of 1
LEAN = np.dtype([("on", "<u2", LEANING), ("weight", "u1", LEANING)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A sample of rows in the order of their cells, for others to lean on.

    `number` says which row of the sample each is; the cells begin at `edges`, and `around` has the cells that the rows
    of each cell are compared with, as many as it takes, -1 after the last.
    """

    rows: Floats
    number: Rows
    centres: Floats
    edges: Rows
    around: Rows

    @classmethod
    def of(cls, sample: Floats, seed: int) -> Marks:
        """Cut a sample into cells."""
        if len(sample) > MOST_MARKS:
            raise ValueError(f"no more than {MOST_MARKS} rows can be leaned on, not {len(sample)}")
        centres = cluster(sample, max(1, len(sample) // CELL_ROWS), np.random.default_rng([seed, 6]))
        cell, _ = closest(sample, centres)
        number = np.argsort(cell, kind="stable")
        edges = np.searchsorted(cell[number], np.arange(len(centres) + 1))
        sizes = np.diff(edges)
        around = np.full((len(centres), len(centres)), -1)
        for c, centre in enumerate(centres):
            near = np.argsort(np.square(centres - centre).sum(axis=1), kind="stable")
            n = int(np.searchsorted(np.cumsum(sizes[near]), min(PROBED, len(sample)))) + 1
            around[c, :n] = near[:n]
        around = around[:, : int((around >= 0).sum(axis=1).max())]
        return cls(rows=sample[number], number=number, centres=centres, edges=edges, around=around)

    def __call__(self, block: Prepared) -> AnyArray:
        """Return what each row of a block leans on, the nearest first, and how much on each: as LEAN."""
        found = np.zeros(len(block.dense), LEAN)
        on, weight = self.lean(block.dense)
        found["on"][:, : on.shape[1]] = on
        found["weight"][:, : on.shape[1]] = np.rint(weight * FULL)
        return found

    def lean(self, X: Floats) -> tuple[Rows, Floats]:
        """Return the rows of the sample that each row leans on, the nearest first, and how much on each."""
        k = min(LEANING, len(self.rows))
        on, squared = np.empty((len(X), k), np.intp), np.empty((len(X), k), np.float32)
        halves = np.einsum("ij,ij->i", self.rows, self.rows) * np.float32(-0.5)
        cell, _ = closest(X, self.centres)
        order = np.argsort(cell, kind="stable")
        ends = np.searchsorted(cell[order], np.arange(len(self.centres) + 1))
        for c in np.flatnonzero(np.diff(ends)).tolist():
            here = order[ends[c] : ends[c + 1]]
            block = X[here]
            parts = list(self._parts(c))
            closeness = np.empty((len(here), sum(part.stop - part.start for part in parts)), np.float32)
            start = 0
            for part in parts:
                stop = start + part.stop - part.start
                np.matmul(block, self.rows[part].T, out=closeness[:, start:stop])
                closeness[:, start:stop] += halves[part]
                start = stop
            place, found = _largest(closeness, k)
            on[here] = np.concatenate([self.number[part] for part in parts])[place]
            squared[here] = np.maximum(np.einsum("ij,ij->i", block, block)[:, None] - 2 * found, 0)
        weight = np.exp(-2 * squared / np.maximum(squared[:, -1:], np.finfo(np.float32).tiny))
        return on, np.asarray(weight / weight.sum(axis=1, keepdims=True), np.float32)

    def _parts(self, cell: int) -> Iterator[slice]:
        for c in self.around[cell]:
            if c >= 0 and self.edges[c] < self.edges[c + 1]:
                yield slice(int(self.edges[c]), int(self.edges[c + 1]))


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
