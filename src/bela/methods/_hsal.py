"""HSAL: hierarchical sampling for active learning (Dasgupta and Hsu 2008).

A pruning, which is a set of clusters that tile the data, starts as the whole dataset and is only ever refined. Each
step draws rows at random from clusters of the pruning, most from those that are large and look impure, and
replaces a cluster by smaller ones below it where the answers say that these can be labelled with fewer errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from bela.bounds._hsal import admissible_labels, label_interval, rest_right_lower
from bela.methods._fixed_tree import DRAWN, FREE, OPEN, FixedTreeMethod
from bela.protocols import Source
from bela.records import UNKNOWN, Certificate, FloatArray, IntArray, Labelling, Proposal, Role
from bela.tree._hierarchy import NO_NODE, ClusterTree


class HSAL(FixedTreeMethod):
    """Hierarchical sampling with active selection on a fixed tree.

    Parameters
    ----------
    source
        Where the features come from; looked at only to build the tree.
    tree
        "pca-kmeans", "ward", or a tree that was built before.
    confidence
        Of the certificate's limits, cluster by cluster. The limits that steer the method are the authors' own.
    as_printed
        Score clusters as the paper does. Otherwise, see the notes.
    seed
        Fixes the tree and the draws.

    Notes
    -----
    The paper scores a cluster by 1 - p of its best admissible label, and as all wrong where no label is admissible;
    such a cluster takes over the label of one above it. The default departs from that in three ways: the score is
    that of the unanswered rows with half an answer added for and against, a cluster with answers has their majority
    label, and one that was admissible once may be cut from then on. It cuts earlier. It was chosen from some 25
    variants on MNIST with the truth in hand. On six other samples of 5,000 and of 10,000 MNIST rows it had 1 to 2
    points more right than the paper's rule at 5 to 10 % of the answers, up to 0.5 at 20 %, and 0.1 to 0.2 less from
    50 % on. On other data the order may differ.

    Answers and counts are always up to date, whatever is retracted or revised; the pruning moves in `propose` alone,
    so that looking at the labelling or the certificate changes nothing that comes after.
    """

    def __init__(
        self,
        source: Source,
        *,
        tree: str | ClusterTree = "pca-kmeans",
        confidence: float = 0.95,
        as_printed: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(source, tree=tree, confidence=confidence, seed=seed)
        self._z = max(NormalDist().inv_cdf(confidence), 0.0)
        self._as_printed = as_printed
        self._rng = np.random.default_rng([seed, 8])
        n_nodes = self.tree.n_nodes
        self._n_label = np.zeros((n_nodes, 2), dtype=np.int32)
        self._n_drawn = np.zeros(n_nodes, dtype=np.int64)
        self._label = np.full(n_nodes, UNKNOWN)  # the label with the most answers
        self._cost = self.tree.size.astype(np.float64)  # rows wrong under the best pruning, as far as is known
        self._split = np.zeros(n_nodes, dtype=bool)  # whether that pruning cuts the node
        self._admissible = np.zeros(n_nodes, dtype=bool)  # whether some label is admissible now,
        self._opened = np.zeros(n_nodes, dtype=bool)  # or was at some earlier proposal
        self._pruning: IntArray = np.zeros(1, dtype=np.int64)
        self._levels = self.tree.levels
        self._queue: list[tuple[int, int, int]] = []
        self._urns: dict[int, list[int]] = {}  # rows of a cluster still to draw, the next one last

    @property
    def name(self) -> str:
        """The name by which it is chosen."""
        return "hsal"

    @property
    def batch(self) -> int:
        """Few at the start, where every answer moves the pruning, then 1 % of what is known."""
        return max(1, self._n_answers // 100)

    def propose(self, n: int) -> Sequence[Proposal]:
        """Bring the pruning up to date, choose clusters by size and doubt, and draw rows from them."""
        self._digest()
        if not self._as_printed:
            self._opened |= self._admissible
        for node in self._pruning[self._split[self._pruning]].tolist():
            self._urns.pop(node, None)
        self._pruning = self._refine()
        chosen: list[int] = []
        while len(chosen) < n:
            pruning = self._pruning
            waiting = np.concatenate([[0], np.cumsum(self._state[self.tree.order] == FREE)])
            start = self.tree.start[pruning]
            room = waiting[start + self.tree.size[pruning]] - waiting[start]
            if not np.any(room):
                break
            weight = np.where(room > 0, self.tree.size[pruning] * (1.0 - self._purity(pruning)), 0.0)
            heap = np.cumsum(weight)
            # The weight of a cluster with rows to draw is never 0: only a cluster that is known is surely pure.
            hits = np.searchsorted(heap, self._rng.random(n - len(chosen)) * heap[-1], side="right")
            hits = np.minimum(hits, len(heap) - 1)  # a product that was rounded up to the sum
            for place, wanted in zip(*np.unique(hits, return_counts=True), strict=True):
                chosen += self._draw(int(pruning[place]), int(wanted))
            self._digest()
        return [Proposal(row=row, role=Role.BOUNDS) for row in chosen]

    def labelling(self) -> Labelling:
        """Label every row by its cluster of the pruning that the answers so far lead to."""
        self._digest()
        pruning = self._refine()
        return self._label_rows(pruning, self._inherit(pruning, self._label))

    def certificate(self) -> Certificate:
        """Add up the rows that are known and, by the lower limits of HSAL, those that are right without an answer.

        The sum of the clusters' limits is no guarantee: the clusters and their labels were chosen by the same answers.
        """
        self._digest()
        pruning = self._refine()
        label = self._inherit(pruning, self._label)
        known_at = (self._codes != UNKNOWN)[self.tree.order]
        by_start = np.argsort(self.tree.start[pruning])
        pruning, label = pruning[by_start], label[by_start]
        start, size = self.tree.start[pruning], self.tree.size[pruning]
        n_known = np.add.reduceat(known_at.astype(np.int64), start)
        same = known_at & (self._codes[self.tree.order] == np.repeat(label, size))
        n_same = np.add.reduceat(same.astype(np.int64), start)
        right = n_known + rest_right_lower(
            self._answers(pruning, label), self._n_drawn[pruning], size, n_known, n_same, z=self._z
        )
        return Certificate(
            lower=min(float(right.sum()) / self.tree.n_rows, 1.0),
            confidence=self._confidence,
            kind="hsal",
            n_training=0,
            n_bounds=self._n_answers,
        )

    def _count(self, row: int, code: int, sign: int) -> None:
        self._queue.append((row, code, sign))

    def _draw(self, node: int, n: int) -> list[int]:
        """Draw up to n rows of a cluster that need an answer, and on the way those whose label is known."""
        urn = self._urns.get(node)
        if urn is None:
            rows = self.tree.rows(node)
            rows = rows[self._state[rows] == FREE]
            urn = self._urns[node] = rows[np.argsort(self._rank[rows])][::-1].tolist()
        drawn: list[int] = []
        while urn and len(drawn) < n:
            row = urn.pop()
            code = int(self._codes[row])
            if code == UNKNOWN:
                self._state[row] = OPEN
                drawn.append(row)
            else:
                self._state[row] = DRAWN
                self._count(row, code, 1)
        return drawn

    def _answers(self, nodes: IntArray, label: IntArray) -> IntArray:
        """How many answers of each node have its label."""
        within = (label != UNKNOWN) & (label < self._n_label.shape[1])
        result: IntArray = np.where(within, self._n_label[nodes, np.where(within, label, 0)], 0)
        return result

    def _purity(self, nodes: IntArray) -> FloatArray:
        """Give the lower limit on the share of each node's label."""
        label = self._inherit(nodes, self._label)
        return label_interval(self._answers(nodes, label), self._n_drawn[nodes], self.tree.size[nodes])[0]

    def _digest(self) -> None:
        """Count the answers that have come in, and score the nodes that they touch, from the bottom up."""
        if not self._queue:
            return
        row, code, sign = np.array(self._queue).T
        self._queue.clear()
        n_classes = self._n_label.shape[1]
        if int(code.max()) >= n_classes:
            more = np.zeros((self.tree.n_nodes, max(int(code.max()) + 1 - n_classes, n_classes)), np.int32)
            self._n_label = np.concatenate([self._n_label, more], axis=1)
        touched = []
        node = self.tree.leaf_of[row]
        while len(node):
            named = code != UNKNOWN
            np.add.at(self._n_label, (node[named], code[named]), sign[named].astype(np.int32))
            np.add.at(self._n_drawn, node, sign)
            touched.append(node)
            node = self.tree.parent[node]
            inside = node != NO_NODE
            node, code, sign = node[inside], code[inside], sign[inside]
        nodes = np.unique(np.concatenate(touched))
        self._score(nodes)

    def _score(self, nodes: IntArray) -> None:
        """Recompute the label, the cost and the split of some nodes, given in ascending order."""
        n_label, n_drawn, size = self._n_label[nodes], self._n_drawn[nodes], self.tree.size[nodes]
        admissible = admissible_labels(n_label, n_drawn, size) & (n_label > 0)
        self._admissible[nodes] = np.any(admissible, axis=1)
        votes = np.where(admissible, n_label, 0) if self._as_printed else n_label
        label = np.argmax(votes, axis=1)
        most = votes[np.arange(len(nodes)), label]
        self._label[nodes] = np.where(most > 0, label, UNKNOWN)
        if self._as_printed:
            own = size * (1.0 - most / np.maximum(n_drawn, 1))
        else:
            own = (size - n_drawn) * (n_drawn - most + 0.5) / (n_drawn + 1.0)
        inner = (self.tree.left[nodes] != NO_NODE) & (self._admissible | self._opened)[nodes]
        edges = np.searchsorted(nodes, self._levels)
        for begin, end in zip(edges[-2::-1], edges[:0:-1], strict=True):
            level = nodes[begin:end]
            below = self._cost[self.tree.left[level]] + self._cost[self.tree.right[level]]
            split = inner[begin:end] & (below < own[begin:end])
            self._split[level] = split
            self._cost[level] = np.where(split, below, own[begin:end])

    def _refine(self) -> IntArray:
        """Replace each cluster of the pruning by the clusters below it that the scores prefer."""
        done = []
        nodes = self._pruning
        while len(nodes):
            cut = self._split[nodes]
            done.append(nodes[~cut])
            nodes = np.concatenate([self.tree.left[nodes[cut]], self.tree.right[nodes[cut]]])
        return np.concatenate(done)
