"""Whatever answers questions: an array of true labels, or a callable."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from bela.errors import DataError, ParameterError
from bela.oracles._command import CommandOracle
from bela.oracles._function import FunctionOracle
from bela.protocols import Oracle
from bela.records import IntArray


class TruthOracle:
    """Answer from an array of true labels, one for each row."""

    def __init__(self, labels: Any, n_rows: int) -> None:
        self.labels = np.asarray(labels)
        if self.labels.ndim != 1 or len(self.labels) != n_rows:
            raise DataError(
                f"the true labels must be one for each of the {n_rows} rows, not an array of shape {self.labels.shape}"
            )

    def __call__(self, rows: IntArray) -> Sequence[Any]:
        answers: list[Any] = self.labels[rows].tolist()
        return answers


class CallableOracle:
    """Answer by calling a function with an array of rows; None for a row means that it is skipped."""

    def __init__(self, function: Callable[[IntArray], Sequence[Any]]) -> None:
        self.function = function

    def __call__(self, rows: IntArray) -> Sequence[Any]:
        answers = self.function(rows)
        if isinstance(answers, str) or not hasattr(answers, "__len__") or len(answers) != len(rows):
            raise DataError(
                f"the oracle was asked for {len(rows)} row(s) and must return as many labels, not {answers!r}"
            )
        return list(answers)


def answers_of(oracle: Oracle, rows: IntArray) -> Generator[tuple[int, Any], None, None]:
    """Yield each row with its answer (None: skipped), as soon as the oracle gives it where it gives them one by one.

    An oracle that has a method `answers` gives them in whatever order they come; others give all at once. So a caller
    that keeps each answer as it comes loses none when the oracle fails half-way.
    """
    stream = getattr(oracle, "answers", None)
    if stream is not None:
        yield from stream(rows)
    else:
        yield from zip((int(row) for row in rows), oracle(rows), strict=True)


def make_oracle(oracle: Any, n_rows: int) -> Oracle:
    """Make an oracle of an array of true labels or of a callable from an array of rows to labels."""
    if isinstance(oracle, (CommandOracle, FunctionOracle, TruthOracle, CallableOracle)):
        return oracle  # it checks its answers itself, and may give them one by one
    if callable(oracle):
        return CallableOracle(oracle)
    if oracle is None or isinstance(oracle, (str, bytes)):
        raise ParameterError(
            "the oracle must be an array of true labels, or a callable from an array of rows to labels"
        )
    return TruthOracle(oracle, n_rows)
