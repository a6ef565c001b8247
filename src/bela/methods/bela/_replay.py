"""The log of draws and training questions, and what it says about the errors of one revision: bets on its draws."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bela.bounds import ErrorBets, likely_shares
from bela.methods.bela._looks import is_wrong
from bela.methods.bela._population import count_rows
from bela.methods.bela._revision import Revision
from bela.records import BoolArray, FloatArray, IntArray

Said = Mapping[int, Sequence[int]]  # row to all that was ever answered about it
Told = Mapping[int, tuple[int, int]]  # row to how long the log was when it was answered or declined at first, and how


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

    A bet rests on what was `told` before its draw was made, whatever is said of these rows later; without that, on all
    earlier rows.
    """

    def __init__(
        self, index: int, revisions: list[Revision], log: list[Draw | Trained], alpha: float,
        *, aim: int | None, start: int = 0, mend: bool = False, part: BoolArray | None = None,
        against: int | None = None, returns: bool = False, told: Told | None = None,
    ) -> None:  # fmt: skip
        self._told = told
        self._to_learn: list[tuple[int, bool, int | None]] = []  # when it was told, whether it is wrong, and the bin
        self._is_late = False  # whether something was said, or changed, by somebody who may have known later draws
        self.revision = revision = revisions[index]
        self.index, self._revisions, self._log = index, revisions, log
        self.place, self._start = 0, start  # where in the log it has come to
        self._bin, self._sizes, seen, wrong = revision.bin, revision.sizes, revision.seen, revision.wrong
        if part is not None:  # with its share of the evidence beforehand
            self._bin = np.where(part, self._bin, np.int8(-1))
            self._sizes = count_rows(self._bin, self._bin >= 0, len(revision.sizes))
            share = self._sizes / np.maximum(revision.sizes, 1)
            seen, wrong = seen * share, wrong * share
        self._least = least = 1 if aim is None or not returns else aim + 1
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
                break
            self.place += 1
            if row in self._taken or self._bin[row] < 0:
                continue  # among this revision's training answers, so not in its population
            wrong, drawn = is_wrong(said.get(row, ()), int(self.revision.codes[row])), False
            if isinstance(event, Draw) and self.place > self._start:
                drawn = True
                self._learn(self.place - 1)
                self._bet(event, wrong)
            else:
                self.bets.know(int(self._cell_of[row]), wrong=wrong, learning=False)
            when, first = (0, None) if self._told is None else self._told.get(row, (len(self._log), None))
            at_first = wrong if first is None else first != int(self.revision.codes[row])
            self._is_late |= when > max(self.place, self._start) or at_first != wrong
            self._to_learn.append((when, at_first, int(self._bin[row]) if drawn else None))
            self._taken.add(row)
        self._learn(self.place)

    def _learn(self, place: int) -> None:
        """Let bets rest on what was told before the log was longer than this."""
        later = []
        for one in self._to_learn:
            when, wrong, bin_ = one
            if when <= place:
                self.bets.learn(wrong=wrong, bin_=bin_)
            else:
                later.append(one)
        self._to_learn = later

    def _bet(self, event: Draw, wrong: bool) -> None:
        if event.revision is not None and event.weights is not None:
            bins, factors = np.split(event.weights, [len(self._sizes)])
            self._cross_with(event.revision, factors)
            weights = bins[self._weight_of_cell] * self._factor_of_cell
        else:
            weights = np.ones(len(self.bets.left))
        self.bets.observe(int(self._cell_of[event.row]), wrong=wrong, weights=weights, learning=False)
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

    def worth(self, said: Said) -> float:
        """Return what the bets are worth to somebody who ends them now: whatever is open counts as wrong.

        Who leaves a draw open may know what it shows, and end the bets because of it. So may who decides late how many
        errors were found by some draw: against so many nothing was bet any more, and what later draws lost is not seen.
        """
        if self.place == len(self._log):
            return 0.0 if self._is_late and self.bets.found >= self._least else self.bets.worth
        twin = copy.copy(self)
        twin.bets, twin._taken, twin._to_learn = self.bets.copy(), set(self._taken), [*self._to_learn]
        twin.advance(said, np.ones(len(self._bin), dtype=bool))
        return twin.worth(said)

    def likely_error(self) -> float:
        """Return the share of the rows left that is wrong, as far as the bets can tell, for planning only."""
        left = self._left()
        return float(likely_shares(self.bets, np.array([0.5]))[0] @ left) / max(int(left.sum()), 1)
