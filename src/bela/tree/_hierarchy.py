"""A fixed hierarchical clustering of all rows: what HSAL and PLAL walk down.

The nodes are numbered level by level, the root being 0: parents come before their children, and a level is a
run of numbers, so that a pass up or down the tree is one vector operation a level. The rows under any node are
one slice of a single permutation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bela.errors import DataError, QuestionError
from bela.records import IntArray

NO_NODE = -1
"""What stands for the parent of the root and the children of a leaf."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterTree:
    """A binary tree over the rows, every node of which is a cluster of at least one row.

    Parameters
    ----------
    parent, left, right
        For each node, its parent and its children; NO_NODE where there is none.
    size, depth
        For each node, how many rows are under it, and how many steps it is from the root.
    start
        For each node, where its rows begin in `order`.
    order
        A permutation of the rows: those under `v` are `order[start[v] : start[v] + size[v]]`.
    leaf_of
        For each row, the leaf that it is in.
    """

    parent: IntArray
    left: IntArray
    right: IntArray
    size: IntArray
    depth: IntArray
    start: IntArray
    order: IntArray
    leaf_of: IntArray

    def __post_init__(self) -> None:
        n_nodes = len(self.parent)
        if any(len(a) != n_nodes for a in (self.left, self.right, self.size, self.depth, self.start)):
            raise DataError("the arrays of a cluster tree must have one entry for each node")
        if n_nodes == 0 or len(self.order) != self.size[0] or len(self.leaf_of) != self.size[0]:
            raise DataError("the root of a cluster tree must hold every row")
        inner = np.flatnonzero(self.left != NO_NODE)
        left, right = self.left[inner], self.right[inner]
        child = np.sort(np.concatenate([left, right]))
        if not np.array_equal(child, np.arange(1, n_nodes)) or not np.array_equal(
            self.right == NO_NODE, self.left == NO_NODE
        ):
            raise DataError("every node of a cluster tree but the root must be a child once, of a pair")
        if (
            self.parent[0] != NO_NODE
            or not np.array_equal(self.parent[left], inner)
            or not np.array_equal(self.parent[right], inner)
            or np.any(self.parent[1:] >= np.arange(1, n_nodes))
        ):
            raise DataError("parents and children of a cluster tree must agree, parents numbered first")
        if (
            np.any(self.size < 1)
            or not np.array_equal(self.size[left] + self.size[right], self.size[inner])
            or self.depth[0] != 0
            or not np.array_equal(self.depth[1:], self.depth[self.parent[1:]] + 1)
            or np.any(np.diff(self.depth) < 0)
        ):
            raise DataError("sizes of a cluster tree must add up and its nodes be numbered by depth")
        if (
            self.start[0] != 0
            or not np.array_equal(self.start[left], self.start[inner])
            or not np.array_equal(self.start[right], self.start[left] + self.size[left])
        ):
            raise DataError("the rows of a cluster tree's node must be those of its children, side by side")
        if not np.array_equal(np.sort(self.order), np.arange(self.size[0])):
            raise DataError("the order of a cluster tree must be a permutation of the rows")
        leaf = self.leaf_of[self.order]
        place = np.arange(self.size[0])
        if (
            np.any((leaf < 0) | (leaf >= n_nodes))
            or np.any(self.left[leaf] != NO_NODE)
            or np.any((place < self.start[leaf]) | (place >= self.start[leaf] + self.size[leaf]))
        ):
            raise DataError("every row of a cluster tree must lie in the slice of its leaf")

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, leaves included."""
        return len(self.parent)

    @property
    def n_rows(self) -> int:
        """How many rows are clustered."""
        return len(self.order)

    @property
    def levels(self) -> IntArray:
        """Where each level's nodes begin, and after the last level the number of nodes."""
        edges: IntArray = np.searchsorted(self.depth, np.arange(int(self.depth[-1]) + 2))
        return edges

    def rows(self, node: int) -> IntArray:
        """Return the rows under a node."""
        if not 0 <= node < self.n_nodes:
            raise QuestionError(f"a cluster tree of {self.n_nodes} nodes has no node {node}")
        return self.order[self.start[node] : self.start[node] + self.size[node]]

    @classmethod
    def from_links(cls, left: IntArray, right: IntArray, leaf_of: IntArray) -> ClusterTree:
        """Build the tree from children and each row's leaf, with the nodes numbered in any way.

        Examples
        --------
        >>> import numpy as np
        >>> tree = ClusterTree.from_links(np.array([-1, 2, -1]), np.array([-1, 0, -1]), np.array([0, 2, 0]))
        >>> tree.size.tolist(), tree.rows(0).tolist(), tree.rows(2).tolist()
        ([3, 1, 2], [1, 0, 2], [0, 2])
        """
        left, right, leaf_of = (np.asarray(a, dtype=np.int64) for a in (left, right, leaf_of))
        n_nodes = len(left)
        if n_nodes == 0 or len(right) != n_nodes:
            raise DataError("a cluster tree needs a left and a right child, or neither, for every node")
        is_child = np.zeros(n_nodes, dtype=bool)
        is_child[left[left != NO_NODE]] = True
        is_child[right[right != NO_NODE]] = True
        levels = [np.flatnonzero(~is_child)]
        if len(levels[0]) != 1:
            raise DataError(f"a cluster tree has one root, not {len(levels[0])}")
        while len(levels[-1]):
            inner = levels[-1][left[levels[-1]] != NO_NODE]
            levels.append(np.column_stack([left[inner], right[inner]]).ravel())
            if len(levels) > n_nodes + 1:
                raise DataError("the children of a cluster tree go round in a circle")
        old = np.concatenate(levels)
        if len(old) != n_nodes:
            raise DataError("every node of a cluster tree must be under the root, once")
        depth = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
        new = np.empty(n_nodes + 1, dtype=np.int64)
        new[old] = np.arange(n_nodes)
        new[NO_NODE] = NO_NODE  # the last place, which a missing child's index -1 reads
        left, right, leaf_of = new[left[old]], new[right[old]], new[leaf_of]
        parent = np.full(n_nodes, NO_NODE, dtype=np.int64)
        inner = np.flatnonzero(left != NO_NODE)
        parent[left[inner]] = inner
        parent[right[inner]] = inner

        size = np.bincount(leaf_of, minlength=n_nodes)
        edges = np.searchsorted(depth, np.arange(int(depth[-1]) + 2))
        for begin, end in zip(edges[-2:0:-1], edges[:1:-1], strict=True):
            np.add.at(size, parent[begin:end], size[begin:end])
        start = np.zeros(n_nodes, dtype=np.int64)
        for begin, end in pairwise(edges):
            inner = begin + np.flatnonzero(left[begin:end] != NO_NODE)
            start[left[inner]] = start[inner]
            start[right[inner]] = start[inner] + size[left[inner]]
        order = np.argsort(start[leaf_of], kind="stable")
        return cls(
            parent=parent, left=left, right=right, size=size, depth=depth, start=start, order=order, leaf_of=leaf_of
        )
