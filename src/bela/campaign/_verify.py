"""Decide everything anew: would the method, as it is by now, have asked and concluded what the journal says?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bela.book import Asked, Book, Event, Revised
from bela.protocols import ArrayStore, Job, Method
from bela.records import AnyArray, Proposal
from bela.storage import MemoryArrays, digest_arrays

_SHOWN = 5  # differences that are told one by one
_ROUNDING = 1e-9  # what machines may differ by in the last digits of a weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What became of deciding questions and revisions anew."""

    n_decided: int
    n_compared: int  # of another version of the method: arrays by their digest, questions as they were recorded
    n_different: int
    differences: tuple[str, ...]  # in words, the first few

    @property
    def holds(self) -> bool:
        """Whether nothing came out otherwise."""
        return self.n_different == 0


class Verifier:
    """Looks at each event of a journal before it is folded, and decides anew what was decided then.

    Nothing is changed among the `arrays` of the campaign, and nothing is believed but what has the recorded digest.
    """

    def __init__(self, arrays: ArrayStore) -> None:
        self.arrays: ArrayStore = _Recorded(arrays)
        self._jobs: dict[int, Job] = {}  # revisions that might have been begun, by the version of the book
        self._version: int | None = None  # of the method
        self._decided = self._compared = 0
        self._different: list[str] = []

    @property
    def verification(self) -> Verification:
        """What was found so far."""
        n, shown = len(self._different), tuple(self._different[:_SHOWN])
        return Verification(n_decided=self._decided, n_compared=self._compared, n_different=n, differences=shown)

    def __call__(self, book: Book, method: Method, event: Event) -> None:
        """Decide what this event says was decided; the book is as it was before it."""
        job = method.revise(book)
        if job is not None:
            self._version = job.method_version
            if not job.optional:
                self._jobs[book.version] = job
        if isinstance(event, Asked):
            self._see_questions(book, method, event)
        elif isinstance(event, Revised):
            self._see_revision(book, event)
            self._jobs.clear()

    def _see_questions(self, book: Book, method: Method, event: Asked) -> None:
        if book.revisions and self._is_other(book.revisions[-1]):
            self._compared += 1
            return
        self._decided += 1
        again = tuple(method.propose(book, event.n))
        if not _same(event.questions, again):
            n = max(len(event.questions), len(again))
            other = n - sum(a.row == b.row for a, b in zip(event.questions, again, strict=False))
            rows = f"of {n} question(s), {other} would be about another row now"
            self._differ(book, rows if other else "the questions would be drawn in another way now")

    def _see_revision(self, book: Book, event: Revised) -> None:
        job = self._jobs.get(event.version)
        if self._is_other(event):
            self._compared += 1
            if digest_arrays(self.arrays.load(event.arrays)) != event.digest:
                self._differ(book, f"the arrays {event.arrays!r} are not those that were recorded")
            return
        self._decided += 1
        if job is None:
            self._differ(book, f"no revision would be made after event {event.version} now")
            return
        arrays = job.compute()
        again = job.decide(book, arrays)
        if again is None or again.digest != event.digest:
            rows = _n_rows_that_differ(arrays, self.arrays.load(event.arrays), book.n_rows)
            self._differ(book, f"the revision comes out otherwise on this machine, for {rows} of {book.n_rows} rows")
        elif not math.isclose(again.alpha, event.alpha, rel_tol=_ROUNDING):
            self._differ(book, f"the revision would be given {again.alpha:g} of alpha now, not {event.alpha:g}")

    def _is_other(self, event: Revised) -> bool:
        """Whether a revision was made by another version of the method, which need not come to the same."""
        return self._version is not None and self._version != event.method_version

    def _differ(self, book: Book, what: str) -> None:
        self._different.append(f"event {book.version + 1}: {what}")


class _Recorded:
    """Gives out arrays that events name, and has the method make all others again, without writing anything."""

    def __init__(self, arrays: ArrayStore) -> None:
        self._arrays, self._own = arrays, MemoryArrays()

    def __contains__(self, name: str) -> bool:
        return name in self._own

    def load(self, name: str) -> list[AnyArray]:
        return self._own.load(name) if name in self._own else self._arrays.load(name)

    def save(self, name: str, arrays: Sequence[AnyArray]) -> None:
        self._own.save(name, arrays)


def _same(recorded: Sequence[Proposal], again: Sequence[Proposal]) -> bool:
    """Whether questions are the same, weights to the last digits that machines agree about."""
    return len(recorded) == len(again) and all(
        (a.row, a.role, a.revision, len(a.weights)) == (b.row, b.role, b.revision, len(b.weights))
        and all(math.isclose(x, y, rel_tol=_ROUNDING) for x, y in zip(a.weights, b.weights, strict=True))
        for a, b in zip(recorded, again, strict=True)
    )


def _n_rows_that_differ(arrays: Sequence[AnyArray], recorded: Sequence[AnyArray], n_rows: int) -> int:
    """Count the rows about which two revisions say something else, if that is how their arrays differ."""
    differ = np.zeros(n_rows, dtype=bool)
    for one, other in zip(arrays, recorded, strict=False):
        if one.shape == other.shape and one.shape[:1] == (n_rows,):
            differ |= (one != other).reshape(n_rows, -1).any(axis=1)
    return int(differ.sum()) or n_rows
