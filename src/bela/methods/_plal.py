"""PLAL: cluster-based active learning under probabilistic Lipschitzness (Urner, Wulff and Ben-David 2013).

Level by level, every cell of a fixed tree is put on trial: the first so many of its rows, in random order, are asked.
If they agree, the whole cell gets their label; if not, its children are tried. What is known decides everything:
the state is a function of the answers, whatever order they came in.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from bela.bounds._plal import cell_right_lower, trial_size
from bela.errors import ParameterError
from bela.methods._fixed_tree import FREE, OPEN, SKIPPED, FixedTreeMethod
from bela.protocols import Source
from bela.records import UNKNOWN, Certificate, IntArray, Labelling, Proposal, Role
from bela.tree._hierarchy import NO_NODE, ClusterTree


class PLAL(FixedTreeMethod):
    """Trials of the cells of a fixed tree, from the root down.

    Parameters
    ----------
    source
        Where the features come from; looked at only to build the tree.
    tree
        "pca-kmeans", "ward", or a tree that was built before.
    epsilon
        The share of a cell's rows that may be wrong after it has passed its trial.
    confidence
        With which at most that share is wrong in all cells that passed.
    seed
        Fixes the tree and the order of the rows.

    Notes
    -----
    Within a level the largest cells are tried first. A cell of no more rows than its trial is asked completely, and
    so is a leaf that fails. When every cell is settled, the rows left are asked in random order.
    """

    def __init__(
        self,
        source: Source,
        *,
        tree: str | ClusterTree = "pca-kmeans",
        epsilon: float = 0.1,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> None:
        if not 0.0 < epsilon < 1.0:
            raise ParameterError(f"epsilon lies strictly between 0 and 1, not {epsilon}")
        super().__init__(source, tree=tree, confidence=confidence, seed=seed)
        self._epsilon = epsilon
        self._trial = np.minimum(trial_size(self.tree.depth, epsilon=epsilon, alpha=1.0 - confidence), self.tree.size)
        self._settled = False
        self._restart()

    @property
    def name(self) -> str:
        """The name by which it is chosen."""
        return "plal"

    @property
    def batch(self) -> int:
        """A trial at the root, later 1 % of what is known: the questions of a trial do not depend on each other."""
        return max(int(self._trial[0]), self._n_answers // 100)

    def propose(self, n: int) -> Sequence[Proposal]:
        """Choose the next rows of the open trials; when none is left, any rows."""
        self._settle()
        chosen: list[int] = []
        while self._agenda and len(chosen) < n:
            rows = self._agenda[0][-1]
            while rows and len(chosen) < n:
                row = rows.pop()
                if self._state[row] == FREE and self._codes[row] == UNKNOWN:
                    chosen.append(row)
            if not rows:
                heapq.heappop(self._agenda)
        # Open trials wait for answers that are on their way; asking elsewhere is better than asking nothing.
        while n > 0 and not chosen and self._spare < self.tree.n_rows:
            rest = self._order[self._spare : self._spare + n]
            self._spare += len(rest)
            chosen = rest[(self._state[rest] == FREE) & (self._codes[rest] == UNKNOWN)].tolist()
        self._state[chosen] = OPEN
        return [Proposal(row=row, role=Role.BOUNDS) for row in chosen]

    def labelling(self) -> Labelling:
        """Label every row: in cells that passed by the trial, elsewhere by the majority of what is known nearby."""
        self._settle()
        cells = np.flatnonzero(self._current)
        label = self._verdict.copy()
        open_cells = cells[label[cells] == UNKNOWN]
        label[open_cells] = [self._majority(cell) for cell in open_cells]
        while len(open_cells := open_cells[label[open_cells] == UNKNOWN]):
            open_cells = self.tree.parent[open_cells]
            open_cells = np.unique(open_cells[open_cells != NO_NODE])
            label[open_cells] = [self._majority(cell) for cell in open_cells]
        return self._label_rows(cells, self._inherit(cells, label))

    def certificate(self) -> Certificate:
        """Add up the rows that are known and those that the trials vouch for; undecided cells count as wrong."""
        self._settle()
        cells = np.flatnonzero(self._current)
        cells = cells[np.argsort(self.tree.start[cells])]
        codes, start, size = self._codes[self.tree.order], self.tree.start[cells], self.tree.size[cells]
        verdict = self._verdict[cells]
        known = codes != UNKNOWN
        n_known = np.add.reduceat(known.astype(np.int64), start)
        n_other = np.add.reduceat((known & (codes != np.repeat(verdict, size))).astype(np.int64), start)
        vouched = np.where(verdict != UNKNOWN, cell_right_lower(size, n_known, n_other, epsilon=self._epsilon), 0.0)
        return Certificate(
            lower=float(n_known.sum() + vouched.sum()) / self.tree.n_rows,
            confidence=self._confidence,
            kind="plal",
            n_training=0,
            n_bounds=self._n_answers,
        )

    def _count(self, row: int, code: int, sign: int) -> None:
        if sign < 0:
            self._restart()
        elif self._settled and (cell := int(self._waits[row])) != NO_NODE:
            self._waits[row] = NO_NODE
            self._missing[cell] -= 1
            if self._missing[cell] == 0:
                self._judge(cell)

    def _restart(self) -> None:
        self._settled = False  # worked out anew when it is next needed

    def _settle(self) -> None:
        """Work out every verdict from what is known, if that was not kept up to date."""
        if self._settled:
            return
        n_nodes = self.tree.n_nodes
        self._verdict = np.full(n_nodes, UNKNOWN)
        self._current = np.zeros(n_nodes, dtype=bool)  # the cells that tile the data: on trial, passed or known
        self._missing = np.zeros(n_nodes, dtype=np.int64)
        self._waits = np.full(self.tree.n_rows, NO_NODE)  # the cell whose trial waits for a row
        self._agenda: list[tuple[int, int, int, list[int]]] = []
        self._spare = 0
        self._settled = True
        self._try(0, int(self._trial[0]))

    def _try(self, cell: int, n_trial: int) -> None:
        """Put a cell on trial, and its children if it fails, as far as the answers go."""
        pending = [(cell, n_trial)]
        while pending:
            cell, n_trial = pending.pop()
            self._current[cell] = True
            rows = self._first_rows(cell, n_trial)
            unsure = rows[(self._codes[rows] == UNKNOWN) & (self._state[rows] != SKIPPED)]
            if len(unsure) == 0:
                pending += self._next(cell, rows)
                continue
            self._waits[unsure] = cell
            self._missing[cell] = len(unsure)
            ask = unsure[self._state[unsure] == FREE]
            entry = (int(self.tree.depth[cell]), -int(self.tree.size[cell]), cell, ask[::-1].tolist())
            heapq.heappush(self._agenda, entry)

    def _judge(self, cell: int) -> None:
        """Close a trial that has all its answers."""
        for next_cell, n_trial in self._next(cell, self._first_rows(cell, int(self._trial[cell]))):
            self._try(next_cell, n_trial)

    def _next(self, cell: int, rows: IntArray) -> list[tuple[int, int]]:
        """Decide on a cell whose trial rows are known or skipped, and name the trials that follow."""
        codes = self._codes[rows]
        size = int(self.tree.size[cell])
        if codes[0] != UNKNOWN and np.all(codes == codes[0]):
            self._verdict[cell] = codes[0]
            return []
        if len(rows) == size:
            return []
        if self.tree.left[cell] == NO_NODE:
            here = self.tree.rows(cell)
            if np.all((self._codes[here] != UNKNOWN) | (self._state[here] == SKIPPED)):
                return []
            return [(cell, size)]
        self._current[cell] = False
        return [(int(child), int(self._trial[child])) for child in (self.tree.right[cell], self.tree.left[cell])]

    def _first_rows(self, cell: int, n: int) -> IntArray:
        """Return the rows of a cell that come first in the random order."""
        rows = self.tree.rows(cell)
        rank = self._rank[rows]
        if n < len(rows):
            rank = np.partition(rank, n - 1)[:n]
        result: IntArray = self._order[np.sort(rank)]
        return result

    def _majority(self, cell: int) -> int:
        codes = self._codes[self.tree.rows(cell)]
        codes = codes[codes != UNKNOWN]
        return int(np.argmax(np.bincount(codes))) if len(codes) else UNKNOWN
