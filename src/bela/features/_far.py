"""Features of a table whose rows lie on other machines: learned from a sample that travels, computed and kept there.

They are those that a table in memory would get, to the last bit: by the same fixed blocks, and with all that is summed
up over the rows added in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from bela.features._arrow import cut_fixed, far_block_rows
from bela.features._fit import Fitted, fit_parts
from bela.features._parts import Step
from bela.features._plan import FeaturePlan
from bela.features._rows import LearnerRows
from bela.features._scaling import Prepared
from bela.features._source import sum_of_squares
from bela.protocols import FarBlocks, FarTable, Table
from bela.records import AnyArray, IntArray, Matrix


class FarSource:
    """Features on other machines, a `ReadySource`; what follows from them may be `kept` in a folder here."""

    def __init__(self, blocks: FarBlocks[Prepared], kept: tuple[Path, str] | None) -> None:
        self._blocks, self.kept = blocks, kept
        self.n_rows = blocks.n_rows
        self.n_features = int(blocks.take(np.zeros(1, np.intp)).dense.shape[1])

    def take(self, rows: IntArray) -> Matrix:
        """Return the features of these rows, in their order."""
        return self._blocks.take(rows).dense

    def scan(self, function: Callable[[Matrix], AnyArray]) -> AnyArray:
        """Apply a function to every block of rows, where it lies, and join what it returns."""
        return self._blocks.scan(partial(_of_dense, function))

    def learner_rows(self) -> LearnerRows:
        """Return all rows in the forms that the learner wants."""
        return self._blocks


def is_far(records: Table, plan: FeaturePlan) -> bool:
    """Whether features can be computed where the rows lie: not where files or models of this machine are needed."""
    here = plan.embed or plan.of_kind("image") or plan.features != "auto"
    return isinstance(records, FarTable) and not here


def far_features(
    records: Table, plan: FeaturePlan, *, seed: int, step: Step, kept: tuple[Path, str] | None = None
) -> FarSource:
    """Turn all rows into features where they lie."""
    if not isinstance(records, FarTable):
        raise TypeError("features are computed elsewhere only if the rows lie elsewhere")
    fitted = fit_parts(records, plan, [], seed=seed, step=step)
    rows = records.far()
    size = far_block_rows(rows, fitted.columns)
    made = rows.mapped(partial(_transform, fitted, size), Prepared.take, Prepared.stack)
    total, n_done = 0.0, 0
    for sums in made.each(partial(_squares, size)):
        for n, one in sums:
            total, n_done = total + one, n_done + n
        step("computing features", n_done / rows.n_rows)
    mean = total / rows.n_rows
    if mean == 0:
        return FarSource(made, kept)
    return FarSource(made.mapped(partial(_scaled, 1 / np.sqrt(mean)), Prepared.take, Prepared.stack), kept)


def _of_dense(function: Callable[[Matrix], AnyArray], block: Prepared) -> AnyArray:
    return function(block.dense)


def _transform(fitted: Fitted, size: int, start: int, block: pa.RecordBatch) -> Prepared:
    parts = cut_fixed(block, fitted.columns, size)
    return Prepared.stack([
        fitted.of(some, range(start + first, start + first + some.num_rows)) for first, some in parts
    ])  # fmt: skip


def _squares(size: int, _: int, block: Prepared) -> list[tuple[int, float]]:
    """Return how many rows each fixed block has, and the sum of their squares."""
    parts = [block.dense[start : start + size] for start in range(0, len(block.dense), size)]
    return [(len(part), sum_of_squares(part)) for part in parts]


def _scaled(factor: float, _: int, block: Prepared) -> Prepared:
    return replace(block, dense=np.asarray(block.dense * np.float32(factor)))
