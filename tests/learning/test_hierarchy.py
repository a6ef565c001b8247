"""Fixed hierarchical clusterings: what a tree promises, and both ways to build one."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from bela.data import ArraySource
from bela.errors import BelaError, DataError
from bela.learning import NO_NODE, ClusterTree
from bela.learning._cluster_trees import merge_ward, pca_kmeans_tree, project, split_points, ward_tree

BUILDERS = {"pca-kmeans": pca_kmeans_tree, "ward": ward_tree}


def awkward_data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "one row": np.ones((1, 3)),
        "two rows": np.array([[0.0], [1.0]]),
        "all the same": np.full((50, 2), 7.0),
        "many twice": np.repeat(rng.normal(size=(10, 4)), 9, axis=0),
        "a grid": np.stack(np.meshgrid(np.arange(12), np.arange(12)), -1).reshape(-1, 2),
        "outliers": rng.standard_cauchy((300, 2)),
        "large numbers": rng.normal(size=(60, 70)) * 1e30,
        "more features than components": rng.normal(size=(200, 80)),
    }


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("case", awkward_data())
def test_every_builder_gives_a_valid_tree(builder: str, case: str) -> None:
    """Whatever the data, the tree passes its own checks, holds each row once, and depends on the seed alone."""
    source = ArraySource(awkward_data()[case])
    tree = BUILDERS[builder](source, seed=3)
    assert tree.n_rows == source.n_rows
    for node in range(tree.n_nodes):
        assert len(tree.rows(node)) == tree.size[node] >= 1
        if tree.left[node] != NO_NODE:
            both = np.concatenate([tree.rows(tree.left[node]), tree.rows(tree.right[node])])
            assert np.array_equal(both, tree.rows(node))
    assert all(row in tree.rows(tree.leaf_of[row]) for row in range(tree.n_rows))
    again = BUILDERS[builder](source, seed=3)
    assert np.array_equal(tree.order, again.order)
    assert np.array_equal(tree.parent, again.parent)


def test_leaves_of_two_means_are_small_and_outliers_make_no_chain() -> None:
    """A leaf has at most leaf_size rows even where all are the same, and the depth stays bounded."""
    for points in (np.zeros((500, 3)), 1.5 ** np.arange(100.0)[:, None]):
        tree = pca_kmeans_tree(ArraySource(points), leaf_size=3)
        assert tree.size[tree.left == NO_NODE].max() <= 3
        assert tree.depth.max() <= 70


def test_ward_is_exactly_wards_linkage() -> None:
    """Merging all mutual nearest neighbours at once gives the clusters of SciPy's linkage, one by one."""
    points = np.random.default_rng(1).normal(size=(300, 6))

    def clusters(pairs: np.ndarray) -> set[frozenset[int]]:
        found = [frozenset([i]) for i in range(len(points))]
        for a, b in pairs:
            found.append(found[int(a)] | found[int(b)])
        return set(found)

    assert clusters(merge_ward(points, np.ones(300))) == clusters(linkage(points, "ward")[:, :2])
    # The twin: another linkage must not pass for Ward's.
    assert clusters(merge_ward(points, np.ones(300))) != clusters(linkage(points, "average")[:, :2])


def test_ward_of_groups_keeps_to_its_limit(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    """Past max_exact rows the leaves are groups, no more of them than allowed, and clusters stay together."""
    X, y = blobs
    tree = ward_tree(ArraySource(X), max_exact=100)
    assert np.count_nonzero(tree.left == NO_NODE) <= 100
    three = [n for n in range(1, 5) if tree.parent[n] == 0 or tree.parent[tree.parent[n]] == 0]
    pure = [n for n in three if len(set(y[tree.rows(n)])) == 1]
    assert pure


def test_sparse_rows_are_projected_without_filling_them() -> None:
    """A sparse source gives the same shape of projection as a dense one."""
    X = sparse.random_array((120, 400), density=0.05, rng=np.random.default_rng(0), format="csr")
    assert project(ArraySource(X)).shape == (120, 50)
    assert pca_kmeans_tree(ArraySource(X)).n_rows == 120


@pytest.mark.parametrize(
    ("left", "right", "leaf_of", "why"),
    [
        ([], [], [], "a left and a right child"),
        ([1, -1, -1], [-1, -1, -1], [1, 2], "a left and a right child"),
        ([1, -1, -1], [2, -1], [1, 2], "a left and a right child"),
        ([1, -1, -1], [3, -1, -1], [1, 2], "no others"),
        ([1, -1, -1], [2, -1, -1], [1, 3], "no others"),
        ([1, -1, -1], [2, -1, -1], [1, -1], "must lie in a leaf"),
        ([1, -1, -1], [2, -1, -1], [1, 0], "must lie in a leaf"),
        ([1, -1, -1], [2, -1, -1], [1, 1], "must hold a row"),
        ([-1, -1], [-1, -1], [0, 1], "one root, not 2"),
        ([1, 0, -1], [2, 2, -1], [2], "one root, not 0"),
        ([1, -1, -1, 4, 3], [2, -1, -1, 3, 4], [1, 2], "once"),
        ([1, -1, -1], [1, -1, -1], [1, 2], "one root, not 2"),
        ([1, 2, -1, -1], [3, 2, -1, -1], [2, 3], "once"),
    ],
)
def test_a_tree_refuses_links_that_make_no_tree(
    left: list[int], right: list[int], leaf_of: list[int], why: str
) -> None:
    """Whatever is not one binary tree, with a row in every leaf and every row in one, is refused with its reason."""
    with pytest.raises(DataError, match=why):
        ClusterTree(np.array(left, int), np.array(right, int), np.array(leaf_of, int))


def test_a_tree_has_no_nodes_but_its_own() -> None:
    """Rows of a node that there is none of are an error."""
    tree = split_points(np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32))
    with pytest.raises(BelaError):
        tree.rows(tree.n_nodes)
