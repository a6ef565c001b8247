"""Leaves, counts and the order in which rows are drawn; cluster trees that are fixed beforehand."""

from bela.tree._hierarchy import ClusterTree
from bela.tree._leaf import Candidate, Leaf, RowState, count
from bela.tree._pca_kmeans import pca_kmeans_tree
from bela.tree._priority import draw_order, priorities
from bela.tree._ward import ward_tree

__all__ = [
    "Candidate",
    "ClusterTree",
    "Leaf",
    "RowState",
    "count",
    "draw_order",
    "pca_kmeans_tree",
    "priorities",
    "ward_tree",
]
