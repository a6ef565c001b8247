"""Nearest neighbours of every row: exact for thousands of rows, by cells for more.

Both are matrix products followed by a selection. A library for approximate neighbours would be one more compiled
package to install, and its threads make most of them differ from run to run; at the sizes that fit into memory this is
as fast (60,000 rows of 192 features in some seconds on one core).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.intp]

EXACT_ROWS = 20_000  # beyond, a row is compared with the rows of nearby cells only
CELL_ROWS = 300  # rows a cell, on average
PROBED_ROWS = 9_000  # rows that a cell is compared with if there are 60,000; grows with the square root of their number
PROBED_MARKS = 3_000  # landmarks that a cell is compared with
BLOCK = 512
GROUP = 64


def nearest(X: Floats, k: int, *, seed: int = 0, exact: bool | None = None) -> tuple[Rows, Floats]:
    """Return the k nearest other rows of each row and the squared distances, nearest first.

    Parameters
    ----------
    X
        Rows of features.
    k
        How many; never more than there are other rows.
    seed
        Places the cells.
    exact
        Compare all pairs; by default if there are at most 20,000 rows.
    """
    n = len(X)
    k = min(k, n - 1)
    if k <= 0:
        return np.empty((n, 0), np.intp), np.empty((n, 0), np.float32)
    groups: Iterator[tuple[Rows, Rows]]
    if exact if exact is not None else n <= EXACT_ROWS:
        groups = iter([(np.arange(n), np.arange(n))])
    else:
        groups = _cells(X, X, max(PROBED_ROWS * (n / 60_000) ** 0.5, 2 * k + 2), np.random.default_rng(seed))
    return _search(X, X, k, groups, itself=True)


def nearest_among(X: Floats, marks: Floats, k: int, *, seed: int = 0) -> tuple[Rows, Floats]:
    """Return the k nearest of some marks for each row, as places in `marks`, and the squared distances.

    A few rows in a hundred get a mark that is only nearly the nearest, which is good enough to lean on.
    """
    k = min(k, len(marks))
    groups: Iterator[tuple[Rows, Rows]]
    if len(marks) <= PROBED_MARKS:
        groups = iter([(np.arange(len(X)), np.arange(len(marks)))])
    else:
        groups = _cells(X, marks, PROBED_MARKS, np.random.default_rng(seed))
    return _search(X, marks, k, groups, itself=False)


def _search(
    X: Floats, marks: Floats, k: int, groups: Iterator[tuple[Rows, Rows]], *, itself: bool
) -> tuple[Rows, Floats]:
    """Compare the rows of each group with its candidates; `itself` if X and the marks are the same rows."""
    index = np.empty((len(X), k), np.intp)
    distance = np.empty(index.shape, np.float32)
    halves = np.einsum("ij,ij->i", marks, marks) * np.float32(-0.5)
    for queries, candidates in groups:
        near = marks if len(candidates) == len(marks) else marks[candidates]
        for start in range(0, len(queries), BLOCK):
            rows = queries[start : start + BLOCK]
            block = X[rows]
            closeness = block @ near.T
            closeness += halves[candidates]
            if itself:
                closeness[np.arange(len(rows)), np.searchsorted(candidates, rows)] = -np.inf
            place = _largest(closeness, k)
            index[rows] = candidates[place]
            found = np.take_along_axis(closeness, place, axis=1)
            norms = np.einsum("ij,ij->i", block, block)
            distance[rows] = np.maximum(norms[:, None] - 2 * found, 0)
    return index, distance


def _largest(values: Floats, k: int) -> Rows:
    """The places of the k largest values of each row, largest first.

    The k largest lie in the k columns of groups with the largest maxima, so only those groups are looked into:
    a pass for the maxima costs a tenth of a full selection.
    """
    n_rows, n_columns = values.shape
    width = n_columns // GROUP
    if width > 4 * k:
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
    cell, _ = closest(marks, centres)
    order, edges = _by_cell(cell, len(centres))
    rows_order, rows_edges = (order, edges) if X is marks else _by_cell(closest(X, centres)[0], len(centres))
    sizes = np.diff(edges)
    norms = np.einsum("ij,ij->i", centres, centres)
    for c in np.flatnonzero(np.diff(rows_edges)):
        rows = rows_order[rows_edges[c] : rows_edges[c + 1]]
        # how far the cell's rows are from the other centres says more than how far the two centres are
        away = norms - 2 * (centres @ X[rows].T).T
        reach = away.mean(axis=0)
        reach[c] = -np.inf
        around = np.argsort(reach, kind="stable")
        around = around[: int(np.searchsorted(np.cumsum(sizes[around]), n_probed)) + 1]
        yield rows, np.sort(np.concatenate([order[edges[a] : edges[a + 1]] for a in around]))


def _by_cell(cell: Rows, n_cells: int) -> tuple[Rows, Rows]:
    """Return the rows in the order of their cells, and where each cell begins."""
    order = np.argsort(cell, kind="stable")
    return order, np.searchsorted(cell[order], np.arange(n_cells + 1))


def cluster(X: Floats, k: int, rng: np.random.Generator, *, n_iterations: int = 6) -> Floats:
    """Centres of about k clusters: Lloyd's algorithm on a sample of 30 rows a cluster."""
    k = max(1, min(k, len(X)))
    sample = X if len(X) <= 30 * k else X[np.sort(rng.choice(len(X), 30 * k, replace=False))]
    centres = sample[np.sort(rng.choice(len(sample), k, replace=False))]
    for _ in range(n_iterations):
        label, distance = closest(sample, centres)
        member = sparse.csr_array((np.ones(len(label)), (label, np.arange(len(label)))), shape=(k, len(label)))
        sums = member @ sample
        counts = np.bincount(label, minlength=k)
        empty = counts == 0
        centres = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        if empty.any():  # the rows that are served worst start anew
            centres[empty] = sample[np.argsort(-distance, kind="stable")[: int(empty.sum())]]
    return centres


def closest(X: Floats, centres: Floats) -> tuple[Rows, Floats]:
    """The nearest centre of each row and its squared distance."""
    label = np.empty(len(X), np.intp)
    distance = np.empty(len(X), np.float32)
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
