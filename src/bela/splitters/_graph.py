"""The neighbour graph of a dataset: what is near what, with weights that adapt to how crowded a place is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.splitters._neighbours import Floats, Rows, nearest

NEIGHBOURS = 15  # found for each row; the questions skip some of them
LINKED = 10  # become edges


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Neighbours, and the two operators that spread things along them.

    `symmetric` is D^-1/2 A D^-1/2 and `walk` D^-1 A for the symmetric weights A and their row sums D; a row without
    neighbours keeps what it has.
    """

    neighbours: Rows
    radius: Floats
    symmetric: sparse.csr_array
    walk: sparse.csr_array

    @property
    def n_rows(self) -> int:
        """How many rows the graph has."""
        return len(self.radius)

    def smooth(self, X: Floats, *, n_steps: int = 2) -> Floats:
        """Replace each row by the mean of its surroundings, so that rows of one cluster move together."""
        for _ in range(n_steps):
            X = np.asarray(self.walk @ X, np.float32)
        return X


def build_graph(X: Floats, *, seed: int = 0) -> Graph:
    """Link each row to its 10 nearest, with weight exp(-2 d^2 / r^2), r the distance to the tenth.

    Parameters
    ----------
    X
        Rows of features in which distances mean something.
    seed
        For the approximate search, which starts at 20,000 rows.
    """
    n = len(X)
    neighbours, squared = nearest(X, NEIGHBOURS, seed=seed)
    k = min(LINKED, neighbours.shape[1])
    if k == 0:
        alone = sparse.csr_array(np.eye(n, dtype=np.float32))
        return Graph(neighbours=neighbours, radius=np.zeros(n, np.float32), symmetric=alone, walk=alone)
    reach = squared[:, k - 1]
    # copies of one row are at distance 0 of each other: full weight, whatever the radius
    weight = np.exp(-2 * squared[:, :k] / np.maximum(reach, np.finfo(np.float32).tiny)[:, None])
    shape = (n, n)
    small = np.int32 if n * k < 2**30 else np.int64  # half the traffic where it will do
    pointer = np.arange(0, n * k + 1, k, dtype=small)
    directed = sparse.csr_array((weight.ravel(), neighbours[:, :k].astype(small).ravel(), pointer), shape=shape)
    weights = directed.maximum(directed.T).tocsr()
    weights.sort_indices()
    degree = np.asarray(weights.sum(axis=1)).ravel()
    inverse = sparse.dia_array((1 / degree[None], [0]), shape=shape)
    root = sparse.dia_array((1 / np.sqrt(degree)[None], [0]), shape=shape)
    return Graph(
        neighbours=neighbours,
        radius=np.sqrt(reach),
        symmetric=_single(root @ weights @ root),
        walk=_single(inverse @ weights),
    )


def _single(matrix: npt.ArrayLike) -> sparse.csr_array:
    return sparse.csr_array(matrix, dtype=np.float32)
