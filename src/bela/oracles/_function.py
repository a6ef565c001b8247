"""A Python function of the user's own that answers, named as `module:function`."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from bela.errors import OracleError, ParameterError
from bela.oracles._plain import Reader, RecordOf, is_missing
from bela.records import IntArray

AnsweringFunction: TypeAlias = Callable[[list[dict[str, Any]]], Iterable[Any]]

_LONGEST = 300  # characters of somebody else's error message


def load_function(spec: str) -> Callable[..., Any]:
    """Import a function that is named as `module:function`, from the current folder or wherever Python finds modules.

    Examples
    --------
    >>> load_function("os.path:basename")("a/b")
    'b'
    """
    name, colon, path = spec.partition(":")
    parts = path.split(".")
    if not colon or not all(part.isidentifier() for part in (*name.split("."), *parts)):
        raise ParameterError(f"{spec!r} names no function: write module:function, such as labels:answer for labels.py")
    importlib.invalidate_caches()  # the file may have been written a moment ago
    with _importing_from_here():
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                raise ParameterError(
                    f"there is no module {error.name!r} for {spec!r}, neither in {os.getcwd()} nor installed"
                ) from None
            raise ParameterError(f"the module {name!r} cannot be imported: {_said(error)}") from error
        except (Exception, SystemExit) as error:
            raise ParameterError(f"the module {name!r} cannot be imported: {_said(error)}") from error
    for part in parts:
        if not hasattr(found, part):
            raise ParameterError(f"the module {name!r} has no function {path!r}")
        found = getattr(found, part)
    if not callable(found):
        raise ParameterError(f"{spec!r} is no function but a {type(found).__name__}")
    return found


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
            with _importing_from_here():
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
                with _importing_from_here():
                    label = next(waiting, end)
                if label is end:
                    return
                yield label
        except (OracleError, GeneratorExit):
            raise
        except (Exception, SystemExit) as error:
            raise OracleError(
                f"the function {self.name} failed with {_said(error)}: mend it and go on, "
                "nothing that was answered so far is lost"
            ) from error


@contextmanager
def _importing_from_here() -> Iterator[None]:
    """Let modules of the current folder be found, as when Python is started in it."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)


def _said(error: BaseException) -> str:
    """Return what an error says and where it arose, on one line."""
    text = " ".join(str(error).split())
    where = ""
    if isinstance(error, SyntaxError):
        text = f"{error.msg}, {os.path.basename(error.filename or 'its file')} line {error.lineno}"
    else:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith("<frozen") and os.path.dirname(__file__) not in frame.filename
        ]
        if frames and os.path.basename(os.path.dirname(frames[-1].filename)) != "importlib":
            where = f" (line {frames[-1].lineno} of {os.path.basename(frames[-1].filename)})"
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"
