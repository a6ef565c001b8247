"""Tables and labels for the tests of exports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bela.records import Certificate, Guarantee, Result, StopReason


class ArrowTable:
    """A table in memory, as records: nothing but the protocol."""

    def __init__(self, table: pa.Table, *, block: int = 7, fingerprint: str = "f00d") -> None:
        self.table, self.block, self.fingerprint = table, block, fingerprint
        self.root = None

    @property
    def n_rows(self) -> int:
        return self.table.num_rows

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.table.schema.names)

    def record(self, row: int) -> dict[str, Any]:
        return self.table.slice(row, 1).to_pylist()[0]

    def column(self, name: str) -> pa.ChunkedArray:
        return self.table.column(name)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        table = self.table if columns is None else self.table.select(columns)
        for start in range(0, self.n_rows, self.block):
            yield from table.slice(start, self.block).combine_chunks().to_batches()

    def iter_records(self) -> Iterator[dict[str, Any]]:
        for start in range(0, self.n_rows, self.block):
            yield from self.table.slice(start, self.block).to_pylist()

    def row_digests(self) -> np.ndarray:
        return np.arange(self.n_rows, dtype=np.uint64)


def make_result(labels: Sequence[Any], *, known: Sequence[bool] | None = None, n_leaves: int = 3) -> Result:
    """Labels with a certificate; every third is an answer unless said otherwise."""
    n = len(labels)
    known = np.arange(n) % 3 == 0 if known is None else np.array(known, dtype=bool)
    rng = np.random.default_rng(n)
    return Result(
        labels=np.array(labels, dtype=object) if n == 0 else np.array(labels),
        known=known,
        leaf=np.arange(n) % n_leaves,
        probability=np.where(known, 1.0, rng.uniform(0.5, 1, n)),
        leaf_lower=np.linspace(0.8, 0.9, n_leaves),
        classes=tuple(dict.fromkeys(labels)),
        n_asked=int(known.sum()),
        stop_reason=StopReason.TARGET,
        certificate=Certificate(lower=0.9, confidence=0.95, guarantee=Guarantee.ANYTIME, n_training=3, n_bounds=5),
        method="bela",
        seed=1,
    )


def some_rows(n: int, version: int = 0) -> tuple[ArrowTable, Result]:
    """Enough rows to take a while, and labels that differ from version to version."""
    table = pa.table(
        {"text": [f'text {i} of some length, with a "quote"\nand a line' for i in range(n)], "x": range(n)}
    )
    return ArrowTable(table, block=1000), make_result([f"class {(i + version) % 5}" for i in range(n)])
