"""All that certifies revisions: looks at held-out draws, and bets on the draws from after a release.

A *release* is a revision that learnt from everything known. Its certificate is the log of draws replayed on the rows
outside its training answers, with bets on the draws from after its adoption only. docs/guarantees.md proves that these
are weighted draws without replacement from a labelling that was fixed before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bela.book import Book, ClassChange, RowChanged
from bela.bounds import AlphaBudget
from bela.methods._deciding import codes_now
from bela.methods.bela._looks import Look
from bela.methods.bela._population import AllBut, count_rows
from bela.methods.bela._replay import Draw, Replay, Trained
from bela.methods.bela._revision import Revision
from bela.records import UNKNOWN, BoolArray, IntArray
from bela.shares import allowed_errors

_NO_MATTER = 0.01  # alpha of bets that certify nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A bound that rests for good on what was known at some moment, as classes were merged, parted or deleted then.

    Which classes are is decided by people who have seen the draws, so these go on to count as they did before. A merge
    only makes wrong labels right: what was certain without it is certain with it, and not the reverse. So does a
    deletion, but for the rows that carry the deleted class: these count as wrong.
    """

    errors_upper: int
    codes: IntArray  # of the revision, with the classes from before, like `known`
    known: IntArray  # where one of several answers was the revision's label, that one: it corrects nothing


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
    upper_at_end: int = 0  # what they said there: a skip that is taken back later lifts them no more
    closed: Closed | None = None
    settled: int | None = None  # what a look says that no answer will change, unless somebody changes an answer


class Certificates:
    """What is certified of each revision; all together may fail with probability alpha."""

    def __init__(self, alpha: float, *, mends: bool = False) -> None:
        self.alpha, self.mends = AlphaBudget(alpha), mends
        self.log: list[Draw | Trained] = []
        self.said: dict[int, list[int]] = {}  # row to all class codes that it was ever answered with
        self.told: dict[int, tuple[int, int]] = {}  # row to the length of the log when it was said first, and what was
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

    def begin(self, book: Book) -> None:
        """Take note of rows that nobody can read: they are wrong in every revision, and cannot be drawn."""
        self.log += [Trained(row) for row in book.set_aside]
        self.told |= dict.fromkeys(book.set_aside, (0, UNKNOWN))

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
            if bound.returns:
                replay = self.replay(index, book.declined)
                bound.end, bound.upper_at_end = replay.place, replay.bets.errors_upper
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
        return bound.alpha * self.replay(self.certified, book.declined).worth(self.said)

    def falls_short(self, book: Book) -> bool:
        """Whether the release cannot reach the target, as that was moved or is gone: its bets say nothing of so few."""
        index = self.certified
        if index is None or not self._bets_on(index).returns:
            return False
        aim, wanted = self.aims[index], 0 if book.target is None else allowed_errors(book.n_rows, book.target)
        return aim is not None and wanted < aim

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
                told=None if bound is None else self.told,
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
                    start=self.starts[index], part=revision.codes == c, told=self.told,
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
            return max(self.replay(bound.revision, declined).bets.errors_upper, bound.upper_at_end)
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
                wrong[changed] = False  # what they were said to be before has no name any more
                wrong = np.where(before == UNKNOWN, wrong, before != bound.closed.codes[answered])
                gone = (codes == UNKNOWN) & (bound.closed.codes != UNKNOWN)  # right before, if at all, and wrong now
                wrong &= ~gone[answered]
                lost = np.flatnonzero(gone & (book.known == UNKNOWN))
                unknown += int(bound.population.inside(lost).sum())
            corrected = int((bound.population.inside(answered) & wrong).sum())
            yield bound, book.n_rows - max(upper - corrected, 0) - unknown

    def change_row(self, change: RowChanged) -> None:
        """Take in an answer; one that was another before has all bets replayed, and counts as wrong where either is."""
        if change.code != UNKNOWN or change.declined:
            self.told.setdefault(change.row, (len(self.log), change.code))
        said = self.said.get(change.row, [])
        new = change.code != UNKNOWN and change.code not in said
        if new:
            self.said[change.row] = [*said, change.code]
            self._changed |= {change.row} if said else set()
        if change.was_declined or (new and said):
            self._forget()

    def disputed(self, codes: IntArray) -> IntArray:
        """Return the rows with several answers, one of which was the label: whether that is an error, nobody knows."""
        rows = [row for row in self._changed if int(codes[row]) in self.said.get(row, ())]
        return np.array(rows, dtype=np.intp)

    def _known_for(self, codes: IntArray, known: IntArray) -> IntArray:
        rows = self.disputed(codes)
        if not len(rows):
            return known
        found = known.copy()
        found[rows] = np.where(known[rows] == UNKNOWN, UNKNOWN, codes[rows])
        return found

    def close(self, book: Book, change: ClassChange) -> list[int]:
        """Have all that was certain rest on the draws as they were; return the rows that are open again."""
        for bound in self.bounds:
            upper = self._upper(bound, change.declined)
            if upper is not None and bound.closed is None:
                codes = self.revisions[bound.revision].codes
                bound.closed = Closed(errors_upper=upper, codes=codes, known=self._known_for(codes, change.known))
        self.bounds = [bound for bound in self.bounds if bound.closed is not None]
        self.revisions[:] = [_merged(revision, book) for revision in self._unmerged]
        again = [row.row for row in change.rows if row.code == UNKNOWN]
        for row in again:
            del self.said[row]
            self.told.pop(row, None)  # a row that a deletion taken back has answered was never told
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
