"""A Python function of the user's own that answers, named as `module:function`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np

from bela._functions import importing_from_here, load_function, said
from bela.errors import OracleError
from bela.oracles._plain import Reader, RecordOf, is_missing
from bela.records import IntArray

AnsweringFunction: TypeAlias = Callable[[list[dict[str, Any]]], Iterable[Any]]


class FunctionOracle:
    """Answer by a function that gets the records of the rows and gives their labels.

    The function is called with a list of records, each a dict of the row's columns, and returns one label for each, in
    their order: a list, or anything that can be gone through, so that it may also yield them one by one as they become
    known. None, or NaN, skips a row.

    Parameters
    ----------
    function
        The function, or its name as `module:function`.
    records
        The data, or a function that gives the record of a row.
    hide
        Columns that it does not get, such as the one that holds the labels.

    Examples
    --------
    >>> texts = ["a", "bb", "ccc", "dddd"]
    >>> oracle = FunctionOracle(lambda records: [len(r["text"]) for r in records], lambda row: {"text": texts[row]})
    >>> oracle([2, 0])
    [3, 1]
    """

    def __init__(self, function: AnsweringFunction | str, records: RecordOf, *, hide: Collection[str] = ()) -> None:
        if isinstance(function, str):
            self.name, self._function = repr(function), load_function(function)
        else:
            self.name, self._function = repr(getattr(function, "__name__", type(function).__name__)), function
        self._read = Reader(records, hide)

    def __call__(self, rows: IntArray | Sequence[int]) -> list[Any]:
        """Return one label for each row, None for those that the function skips."""
        return [label for _, label in self.answers(rows)]

    def answers(self, rows: IntArray | Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Yield each row with its label (None: skipped) as soon as the function gives it."""
        asked = [int(row) for row in rows]
        if not asked:
            return
        labels = self._iterate([self._read(row) for row in asked])
        n_labels = 0
        for row, label in zip(asked, labels, strict=False):
            n_labels += 1
            yield row, (None if is_missing(label) else label.item() if isinstance(label, np.generic) else label)
        if n_labels < len(asked) or next(labels, labels) is not labels:
            many = "fewer" if n_labels < len(asked) else "more"
            raise OracleError(f"the function {self.name} was asked for {len(asked)} label(s) and gave {many}")

    def _iterate(self, records: list[dict[str, Any]]) -> Iterator[Any]:
        """Call the function and go through what it returns, with its errors told as ours."""
        n = len(records)
        try:
            with importing_from_here():
                labels = self._function(records)
            if isinstance(labels, (str, bytes, Mapping)) or not isinstance(labels, Iterable):
                raise OracleError(
                    f"the function {self.name} was asked for {n} label(s) and must return a list of as many, "
                    f"not a {type(labels).__name__}"
                )
            if isinstance(labels, Sized) and len(labels) != n:
                raise OracleError(f"the function {self.name} was asked for {n} label(s) and gave {len(labels)}")
            waiting = iter(labels)
            end = object()
            while True:
                with importing_from_here():
                    label = next(waiting, end)
                if label is end:
                    return
                yield label
        except (OracleError, GeneratorExit):
            raise
        except (Exception, SystemExit) as error:
            raise OracleError(
                f"the function {self.name} failed with {said(error)}: mend it and go on, "
                "nothing that was answered so far is lost"
            ) from error
