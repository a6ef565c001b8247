"""All that certifies revisions: looks at held-out draws, and bets on the draws from after a release.

A *release* is a revision that learnt from everything known. Its certificate is the log of draws replayed on the rows
outside its training answers, with bets on the draws from after its adoption only. docs/guarantees.md proves that these
are weighted draws without replacement from a labelling that was fixed before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bela.book import Book, ClassChange, RowChanged
from bela.bounds import AlphaBudget, ErrorBets, likely_shares
from bela.methods._deciding import codes_now
from bela.methods.bela._looks import Look, is_wrong
from bela.methods.bela._population import AllBut, count_rows
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
    """A row drawn for the bound: from the bins of a revision, with these weights for their rows, or uniformly.

    The weights of the bins may be followed by factors for the rows of each class, by its code.
    """

    row: int
    revision: int | None = None
    weights: FloatArray | None = None


class Replay:
    """What the log of draws and training questions says about one revision, as far as its answers are known.

    It may fail with probability `alpha`; `aim` is the number of errors to stay below, and nothing is said of fewer
    where it `returns` what it has not lost. All revisions are there for the bins that older draws were made from. Bets
    begin at the place `start` of the log: rows drawn before are known like others, and nothing is bet on them, as what
    they showed may have decided that this revision is certified. With a `part`, it is about the errors in these rows
    alone: the draws that fell into it have the weights of its rows as their chances. `against` is as for `ErrorBets`.
    """

    def __init__(
        self, index: int, revisions: list[Revision], log: list[Draw | Trained], alpha: float,
        *, aim: int | None, start: int = 0, mend: bool = False, part: BoolArray | None = None,
        against: int | None = None, returns: bool = False,
    ) -> None:  # fmt: skip
        self.revision = revision = revisions[index]
        self.index, self._revisions, self._log = index, revisions, log
        self.place, self._start = 0, start  # where in the log it has come to
        self._bin, self._sizes, seen, wrong = revision.bin, revision.sizes, revision.seen, revision.wrong
        if part is not None:  # with its share of the evidence beforehand
            self._bin = np.where(part, self._bin, np.int8(-1))
            self._sizes = count_rows(self._bin, self._bin >= 0, len(revision.sizes))
            share = self._sizes / np.maximum(revision.sizes, 1)
            seen, wrong = seen * share, wrong * share
        least = 1 if aim is None or not returns else aim + 1
        self.bets = ErrorBets(
            self._sizes, alpha=alpha, seen=seen, wrong=wrong, aim=aim, against=against, mend=mend, least=least
        )
        self.n_draws = 0
        self._taken: set[int] = set()  # rows that have left the population
        self._crossed_with: tuple[int, bytes] = (index, b"")
        self._cell_of: IntArray = self._bin
        self._weight_of_cell: IntArray = np.arange(len(self._sizes))
        self._factor_of_cell: FloatArray = np.ones(1)

    def advance(self, said: Said, declined: BoolArray, end: int | None = None) -> None:
        """Take in the events whose outcome is known by now, up to the first that is open, or to the place `end`."""
        for event in self._log[self.place : end]:
            row = event.row
            if row not in said and not declined[row]:
                return
            self.place += 1
            if row in self._taken or self._bin[row] < 0:
                continue  # among this revision's training answers, so not in its population
            wrong = is_wrong(said.get(row, ()), int(self.revision.codes[row]))
            if isinstance(event, Draw) and self.place > self._start:
                self._bet(event, wrong)
            else:
                self.bets.know(int(self._cell_of[row]), wrong=wrong)
            self._taken.add(row)

    def _bet(self, event: Draw, wrong: bool) -> None:
        if event.revision is not None and event.weights is not None:
            bins, factors = np.split(event.weights, [len(self._sizes)])
            self._cross_with(event.revision, factors)
            weights = bins[self._weight_of_cell] * self._factor_of_cell
        else:
            weights = np.ones(len(self.bets.left))
        self.bets.observe(int(self._cell_of[event.row]), wrong=wrong, weights=weights)
        self.n_draws += 1

    def _cross_with(self, other: int, factors: FloatArray) -> None:
        """Cut the rows left into cells in which the weights of another revision's bins and classes are constant."""
        if (other, factors.tobytes()) == self._crossed_with:
            return  # as nearly always: draws come in long runs from the bins of one revision
        self._crossed_with = other, factors.tobytes()
        n_bins = len(self._sizes)
        if other == self.index and not len(factors):
            self._cell_of, self._weight_of_cell = self._bin, np.arange(n_bins)
            self._factor_of_cell = np.ones(1)
            self.bets.regroup(self._left())
            return
        # Both bins of a row, and the factor of its class, as one number, 0 for rows that are not left, and its cell.
        drawn_from = self._revisions[other]
        levels, level_of_class = np.unique(factors, return_inverse=True) if len(factors) else (np.ones(1), None)
        key: IntArray = self._bin.astype(np.int32) * n_bins
        key += np.maximum(drawn_from.bin, 0)
        if level_of_class is not None:
            key *= len(levels)
            key += level_of_class.astype(np.int32)[drawn_from.codes]
        key += 1
        key[self._bin < 0] = 0
        key[list(self._taken)] = 0
        counts = np.bincount(key, minlength=n_bins**2 * len(levels) + 1)[1:]
        cells = np.flatnonzero(counts)
        cell_of = np.full(len(counts) + 1, -1, dtype=np.int32)
        cell_of[cells + 1] = np.arange(len(cells))
        self._cell_of, counts = cell_of[key], counts[cells]
        self._factor_of_cell, cells = levels[cells % len(levels)], cells // len(levels)
        self._weight_of_cell = cells % n_bins
        self.bets.regroup(counts, cells // n_bins)

    def _left(self) -> IntArray:
        """Return how many rows are left in each bin."""
        taken = self._bin[list(self._taken)]
        return np.asarray(self._sizes - np.bincount(taken, minlength=len(self._sizes)))

    def weights(self, level: float | None = None) -> FloatArray:
        """Return good weights for the next draw, one for each of today's bins; `level` is as for `ErrorBets`."""
        if self._crossed_with == (self.index, b""):
            return self.bets.weights(level)
        twin = self.bets.copy()
        twin.regroup(self._left())
        return twin.weights(level)

    def likely_error(self) -> float:
        """Return the share of the rows left that is wrong, as far as the bets can tell, for planning only."""
        left = self._left()
        return float(likely_shares(self.bets, np.array([0.5]))[0] @ left) / max(int(left.sum()), 1)


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
    population: AllBut
    alpha: float
    firm: float  # the same for statements about parts of the rows: to these nothing is ever given back
    began_with: frozenset[int]  # changes of classes: it says nothing where one of them was taken back
    look: Look | None = None
    returns: bool = False  # whether what its bets have not lost is given back when they end: see `ErrorBets.worth`
    end: int | None = None  # the place in the log where they did
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
        self.n_released = 0  # how many answers the largest release has learnt from that is to reach the target
        self.certified: int | None = None  # the last release: weighted draws are for its certificate
        self._changed: set[int] = set()  # rows that were answered in more than one way
        self._replays: dict[int, Replay] = {}  # by revision; made when somebody asks
        self._class_replays: dict[int, dict[int, Replay]] = {}  # by revision and class
        self._unmerged: list[Revision] = []  # as they were made

    def add(self, book: Book, revision: Revision) -> int:
        """Adopt a revision; return its number."""
        self._unmerged.append(revision)
        self.revisions.append(_merged(revision, book))
        return len(self.revisions) - 1

    def look(self, book: Book, look: Look, firm: float) -> None:
        """Have a look at a revision when its draws are there; `firm` is as `AlphaBudget.take` says."""
        self.bounds.append(
            Bound(
                revision=look.revision, population=look.population, alpha=look.alpha, firm=firm * look.alpha,
                began_with=_in_force(book), look=look,
            )
        )  # fmt: skip

    def bet(self, book: Book, index: int, alpha: float, firm: float, *, returns: bool) -> None:
        """Bet on the draws from here on, for a revision that has learnt from what came before."""
        self.starts[index] = len(self.log)
        self.n_released = max(self.n_released, self.revisions[index].n_training)
        self.aims[index] = None if book.target is None else allowed_errors(book.n_rows, book.target)
        self.bounds.append(
            Bound(
                revision=index, population=self.revisions[index].outside, alpha=alpha, firm=firm * alpha,
                began_with=_in_force(book), returns=returns and book.target is not None,
            )
        )  # fmt: skip
        self.certified = index

    def give_up(self, book: Book) -> None:
        """Draw no more for the release: what its bets have not lost of their alpha is there again.

        That is all of it if nothing was drawn for it; then it is as if it had never been one.
        """
        if (index := self.certified) is None:
            return
        bound = self._bets_on(index)
        if self.falls_short(book):
            self.n_released = 0  # it was for another target
        if any(isinstance(event, Draw) for event in self.log[self.starts[index] :]):
            self.alpha.give_back(self.returned(book))
            bound.end = self.replay(index, book.declined).place if bound.returns else None
        else:
            self.bounds = [other for other in self.bounds if other is not bound]
            self.alpha.give_back(bound.alpha, bound.firm)
            del self.starts[index], self.aims[index]
            self._replays.pop(index, None)
            self._class_replays.pop(index, None)
        self.certified = None

    def returned(self, book: Book) -> float:
        """Return how much of its alpha the release gives back if it is given up now."""
        if self.certified is None or not (bound := self._bets_on(self.certified)).returns:
            return 0.0
        return bound.alpha * self.replay(self.certified, book.declined).bets.worth

    def falls_short(self, book: Book) -> bool:
        """Whether the release cannot reach the target, as that was moved: its bets say nothing of so few errors."""
        index = self.certified
        if index is None or book.target is None or not self._bets_on(index).returns:
            return False
        aim = self.aims[index]
        return aim is not None and allowed_errors(book.n_rows, book.target) < aim

    def _bets_on(self, index: int) -> Bound:
        return next(bound for bound in self.bounds if bound.revision == index and bound.look is None)

    def replay(self, index: int, declined: BoolArray, *, start: int = 0) -> Replay:
        """Return the bets on a revision, brought up to date; for planning, on one that is no release, from `start`."""
        replay = self._replays.get(index)
        bound = self._bets_on(index) if index in self.starts else None
        if replay is None:
            replay = self._replays[index] = Replay(
                index, self.revisions, self.log, _NO_MATTER if bound is None else bound.alpha, aim=self.aims.get(index),
                start=self.starts.get(index, start), mend=self.mends, returns=bound is not None and bound.returns,
            )  # fmt: skip
        replay.advance(self.said, declined, None if bound is None else bound.end)
        return replay

    def class_replays(self, index: int, declined: BoolArray) -> dict[int, Replay]:
        """Return the bets on a release by class, brought up to date."""
        if index not in self._class_replays:
            revision = self.revisions[index]
            classes = np.flatnonzero(count_rows(revision.codes, revision.bin >= 0)).tolist()
            self._class_replays[index] = {
                c: Replay(
                    index, self.revisions, self.log, self._bets_on(index).firm / len(classes), aim=None,
                    start=self.starts[index], part=revision.codes == c,
                )
                for c in classes
            }  # fmt: skip
        for replay in self._class_replays[index].values():
            replay.advance(self.said, declined)
        return self._class_replays[index]

    def alpha_of(self, index: int) -> float:
        """Return what the bets on a release may spend."""
        return self._bets_on(index).alpha

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
            unknown = int((book.known[bound.population.others] == UNKNOWN).sum())
            wrong = book.known[answered] != codes[answered]
            for place in changed:  # a row that was right at some time may not have been among the errors
                wrong[place] &= all(one != codes[answered[place]] for one in self.said[int(answered[place])])
            if bound.closed is not None:  # what was wrong without the merge was counted as such
                before = bound.closed.known[answered]
                wrong = np.where(before == UNKNOWN, wrong, before != bound.closed.codes[answered])
                gone = (codes == UNKNOWN) & (bound.closed.codes != UNKNOWN)  # right before, if at all, and wrong now
                wrong &= ~gone[answered]
                lost = np.flatnonzero(gone & (book.known == UNKNOWN))
                unknown += int(bound.population.inside(lost).sum())
            corrected = int((bound.population.inside(answered) & wrong).sum())
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
        self._replays, self._class_replays = {}, {}
        for bound in self.bounds:
            bound.settled = None


def _in_force(book: Book) -> frozenset[int]:
    """Return which merges and deletions of classes are in force: by the number of each."""
    return frozenset(step.number for step in book.class_changes())


def _merged(revision: Revision, book: Book) -> Revision:
    """Return a revision with classes as they are by now; some may have been merged since it was begun."""
    codes = codes_now(book, revision.codes)
    return revision if codes is revision.codes else replace(revision, codes=codes)
