"""Cluster the rows from the top down: PCA once, then 2-means at every node.

This is the tree that the BELA paper gives to HSAL and PLAL for its images, where linkage was too slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError, ParameterError
from bela.protocols import Source
from bela.records import Matrix
from bela.tree._hierarchy import NO_NODE, ClusterTree
from bela.tree._priority import draw_order

Points = npt.NDArray[np.float32]

_BASIS_ROWS = 10_000  # rows that the principal directions are learnt from: more do not move them visibly
_DENSE_FEATURES = 3_000  # up to here the covariance matrix is cheap and exact
_MAX_DEPTH = 60  # 2-means that peels off outliers one by one would make a tree as deep as the data


def project(source: Source, *, n_components: int = 50, seed: int = 0) -> Points:
    """Describe every row by its leading principal components, learnt from a random sample of rows.

    The result is scaled so that its largest entry is 1: a tree does not depend on the scale, and nothing overflows.

    Dense rows are centred; sparse rows are not (it would fill them), which makes this a truncated SVD.
    """
    if n_components < 1:
        raise ParameterError(f"a projection needs at least 1 component, not {n_components}")
    n_rows = source.n_rows
    if n_rows == 0:
        raise DataError("there are no rows to cluster")
    chosen = np.sort(draw_order(np.arange(n_rows), seed, stream=1)[:_BASIS_ROWS])
    sample = source.take(chosen)
    sparse = not isinstance(sample, np.ndarray)
    if not sparse:
        sample = sample.reshape(len(sample), -1).astype(np.float32)
    n_features = sample.shape[1]
    mean = np.zeros(n_features, np.float32) if sparse else sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    if not sparse:
        sample -= mean
    scale = float(np.max(np.abs(sample.data if sparse else sample), initial=0.0)) or 1.0
    if not np.isfinite(scale):
        raise DataError("the features have NaN or infinite values; fill or drop them first")
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

    def apply(block: Matrix) -> npt.NDArray[Any]:
        block = block.reshape(len(block), -1).astype(np.float32, copy=False) if not sparse else block
        return np.asarray(block @ basis, dtype=np.float32) - offset

    points: Points = np.ascontiguousarray(source.scan(apply), dtype=np.float32)
    scale = float(np.max(np.abs(points), initial=0.0)) or 1.0
    if not np.isfinite(scale):
        raise DataError("the features have NaN or infinite values; fill or drop them first")
    points /= scale
    return points


def pca_kmeans_tree(
    source: Source, *, n_components: int = 50, leaf_size: int = 4, n_iterations: int = 10, seed: int = 0
) -> ClusterTree:
    """Cluster the rows of a source by PCA and hierarchical 2-means, down to leaves of at most `leaf_size` rows."""
    return split_points(
        project(source, n_components=n_components, seed=seed),
        leaf_size=leaf_size,
        n_iterations=n_iterations,
        seed=seed,
    )


def split_points(points: Points, *, leaf_size: int = 4, n_iterations: int = 10, seed: int = 0) -> ClusterTree:
    """Cut points in two by 2-means, and the halves again, down to leaves of at most `leaf_size` points.

    Points that are all the same are cut at random, so that leaves stay small whatever the data.
    """
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
            if depth[node] < _MAX_DEPTH:
                side = _two_means(block, n_iterations)
                n_left = int(np.count_nonzero(~side))
                move = np.argsort(side, kind="stable")
            else:
                n_left = 0
                move = np.argsort(block[:, 0], kind="stable")
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
    return ClusterTree.from_links(np.array(left), np.array(right), leaf_of)


def _two_means(points: Points, n_iterations: int) -> npt.NDArray[np.bool_]:
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
    side: npt.NDArray[np.bool_] = points @ direction > mean @ direction
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
