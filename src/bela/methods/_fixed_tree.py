"""What HSAL and PLAL share: a clustering that is fixed before the first answer, and the state of each row."""

from __future__ import annotations

import numpy as np

from bela.errors import ParameterError, QuestionError
from bela.methods._replaying import PlainReplay
from bela.protocols import Source
from bela.records import UNKNOWN, IntArray, Labelling, Role
from bela.tree._hierarchy import NO_NODE, ClusterTree
from bela.tree._pca_kmeans import pca_kmeans_tree
from bela.tree._priority import priorities
from bela.tree._ward import ward_tree

FREE, OPEN, ANSWERED, SKIPPED, DRAWN = range(5)
"""A row not asked, asked, answered, skipped; and one whose label came with the data and was drawn at no cost."""


class FixedTreeMethod(PlainReplay):
    """A method that walks down a fixed tree; `_count` tells the rest of it about each answer that comes or goes."""

    n_revisions = 0

    def __init__(self, source: Source, *, tree: str | ClusterTree, confidence: float, seed: int) -> None:
        if not 0.0 < confidence < 1.0:
            raise ParameterError(f"confidence lies strictly between 0 and 1, not {confidence}")
        if isinstance(tree, ClusterTree):
            self.tree = tree
        elif tree == "pca-kmeans":
            self.tree = pca_kmeans_tree(source, seed=seed)
        elif tree == "ward":
            self.tree = ward_tree(source, seed=seed)
        else:
            raise ParameterError(f"the tree is 'pca-kmeans', 'ward' or a ClusterTree, not {tree!r}")
        if self.tree.n_rows != source.n_rows:
            raise ParameterError(f"the tree is over {self.tree.n_rows} rows, the data have {source.n_rows}")
        self._confidence = confidence
        self._codes = np.full(self.tree.n_rows, UNKNOWN, dtype=np.int64)
        self._state = np.full(self.tree.n_rows, FREE, dtype=np.int8)
        self._order = np.argsort(priorities(np.arange(self.tree.n_rows), seed))
        self._rank = np.empty_like(self._order)  # every row's place in the random order of all rows
        self._rank[self._order] = np.arange(self.tree.n_rows)
        self._n_answers = 0

    def know(self, rows: IntArray, codes: IntArray) -> None:
        """Take in labels that the data brought with them; they are used when their rows are drawn, at no cost."""
        rows, codes = np.asarray(rows), np.asarray(codes)
        if len(rows) != len(codes) or np.any((rows < 0) | (rows >= self.tree.n_rows)) or np.any(codes < 0):
            raise QuestionError("known labels need one class code from 0 for each of some rows of the data")
        if np.any(self._state[rows] != FREE):
            raise QuestionError("known labels must be given before their rows are asked")
        self._codes[rows] = codes
        self._restart()

    def observe(self, row: int, role: Role, code: int) -> None:
        """Take in the answer to a proposed question."""
        self._expect(row, OPEN)
        if code < 0:
            raise QuestionError(f"a class code counts from 0, so {code} is none")
        self._state[row], self._codes[row] = ANSWERED, code
        self._n_answers += 1
        self._count(row, code, 1)

    def skip(self, row: int, role: Role) -> None:
        """Take note that the oracle would not answer; the row counts as drawn, and as having no label."""
        self._expect(row, OPEN)
        self._state[row] = SKIPPED
        self._count(row, UNKNOWN, 1)

    def retract(self, row: int, role: Role) -> None:
        """Open the question again."""
        self._expect(row, ANSWERED, SKIPPED)
        code = int(self._codes[row])
        self._n_answers -= int(self._state[row] == ANSWERED)
        self._state[row], self._codes[row] = OPEN, UNKNOWN
        self._count(row, code, -1)

    def revise(self, row: int, role: Role, code: int) -> None:
        """Replace an answer, or a label that the data brought, by another."""
        self._expect(row, ANSWERED, DRAWN, FREE)
        old = int(self._codes[row])
        if old == UNKNOWN or code < 0:
            raise QuestionError(f"row {row} has no label to replace, or {code} is no class code")
        self._codes[row] = code
        if self._state[row] != FREE:
            self._count(row, old, -1)
            self._count(row, code, 1)
        self._restart()

    def _expect(self, row: int, *states: int) -> None:
        if not 0 <= row < self.tree.n_rows:
            raise QuestionError(f"the data have rows 0 to {self.tree.n_rows - 1}, and no row {row}")
        if self._state[row] not in states:
            raise QuestionError(f"row {row} is not in a state for that: propose it first, or retract its answer")

    def _count(self, row: int, code: int, sign: int) -> None:
        """Count an answer (UNKNOWN: a skip) that came, or with sign -1 one that went."""
        raise NotImplementedError

    def forecast(self) -> None:
        return None

    def _restart(self) -> None:
        """Forget what was concluded from labels that have now changed."""

    def _label_rows(self, cells: IntArray, labels: IntArray) -> Labelling:
        """Give every row the label of its cell, and known rows their own; the cells tile the tree's order."""
        by_start = np.argsort(self.tree.start[cells])
        cells, labels = cells[by_start], labels[by_start]
        size = self.tree.size[cells]
        codes, leaf = np.empty_like(self._codes), np.empty_like(self._codes)
        codes[self.tree.order] = np.repeat(labels, size)
        leaf[self.tree.order] = np.repeat(np.arange(len(cells)), size)
        known = self._codes != UNKNOWN
        codes[known] = self._codes[known]
        return Labelling(codes=codes, leaf=leaf, n_leaves=len(cells))

    def _inherit(self, cells: IntArray, label: IntArray) -> IntArray:
        """Look up the label of each cell, or of its nearest ancestor that has one; at last the majority of all."""
        at = cells.copy()
        while np.any(climb := (label[at] == UNKNOWN) & (self.tree.parent[at] != NO_NODE)):
            at[climb] = self.tree.parent[at[climb]]
        found = label[at]
        known = self._codes[self._codes != UNKNOWN]
        common = int(np.argmax(np.bincount(known))) if len(known) else UNKNOWN
        result: IntArray = np.where(found == UNKNOWN, common, found)
        return result
