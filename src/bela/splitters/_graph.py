"""The neighbour graph of a dataset: what is near what, with weights that adapt to how crowded a place is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.splitters._neighbours import Floats, Rows, nearest, nearest_among

NEIGHBOURS = 15  # found for each row; the questions skip some of them
LINKED = 10  # become edges
MOST_ROWS = 200_000  # beyond, the graph links landmarks, and the other rows lean on the nearest of them
LANDMARKS = 60_000
LEANING = 4  # landmarks that another row leans on


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Places, their neighbours, and the two operators that spread things along them.

    A place is a row, or a landmark among millions of rows. `symmetric` is D^-1/2 A D^-1/2 and `walk` D^-1 A for the
    symmetric weights A of the places and their row sums D; a place without neighbours keeps what it has. With
    landmarks, `landmarks` has their rows, and each line of `onto` says with which weights a row leans on which places.
    """

    neighbours: Rows
    radius: Floats
    symmetric: sparse.csr_array
    walk: sparse.csr_array
    landmarks: Rows | None = None
    onto: sparse.csr_array | None = None

    @property
    def n_rows(self) -> int:
        """How many rows the graph is about."""
        return len(self.radius) if self.onto is None else int(self.onto.shape[0])

    @property
    def n_places(self) -> int:
        """How many rows, or landmarks, it links."""
        return len(self.radius)

    def places(self, rows: Rows) -> Rows:
        """Return the place that each row is, or leans on most."""
        if self.onto is None:
            return rows
        first: Rows = self.onto.indices[self.onto.indptr[rows]]
        return first

    def smooth(self, X: Floats, *, n_steps: int = 2) -> Floats:
        """Replace each row by the mean of its surroundings, so that rows of one cluster move together."""
        if self.landmarks is not None:
            X = X[self.landmarks]
        for _ in range(n_steps):
            X = np.asarray(self.walk @ X, np.float32)
        return self.to_rows(X)

    def to_places(self, X: Floats) -> Floats:
        """Bring masses at rows to the places that the rows lean on."""
        return X if self.onto is None else np.asarray(self.onto.T @ X, np.float32)

    def to_rows(self, X: Floats) -> Floats:
        """Bring values at places to the rows that lean on them."""
        return X if self.onto is None else np.asarray(self.onto @ X, np.float32)


def build_graph(X: Floats, *, seed: int = 0, most_rows: int = MOST_ROWS, n_landmarks: int = LANDMARKS) -> Graph:
    """Link each row to its 10 nearest, with weight exp(-2 d^2 / r^2), r the distance to the tenth.

    Parameters
    ----------
    X
        Rows of features in which distances mean something.
    seed
        For the approximate search, which starts at 20,000 rows, and the choice of landmarks.
    most_rows
        With more rows, the graph is built of landmarks.
    n_landmarks
        How many of these; a random sample, so that crowded places have many.
    """
    n = len(X)
    if n > most_rows:
        landmarks = np.sort(np.random.default_rng([seed, 5]).choice(n, n_landmarks, replace=False))
        marks = np.ascontiguousarray(X[landmarks])
        graph = build_graph(marks, seed=seed, most_rows=n)
        return replace(graph, landmarks=landmarks, onto=_lean(X, marks, landmarks, seed))
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


def _lean(X: Floats, marks: Floats, landmarks: Rows, seed: int) -> sparse.csr_array:
    """Let each row lean on its nearest landmarks, a landmark on itself alone; the nearest comes first in each line."""
    index, squared = nearest_among(X, marks, LEANING, seed=seed)
    weight = np.exp(-2 * squared / np.maximum(squared[:, -1:], np.finfo(np.float32).tiny))
    index[landmarks, 0] = np.arange(len(landmarks))
    weight[landmarks, 0] = 1
    weight[landmarks, 1:] = 0
    weight /= weight.sum(axis=1, keepdims=True)
    pointer = np.arange(0, index.size + 1, index.shape[1], dtype=np.int64)
    return sparse.csr_array((weight.ravel(), index.ravel(), pointer), shape=(len(X), len(marks)))


def _single(matrix: npt.ArrayLike) -> sparse.csr_array:
    return sparse.csr_array(matrix, dtype=np.float32)
