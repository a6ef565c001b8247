"""Cluster trees of all rows, from their leading principal components: from the top by 2-means, from the bottom by Ward.

PCA once and 2-means at every node is what the BELA paper gives to HSAL and PLAL for its images, where linkage was too
slow. Ward's linkage is the tree of the HSAL paper's experiments. It is exact, and without the table of all distances:
Ward's distance follows from sizes and means alone, and since it is reducible (a merger is never nearer to a third
cluster than the nearer of its parts), all pairs that are each other's nearest neighbour can be merged at once without
changing the tree. Memory is that of the points; time is quadratic. Past `max_exact` clusters, small groups from 2-means
take the place of single rows.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bela.bounds import draw_order
from bela.errors import DataError, ParameterError, QuestionError
from bela.learning._graph import Doubles
from bela.protocols import Source
from bela.records import BoolArray, IntArray, Matrix

Points = npt.NDArray[np.float32]

NO_NODE = -1  # what stands for the parent of the root and the children of a leaf
_BASIS_ROWS = 10_000  # rows that the principal directions are learnt from: more do not move them visibly
_DENSE_FEATURES = 3_000  # up to here the covariance matrix is cheap and exact
_MAX_DEPTH = 60  # 2-means that peels off outliers one by one would make a tree as deep as the data
_TILE = (256, 4096)  # distances looked at together: 4 MB, which stays in the cache


class ClusterTree:
    """A binary tree over the rows, every node of which is a cluster of at least one row.

    It is made from the children of each node, NO_NODE for those of a leaf, and each row's leaf, with the nodes numbered
    in any way; here they are numbered anew, level by level from the root, 0, so that a pass up or down the tree is one
    vector operation a level. Nodes have a `parent` and children `left` and `right`, a `size` in rows and a `depth`
    below the root. Under node `v` are the rows `order[start[v] : start[v] + size[v]]`, and row `i` is in leaf
    `leaf_of[i]`. A level's nodes begin at its place in `levels`, at whose end is the number of nodes.

    >>> tree = ClusterTree(np.array([-1, 2, -1]), np.array([-1, 0, -1]), np.array([0, 2, 0]))
    >>> tree.size.tolist(), tree.rows(0).tolist(), tree.rows(2).tolist()
    ([3, 1, 2], [1, 0, 2], [0, 2])
    """

    def __init__(self, left: IntArray, right: IntArray, leaf_of: IntArray) -> None:
        left, right, leaf_of = (np.asarray(a, dtype=np.int64) for a in (left, right, leaf_of))
        n_nodes = len(left)
        if n_nodes == 0 or not np.array_equal(left == NO_NODE, right == NO_NODE):
            raise DataError("a cluster tree needs a left and a right child, or neither, for every node")
        for nodes in (left, right, leaf_of):
            if np.any((nodes < NO_NODE) | (nodes >= n_nodes)):
                raise DataError(f"a cluster tree of {n_nodes} nodes has no others, neither as children nor as leaves")
        if np.any(leaf_of == NO_NODE) or np.any(left[leaf_of] != NO_NODE):
            raise DataError("every row of a cluster tree must lie in a leaf")
        old, depth = _by_level(left, right)
        new = np.empty(n_nodes + 1, dtype=np.int64)
        new[old] = np.arange(n_nodes)
        new[NO_NODE] = NO_NODE  # the last place, which a missing child's index -1 reads
        left, right, leaf_of = new[left[old]], new[right[old]], new[leaf_of]
        parent = np.full(n_nodes, NO_NODE, dtype=np.int64)
        inner = np.flatnonzero(left != NO_NODE)
        parent[left[inner]] = parent[right[inner]] = inner
        size = np.bincount(leaf_of, minlength=n_nodes)
        edges = np.searchsorted(depth, np.arange(int(depth[-1]) + 2))
        for begin, end in zip(edges[-2:0:-1], edges[:1:-1], strict=True):
            np.add.at(size, parent[begin:end], size[begin:end])
        if np.any(size < 1):
            raise DataError("every leaf of a cluster tree must hold a row")
        start = np.zeros(n_nodes, dtype=np.int64)
        for begin, end in pairwise(edges):
            inner = begin + np.flatnonzero(left[begin:end] != NO_NODE)
            start[left[inner]] = start[inner]
            start[right[inner]] = start[inner] + size[left[inner]]
        self.parent, self.left, self.right, self.size, self.depth, self.start = parent, left, right, size, depth, start
        self.order: IntArray = np.argsort(start[leaf_of], kind="stable")
        self.leaf_of, self.levels, self.n_nodes, self.n_rows = leaf_of, edges, n_nodes, len(leaf_of)

    def rows(self, node: int) -> IntArray:
        """Return the rows under a node."""
        if not 0 <= node < self.n_nodes:
            raise QuestionError(f"a cluster tree of {self.n_nodes} nodes has no node {node}")
        return self.order[self.start[node] : self.start[node] + self.size[node]]


def _by_level(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Return the nodes level by level, and how deep each of them is."""
    levels = [np.setdiff1d(np.arange(len(left)), np.concatenate([left, right]))]
    if len(levels[0]) != 1:
        raise DataError(f"a cluster tree has one root, not {len(levels[0])}")
    while len(levels[-1]):
        inner = levels[-1][left[levels[-1]] != NO_NODE]
        levels.append(np.column_stack([left[inner], right[inner]]).ravel())
        if len(levels) > len(left) + 1:
            raise DataError("the children of a cluster tree go round in a circle")
    nodes = np.concatenate(levels)
    if len(nodes) != len(left) or len(np.unique(nodes)) != len(nodes):
        raise DataError("every node of a cluster tree must be under the root, once")
    return nodes, np.repeat(np.arange(len(levels)), [len(level) for level in levels])


def project(source: Source, *, n_components: int = 50, seed: int = 0) -> Points:
    """Describe every row by its leading principal components, learnt from a random sample of rows.

    The result is scaled so that its largest entry is 1: a tree does not depend on the scale, and nothing overflows.
    Dense rows are centred; sparse rows are not (it would fill them), which makes this a truncated SVD.
    """
    if n_components < 1:
        raise ParameterError(f"a projection needs at least 1 component, not {n_components}")
    if source.n_rows == 0:
        raise DataError("there are no rows to cluster")
    sample = source.take(np.sort(draw_order(np.arange(source.n_rows), seed, stream=1)[:_BASIS_ROWS]))
    sparse = not isinstance(sample, np.ndarray)
    mean = np.zeros(sample.shape[1], np.float32)
    if not sparse:
        sample = sample.reshape(len(sample), -1).astype(np.float32)
        mean = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
        sample -= mean
    n_features = sample.shape[1]
    scale = _largest(sample.data if sparse else sample)
    sample = sample / scale  # squares of large features would overflow
    k = min(n_components, n_features)
    if k == n_features and not sparse:
        basis = np.eye(n_features, dtype=np.float32)  # nothing to leave out
    elif sparse or n_features > _DENSE_FEATURES:
        from sklearn.utils.extmath import randomized_svd

        k = min(k, *sample.shape)
        basis = np.asarray(randomized_svd(sample, k, n_iter=4, random_state=seed % 2**32)[2].T, np.float32)
    else:
        basis = np.linalg.eigh(sample.T @ sample)[1][:, ::-1][:, :k].astype(np.float32)
    basis /= scale
    offset = mean @ basis

    def apply(block: Matrix) -> Points:
        block = block.reshape(len(block), -1).astype(np.float32, copy=False) if not sparse else block
        return np.asarray(block @ basis, dtype=np.float32) - offset

    points: Points = np.ascontiguousarray(source.scan(apply), dtype=np.float32)
    points /= _largest(points)
    return points


def _largest(values: Points) -> float:
    """Return the largest absolute value, 1 where all are zero."""
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    if not np.isfinite(largest):
        raise DataError("the features have NaN or infinite values; fill or drop them first")
    return largest


def pca_kmeans_tree(
    source: Source, *, n_components: int = 50, leaf_size: int = 4, n_iterations: int = 10, seed: int = 0
) -> ClusterTree:
    """Cluster the rows of a source by PCA and hierarchical 2-means, down to leaves of at most `leaf_size` rows."""
    points = project(source, n_components=n_components, seed=seed)
    return split_points(points, leaf_size=leaf_size, n_iterations=n_iterations, seed=seed)


def split_points(points: Points, *, leaf_size: int = 4, n_iterations: int = 10, seed: int = 0) -> ClusterTree:
    """Cut points in two by 2-means, and the halves again, down to leaves of at most `leaf_size`; equals at random."""
    if leaf_size < 1 or n_iterations < 1:
        raise ParameterError("leaf_size and n_iterations must be at least 1")
    n_rows = len(points)
    order = draw_order(np.arange(n_rows), seed, stream=2)
    sorted_points = points[order]  # kept in step with `order`: a node is a slice, its points contiguous
    left, right, begin, end, depth = [NO_NODE], [NO_NODE], [0], [n_rows], [0]
    leaf_of = np.zeros(n_rows, dtype=np.int64)
    node = 0
    while node < len(left):
        a, b = begin[node], end[node]
        if b - a <= leaf_size:
            leaf_of[order[a:b]] = node
        else:
            block = sorted_points[a:b]
            deep = depth[node] >= _MAX_DEPTH
            key = block[:, 0] if deep else _two_means(block, n_iterations)
            n_left = 0 if deep else len(key) - int(np.count_nonzero(key))
            move = np.argsort(key, kind="stable")
            if n_left in (0, b - a):  # no difference to cut by: halves in the order they have, which began random
                n_left = (b - a) // 2
            sorted_points[a:b] = block[move]
            order[a:b] = order[a:b][move]
            left[node], right[node] = len(left), len(left) + 1
            left += [NO_NODE, NO_NODE]
            right += [NO_NODE, NO_NODE]
            begin += [a, a + n_left]
            end += [a + n_left, b]
            depth += [depth[node] + 1] * 2
        node += 1
    return ClusterTree(np.array(left), np.array(right), leaf_of)


def _two_means(points: Points, n_iterations: int) -> BoolArray:
    """Say for each point which of two means it belongs to; all the same where there is nothing to cut by."""
    n = len(points)
    total = points.sum(axis=0)
    mean = total / n
    # A few steps of the power method from the point furthest out: 2-means needs no exact principal direction.
    centred = points - mean if n <= 4096 else points[:: n // 2048] - mean
    direction = centred[int(np.argmax(np.einsum("ij,ij->i", centred, centred)))]
    for _ in range(4):
        length = float(np.sqrt(direction @ direction))
        if length <= 1e-12:
            return np.zeros(n, dtype=np.bool_)
        direction = (direction / length) @ centred.T @ centred
    side: BoolArray = points @ direction > mean @ direction
    n_right = int(np.count_nonzero(side))
    for _ in range(n_iterations if n > 8 else 2):
        if n_right in (0, n):
            break
        sum_right = side.astype(np.float32) @ points
        mean_right, mean_left = sum_right / n_right, (total - sum_right) / (n - n_right)
        direction = mean_right - mean_left
        new = points @ direction > 0.5 * float((mean_right + mean_left) @ direction)
        if np.array_equal(new, side):
            break
        side, n_right = new, int(np.count_nonzero(new))
    return side


def ward_tree(source: Source, *, n_components: int = 50, max_exact: int = 65_000, seed: int = 0) -> ClusterTree:
    """Cluster rows by Ward's linkage on principal components; of at most `max_exact` groups if there are more rows."""
    if max_exact < 2:
        raise ParameterError(f"max_exact must be at least 2, not {max_exact}")
    points = project(source, n_components=n_components, seed=seed)
    group = np.unique(points, axis=0, return_inverse=True)[1].ravel()  # rows that are the same share a leaf
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
    left, right = np.concatenate([np.full((n_groups, 2), NO_NODE), merge_ward(means, weight)]).T
    return ClusterTree(left, right, group)


def merge_ward(means: Doubles, weight: Doubles) -> IntArray:
    """Merge clusters by Ward's criterion until one is left; row i names the parts of cluster n + i, not by height."""
    n = len(means)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    name = np.arange(n)
    near = np.full(n, -1)  # position of the nearest other cluster, where it is still valid
    gap = np.full(n, np.inf)
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
        near = np.concatenate([moved[near[stays]], np.full(len(first), -1)])
        gap = np.concatenate([gap[stays], np.full(len(first), np.inf)])
        means = np.concatenate([means[stays], merged])
        weight = np.concatenate([weight[stays], both])
        name = np.concatenate([name[stays], name.max() + 1 + np.arange(len(first))])
    return np.concatenate(pairs)


def _nearest(means: Doubles, weight: Doubles, queries: IntArray) -> tuple[IntArray, Doubles]:
    """Find for some clusters the nearest other one, and how far it is by Ward's criterion."""
    points: Points = means.astype(np.float32)
    # One product gives |b|^2 - 2ab: the points get a column with their squared length, the queries a column of 1.
    square = np.einsum("ij,ij->i", points, points)
    target = np.ascontiguousarray(np.column_stack([-2.0 * points, square]).T, dtype=np.float32)
    asked = np.column_stack([points, np.ones(len(points), np.float32)])
    inverse = (1.0 / weight).astype(np.float32)
    alike = bool(np.all(weight == weight[0]))
    best, gap = np.full(len(queries), -1), np.full(len(queries), np.inf, dtype=np.float32)
    for begin in range(0, len(queries), _TILE[0]):
        rows = queries[begin : begin + _TILE[0]]
        block, own, inv = asked[rows], square[rows, None], inverse[rows, None]
        at = np.arange(len(rows))
        for low in range(0, len(points), _TILE[1]):
            high = min(low + _TILE[1], len(points))
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
