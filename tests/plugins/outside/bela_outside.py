"""A package that is not bela's and adds one of each kind to it: an example to start from, and run by a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bela.book import Book, Change
from bela.data import OpenFile, Reader
from bela.errors import ParameterError
from bela.exports import ExportFormat, LabelledRows
from bela.oracles import OracleContext, OracleOptions
from bela.protocols import Setup
from bela.records import UNKNOWN, Answer, Assessment, Certificate, Guarantee, IntArray, Labelling, Proposal, Role


def write_counts(rows: LabelledRows, path: Path) -> None:
    """Write how many rows each label has."""
    counts = Counter(rows.result.labels.tolist())
    path.write_text("".join(f"{label}: {n}\n" for label, n in sorted(counts.items())), encoding="utf-8")


COUNTS = ExportFormat(
    title="Counts", description="How many rows each label has", write=write_counts, endings=(".counts",)
)


class LengthsDoor:
    """A door whose models see nothing of a text but its length."""

    kinds, is_safe = ("text",), True

    def found(self, kind: str) -> Sequence[str]:
        """Nobody gets these models without asking."""
        return ()

    def digest(self, model: str, kind: str, tell: Callable[[str], object]) -> str:
        """Each model is what its name says."""
        if model not in ("plain", "square"):
            raise ParameterError(f"there is no model {model!r}: choose plain or square")
        return f"lengths {model}"

    def load(self, model: str, kind: str) -> LengthModel:
        """Return the model."""
        return LengthModel(2 if model == "square" else 1)


class LengthModel:
    """The length of a text, to some power."""

    batch = 16

    def __init__(self, power: int) -> None:
        self.power = power

    def __call__(self, items: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return two numbers for each text."""
        return np.array([[len(text) ** self.power, 1.0] for text in items])


LENGTHS = LengthsDoor()


class LongerOracle:
    """Answers whether the text of a row is longer than so many characters."""

    name, batch = "longer", 4

    def __init__(self, limit: int, context: OracleContext) -> None:
        self.limit, self.context = limit, context

    def answers(self, rows: IntArray) -> Generator[Answer, None, None]:
        """Yield an answer to each row, at a price."""
        for row in rows.tolist():
            text = str(self.context.records.record(row)["text"])
            yield Answer(row=row, label="long" if len(text) > self.limit else "short", cost=0.25)

    def close(self) -> None:
        """Nothing is held open."""


def choose_longer(argument: str, options: OracleOptions) -> Callable[[OracleContext], LongerOracle]:
    """Whether a text is longer than so many characters."""
    if not argument.isdecimal():
        raise ParameterError(f"--oracle longer=N takes a number of characters, not {argument!r}")
    return lambda context: LongerOracle(int(argument), context)


def read_paragraphs(file: OpenFile) -> Iterator[pa.RecordBatch]:
    """Go through a text, a row for each paragraph."""
    paragraphs = file.path.read_text(encoding="utf-8").split("\n\n")
    texts = [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]
    yield pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])


PARAGRAPHS = Reader(endings=(".paragraphs",), read=read_paragraphs)


def hoeffding_upper(
    n_drawn: npt.ArrayLike, n_wrong: npt.ArrayLike, *, population: int, alpha: float
) -> npt.NDArray[np.int64]:
    """Bound the errors of a population by Hoeffding's inequality.

    Guarantee
    ---------
    With probability at least 1 - alpha over the draws, for one look, no more of its rows are wrong.

    Assumes
    -------
    Draws uniform and without replacement, their number fixed beforehand.
    """
    n, wrong = np.maximum(np.asarray(n_drawn), 1), np.asarray(n_wrong)
    share = wrong / n + np.sqrt(np.log(1 / alpha) / (2 * n))
    return np.minimum(np.floor(population * share), population).astype(np.int64)


class Majority:
    """Asks rows at random, and gives the most frequent answer to all others."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def follow(self, book: Book, change: Change) -> None:
        """Remember nothing: everything is in the book."""

    def propose(self, book: Book, n: int) -> Sequence[Proposal]:
        """Draw rows that nobody was asked about."""
        left = np.flatnonzero((book.known == UNKNOWN) & ~book.asked)
        rows = self.setup.rng(0, len(book.questions)).permutation(left)[:n]
        return [Proposal(row=int(row), role=Role.BOUNDS) for row in rows]

    def assess(self, book: Book) -> Assessment:
        """Bound how many of the others are wrong; the answers chose the label, so this is not a guarantee."""
        answers = book.known[book.known != UNKNOWN]
        code = int(np.bincount(answers).argmax()) if len(answers) else UNKNOWN
        n_wrong, n_rows = int((answers != code).sum()), len(book.known)
        wrong = int(hoeffding_upper(len(answers), n_wrong, population=n_rows, alpha=1 - self.setup.confidence))
        certificate = Certificate(
            lower=1 - wrong / n_rows, confidence=self.setup.confidence, guarantee=Guarantee.NONE,
            n_training=0, n_bounds=book.n_answers[Role.BOUNDS],
        )  # fmt: skip
        return Assessment(certificate=certificate, label=lambda: self._label(book, code), batch=4)

    def revise(self, book: Book) -> None:
        """Nothing takes long."""

    def _label(self, book: Book, code: int) -> Labelling:
        codes = np.where(book.known == UNKNOWN, code, book.known)
        return Labelling(codes=codes, leaf=np.zeros(len(codes), dtype=int), n_leaves=1)
