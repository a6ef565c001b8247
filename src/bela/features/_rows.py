"""The rows as the learner sees them, where there are too many to have them all in memory.

All rows go by in blocks (`bela.protocols.Blocks`): slices of files that are mapped, or a matrix that is scaled as it is
looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias, runtime_checkable

from bela.data import scan_blocks
from bela.features._scaling import Prepared, Scaling, fit_scaling
from bela.protocols import Blocks, Source
from bela.records import AnyArray, IntArray

MANY_ROWS = 200_000  # beyond, nothing that takes more than a few bytes a row is in memory
LearnerRows: TypeAlias = Blocks[Prepared]


def is_many(n_rows: int) -> bool:
    """Whether rows are so many that a learner sees a sample of them at once."""
    return n_rows > MANY_ROWS


@runtime_checkable
class ReadySource(Protocol):
    """A source that has the learner's features ready, in whichever forms the plan of features gives them."""

    def learner_rows(self) -> LearnerRows:
        """Return all rows in these forms."""


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Features that are kept, mapped from files or in memory."""

    prepared: Prepared

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.prepared.dense)

    def take(self, rows: IntArray) -> Prepared:
        """Return these rows."""
        return self.prepared.take(rows)

    def scan(self, function: Callable[[Prepared], AnyArray]) -> AnyArray:
        """Apply a function to every block of rows."""
        return scan_blocks(self.n_rows, lambda rows: function(self.prepared.take(rows)))


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """The rows of a matrix, scaled whenever they are looked at."""

    source: Source
    scaling: Scaling

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.source.n_rows

    def take(self, rows: IntArray) -> Prepared:
        """Return these rows."""
        return self.scaling(self.source.take(rows))

    def scan(self, function: Callable[[Prepared], AnyArray]) -> AnyArray:
        """Apply a function to every block of rows."""
        return self.source.scan(partial(_scaled, self.scaling, function))


def _scaled(scaling: Scaling, function: Callable[[Prepared], AnyArray], block: AnyArray) -> AnyArray:
    return function(scaling(block))


def scaled_rows(source: Source, seed: int) -> ScaledRows:
    """Return the rows of a matrix, scaled by a sample of them."""
    return ScaledRows(source, fit_scaling(source, seed))
