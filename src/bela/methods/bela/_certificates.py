"""All that certifies revisions: looks at held-out draws, and bets on the draws from after a release.

A *release* is a revision that learnt from everything known. Its certificate is the log of draws replayed on the rows
outside its training answers, with bets on the draws from after its adoption only. docs/guarantees.md proves that these
are weighted draws without replacement from a labelling that was fixed before.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bela.book import Book, ClassChange, RowChanged
from bela.bounds import AlphaBudget
from bela.methods._deciding import choose_bin, codes_now
from bela.methods.bela._looks import Look, is_wrong
from bela.methods.bela._revision import Revision
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray
from bela.shares import allowed_errors

_NO_MATTER = 0.01  # alpha of bets that certify nothing
Said = Mapping[int, Sequence[int]]  # row to all that was ever answered about it


@dataclass(frozen=True, slots=True)
class Trained:
    """A row asked for training: from here on it cannot be drawn."""

    row: int


@dataclass(frozen=True, slots=True)
class Draw:
    """A row drawn for the bound: from the bins of a revision, with these weights for their rows, or uniformly."""

    row: int
    revision: int | None = None
    weights: FloatArray | None = None


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

    @classmethod
    def uniform(cls, drawable: BoolArray) -> "Pool":
        """Return a pool of one bin."""
        return cls(np.zeros(len(drawable), dtype=np.int8), drawable, 1)

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
        *, aim: int | None, start: int = 0, mend: bool = False,
    ) -> None:  # fmt: skip
        self.revision = revisions[index]
        self.index, self._revisions, self._log = index, revisions, log
        self.place, self._start = 0, start  # where in the log it has come to
        self.bets = self.revision.bets(alpha, aim, mend=mend)
        self.n_draws = 0
        self._taken = ~self.revision.outside  # rows that are not in the population, or left it
        self._crossed_with = index
        self._cell_of: IntArray = self.revision.bin
        self._weight_of_cell: IntArray = np.arange(len(self.revision.sizes))

    def advance(self, said: Said, declined: BoolArray) -> None:
        """Take in the events whose outcome is known by now, up to the first that is open."""
        for event in self._log[self.place :]:
            row = event.row
            if row not in said and not declined[row]:
                return
            self.place += 1
            if self._taken[row]:
                continue  # among this revision's training answers, so not in its population
            wrong = is_wrong(said.get(row, ()), int(self.revision.codes[row]))
            if isinstance(event, Draw) and self.place > self._start:
                self._bet(event, wrong)
            else:
                self.bets.know(int(self._cell_of[row]), wrong=wrong)
            self._taken[row] = True

    def _bet(self, event: Draw, wrong: bool) -> None:
        if event.revision is not None and event.weights is not None:
            self._cross_with(event.revision)
            weights = event.weights[self._weight_of_cell]
        else:
            weights = np.ones(len(self.bets.left))
        self.bets.observe(int(self._cell_of[event.row]), wrong=wrong, weights=weights)
        self.n_draws += 1

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A bound that rests for good on what was known at some moment, as classes were merged, parted or deleted then.

    Which classes are is decided by people who have seen the draws, so these go on to count as they did before. A merge
    only makes wrong labels right: what was certain without it is certain with it, and not the reverse. So does a
    deletion, but for the rows that carry the deleted class: these count as wrong.
    """

    errors_upper: int
    codes: IntArray  # of the revision, with the classes from before, like `known`
    known: IntArray


@dataclass(slots=True, kw_only=True)
class Bound:
    """A bound on the errors of a revision in a population of rows: by a look, or by bets where there is none."""

    revision: int
    population: BoolArray
    alpha: float
    began_with: frozenset[int]  # changes of classes: it says nothing where one of them was taken back
    look: Look | None = None
    outside: IntArray  # rows that are not in the population
    closed: Closed | None = None
    settled: int | None = None  # what a look says that no answer will change, unless somebody changes an answer


class Certificates:
    """What is certified of each revision; all together may fail with probability alpha."""

    def __init__(self, alpha: float, *, mends: bool = False) -> None:
        self.alpha, self.mends = AlphaBudget(alpha), mends
        self.log: list[Draw | Trained] = []
        self.said: dict[int, list[int]] = {}  # row to all class codes that it was ever answered with
        self.revisions: list[Revision] = []
        self.bounds: list[Bound] = []
        self.starts: dict[int, int] = {}  # where in the log the draws begin that bets on a revision count
        self.aims: dict[int, int | None] = {}  # errors to stay below, as the target was when each was adopted
        self.n_released = 0  # how many answers the largest release has learnt from
        self.certified: int | None = None  # the last release: weighted draws are for its certificate
        self._changed: set[int] = set()  # rows that were answered in more than one way
        self._replays: dict[int, Replay] = {}  # by revision; made when somebody asks
        self._unmerged: list[Revision] = []  # as they were made

    def add(self, book: Book, revision: Revision) -> int:
        """Adopt a revision; return its number."""
        self._unmerged.append(revision)
        self.revisions.append(_merged(revision, book))
        return len(self.revisions) - 1

    def look(self, book: Book, look: Look) -> None:
        """Have a look at a revision when its draws are there."""
        self._add_bound(book, look.revision, look.population, look.alpha, look)

    def bet(self, book: Book, index: int, alpha: float) -> None:
        """Bet on the draws from here on, for a revision that has learnt from what came before."""
        self.starts[index] = len(self.log)
        self.n_released = max(self.n_released, self.revisions[index].n_training)
        self.aims[index] = None if book.target is None else allowed_errors(book.n_rows, book.target)
        self._add_bound(book, index, self.revisions[index].outside, alpha)
        self.certified = index

    def give_up(self) -> None:
        """Draw no more for the release; if nothing was drawn for it, what its bets could spend is there again."""
        index, self.certified = self.certified, None
        if index is None or any(isinstance(event, Draw) for event in self.log[self.starts[index] :]):
            return
        bound = next(bound for bound in self.bounds if bound.revision == index and bound.look is None)
        self.bounds = [other for other in self.bounds if other is not bound]
        self.alpha.give_back(bound.alpha)
        del self.starts[index], self.aims[index]
        self._replays.pop(index, None)

    def _add_bound(self, book: Book, index: int, population: BoolArray, alpha: float, look: Look | None = None) -> None:
        bound = Bound(
            revision=index, population=population, alpha=alpha, began_with=_in_force(book), look=look,
            outside=np.flatnonzero(~population),
        )  # fmt: skip
        self.bounds.append(bound)

    def replay(self, index: int, declined: BoolArray, *, start: int = 0) -> Replay:
        """Return the bets on a revision, brought up to date; for planning, on one that is no release, from `start`."""
        replay = self._replays.get(index)
        if replay is None:
            alpha = next((b.alpha for b in self.bounds if b.revision == index and b.look is None), _NO_MATTER)
            start, aim = self.starts.get(index, start), self.aims.get(index)
            replay = self._replays[index] = Replay(
                index, self.revisions, self.log, alpha, aim=aim, start=start, mend=self.mends
            )
        replay.advance(self.said, declined)
        return replay

    def alpha_of(self, index: int) -> float:
        """Return what the bets on a release may spend."""
        return next(bound.alpha for bound in self.bounds if bound.revision == index and bound.look is None)

    def errors_upper(self, bound: Bound, book: Book) -> int | None:
        """Return what a bound says by now; None if nothing."""
        return self._upper(bound, book.declined) if bound.began_with <= _in_force(book) else None

    def _upper(self, bound: Bound, declined: BoolArray) -> int | None:
        if bound.closed is not None:
            return bound.closed.errors_upper
        if bound.look is None:
            return self.replay(bound.revision, declined).bets.errors_upper
        if bound.settled is None and bound.look.due:
            upper = bound.look.errors_upper(self.revisions[bound.revision], self.said)
            if not bound.look.is_settled(self.said, declined):
                return upper
            bound.settled = upper
        return bound.settled

    def best(self, book: Book) -> tuple[Revision | None, float]:
        """Return the revision with the best certificate, and the rows that it certifies right."""
        if not self.revisions:
            return None, book.n_known
        best, most = self.revisions[-1], float(book.n_known)
        for bound, right in self.rows_right(book):
            if right >= most:
                best, most = self.revisions[bound.revision], right
        return best, most

    def rows_right(self, book: Book) -> Iterator[tuple[Bound, int]]:
        """Yield each bound that says something, and how many rows are right if the labels of its revision are put out.

        Answers correct the rows that the revision has wrong. A row outside the population is right if it is known, as
        is one that carries a class which was deleted since the bound was closed.
        """
        answered = np.array([*book.given, *book.answered], dtype=np.intp)
        changed = (
            [place for place, row in enumerate(answered.tolist()) if row in self._changed] if self._changed else []
        )
        for bound in self.bounds:
            upper = self.errors_upper(bound, book)
            if upper is None:
                continue
            codes = self.revisions[bound.revision].codes
            unknown = int((book.known[bound.outside] == UNKNOWN).sum())
            wrong = book.known[answered] != codes[answered]
            for place in changed:  # a row that was right at some time may not have been among the errors
                wrong[place] &= all(one != codes[answered[place]] for one in self.said[int(answered[place])])
            if bound.closed is not None:  # what was wrong without the merge was counted as such
                before = bound.closed.known[answered]
                wrong = np.where(before == UNKNOWN, wrong, before != bound.closed.codes[answered])
                gone = (codes == UNKNOWN) & (bound.closed.codes != UNKNOWN)  # right before, if at all, and wrong now
                wrong &= ~gone[answered]
                unknown += int((gone & bound.population & (book.known == UNKNOWN)).sum())
            corrected = int((bound.population[answered] & wrong).sum())
            yield bound, book.n_rows - max(upper - corrected, 0) - unknown

    def change_row(self, change: RowChanged) -> None:
        """Take in an answer; one that was another before has all bets replayed, and counts as wrong where either is."""
        said = self.said.get(change.row, [])
        new = change.code != UNKNOWN and change.code not in said
        if new:
            self.said[change.row] = [*said, change.code]
            self._changed |= {change.row} if said else set()
        if change.was_declined or (new and said):
            self._forget()

    def close(self, book: Book, change: ClassChange) -> list[int]:
        """Have all that was certain rest on the draws as they were; return the rows that are open again."""
        for bound in self.bounds:
            upper = self._upper(bound, change.declined)
            if upper is not None and bound.closed is None:
                codes = self.revisions[bound.revision].codes
                bound.closed = Closed(errors_upper=upper, codes=codes, known=change.known)
        self.bounds = [bound for bound in self.bounds if bound.closed is not None]
        self.revisions[:] = [_merged(revision, book) for revision in self._unmerged]
        again = [row.row for row in change.rows if row.code == UNKNOWN]
        for row in again:
            del self.said[row]
        self.said.update((row.row, [row.code]) for row in change.rows if row.code != UNKNOWN)
        self.certified = None
        self._forget()
        return again

    def _forget(self) -> None:
        """Have all bounds made anew when somebody asks: what they rest on is another than before."""
        self._replays = {}
        for bound in self.bounds:
            bound.settled = None


def _in_force(book: Book) -> frozenset[int]:
    """Return which merges and deletions of classes are in force: by the number of each."""
    return frozenset(step.number for step in book.class_changes())


def _merged(revision: Revision, book: Book) -> Revision:
    """Return a revision with classes as they are by now; some may have been merged since it was begun."""
    codes = codes_now(book, revision.codes)
    return revision if codes is revision.codes else replace(revision, codes=codes)
