"""The draws of a campaign, and all certificates that rest on them: how each row was drawn, what that says of revisions.

A revision's certificate is the log of draws replayed on the rows outside the revision's training answers, with bets on
the draws from after its adoption only; after an undo it is replayed anew. docs/guarantees.md proves that these are
weighted draws without replacement from a labelling that was fixed before.
"""

from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np

from bela.book import Book, Merged, RowChanged
from bela.bounds import AlphaBudget
from bela.methods._deciding import choose_bin, merge_codes
from bela.methods.bela._revision import Revision
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray
from bela.shares import allowed_errors


@dataclass(frozen=True, slots=True)
class Trained:
    """A row asked for training: from here on it cannot be drawn."""

    row: int


@dataclass(frozen=True, slots=True)
class Draw:
    """A row drawn for the bound: from the bins of a revision, with these weights for the rows of each bin."""

    row: int
    revision: int
    weights: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """What a revision's certificate rests on for good, as classes have been merged since.

    Which classes are merged is decided by people who have seen the draws, so these go on to count as they did before.
    A merge only makes wrong labels right: what was certain without it is certain with it.
    """

    revision: Revision  # with the labels from before, like all that follows
    end: int  # the place in the log where bets end
    known: IntArray
    declined: BoolArray
    seen: BoolArray  # rows that were answered, or declined, by then


class Pool:
    """The rows that can be drawn, by bin; drawing and removing take no time."""

    def __init__(self, bin_: IntArray, drawable: BoolArray, n_bins: int) -> None:
        self._bin = bin_
        rows = np.flatnonzero(drawable)
        self.left: IntArray = np.bincount(bin_[rows], minlength=n_bins)  # in each bin
        self._rows = np.split(rows[np.argsort(bin_[rows], kind="stable")], np.cumsum(self.left)[:-1])
        self._place = np.full(len(bin_), -1, dtype=np.int64)
        for part in self._rows:
            self._place[part] = np.arange(len(part))

    def holds(self, row: int) -> bool:
        """Whether a row is still to be drawn."""
        return bool(self._place[row] >= 0)

    def draw(self, weights: FloatArray, rng: np.random.Generator, but: Container[int] = ()) -> int:
        """Choose a row, with probability proportional to the weight of its bin; one of those in `but` is drawn anew."""
        while True:
            bin_ = choose_bin(weights, self.left, rng.random())
            row = int(self._rows[bin_][rng.integers(self.left[bin_])])
            if row not in but:
                return row

    def remove(self, row: int) -> None:
        """Take out a row if it is there."""
        place = int(self._place[row])
        if place < 0:
            return
        bin_ = int(self._bin[row])
        self.left[bin_] -= 1
        moved = self._rows[bin_][self.left[bin_]]
        self._rows[bin_][place] = moved
        self._place[moved], self._place[row] = place, -1


class Replay:
    """What the log of draws and training questions says about one revision, as far as its answers are known.

    It may fail with probability `alpha`; `aim` is the number of errors to stay below. All revisions are there for the
    bins that older draws were made from. Bets begin at the place `start` of the log: rows drawn before are known like
    others, and nothing is bet on them, as what they showed may have decided that this revision is certified.
    """

    def __init__(
        self, index: int, revisions: list[Revision], log: list[Draw | Trained], alpha: float,
        *, aim: int | None, start: int = 0,
    ) -> None:  # fmt: skip
        self.revision = revisions[index]
        self.index, self._revisions, self._log = index, revisions, log
        self.place, self._start = 0, start  # where in the log it has come to
        self.bets = self.revision.bets(alpha, aim)
        self.n_draws = 0
        self._taken = ~self.revision.outside  # rows that are not in the population, or left it
        self._crossed_with = index
        self._cell_of: IntArray = self.revision.bin
        self._weight_of_cell: IntArray = np.arange(len(self.revision.sizes))

    def advance(self, known: IntArray, declined: BoolArray, end: int | None = None) -> None:
        """Take in the events whose outcome is known by now, up to the first that is open, or to `end`."""
        for event in self._log[self.place : end]:
            row = event.row
            if known[row] == UNKNOWN and not declined[row]:
                return
            self.place += 1
            if self._taken[row]:
                continue  # among this revision's training answers, so not in its population
            wrong = bool(known[row] != self.revision.codes[row])
            if isinstance(event, Draw) and self.place > self._start:
                self._cross_with(event.revision)
                weights = event.weights[self._weight_of_cell]
                self.bets.observe(int(self._cell_of[row]), wrong=wrong, weights=weights)
                self.n_draws += 1
            else:
                self.bets.know(int(self._cell_of[row]), wrong=wrong)
            self._taken[row] = True

    def _cross_with(self, other: int) -> None:
        """Cut the rows left into cells in which the weights of another revision's bins, and its own, are constant."""
        if other == self._crossed_with:
            return  # as nearly always: draws come in long runs from the bins of one revision
        self._crossed_with = other
        bin_, n_bins = self.revision.bin, len(self.revision.sizes)
        rows = np.flatnonzero(~self._taken)
        if other == self.index:
            self._cell_of, self._weight_of_cell = bin_, np.arange(n_bins)
            self.bets.regroup(np.bincount(bin_[rows], minlength=n_bins))
            return
        key = bin_[rows].astype(np.int64) * n_bins + self._revisions[other].bin[rows]
        cells, cell_of_row, counts = np.unique(key, return_inverse=True, return_counts=True)
        self._cell_of = np.full(len(bin_), -1, dtype=np.int64)
        self._cell_of[rows] = cell_of_row
        self._weight_of_cell = cells % n_bins
        self.bets.regroup(counts, cells // n_bins)

    def weights(self) -> FloatArray:
        """Return good weights for the next draw, one for each of today's bins."""
        if self._crossed_with == self.index:
            return self.bets.weights()
        twin = self.bets.copy()
        twin.regroup(np.bincount(self.revision.bin[~self._taken], minlength=len(self.revision.sizes)))
        return twin.weights()

    def right_lower(self, answered: IntArray, wrong: BoolArray) -> int:
        """Bound the rows labelled right from below, where answers correct the rows that the revision has `wrong`."""
        outside = self.revision.outside
        corrected = int((outside[answered] & wrong).sum())
        taken_back = self.revision.n_training - int((~outside[answered]).sum())
        return len(outside) - max(self.bets.errors_upper - corrected, 0) - taken_back


class Certificates:
    """What draws from after its adoption certify of each revision; all together may fail with probability alpha."""

    def __init__(self, alpha: float) -> None:
        self.alpha = AlphaBudget(alpha)
        self.log: list[Draw | Trained] = []
        self.revisions: list[Revision] = []
        self.alphas: list[float] = []  # what each revision may spend, 0 where nothing
        self.starts: list[int] = []  # where in the log the draws begin that count for each
        self.aims: list[int | None] = []  # errors to stay below, as the target was when each was adopted
        self.closed: dict[int, Closed] = {}  # revisions whose certificate is from before a merge
        self.certified: int | None = None  # the last revision that spends: draws are for its certificate
        self.replays: dict[int, Replay | None] = {}  # by revision; None: to be begun anew when somebody asks
        self._unmerged: list[Revision] = []  # as they were made

    def add(self, book: Book, revision: Revision, alpha: float) -> None:
        """Adopt a revision; draws from here on count for it if it may spend something."""
        self._unmerged.append(revision)
        self.revisions.append(_merged(revision, book))
        self.starts.append(len(self.log))
        self.aims.append(None if book.target is None else allowed_errors(book.n_rows, book.target))
        self.alphas.append(alpha)
        self.alpha.take(alpha)
        if alpha > 0:
            self.certified = len(self.revisions) - 1

    def spending(self) -> list[int]:
        """Return the revisions that have a certificate."""
        return [index for index, alpha in enumerate(self.alphas) if alpha > 0]

    def replay(self, index: int, book: Book) -> Replay:
        """Return the certificate of a revision, brought up to date."""
        closed = self.closed.get(index)
        if closed is None:
            return self._advanced(index, book.known, book.declined)
        return self._advanced(index, closed.known, closed.declined, closed.end)

    def _advanced(self, index: int, known: IntArray, declined: BoolArray, end: int | None = None) -> Replay:
        replay = self.replays.get(index)
        if replay is None:
            replay = self.replays[index] = self.begin_replay(index)
        replay.advance(known, declined, end)
        return replay

    def begin_replay(self, index: int) -> Replay:
        """Return a certificate that has seen no draw yet."""
        revisions = self.revisions
        if index in self.closed:
            revisions = [*revisions[:index], self.closed[index].revision, *revisions[index + 1 :]]
        aim, start = self.aims[index], self.starts[index]
        return Replay(index, revisions, self.log, self.alphas[index], aim=aim, start=start)

    def best(self, book: Book) -> tuple[Revision | None, float]:
        """Return the revision with the best certificate, and the rows that it certifies right."""
        if not self.revisions:
            return None, book.n_known
        best, most = self.revisions[-1], float(book.n_known)
        answered = np.array([*book.given, *book.answered], dtype=np.intp)
        for index in self.spending():
            revision, closed = self.revisions[index], self.closed.get(index)
            wrong = book.known[answered] != revision.codes[answered]
            if closed is not None:  # what was wrong without the merge was counted as such
                before = closed.known[answered]
                wrong = np.where(before == UNKNOWN, wrong, before != closed.revision.codes[answered])
            right = self.replay(index, book).right_lower(answered, wrong)
            if right >= most:
                best, most = revision, right
        return best, most

    def change_row(self, change: RowChanged) -> None:
        """Take in an answer; one that is changed or taken back has all certificates replayed."""
        row = change.row
        for closed in self.closed.values():
            if closed.seen[row]:  # also when it was taken back since
                closed.known[row], closed.declined[row] = change.code, change.declined
        if change.before != UNKNOWN or change.was_declined:
            self.replays = dict.fromkeys(self.replays)

    def merge(self, book: Book, change: Merged) -> None:
        """Take two classes for one: what was certain rests on the draws as they were, later draws count anew."""
        self._close(change)
        self.recode(book)
        if self.certified is not None and self.certified in self.closed:
            # go on with its labels, by later draws and another part of alpha
            self.add(book, self._unmerged[self.certified], self.alpha.left / 2)

    def recode(self, book: Book) -> None:
        """Let the labels of all revisions be of the classes that there are by now."""
        self.revisions[:] = [_merged(revision, book) for revision in self._unmerged]
        self.replays = dict.fromkeys(self.replays)

    def _close(self, change: Merged) -> None:
        """Let certificates with draws in them rest on these, as they are: see `Closed`."""
        for index in [index for index in self.spending() if index not in self.closed]:
            replay = self._advanced(index, change.known, change.declined)
            if replay.n_draws:
                self.closed[index] = Closed(
                    revision=self.revisions[index], end=replay.place, known=change.known.copy(),
                    declined=change.declined.copy(), seen=(change.known != UNKNOWN) | change.declined,
                )  # fmt: skip


def _merged(revision: Revision, book: Book) -> Revision:
    """Return a revision with classes as they are by now; some may have been merged since it was begun."""
    codes = merge_codes(book, revision.codes)
    return revision if codes is revision.codes else replace(revision, codes=codes)
