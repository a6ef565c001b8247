"""The neighbour graph of a dataset, along which answers spread and fade with every step (Zhou et al. 2004).

Neighbours are exact for thousands of rows, by cells for more. Both are matrix products followed by a selection. A
library for approximate neighbours would be one more compiled package, most of them differ from run to run, and at the
sizes that fit into memory this is as fast (60,000 rows of 192 features in some seconds on one core).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

NEIGHBOURS = 15  # found for each row; the questions skip some of them
LINKED = 10  # become edges
MOST_ROWS = 200_000  # beyond, the graph links landmarks, and the other rows lean on the nearest of them
LANDMARKS = 60_000
LEANING = 4  # landmarks that another row leans on
ALPHA = 0.97  # what is left after a step
STEPS = 12  # of a Chebyshev iteration: as good as a hundred plain ones
COLUMNS = 50  # spread at once, at the least 4 folds: few answers get leave-one-out
FLOOR = 1e-3  # share of the mass that every class has anywhere, so that no answer is ruled out
EXACT_ROWS = 20_000  # beyond, a row is compared with the rows of nearby cells only
CELL_ROWS = 300  # rows a cell, on average
PROBED_ROWS = 9_000  # rows that a cell is compared with if there are 60,000; grows with the square root of their number
PROBED_MARKS = 3_000  # landmarks that a cell is compared with
BLOCK = 512
GROUP = 64


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
        return rows if self.onto is None else np.asarray(self.onto.indices[self.onto.indptr[rows]])

    def smooth(self, X: Floats, *, n_steps: int = 2) -> Floats:
        """Replace each row by the mean of its surroundings, so that rows of one cluster move together."""
        X = X if self.landmarks is None else X[self.landmarks]
        for _ in range(n_steps):
            X = np.asarray(self.walk @ X, np.float32)
        return self.to_rows(X)

    def with_rows(self, on: Rows, weight: Floats) -> "Graph":
        """Return the graph with further rows, each of which leans on some places, the nearest first."""
        n, k = on.shape
        weights = np.concatenate([np.ones(self.n_places, np.float32), weight.ravel()])
        index = np.concatenate([np.arange(self.n_places), on.ravel()])
        pointer = np.concatenate([np.arange(self.n_places), self.n_places + k * np.arange(n + 1)])
        onto = sparse.csr_array((weights, index, pointer), shape=(self.n_places + n, self.n_places))
        return replace(self, landmarks=np.arange(self.n_places), onto=onto)

    def to_places(self, X: Floats) -> Floats:
        """Bring masses at rows to the places that the rows lean on."""
        return X if self.onto is None else np.asarray(self.onto.T @ X, np.float32)

    def to_rows(self, X: Floats) -> Floats:
        """Bring values at places to the rows that lean on them."""
        return X if self.onto is None else np.asarray(self.onto @ X, np.float32)


def build_graph(X: Floats, *, seed: int = 0, most_rows: int = MOST_ROWS, n_landmarks: int = LANDMARKS) -> Graph:
    """Link each row to its 10 nearest, with weight exp(-2 d^2 / r^2), r the distance to the tenth.

    With more than `most_rows`, the graph is built of landmarks: a random sample, so that crowded places have many.
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
    symmetric, walk = (sparse.csr_array(a, dtype=np.float32) for a in (root @ weights @ root, inverse @ weights))
    return Graph(neighbours=neighbours, radius=np.sqrt(reach), symmetric=symmetric, walk=walk)


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


def propagate(
    graph: Graph, rows: Rows, classes: Rows, n_classes: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return log-shares of the classes at every row, and at each answer from the answers of the other folds.

    Spreading is linear: each fold of the answers is spread in columns of its own, everything is their sum, and an
    answer's out-of-fold mass is the sum without its own fold. With few answers every one is a fold of its own.
    """
    n_folds = len(rows) if len(rows) <= COLUMNS else max(4, COLUMNS // n_classes)
    fold = deal_folds(classes, n_folds, rng)
    keys, column = np.unique(fold * n_classes + classes, return_inverse=True)
    source = np.zeros((graph.n_rows, len(keys)), np.float32)
    source[rows, column] = 1
    mass = graph.to_rows(_spread(graph, graph.to_places(source)))
    to_class = np.eye(n_classes, dtype=np.float32)[keys % n_classes]
    counts = np.bincount(column, minlength=len(keys)).astype(np.float32)
    left_out = np.empty((len(rows), n_classes), np.float32)
    for f in range(n_folds):
        inside = fold == f
        others = to_class * (keys // n_classes != f)[:, None]
        left_out[inside] = _log_shares(mass[rows[inside]] @ others, counts @ others)
    return _log_shares(mass @ to_class, counts @ to_class), left_out


def deal_folds(classes: Rows, n_folds: int, rng: np.random.Generator) -> Rows:
    """Deal answers into folds, each class as evenly as it goes."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    fold = np.empty(len(classes), np.intp)
    fold[order] = np.arange(len(classes)) % max(1, n_folds)
    return fold


def _spread(graph: Graph, source: Floats) -> Floats:
    """Solve (1 - ALPHA S) mass = source; the eigenvalues of S lie between -1 and 1."""
    before, mass, omega = np.zeros_like(source), source, 1.0
    for step in range(STEPS):
        omega = 1 / (1 - ALPHA**2 / 2) if step == 0 else 1 / (1 - ALPHA**2 * omega / 4)
        after = graph.symmetric @ mass
        after *= np.float32(ALPHA)
        after += source
        after -= before
        after *= np.float32(omega)
        after += before
        before, mass = mass, after
    return np.maximum(mass, 0)


def _log_shares(mass: Floats, counts: Floats) -> Floats:
    """A class with more answers has more mass to spread, which says nothing about the row."""
    shares = mass / np.maximum(counts, np.float32(1))
    total = shares.sum(axis=1, keepdims=True)
    uniform = np.float32(1 / mass.shape[1])
    shares = np.divide(shares, total, out=np.full_like(shares, uniform), where=total > 0)
    return np.asarray(np.log((1 - np.float32(FLOOR)) * shares + np.float32(FLOOR) * uniform), np.float32)


def nearest(X: Floats, k: int, *, seed: int = 0, exact: bool | None = None) -> tuple[Rows, Floats]:
    """Return the k nearest other rows of each row, or all if there are fewer, and the squared distances."""
    n = len(X)
    k = min(k, n - 1)
    if k <= 0:
        return np.empty((n, 0), np.intp), np.empty((n, 0), np.float32)
    n_probed = max(PROBED_ROWS * (n / 60_000) ** 0.5, 2 * k + 2)
    return _search(X, X, k, None if (n <= EXACT_ROWS if exact is None else exact) else n_probed, seed)


def nearest_among(X: Floats, marks: Floats, k: int, *, seed: int = 0) -> tuple[Rows, Floats]:
    """Return the k nearest marks of each row, for a few in a hundred nearly so, and the squared distances."""
    return _search(X, marks, min(k, len(marks)), None if len(marks) <= PROBED_MARKS else PROBED_MARKS, seed)


def _search(X: Floats, marks: Floats, k: int, n_probed: float | None, seed: int) -> tuple[Rows, Floats]:
    """Compare each row with so many marks in the cells around it, or with all; never with itself."""
    everything = iter([(np.arange(len(X)), np.arange(len(marks)))])
    groups = everything if n_probed is None else _cells(X, marks, n_probed, np.random.default_rng(seed))
    index, distance = np.empty((len(X), k), np.intp), np.empty((len(X), k), np.float32)
    halves = np.einsum("ij,ij->i", marks, marks) * np.float32(-0.5)
    for queries, candidates in groups:
        near = marks if len(candidates) == len(marks) else marks[candidates]
        for start in range(0, len(queries), BLOCK):
            rows = queries[start : start + BLOCK]
            block = X[rows]
            closeness = block @ near.T
            closeness += halves[candidates]
            if X is marks:
                closeness[np.arange(len(rows)), np.searchsorted(candidates, rows)] = -np.inf
            place = _largest(closeness, k)
            index[rows] = candidates[place]
            found = np.take_along_axis(closeness, place, axis=1)
            norms = np.einsum("ij,ij->i", block, block)
            distance[rows] = np.maximum(norms[:, None] - 2 * found, 0)
    return index, distance


def _largest(values: Floats, k: int) -> Rows:
    """The places of the k largest values of each row, largest first."""
    n_rows, n_columns = values.shape
    width = n_columns // GROUP
    if width > 4 * k:  # the groups with the largest maxima have them all, and take a tenth of the time to find
        maxima = values[:, : width * GROUP].reshape(n_rows, GROUP, width).max(axis=1)
        best = np.argpartition(maxima, width - k, axis=1)[:, width - k :]
        inside = (best[:, None, :] + (np.arange(GROUP) * width)[:, None]).reshape(n_rows, -1)
        rest = np.broadcast_to(np.arange(width * GROUP, n_columns), (n_rows, n_columns - width * GROUP))
        place = np.concatenate([inside, rest], axis=1)
        place = np.take_along_axis(place, _top(np.take_along_axis(values, place, axis=1), k), axis=1)
    else:
        place = _top(values, k)
    order = np.argsort(-np.take_along_axis(values, place, axis=1), axis=1, kind="stable")
    return np.take_along_axis(place, order, axis=1)


def _top(values: Floats, k: int) -> Rows:
    n = values.shape[1]
    return np.argpartition(values, n - k, axis=1)[:, n - k :] if k < n else np.tile(np.arange(n), (len(values), 1))


def _cells(X: Floats, marks: Floats, n_probed: float, rng: np.random.Generator) -> Iterator[tuple[Rows, Rows]]:
    """Cut the space into cells; yield each cell's rows with the marks of the cells around it, in ascending order."""
    centres = cluster(marks, len(marks) // CELL_ROWS, rng)
    order, edges = _by_cell(marks, centres)
    rows_order, rows_edges = (order, edges) if X is marks else _by_cell(X, centres)
    sizes = np.diff(edges)
    norms = np.einsum("ij,ij->i", centres, centres)
    for c in np.flatnonzero(np.diff(rows_edges)):
        rows = rows_order[rows_edges[c] : rows_edges[c + 1]]
        # how far the cell's rows are from the other centres says more than how far the two centres are
        reach = (norms - 2 * (centres @ X[rows].T).T).mean(axis=0)
        reach[c] = -np.inf
        around = np.argsort(reach, kind="stable")
        around = around[: int(np.searchsorted(np.cumsum(sizes[around]), n_probed)) + 1]
        yield rows, np.sort(np.concatenate([order[edges[a] : edges[a + 1]] for a in around]))


def _by_cell(X: Floats, centres: Floats) -> tuple[Rows, Rows]:
    """Return the rows in the order of their cells, and where each cell begins."""
    cell, _ = closest(X, centres)
    order = np.argsort(cell, kind="stable")
    return order, np.searchsorted(cell[order], np.arange(len(centres) + 1))


def cluster(X: Floats, k: int, rng: np.random.Generator, *, n_iterations: int = 6) -> Floats:
    """Centres of about k clusters: Lloyd's algorithm on a sample of 30 rows a cluster."""
    k = max(1, min(k, len(X)))
    sample = X if len(X) <= 30 * k else X[np.sort(rng.choice(len(X), 30 * k, replace=False))]
    centres = sample[np.sort(rng.choice(len(sample), k, replace=False))]
    for _ in range(n_iterations):
        label, distance = closest(sample, centres)
        member = sparse.csr_array((np.ones(len(label)), (label, np.arange(len(label)))), shape=(k, len(label)))
        counts = np.bincount(label, minlength=k)
        empty = counts == 0
        centres = (member @ sample / np.maximum(counts, 1)[:, None]).astype(np.float32)
        if empty.any():  # the rows that are served worst start anew
            centres[empty] = sample[np.argsort(-distance, kind="stable")[: int(empty.sum())]]
    return centres


def closest(X: Floats, centres: Floats) -> tuple[Rows, Floats]:
    """The nearest centre of each row and its squared distance."""
    label, distance = np.empty(len(X), np.intp), np.empty(len(X), np.float32)
    halves = np.einsum("ij,ij->i", centres, centres) * np.float32(-0.5)
    block = max(1, 2_000_000 // len(centres))
    for start in range(0, len(X), block):
        rows = X[start : start + block]
        closeness = rows @ centres.T
        closeness += halves
        best = closeness.argmax(axis=1)
        label[start : start + block] = best
        distance[start : start + block] = -2 * closeness[np.arange(len(rows)), best]
    distance += np.einsum("ij,ij->i", X, X)
    return label, np.maximum(distance, 0)
