"""Fixed hierarchical clusterings: what a tree promises, and both ways to build one."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from bela.errors import BelaError, DataError
from bela.sources import ArraySource
from bela.tree._hierarchy import NO_NODE, ClusterTree
from bela.tree._pca_kmeans import pca_kmeans_tree, project, split_points
from bela.tree._ward import merge_ward, ward_tree

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


def test_a_tree_refuses_arrays_that_do_not_fit_together() -> None:
    """Any one array changed makes the tree invalid."""
    tree = split_points(np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32))
    names = ("parent", "left", "right", "size", "depth", "start", "order", "leaf_of")
    good = {name: getattr(tree, name) for name in names}
    ClusterTree(**good)
    for name in names:
        wrong = good[name].copy()
        wrong[0] = wrong[1] if name in ("order", "leaf_of") and wrong[0] != wrong[1] else wrong[0] + 5
        with pytest.raises(DataError):
            ClusterTree(**{**good, name: wrong})
    with pytest.raises(DataError):
        ClusterTree.from_links(np.array([-1, -1]), np.array([-1, -1]), np.array([0, 1]))
    with pytest.raises(BelaError):
        tree.rows(tree.n_nodes)
