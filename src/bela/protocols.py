"""Every seam of the project on one page.

*Records* are rows as people see them; a *source* gives their features, an *oracle* their labels. A *splitter* learns
from answers how to cut a leaf. A *method* chooses questions and labels the rest; it sees rows as integers and labels
as class codes, so that a campaign can deal with names, budgets and records, and a method with nothing but its
mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from bela.records import Certificate, Event, Forecast, IntArray, Labelling, Matrix, Proposal, Role

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


@runtime_checkable
class Records(Protocol):
    """The rows of a dataset as people see them: named columns of texts, numbers, images, anything."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the data."""

    @property
    def fingerprint(self) -> str:
        """A digest of the whole content: another one when anything in the data has changed."""

    @property
    def root(self) -> Path | None:
        """The folder that paths of images in the data start from, where there is one."""

    def record(self, row: int) -> dict[str, Any]:
        """Return one row, at once, wherever it lies."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a whole column."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Go through all rows in order, in blocks that fit into memory."""

    def iter_records(self) -> Iterator[dict[str, Any]]:
        """Go through all rows in order, each as `record` returns it: as it was, where a table shows it as text."""

    def row_digests(self) -> npt.NDArray[np.uint64]:
        """Return a digest of the content of each row."""


@runtime_checkable
class Source(Protocol):
    """Where the features of the rows come from."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def n_features(self) -> int:
        """How many features a row has."""

    def take(self, rows: IntArray) -> Matrix:
        """Return the features of these rows, in their order."""

    def scan(self, function: Callable[[Matrix], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Apply a function to every block of rows, in order, and join what it returns."""


@runtime_checkable
class Journal(Protocol):
    """What happened in a campaign, in order; only ever appended to."""

    def append(self, events: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Event]:
        """Write events (kind and particulars), all or none, and return them when they are safe."""

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield events in order, from the one after `after` on."""

    def close(self) -> None:
        """Let go of it."""


@runtime_checkable
class ArrayStore(Protocol):
    """A place for arrays that took long to make; it may be emptied at any time."""

    def load(self, name: str) -> list[npt.NDArray[Any]] | None:
        """Return the arrays kept under a name, None where there are none."""

    def save(self, name: str, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Keep arrays under a name."""


@runtime_checkable
class Oracle(Protocol):
    """Whatever knows the labels."""

    def __call__(self, rows: IntArray) -> Sequence[Any]:
        """Return one label for each row."""


@runtime_checkable
class Cut(Protocol):
    """A fitted splitter: a place among the children for any row."""

    def predict(self, X: Matrix) -> IntArray:
        """Return a child for each row; the codes need not be consecutive."""


@runtime_checkable
class Splitter(Protocol):
    """A way to learn how to cut a leaf into children that are more uniform."""

    @property
    def supervised(self) -> bool:
        """Whether the cut comes from answers (else from a sample of the leaf's rows)."""

    def fit(self, X: Matrix, y: IntArray, seed: int) -> Cut | None:
        """Learn a cut, or return None where there is nothing to cut by.

        A supervised splitter gets the training answers of a leaf; an unsupervised one a sample of the leaf's rows,
        with `y` empty.
        """


@runtime_checkable
class Method(Protocol):
    """A way to choose questions, cut the data, and label the rest.

    A method is deterministic: the same seed and the same sequence of calls give the same state. It never learns the
    answer to a question before `observe` is called for it.
    """

    @property
    def name(self) -> str:
        """The name by which it is chosen."""

    @property
    def batch(self) -> int:
        """How many questions it likes to ask at once."""

    @property
    def n_revisions(self) -> int:
        """How often the labels of all rows were made anew, where that happens at certain moments; else 0."""

    def know(self, rows: IntArray, codes: IntArray) -> None:
        """Take in labels that the data brought with them, before the first question."""

    def propose(self, n: int) -> Sequence[Proposal]:
        """Choose up to n further questions; none when there is nothing to ask (until open questions are answered).

        A row that is known, or proposed and not yet observed or skipped, is not proposed again.
        """

    def observe(self, row: int, role: Role, code: int) -> None:
        """Take in the answer to a proposed question."""

    def skip(self, row: int, role: Role) -> None:
        """Take note that the oracle would not answer; the row is proposed no more."""

    def retract(self, row: int, role: Role) -> None:
        """Forget the answer to a question or that it was skipped: it is open again, as after `propose`."""

    def revise(self, row: int, role: Role, code: int) -> None:
        """Replace an answer, or a label that the data brought, by another."""

    def merge(self, rows: Sequence[int], roles: Sequence[Role], code: int, into: int) -> None:
        """Take two classes for one from now on; `rows` are those known to be of the class that vanishes."""

    def unmerge(self, rows: Sequence[int], roles: Sequence[Role], code: int) -> None:
        """Take back the last merge: these rows are of this class again."""

    def aim(self, target: float | None, budget: int | None) -> None:
        """Take note that the campaign will stop elsewhere than was said at first."""

    def repeat(self, n: int, proposals: Sequence[Proposal], n_revisions: int) -> None:
        """Do what `propose(n)` did when it returned these proposals and left so many revisions.

        For the replay of a journal. Raises `ReplayError` if it would not do so again.
        """

    def labelling(self) -> Labelling:
        """Label every row as things stand."""

    def certificate(self) -> Certificate:
        """State the lower bound as things stand, with what it is worth."""

    def forecast(self) -> Forecast | None:
        """Estimate the answers still needed to reach the target; None where the method cannot tell."""


@runtime_checkable
class Revising(Protocol):
    """What a method has besides if it makes revisions in the background."""

    @property
    def n_revisions(self) -> int:
        """How many revisions there were."""

    @property
    def n_begun(self) -> int:
        """How many revisions there were, and one more if one is being made or ready to be taken up."""

    @property
    def revising(self) -> bool:
        """Whether a revision is being made just now."""

    def wait(self) -> None:
        """Wait until the revision that is being made is ready to be taken up."""

    def warm_up(self) -> None:
        """Make what the next revision will need; may be called beside everything else."""
