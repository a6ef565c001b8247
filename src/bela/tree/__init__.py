"""Leaves, counts and the order in which rows are drawn."""

from bela.tree._leaf import Candidate, Leaf, RowState, count
from bela.tree._priority import draw_order, priorities

__all__ = ["Candidate", "Leaf", "RowState", "count", "draw_order", "priorities"]
