"""Python functions that answer: from rows to labels, or from records to labels."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Sized

import numpy as np

from bela._functions import importing_from_here, load_function, said
from bela.errors import DataError, OracleError, ParameterError
from bela.labels import is_missing
from bela.oracles._kinds import ORACLES, OracleContext, OracleOptions
from bela.oracles._reader import Record, RecordOf, RecordReader
from bela.oracles.kinds._truth import TruthOracle
from bela.protocols import Oracle
from bela.records import Answer, IntArray

_END = object()


def make_oracle(oracle: object, n_rows: int) -> Oracle:
    """Make an oracle of an array of true labels or of a callable from an array of rows to labels."""
    if isinstance(oracle, Oracle):
        return oracle
    if callable(oracle):
        return CallableOracle(oracle)
    if oracle is None or isinstance(oracle, (str, bytes)):
        raise ParameterError("the oracle must be an array of true labels, or a callable from rows to labels")
    return TruthOracle(oracle, n_rows)


class CallableOracle:
    """Answer by calling a function with an array of rows; None for a row means that it is skipped."""

    batch = 0

    def __init__(self, function: Callable[[IntArray], Sequence[object]]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def answers(self, rows: IntArray) -> Generator[Answer, None, None]:
        """Yield the answers, in the order of the rows."""
        labels = self.function(rows)
        if isinstance(labels, str) or not hasattr(labels, "__len__") or len(labels) != len(rows):
            asked = f"the oracle was asked for {len(rows)} row(s)"
            raise DataError(f"{asked} and must return as many labels, not {labels!r}")
        for row, label in zip(rows, labels, strict=True):
            yield Answer(row=int(row), label=label)

    def close(self) -> None:
        """Nothing is held open."""


class FunctionOracle:
    """Answer by a function that gets the records of the rows and gives their labels.

    The function is called with a list of records, each a dict of the row's columns, and returns one label for each, in
    their order: a list, or anything that can be gone through, so that it may also yield them one by one as they become
    known. None, or NaN, skips a row.

    It may be given by its name, `module:function`; `records` are the data, or a function that gives the record of a
    row, and `hide` are columns that it does not get, such as the one that holds the labels.

    Examples
    --------
    >>> texts = ["a", "bb", "ccc", "dddd"]
    >>> oracle = FunctionOracle(lambda records: [len(r["text"]) for r in records], lambda row: {"text": texts[row]})
    >>> [answer.label for answer in oracle.answers([2, 0])]
    [3, 1]
    """

    batch = 0

    def __init__(
        self, function: Callable[[list[Record]], object] | str, records: RecordOf, *, hide: Collection[str] = ()
    ) -> None:
        self._function = load_function(function) if isinstance(function, str) else function
        self.name = function if isinstance(function, str) else getattr(function, "__name__", type(function).__name__)
        self._read = RecordReader(records, hide)

    def answers(self, rows: IntArray | Sequence[int]) -> Generator[Answer, None, None]:
        """Yield each answer as soon as the function gives it."""
        asked = [int(row) for row in rows]
        if not asked:
            return
        labels = self._labels([self._read(row) for row in asked])
        for row, label in zip(asked, labels, strict=True):
            plain = label.item() if isinstance(label, np.generic) else label
            yield Answer(row=row, label=None if is_missing(plain) else plain)

    def close(self) -> None:
        """Nothing is held open."""

    def _labels(self, records: list[Record]) -> Iterator[object]:
        """Call the function and go through what it returns, one label a record, with its errors told as ours."""
        asked = f"the function {self.name!r} was asked for {len(records)} label(s)"
        try:
            with importing_from_here():
                labels = self._function(records)
            if isinstance(labels, (str, bytes, Mapping)) or not isinstance(labels, Iterable):
                raise OracleError(f"{asked} and must return a list of as many, not a {type(labels).__name__}")
            if isinstance(labels, Sized) and len(labels) != len(records):
                raise OracleError(f"{asked} and gave {len(labels)}")
            waiting = iter(labels)
            for n_labels in range(len(records) + 1):
                with importing_from_here():
                    label = next(waiting, _END)
                if (label is _END) != (n_labels == len(records)):
                    raise OracleError(f"{asked} and gave {'fewer' if label is _END else 'more'}")
                if label is not _END:
                    yield label
        except OracleError:
            raise
        except (Exception, SystemExit) as error:
            failed = f"the function {self.name!r} failed with {said(error)}"
            raise OracleError(f"{failed}: mend it and go on, nothing that was answered so far is lost") from error


@ORACLES.register("function")
def choose_function(argument: str, options: OracleOptions) -> Callable[[OracleContext], FunctionOracle]:
    """A Python function that gets a list of records and returns their labels, named `module:function`."""
    options.check_only_batch()
    load_function(argument)
    return lambda context: FunctionOracle(argument, context.records, hide=context.hidden)
