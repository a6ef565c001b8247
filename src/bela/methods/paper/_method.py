"""Bounded Expectation of Label Assignment as Herbst and Huang describe it: algorithm 1 and its two procedures."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from bela.book import Book, RowChanged
from bela.bounds import AdaptiveHoeffding, draw_order
from bela.errors import ParameterError
from bela.methods import METHODS
from bela.methods._deciding import DecidingMethod, codes_now, majority
from bela.methods.paper._splitters import make_splitter
from bela.protocols import Cut, Setup, Splitter
from bela.records import UNKNOWN, Assessment, Guarantee, IntArray, Labelling, Matrix, Proposal, Role

_NEVER = -np.inf
_CACHE_BYTES = 1 << 30
_SAMPLE = 10_000
_COINS = 1  # the stream that decides what an answer is for


class RowState(IntEnum):
    """What became of a row in its leaf."""

    FREE = 0  # may be drawn
    BOUNDS = 1
    TRAINING = 2
    OPEN = 3  # is being asked
    SKIPPED = 4


def count(counts: list[int], code: int, step: int) -> None:
    """Add to the count of a class that may not have been seen before."""
    if code >= len(counts):
        counts.extend([0] * (code + 1 - len(counts)))
    counts[code] += step


class Candidate:
    """A cut that is not made yet: the counts of the children it would have, and the sum of their bounds."""

    def __init__(
        self, bound: AdaptiveHoeffding, labels: list[int], sizes: list[int], n_known: list[int], counts: list[list[int]]
    ) -> None:
        self.bound, self.labels, self.sizes, self.n_known, self.counts = bound, labels, sizes, n_known, counts
        self.values = [self._rows(child) for child in range(len(sizes))]
        self.total = sum(self.values)

    def _rows(self, child: int) -> float:
        counts = self.counts[child]
        return self.bound.rows(self.sizes[child], self.n_known[child], max(counts), sum(counts))

    def update(self, child: int) -> None:
        """Take note that the counts of a child have changed."""
        self.values[child] = self._rows(child)
        self.total = sum(self.values)


@dataclass(slots=True, eq=False)
class Leaf:
    """A set of rows that get one label."""

    rows: IntArray
    fallback: int  # the label while B is empty
    id: int = 0
    order: list[int] | None = None  # in which its rows are drawn
    cursor: int = 0
    exhausted: bool = False
    counts: list[int] = field(default_factory=list)
    training: list[int] = field(default_factory=list)
    training_counts: list[int] = field(default_factory=list)
    n_known: int = 0
    n_open: int = 0
    n_fitted: int = 0
    candidate: Candidate | None = None
    block: Matrix | None = None

    def label(self) -> int:
        if not any(self.counts):
            return self.fallback
        return max(range(len(self.counts)), key=self.counts.__getitem__)

    def next(self, state: npt.NDArray[np.uint8], key: int) -> int | None:
        """Take the next row that may be drawn."""
        # Each leaf has an order of its own. Under one for all, the forgotten training rows of the parent would come
        # first, and those are the rows that the cut has learnt by heart.
        if self.order is None:
            self.order = draw_order(self.rows, key, stream=1 + self.id).tolist()
        while self.cursor < len(self.order):
            row = self.order[self.cursor]
            self.cursor += 1
            if state[row] == RowState.FREE:
                return row
        self.exhausted = True
        return None


@METHODS.register("bela-paper")
class BelaPaper(DecidingMethod):
    """Label by greedy expansion of a tree: ask where the bound gains most, or split where it gains more.

    The paper's bound is one on an expectation, and has no confidence of its own.

    The `splitter` that cuts a leaf is a name, a scikit-learn estimator or a `Splitter`; the gain of `bound`
    is maximised. An answer trains splits with probability `training_share` (the paper's tau), otherwise it goes into
    the bound. A leaf's cut is fitted first on `min_per_class` training answers for each class seen in them, but no more
    than `max_share` of the leaf's rows (a cut that is made on fewer is there to stay, and costs more answers than it
    saves), and anew when they have grown by the factor `growth`. With `to_the_letter` these three are without effect:
    as algorithm 1 says, a cut is fitted anew after each training answer, from the second class on.

    `min_answers` is the paper's other ending: be done when this many answers were drawn from each leaf, whatever the
    bound says. Before the first split all rows are one leaf, so set it above what that split takes.
    """

    def __init__(
        self,
        setup: Setup, *, splitter: object = "auto", bound: AdaptiveHoeffding | None = None,
        training_share: float = 0.5, growth: float = 1.5, min_per_class: int = 20, max_share: float = 1 / 16,
        to_the_letter: bool = False, min_answers: int | None = None,
    ) -> None:  # fmt: skip
        if not 0 < training_share < 1:
            raise ParameterError(f"training_share lies strictly between 0 and 1, not {training_share}")
        if not growth > 1:
            raise ParameterError(f"growth is a factor above 1, not {growth}")
        if min_answers is not None and min_answers < 1:
            raise ParameterError(f"min_answers is a number of answers from 1 on, not {min_answers}")
        super().__init__(setup)
        self.splitter: Splitter = make_splitter(splitter)
        self.bound = AdaptiveHoeffding() if bound is None else bound
        self.training_share, self.growth = training_share, growth
        self.min_per_class, self.max_share = min_per_class, max_share
        self.to_the_letter, self.min_answers = to_the_letter, min_answers
        n, self._n_draws = self.source.n_rows, 0
        self._state = np.zeros(n, dtype=np.uint8)
        self._leaf_of = np.zeros(n, dtype=np.int32)
        self._child_of = np.zeros(n, dtype=np.int16)
        self._drawn_from = np.zeros(n, dtype=np.int32)  # the leaf that a question was drawn from
        self._drawn: list[Leaf] = []  # a question was drawn since their gains were computed
        self._leaves: dict[int, Leaf] = {}  # by their number; those that were split are gone
        self._n_leaves = 0  # that there have been
        # by leaf, of which there are never as many as twice the rows
        self._values, self._label_gains, self._split_gains = np.empty(2 * n), np.empty(2 * n), np.empty(2 * n)
        self._add(Leaf(np.arange(n), UNKNOWN))

    def _begin(self, book: Book) -> None:
        self._state[book.set_aside] = RowState.SKIPPED
        for leaf in self._leaves.values():
            leaf.n_known = int((book.known[leaf.rows] != UNKNOWN).sum())
            self._update(leaf)

    def _choose(self, book: Book, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < n and (leaf := self._best_leaf(book.known)) is not None:
            proposals += self._draw(leaf, book.known)
        return proposals

    def _changed(self, book: Book, change: RowChanged) -> None:
        row, leaf = change.row, self._leaves[int(self._leaf_of[change.row])]
        role = self._remove(leaf, change)
        step = int(change.code != UNKNOWN) - int(change.before != UNKNOWN)
        leaf.n_known += step
        if leaf.candidate is not None:
            leaf.candidate.n_known[self._child_of[row]] += step
        if change.code != UNKNOWN:
            self._state[row] = RowState.FREE
            if role is not None:
                self._use(leaf, row, role, change.code)
        elif change.declined:
            self._state[row] = RowState.SKIPPED
        else:
            self._state[row] = RowState.OPEN
            leaf.n_open += 1
        self._update(leaf, row)

    def _remove(self, leaf: Leaf, change: RowChanged) -> Role | None:
        """Take out of a leaf what a row was; return what its answer is for there, None if for nothing."""
        row, state = change.row, self._state[change.row]
        if state == RowState.FREE:
            return None  # known, and not drawn in this leaf
        if state in (RowState.BOUNDS, RowState.TRAINING):
            self._unuse(leaf, row, change.before)
            self._drawn_from[row] = leaf.id
            return Role.BOUNDS if state == RowState.BOUNDS else Role.TRAINING
        if state == RowState.OPEN:
            leaf.n_open -= 1
        if change.role is Role.TRAINING and self._drawn_from[row] != leaf.id:
            return None  # the leaf has been split meanwhile, and its training answers forgotten
        return change.role

    def _assess(self, book: Book) -> Assessment:
        share = float(self._values[: self._n_leaves].sum()) / self.source.n_rows
        return Assessment(
            certificate=self._certificate(book, share, Guarantee.PAPER),
            label=lambda: self._labelling(book),
            reached=True if self._has_enough_answers(book) else None,
        )

    def _has_enough_answers(self, book: Book) -> bool:
        """Whether every leaf has the answers at which to end, or no row left to ask."""
        if self.min_answers is None:
            return False
        askable = (book.known == UNKNOWN) & ~book.declined
        few = [x for x in self._leaves.values() if sum(x.counts) + len(x.training) < self.min_answers]
        return not any(askable[leaf.rows].any() for leaf in few)

    def _labelling(self, book: Book) -> Labelling:
        live, known = self._leaves.values(), book.known
        label: IntArray = np.full(self._n_leaves, UNKNOWN, dtype=np.int32)
        index = np.zeros(self._n_leaves, dtype=np.int32)
        for i, leaf in enumerate(live):
            label[leaf.id], index[leaf.id] = leaf.label(), i
        label = codes_now(book, label)  # a leaf without draws has the label of another, from before classes changed
        label[label == UNKNOWN] = majority(known)
        codes = np.where(known == UNKNOWN, label[self._leaf_of], known)
        lower = np.array([self._values[leaf.id] / len(leaf.rows) for leaf in live])
        return Labelling(codes=codes, leaf=index[self._leaf_of], n_leaves=len(live), leaf_lower=lower)

    def leaf_counts(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return what any bound goes by: each leaf's size, known rows, majority count and bounds answers."""
        counts = [(len(x.rows), x.n_known, max(x.counts, default=0), sum(x.counts)) for x in self._leaves.values()]
        size, known, n_majority, n_bounds = np.array(counts, dtype=np.int64).T
        return size, known, n_majority, n_bounds

    def _best_leaf(self, known: IntArray) -> Leaf | None:
        """Split leaves as long as that gains most, then return the leaf to draw from."""
        for leaf in self._drawn:
            if leaf.id in self._leaves:
                self._update(leaf)
        self._drawn.clear()
        while True:
            n = self._n_leaves
            to_label, to_split = int(self._label_gains[:n].argmax()), int(self._split_gains[:n].argmax())
            if not self._split_gains[to_split] > max(0, self._label_gains[to_label]):
                return None if self._label_gains[to_label] == _NEVER else self._leaves[to_label]
            chosen = self._leaves[to_split]
            if self._due(chosen) or chosen.candidate is None:
                self._speculate(chosen, known)
            else:
                self._split(chosen, chosen.candidate)

    def _draw(self, leaf: Leaf, known: IntArray) -> list[Proposal]:
        """Take the next row of a leaf, if any; use it at once and for nothing when its label is known."""
        row = leaf.next(self._state, self.setup.key)
        if row is None:
            self._label_gains[leaf.id] = _NEVER
            return []
        coin = self.setup.rng(_COINS, self._n_draws).random()
        self._n_draws += 1
        role = Role.TRAINING if coin < self.training_share else Role.BOUNDS
        code = int(known[row])
        if code == UNKNOWN:
            self._state[row] = RowState.OPEN
            self._taken[row], self._drawn_from[row] = True, leaf.id
            leaf.n_open += 1
            self._drawn.append(leaf)
            return [Proposal(row=row, role=role)]
        self._use(leaf, row, role, code)
        self._update(leaf, row)
        return []

    def _speculate(self, leaf: Leaf, known: IntArray) -> None:
        """Fit a cut to the leaf's training answers and see what the children's bounds would be."""
        leaf.n_fitted, leaf.candidate = max(1, len(leaf.training)), None
        cut = self._fit(leaf, known)
        if cut is not None:
            children, places = np.unique(cut.predict(self._block(leaf)), return_inverse=True)
            if len(children) > 1:
                self._child_of[leaf.rows] = places
                leaf.candidate = self._candidate(leaf, places, children, known)
        self._update(leaf)

    def _fit(self, leaf: Leaf, known: IntArray) -> Cut | None:
        seed = self.setup.seed + leaf.id
        if self.splitter.supervised:
            answered = np.sort(np.array(leaf.training, dtype=np.intp))
            return self.splitter.fit(self.source.take(answered), known[answered], seed)
        rows = leaf.rows
        if len(rows) > _SAMPLE:
            rows = np.sort(draw_order(rows, self.setup.seed, leaf.id)[:_SAMPLE])
        return self.splitter.fit(self.source.take(rows), np.empty(0, dtype=np.int32), seed)

    def _candidate(self, leaf: Leaf, places: IntArray, children: IntArray, known: IntArray) -> Candidate:
        k, codes = len(children), known[leaf.rows]
        in_bounds = self._state[leaf.rows] == RowState.BOUNDS
        n_classes = int(codes.max(initial=0)) + 1
        counts = np.bincount(places[in_bounds] * n_classes + codes[in_bounds], minlength=k * n_classes)
        return Candidate(
            self.bound,
            labels=children.tolist() if self.splitter.supervised else [leaf.label()] * k,
            sizes=np.bincount(places, minlength=k).tolist(),
            n_known=np.bincount(places[codes != UNKNOWN], minlength=k).tolist(),
            counts=counts.reshape(k, n_classes).tolist(),
        )

    def _split(self, leaf: Leaf, candidate: Candidate) -> None:
        """Put the children in the leaf's place: B and L are passed down, T is forgotten."""
        self._state[leaf.training] = RowState.FREE
        places = self._child_of[leaf.rows]
        del self._leaves[leaf.id]
        self._label_gains[leaf.id] = self._split_gains[leaf.id] = _NEVER
        self._values[leaf.id] = 0.0
        for child, label in enumerate(candidate.labels):
            within = places == child
            new = Leaf(leaf.rows[within], label, counts=candidate.counts[child], n_known=candidate.n_known[child])
            new.n_open = int((self._state[new.rows] == RowState.OPEN).sum())
            new.block = None if leaf.block is None else leaf.block[within]
            self._add(new)
        leaf.block = None

    def _add(self, leaf: Leaf) -> None:
        leaf.id, self._n_leaves = self._n_leaves, self._n_leaves + 1
        self._leaves[leaf.id] = leaf
        self._leaf_of[leaf.rows] = leaf.id
        self._update(leaf)

    def _use(self, leaf: Leaf, row: int, role: Role, code: int) -> None:
        """Put a known row into the leaf's B or T."""
        if role is Role.BOUNDS:
            self._state[row] = RowState.BOUNDS
            self._count_bounds(leaf, row, code, 1)
        else:
            self._state[row] = RowState.TRAINING
            leaf.training.append(row)
            count(leaf.training_counts, code, 1)

    def _unuse(self, leaf: Leaf, row: int, code: int) -> None:
        """Take a row that was of this class out of the leaf's B or T."""
        if self._state[row] == RowState.BOUNDS:
            self._count_bounds(leaf, row, code, -1)
        else:
            leaf.training.remove(row)
            count(leaf.training_counts, code, -1)
            if self.to_the_letter:
                leaf.n_fitted, leaf.candidate = 0, None

    def _count_bounds(self, leaf: Leaf, row: int, code: int, step: int) -> None:
        count(leaf.counts, code, step)
        if leaf.candidate is not None:
            count(leaf.candidate.counts[self._child_of[row]], code, step)

    def _due(self, leaf: Leaf) -> bool:
        if not self.splitter.supervised:
            return leaf.n_fitted == 0
        n, n_classes = len(leaf.training), sum(n > 0 for n in leaf.training_counts)
        if self.to_the_letter or n_classes < 2:
            return n_classes > 1 and n > leaf.n_fitted
        least = min(self.min_per_class * n_classes, len(leaf.rows) * self.max_share)
        return n >= max(least, self.growth * leaf.n_fitted)

    def _update(self, leaf: Leaf, row: int | None = None) -> None:
        """Bring the leaf's bound and the gains of its two actions up to date, after a change to this row."""
        if row is not None and leaf.candidate is not None:
            leaf.candidate.update(int(self._child_of[row]))
        i, size, known, bound = leaf.id, len(leaf.rows), leaf.n_known, self.bound
        n_majority, n_bounds, n_open = max(leaf.counts, default=0), sum(leaf.counts), leaf.n_open
        self._values[i] = value = bound.rows(size, known, n_majority, n_bounds)
        # Open questions are taken to agree, so that a batch spreads as a sequence of questions would.
        if size - known - n_open <= 0 or leaf.exhausted:
            self._label_gains[i] = _NEVER
        else:
            after = size, known + n_open, n_majority + n_open, n_bounds + n_open
            self._label_gains[i] = bound.rows_if_labelled(*after) - (bound.rows(*after) if n_open else value)
        self._split_gains[i] = _NEVER
        if size > known and self._due(leaf):
            # No cut can gain more than this, as no child has more bounds answers than the leaf: fit only if it matters.
            self._split_gains[i] = bound.rows(size, known, n_bounds, n_bounds) - value
        elif size > known and leaf.candidate is not None:
            self._split_gains[i] = leaf.candidate.total - value

    def _block(self, leaf: Leaf) -> Matrix:
        """Return the leaf's features, kept from fit to fit while there is room for them."""
        block = self.source.take(leaf.rows) if leaf.block is None else leaf.block
        if leaf.id > 0 and 4 * self.source.n_rows * self.source.n_features <= _CACHE_BYTES:
            leaf.block = block
        return block
