"""Every seam of the project on one page.

A *table* has rows as people see them; a *source* gives their features, an *oracle* their labels. A *splitter* learns
from answers how to cut a leaf. A *method* chooses questions and labels the rest; it sees rows as integers and labels as
class codes, so that a campaign can deal with names, budgets and records, and a method with nothing but its mathematics.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bela.errors import ParameterError

from bela.records import (  # isort: skip
    Answer, AnyArray, Assessment, Entry, FloatArray, IntArray, Json, Label, Matrix, Prediction, Proposal,
)  # fmt: skip

if TYPE_CHECKING:
    from bela.book import Book, Change, Revised

BLOCK_ROWS = 8_192  # rows that a function of `scan` gets at once, all blocks but the last
Block_co = TypeVar("Block_co", covariant=True)
Other = TypeVar("Other")
Found = TypeVar("Found")


@runtime_checkable
class Table(Protocol):
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

    @property
    def notices(self) -> tuple[str, ...]:
        """What was made of the data where there was a choice, for whoever brought them to know."""

    def record(self, row: int) -> dict[str, Any]:
        """Return one row, at once, wherever it lies."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a whole column."""

    def batches(
        self, columns: Sequence[str] | None = None, *, start: int = 0, most: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Go through all rows in order, or those from `start` on, in blocks that fit into memory, of `most` rows."""

    def iter_records(self) -> Iterator[dict[str, Any]]:
        """Go through all rows in order, each as `record` returns it: as it was, where a table shows it as text."""

    def row_digests(self) -> npt.NDArray[np.uint64]:
        """Return a digest of the content of each row."""


class Blocks(Protocol[Block_co]):
    """All rows, wherever they lie and however many they are: some of them at once, or a function of each block.

    The seam for size: whoever touches all rows goes through `scan`, and holds nothing of the size of all rows but what
    comes back, which is a few bytes a row. Where the rows are must make no difference, not even in the last digit:

    - The i-th block is rows `BLOCK_ROWS * i` to `BLOCK_ROWS * (i + 1)`, whatever pieces the data are kept in, as the
      product of two matrices may differ in its last digit with the number of rows. A source whose pieces end elsewhere
      cuts them anew; one that computes elsewhere may do many blocks in one task.
    - The function sees a block alone and returns an array with an entry, of any shape, for each of its rows, always of
      the same type. It can be pickled, changes nothing, and may be called in several threads or processes at once, in
      any order. The entries are joined in the order of the rows.
    - What is reduced over all rows (a mean, a count) is reduced from what comes back, by whoever asked.
    """

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    def take(self, rows: IntArray) -> Block_co:
        """Return these rows, in their order: hundreds of thousands at most, each at most once."""

    def scan(self, function: Callable[[Block_co], AnyArray]) -> AnyArray:
        """Apply a function to every block of rows, and join what it returns."""


class FarBlocks(Blocks[Block_co], Protocol[Block_co]):
    """Blocks on other machines: functions go to the rows, and what is large stays there."""

    def each(self, function: Callable[[int, Block_co], Found]) -> Iterator[Found]:
        """Yield what a function of the number of a block's first row, and the block, returns, block by block."""

    def each_piece(
        self, function: Callable[[int, Block_co, Other], Found], beside: Callable[[int, int], Other]
    ) -> Iterator[Found]:
        """Do so for pieces of many blocks, each sent something beside it that is made of its first and last row."""

    def mapped(
        self, function: Callable[[int, Block_co], Other], cut: Callable[[Other, IntArray | slice], Other],
        stack: Callable[[Sequence[Other]], Other],
    ) -> "FarBlocks[Other]":  # fmt: skip
        """Return what a function makes of each block, kept where the rows are; `cut` returns some rows of it."""


@runtime_checkable
class FarTable(Protocol):
    """A table whose rows lie on other machines, or are best looked at block by block where they lie."""

    def far(self) -> FarBlocks[pa.RecordBatch]:
        """Return all rows there, in the columns and types that `Table.batches` has."""


@runtime_checkable
class Source(Protocol):
    """Where the features of the rows come from: `Blocks` of matrices, dense or sparse, of single precision.

    What the learner makes of them (scales, components) is `bela.features.learner_rows`, `Blocks` of `Prepared`: by
    `take` it fits a transformation to a sample, and in `scan` the transformation is part of the function. A source
    whose rows are no plain numbers (texts and tables turned into features where the data are) is a `ReadySource`.
    """

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def n_features(self) -> int:
        """How many features a row has."""

    def take(self, rows: IntArray) -> Matrix:
        """Return the features of these rows, in their order."""

    def scan(self, function: Callable[[Matrix], AnyArray]) -> AnyArray:
        """Apply a function to every block of rows, and join what it returns: see `Blocks`."""


@runtime_checkable
class Journal(Protocol):
    """What happened in a campaign, in order; only ever appended to."""

    def append(self, events: Sequence[tuple[str, Mapping[str, Json]]]) -> list[Entry]:
        """Write events (kind and particulars), all or none, and return them when they are safe."""

    def events(self, after: int = 0) -> Iterator[Entry]:
        """Yield events in order, from the one after `after` on."""

    def close(self) -> None:
        """Let go of it."""


@runtime_checkable
class ArrayStore(Protocol):
    """A place for arrays that belong to a campaign, such as those of its revisions."""

    def __contains__(self, name: str) -> bool:
        """Whether there are arrays under a name."""

    def load(self, name: str) -> list[AnyArray]:
        """Return the arrays kept under a name, as they were; a JournalError where they are missing or damaged."""

    def save(self, name: str, arrays: Sequence[AnyArray]) -> None:
        """Keep arrays under a name; when this returns they are safe, otherwise it is a JournalError."""


@runtime_checkable
class SequentialBound(Protocol):
    """A bound on the errors of a population, better with every draw: it has `errors_upper`, `errors_lower` or both."""

    population: int
    alpha: float

    @property
    def found(self) -> int:
        """How many rows were seen to be wrong."""

    @property
    def n_left(self) -> int:
        """How many rows can still be drawn."""

    def observe(self, cell: int, *, wrong: bool, weights: npt.ArrayLike) -> None:
        """Take in a drawn row of a cell; each row that was left had a chance proportional to its cell's weight."""


class CountBound(Protocol):
    """A bound from counts alone, arrays of them included: on the errors of a population, each count for itself."""

    def __call__(self, n_drawn: npt.ArrayLike, n_wrong: npt.ArrayLike, *, population: int, alpha: float) -> IntArray:
        """Return how many of the rows are wrong, at most."""


@runtime_checkable
class LeafBound(Protocol):
    """A bound on what is right if, in each leaf, all rows that nobody has answered get the label of the leaf."""

    def rows_right(
        self, size: npt.ArrayLike, n_known: npt.ArrayLike, n_label: npt.ArrayLike, n_drawn: npt.ArrayLike,
        n_known_label: npt.ArrayLike,
    ) -> FloatArray:  # fmt: skip
        """Return how many rows of each leaf are right, at least, the known ones included.

        Of its `size` rows, `n_known` were answered, `n_known_label` of them with the leaf's label; of the `n_drawn`
        that were drawn at random, `n_label` had it.
        """


@runtime_checkable
class Oracle(Protocol):
    """Whatever knows the labels, and is believed."""

    @property
    def name(self) -> str:
        """What it is called in the record of a campaign; no secrets."""

    @property
    def batch(self) -> int:
        """How many questions it likes to get at once at least; 0 where that is all the same to it."""

    def answers(self, rows: IntArray) -> Generator[Answer, None, None]:
        """Yield an answer to each row, with its cost, as soon as it is there, in any order; close it to give up.

        A caller that keeps each answer as it comes loses none when the oracle fails half-way.
        """

    def close(self) -> None:
        """Let go of whatever it holds."""


@runtime_checkable
class Taught(Protocol):
    """An oracle that can be shown rows with their labels, as long as it helps and is not believed."""

    def show_examples(self, labels: Mapping[int, Label]) -> None:
        """Go by some of these from now on."""


class Embedder(Protocol):
    """A model that is loaded: texts, or images, to a vector for each."""

    @property
    def batch(self) -> int:
        """How many it likes to get at once; no more are lost if the process is killed."""

    def __call__(self, items: Sequence[Any]) -> AnyArray:
        """Return a row of numbers for each text, or for each image of Pillow in colours."""


class EmbeddingDoor(Protocol):
    """A way to have models turn texts or images into vectors: a package, a folder, an address, a function.

    Nothing is fetched unless `tell` was called first with a sentence that says what, from where, and how much.
    """

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of columns that it has models for: "text", "image"."""

    @property
    def is_safe(self) -> bool:
        """Whether the rows stay on this machine and no code runs but that of installed packages."""

    def found(self, kind: str) -> Sequence[str]:
        """Return the models for a kind of column that could be used at once, the best first; none if nothing is."""

    def digest(self, model: str, kind: str, tell: Callable[[str], object]) -> str:
        """Return a digest of all that the vectors depend on; weights that are not here are fetched.

        A ParameterError where there is no such model for the kind.
        """

    def load(self, model: str, kind: str) -> Embedder:
        """Load a model that `digest` has found."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """All that a method is made from, besides options of its own."""

    source: Source
    confidence: float = 0.95  # that of the certificate
    seed: int = 0  # of what is random in a learner
    key: int = 0  # of the draws: a digest of seed, data, given labels, and whatever else shaped the labels
    arrays: ArrayStore  # where those of revisions are kept
    predictions: Mapping[str, Prediction] = field(default_factory=dict)  # of others (UNKNOWN: none)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ParameterError(f"confidence lies strictly between 0 and 1, not {self.confidence}")

    def rng(self, stream: int, number: int, salt: int = 0) -> np.random.Generator:
        """Return the generator of one draw: nothing random is hidden in an object, and no number serves twice."""
        return np.random.default_rng([self.key, stream, number, *([salt] if salt else [])])


class Job(Protocol):
    """The making of a revision: it changes nothing, so it may run beside everything else."""

    @property
    def method_version(self) -> int:
        """A number that is raised with every change of what revisions of this method come to."""

    @property
    def optional(self) -> bool:
        """Whether it only prepares others, so that it is done beside the answering or not at all."""

    def compute(self) -> Sequence[AnyArray]:
        """Return the arrays of the revision."""

    def decide(self, book: "Book", arrays: Sequence[AnyArray]) -> "Revised | None":
        """Say what becomes of the revision as things stand by now; None for one that only prepares, or is late."""


@runtime_checkable
class Method(Protocol):
    """A way to choose questions and label the rest: a function of the book, with a memo that changes advance.

    The same seed and the same book give the same proposals. Nothing is learnt about a question before its answer is
    in the book.
    """

    def follow(self, book: "Book", change: "Change") -> None:
        """Advance the memo by what has just happened; the book is as it is right after that."""

    def propose(self, book: "Book", n: int) -> Sequence[Proposal]:
        """Choose up to n further questions; none where there is nothing to ask, or not before others are answered."""

    def assess(self, book: "Book") -> Assessment:
        """Say how good the labels are as things stand."""

    def revise(self, book: "Book") -> Job | None:
        """Return the making of the next revision if one is due; None for methods that need no such thing."""

    def helper_rows(self, book: "Book") -> Sequence[int] | None:
        """Return the rows that a helper shall say something about now; None for methods that learn from none."""

    def helper_examples(self, book: "Book") -> Mapping[int, Label]:
        """Return rows with their labels that a helper may be shown now; they must not depend on draws that count."""
