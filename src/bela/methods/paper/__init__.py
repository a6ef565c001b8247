"""The method of the paper: a tree that is cut by models, and a bound for each leaf."""

from bela.methods.paper._method import BelaPaper, RowState
from bela.methods.paper._splitters import SPLITTERS, LinearSVM, make_splitter

__all__ = ["SPLITTERS", "BelaPaper", "LinearSVM", "RowState", "make_splitter"]
