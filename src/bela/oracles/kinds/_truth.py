"""True labels that are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np

from bela.errors import DataError
from bela.oracles._kinds import ORACLES, OracleContext, OracleOptions
from bela.records import Answer, IntArray


class TruthOracle:
    """Answer from an array of true labels, one for each row; None or NaN for those that are not known.

    >>> [answer.label for answer in TruthOracle(["cat", "dog", None], 3).answers(np.array([1, 2]))]
    ['dog', None]
    """

    batch = 0

    def __init__(self, labels: object, n_rows: int, *, name: str = "truth") -> None:
        self.labels, self.name = np.asarray(labels), name
        if self.labels.shape != (n_rows,):
            wanted = f"the true labels must be one for each of the {n_rows} rows"
            raise DataError(f"{wanted}, not an array of shape {self.labels.shape}")

    def answers(self, rows: IntArray) -> Generator[Answer, None, None]:
        """Yield the answers, in the order of the rows."""
        for row, label in zip(rows, self.labels[rows].tolist(), strict=True):
            yield Answer(row=int(row), label=label)

    def close(self) -> None:
        """Nothing is held open."""


@ORACLES.register("truth")
def choose_truth(argument: str, options: OracleOptions) -> Callable[[OracleContext], TruthOracle]:
    """A column, or a .npy file, that has the labels; without an argument, those that the dataset brings."""
    options.check_only_batch()

    def make(context: OracleContext) -> TruthOracle:
        known, n_rows = context.labels(argument), context.records.n_rows
        labels = np.array([known.get(row) for row in range(n_rows)], dtype=object)
        return TruthOracle(labels, n_rows, name=f"truth {argument}".strip())

    return make
