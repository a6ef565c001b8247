"""Cluster the rows from the bottom up by Ward's linkage, the tree of the HSAL paper's experiments.

Exact, and without the table of all distances: Ward's distance follows from sizes and means alone, and since it is
reducible (a merger is never nearer to a third cluster than the nearer of its parts), all pairs that are each
other's nearest neighbour can be merged at once without changing the tree. Memory is that of the points; time
is quadratic. Past `max_exact` clusters, small groups from 2-means take the place of single rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bela.errors import ParameterError
from bela.protocols import Source
from bela.records import IntArray
from bela.tree._hierarchy import NO_NODE, ClusterTree
from bela.tree._pca_kmeans import Points, project, split_points

_TILE = (256, 4096)  # distances looked at together: 4 MB, which stays in the cache


def ward_tree(source: Source, *, n_components: int = 50, max_exact: int = 65_000, seed: int = 0) -> ClusterTree:
    """Cluster the rows of a source by Ward's linkage on their leading principal components.

    Parameters
    ----------
    max_exact
        Up to this many rows the linkage is exact, in time quadratic in the rows and memory linear in them. Above
        it, 2-means first gathers the rows into at most this many groups of neighbours, and the linkage is that
        of the groups.
    """
    if max_exact < 2:
        raise ParameterError(f"max_exact must be at least 2, not {max_exact}")
    points = project(source, n_components=n_components, seed=seed)
    _, group = np.unique(points, axis=0, return_inverse=True)  # rows that are the same share a leaf
    group = group.ravel()
    if int(group.max()) + 1 > max_exact:
        # A leaf is cut as long as it has more rows than leaf_size, so its parts have half of that on average.
        leaf_size = -(-4 * len(points) // max_exact)
        _, group = np.unique(split_points(points, leaf_size=leaf_size, seed=seed).leaf_of, return_inverse=True)
    n_groups = int(group.max()) + 1
    weight = np.bincount(group).astype(np.float64)
    means = np.stack([np.bincount(group, column, n_groups) for column in points.T], axis=1) / weight[:, None]
    # Equal distances would have all point at the same neighbour and merge one pair a round; a jitter far below
    # any distance that matters breaks the ties.
    scale = float(np.sqrt(np.mean(points.astype(np.float64).var(axis=0)))) or 1.0
    means += np.random.default_rng([seed, 3]).normal(scale=1e-4 * scale, size=means.shape)
    pairs = merge_ward(means, weight)
    none = np.full(n_groups, NO_NODE)
    return ClusterTree.from_links(np.concatenate([none, pairs[:, 0]]), np.concatenate([none, pairs[:, 1]]), group)


def merge_ward(means: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> IntArray:
    """Merge clusters by Ward's criterion until one is left; row i of the result names the parts of cluster n + i.

    A merger comes after its parts, but mergers are not sorted by height.
    """
    n = len(means)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    name = np.arange(n)
    near = np.full(n, -1)  # position of the nearest other cluster, where it is still valid
    gap = np.full(n, np.inf)
    next_name = n
    while len(name) > 1:
        stale = np.flatnonzero(near < 0)
        near[stale], gap[stale] = _nearest(means, weight, stale)
        here = np.arange(len(name))
        first = here[(near[near] == here) & (here < near)]
        if len(first) == 0:  # rounding can hide the closest pair from one of its sides
            first = np.array([int(np.argmin(gap))])
        second = near[first]
        pairs.append(np.column_stack([name[first], name[second]]))

        both = weight[first] + weight[second]
        merged = (means[first] * weight[first, None] + means[second] * weight[second, None]) / both[:, None]
        stays = np.ones(len(name), dtype=bool)
        stays[first] = stays[second] = False
        moved = np.where(stays, np.cumsum(stays) - 1, -1)
        fresh = np.full(len(first), -1)
        near = np.concatenate([moved[near[stays]], fresh])
        gap = np.concatenate([gap[stays], np.full(len(first), np.inf)])
        means = np.concatenate([means[stays], merged])
        weight = np.concatenate([weight[stays], both])
        name = np.concatenate([name[stays], next_name + np.arange(len(first))])
        next_name += len(first)
    return np.concatenate(pairs)


def _nearest(
    means: npt.NDArray[np.float64], weight: npt.NDArray[np.float64], queries: IntArray
) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Find for some clusters the nearest other one, and how far it is by Ward's criterion."""
    points: Points = means.astype(np.float32)
    # One product gives |b|^2 - 2ab: the points get a column with their squared length, the queries a column of 1.
    square = np.einsum("ij,ij->i", points, points)
    target = np.ascontiguousarray(np.column_stack([-2.0 * points, square]).T, dtype=np.float32)
    asked = np.column_stack([points, np.ones(len(points), np.float32)])
    inverse = (1.0 / weight).astype(np.float32)
    alike = bool(np.all(weight == weight[0]))
    n_block, n_tile = _TILE
    best = np.full(len(queries), -1)
    gap = np.full(len(queries), np.inf, dtype=np.float32)
    for begin in range(0, len(queries), n_block):
        rows = queries[begin : begin + n_block]
        block, own, inv = asked[rows], square[rows, None], inverse[rows, None]
        at = np.arange(len(rows))
        for low in range(0, len(points), n_tile):
            high = min(low + n_tile, len(points))
            distance = block @ target[:, low:high]
            distance += own
            if not alike:
                distance /= inv + inverse[low:high]
            inside = (rows >= low) & (rows < high)
            distance[at[inside], rows[inside] - low] = np.inf
            found = np.argmin(distance, axis=1)
            value = distance[at, found]
            better = value < gap[begin + at]
            gap[begin + at[better]] = value[better]
            best[begin + at[better]] = low + found[better]
    return best, gap.astype(np.float64)
