"""Bounded Expectation of Label Assignment as Herbst and Huang describe it: algorithm 1 and its two procedures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bela.bounds import AdaptiveHoeffding
from bela.errors import ParameterError
from bela.methods._replaying import PlainReplay
from bela.protocols import Cut, Source, Splitter
from bela.records import UNKNOWN, Certificate, IntArray, Labelling, Matrix, Proposal, Role
from bela.splitters import LinearSVM
from bela.tree import Candidate, Leaf, RowState, count, draw_order

_NEVER = -np.inf
_CACHE_BYTES = 1 << 30
_SAMPLE = 10_000


class BelaPaper(PlainReplay):
    """Label by greedy expansion of a tree: ask where the bound gains most, or split where it gains more.

    Parameters
    ----------
    source
        The features of the rows.
    splitter
        How a leaf is cut.
    bound
        The bound whose gain is maximised.
    confidence
        Passed on to the certificate. The paper's bound is one on an expectation and has no level of its own.
    seed
        All that is random.
    training_share
        Probability that an answer trains splits (the paper's tau); otherwise it goes into the bound.
    growth
        A leaf's cut is fitted anew when its training answers have grown by this factor.
    min_per_class, max_share
        Training answers before a leaf's first fit: this many for each class seen in them, but no more than this share
        of the leaf's rows. A cut that is made on fewer is there to stay, and costs more answers than it saves.
    """

    name = "bela-paper"
    batch = 1
    n_revisions = 0

    def __init__(
        self,
        source: Source,
        *,
        splitter: Splitter | None = None,
        bound: AdaptiveHoeffding | None = None,
        confidence: float = 0.95,
        seed: int = 0,
        training_share: float = 0.5,
        growth: float = 1.5,
        min_per_class: int = 20,
        max_share: float = 1 / 16,
    ) -> None:
        if not 0 < training_share < 1:
            raise ParameterError(f"training_share lies strictly between 0 and 1, not {training_share}")
        if not growth > 1:
            raise ParameterError(f"growth is a factor above 1, not {growth}")
        self.source = source
        self.splitter: Splitter = LinearSVM() if splitter is None else splitter
        self.bound = AdaptiveHoeffding() if bound is None else bound
        self.confidence, self.seed = confidence, seed
        self.training_share, self.growth = training_share, growth
        self.min_per_class, self.max_share = min_per_class, max_share
        self._coins = np.random.default_rng([seed, 1])
        n = source.n_rows
        self._known = np.full(n, UNKNOWN, dtype=np.int32)
        self._state = np.zeros(n, dtype=np.uint8)
        self._leaf_of = np.zeros(n, dtype=np.int32)
        self._child_of = np.zeros(n, dtype=np.int16)
        self._open: dict[int, Leaf] = {}  # the row of each open question, with the leaf that it was drawn from
        self._unassessed: list[Leaf] = []  # a question was drawn since their gains were computed
        self._leaves: list[Leaf | None] = []  # a split leaf leaves its place empty
        self._values = np.zeros(16)
        self._label_gains = np.full(16, _NEVER)
        self._split_gains = np.full(16, _NEVER)
        self._cached_bytes = 0
        self._n_training = self._n_bounds = 0
        self._add(Leaf(np.arange(n), UNKNOWN))

    # ------------------------------------------------------------------------------------------ the protocol

    def know(self, rows: IntArray, codes: IntArray) -> None:
        self._known[rows] = codes
        for leaf in self._live():
            leaf.n_known = int((self._known[leaf.rows] != UNKNOWN).sum())
            self._assess(leaf)

    def propose(self, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < n:
            leaf = self._decide()
            if leaf is None:
                break
            proposal = self._draw(leaf)
            if proposal is not None:
                proposals.append(proposal)
        return proposals

    def observe(self, row: int, role: Role, code: int) -> None:
        drawn_from = self._open.pop(row)
        leaf = self._leaf(row)
        leaf.n_open -= 1
        leaf.n_known += 1
        self._known[row] = code
        if role is Role.BOUNDS:
            self._n_bounds += 1
        else:
            self._n_training += 1
        if leaf.candidate is not None:
            leaf.candidate.n_known[self._child_of[row]] += 1
        if role is Role.TRAINING and leaf is not drawn_from:
            self._state[row] = RowState.FREE  # the leaf has been split meanwhile, and its training answers forgotten
        else:
            self._use(leaf, row, role, code)
        self._assess(leaf, row)

    def skip(self, row: int, role: Role) -> None:
        leaf = self._leaf(row)
        leaf.n_open -= 1
        del self._open[row]
        self._state[row] = RowState.SKIPPED
        self._assess(leaf)

    def retract(self, row: int, role: Role) -> None:
        leaf = self._leaf(row)
        if self._state[row] != RowState.SKIPPED:
            self._unuse(leaf, row)
            leaf.n_known -= 1
            if leaf.candidate is not None:
                leaf.candidate.n_known[self._child_of[row]] -= 1
            self._known[row] = UNKNOWN
            if role is Role.BOUNDS:
                self._n_bounds -= 1
            else:
                self._n_training -= 1
        self._state[row] = RowState.OPEN
        self._open[row] = leaf
        leaf.n_open += 1
        self._assess(leaf, row)

    def revise(self, row: int, role: Role, code: int) -> None:
        leaf = self._leaf(row)
        state = self._state[row]
        self._unuse(leaf, row)
        self._known[row] = code
        if state in (RowState.BOUNDS, RowState.TRAINING):
            self._use(leaf, row, Role.BOUNDS if state == RowState.BOUNDS else Role.TRAINING, code)
        self._assess(leaf, row)

    def labelling(self) -> Labelling:
        live = self._live()
        majority = np.full(len(self._leaves), UNKNOWN, dtype=np.int32)
        index = np.zeros(len(self._leaves), dtype=np.int32)
        for i, leaf in enumerate(live):
            majority[leaf.id] = leaf.label()
            index[leaf.id] = i
        if (majority == UNKNOWN).any():
            answers = self._known[self._known != UNKNOWN]
            if len(answers):
                majority[majority == UNKNOWN] = np.bincount(answers).argmax()
        codes = np.where(self._known == UNKNOWN, majority[self._leaf_of], self._known)
        lower = np.array([self._values[leaf.id] / len(leaf.rows) for leaf in live])
        return Labelling(codes=codes, leaf=index[self._leaf_of], n_leaves=len(live), leaf_lower=lower)

    def forecast(self) -> None:
        return None

    def certificate(self) -> Certificate:
        share = float(self._values[: len(self._leaves)].sum()) / self.source.n_rows
        return Certificate(
            lower=min(1.0, max(0.0, share)),
            confidence=self.confidence,
            kind="paper",
            n_training=self._n_training,
            n_bounds=self._n_bounds,
        )

    def leaf_counts(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return what any bound goes by: each leaf's size, known rows, majority count and bounds answers."""
        counts = [
            (len(leaf.rows), leaf.n_known, max(leaf.counts, default=0), sum(leaf.counts)) for leaf in self._live()
        ]
        size, known, n_majority, n_bounds = np.array(counts, dtype=np.int64).T
        return size, known, n_majority, n_bounds

    # ------------------------------------------------------------------------------------- decide, draw, split

    def _decide(self) -> Leaf | None:
        """Split leaves as long as that gains most, then return the leaf to draw from."""
        for leaf in self._unassessed:
            if self._leaves[leaf.id] is leaf:
                self._assess(leaf)
        self._unassessed.clear()
        while True:
            n = len(self._leaves)
            to_label = int(self._label_gains[:n].argmax())
            to_split = int(self._split_gains[:n].argmax())
            gain = self._split_gains[to_split]
            if gain > 0 and gain > self._label_gains[to_label]:
                chosen = self._leaves[to_split]
                if chosen is None:
                    raise RuntimeError("a leaf that is no more has a gain")
                if self._due(chosen):
                    self._speculate(chosen)
                else:
                    self._split(chosen)
            elif self._label_gains[to_label] == _NEVER:
                return None
            else:
                return self._leaves[to_label]

    def _draw(self, leaf: Leaf) -> Proposal | None:
        """Take the next row of a leaf; use it at once and for nothing when its label is known."""
        row = leaf.next(self._state, self.seed)
        if row is None:
            self._label_gains[leaf.id] = _NEVER
            return None
        role = Role.TRAINING if self._coins.random() < self.training_share else Role.BOUNDS
        code = int(self._known[row])
        if code == UNKNOWN:
            self._state[row] = RowState.OPEN
            self._open[row] = leaf
            leaf.n_open += 1
            self._unassessed.append(leaf)
            return Proposal(row=row, role=role)
        self._use(leaf, row, role, code)
        self._assess(leaf, row)
        return None

    def _speculate(self, leaf: Leaf) -> None:
        """Fit a cut to the leaf's training answers and see what the children's bounds would be."""
        leaf.n_fitted = max(1, len(leaf.training))
        leaf.candidate = None
        cut = self._fit(leaf)
        if cut is not None:
            children, places = np.unique(cut.predict(self._block(leaf)), return_inverse=True)
            if len(children) > 1:
                self._child_of[leaf.rows] = places
                leaf.candidate = self._candidate(leaf, places, children)
        self._assess(leaf)

    def _fit(self, leaf: Leaf) -> Cut | None:
        seed = self.seed + leaf.id
        if self.splitter.supervised:
            answered = np.sort(np.array(leaf.training, dtype=np.intp))
            return self.splitter.fit(self.source.take(answered), self._known[answered], seed)
        rows = leaf.rows
        if len(rows) > _SAMPLE:
            rows = np.sort(draw_order(rows, self.seed, leaf.id)[:_SAMPLE])
        return self.splitter.fit(self.source.take(rows), np.empty(0, dtype=np.int32), seed)

    def _candidate(self, leaf: Leaf, places: IntArray, children: IntArray) -> Candidate:
        k = len(children)
        codes = self._known[leaf.rows]
        known = codes != UNKNOWN
        in_bounds = self._state[leaf.rows] == RowState.BOUNDS
        n_classes = int(codes.max(initial=0)) + 1
        counts = np.bincount(places[in_bounds] * n_classes + codes[in_bounds], minlength=k * n_classes)
        return Candidate(
            self.bound,
            labels=children.tolist() if self.splitter.supervised else [leaf.label()] * k,
            sizes=np.bincount(places, minlength=k).tolist(),
            n_known=np.bincount(places[known], minlength=k).tolist(),
            counts=counts.reshape(k, n_classes).tolist(),
        )

    def _split(self, leaf: Leaf) -> None:
        """Put the children in the leaf's place: B and L are passed down, T is forgotten."""
        candidate = leaf.candidate
        if candidate is None:
            raise RuntimeError("a leaf is split only by a candidate cut")
        self._state[leaf.training] = RowState.FREE
        places = self._child_of[leaf.rows]
        opened = [row for row in self._open if self._leaf_of[row] == leaf.id]
        children = []
        for child, label in enumerate(candidate.labels):
            within = places == child
            new = Leaf(leaf.rows[within], label)
            new.counts = candidate.counts[child]
            new.n_known = candidate.n_known[child]
            new.block = None if leaf.block is None else leaf.block[within]
            children.append(new)
        for row in opened:
            children[self._child_of[row]].n_open += 1
        self._leaves[leaf.id] = None
        for gains in (self._label_gains, self._split_gains):
            gains[leaf.id] = _NEVER
        self._values[leaf.id] = 0.0
        leaf.block = None
        for new in children:
            self._add(new)

    # ------------------------------------------------------------------------------------------------ leaves

    def _add(self, leaf: Leaf) -> None:
        leaf.id = len(self._leaves)
        self._leaves.append(leaf)
        if leaf.id == len(self._values):
            more = np.full(leaf.id, _NEVER)
            self._values = np.concatenate([self._values, np.zeros(leaf.id)])
            self._label_gains = np.concatenate([self._label_gains, more])
            self._split_gains = np.concatenate([self._split_gains, more])
        self._leaf_of[leaf.rows] = leaf.id
        self._assess(leaf)

    def _live(self) -> list[Leaf]:
        return [leaf for leaf in self._leaves if leaf is not None]

    def _leaf(self, row: int) -> Leaf:
        leaf = self._leaves[int(self._leaf_of[row])]
        if leaf is None:
            raise RuntimeError(f"row {row} is in a leaf that was split")
        return leaf

    def _use(self, leaf: Leaf, row: int, role: Role, code: int) -> None:
        """Put a known row into the leaf's B or T."""
        if role is Role.BOUNDS:
            self._state[row] = RowState.BOUNDS
            count(leaf.counts, code, 1)
            if leaf.candidate is not None:
                count(leaf.candidate.counts[self._child_of[row]], code, 1)
        else:
            self._state[row] = RowState.TRAINING
            leaf.training.append(row)
            count(leaf.training_counts, code, 1)

    def _unuse(self, leaf: Leaf, row: int) -> None:
        """Take a known row out of the leaf's B or T."""
        code = int(self._known[row])
        if self._state[row] == RowState.BOUNDS:
            count(leaf.counts, code, -1)
            if leaf.candidate is not None:
                count(leaf.candidate.counts[self._child_of[row]], code, -1)
        elif self._state[row] == RowState.TRAINING:
            leaf.training.remove(row)
            count(leaf.training_counts, code, -1)

    def _due(self, leaf: Leaf) -> bool:
        """Whether the leaf's cut is to be fitted (anew)."""
        if not self.splitter.supervised:
            return leaf.n_fitted == 0
        n = len(leaf.training)
        if n < self.growth * leaf.n_fitted:
            return False
        n_classes = sum(n > 0 for n in leaf.training_counts)
        return n_classes > 1 and n >= min(self.min_per_class * n_classes, len(leaf.rows) * self.max_share)

    def _assess(self, leaf: Leaf, row: int | None = None) -> None:
        """Bring the leaf's bound and the gains of its two actions up to date, after a change to this row."""
        if row is not None and leaf.candidate is not None:
            leaf.candidate.update(int(self._child_of[row]))
        i, size, known = leaf.id, len(leaf.rows), leaf.n_known
        n_bounds = sum(leaf.counts)
        n_majority = max(leaf.counts, default=0)
        bound = self.bound
        value = bound.rows(size, known, n_majority, n_bounds)
        self._values[i] = value
        # Open questions are taken to agree, so that a batch spreads as a sequence of questions would.
        n_open = leaf.n_open
        if size - known - n_open <= 0 or leaf.exhausted:
            self._label_gains[i] = _NEVER
        else:
            before = value
            if n_open:
                before = bound.rows(size, known + n_open, n_majority + n_open, n_bounds + n_open)
            self._label_gains[i] = (
                bound.rows_if_labelled(size, known + n_open, n_majority + n_open, n_bounds + n_open) - before
            )
        if size == known:
            self._split_gains[i] = _NEVER
        elif self._due(leaf):
            # No cut can gain more than this, as no child has more bounds answers than the leaf: fit only if it matters.
            self._split_gains[i] = bound.rows(size, known, n_bounds, n_bounds) - value
        elif leaf.candidate is None:
            self._split_gains[i] = _NEVER
        else:
            self._split_gains[i] = leaf.candidate.total - value

    def _block(self, leaf: Leaf) -> Matrix:
        """Return the leaf's features, kept from fit to fit while there is room for them."""
        if leaf.block is not None:
            return leaf.block
        block = self.source.take(leaf.rows)
        if leaf.id > 0 and 4 * self.source.n_rows * self.source.n_features <= _CACHE_BYTES:
            leaf.block = block
        return block
