"""Records in a table: in memory, or in Arrow files that are looked at where they lie."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError, ParameterError, QuestionError
from bela.sources._arrow import plain, to_python
from bela.sources._digests import digest_batch, join
from bela.sources._values import as_texts, decode, is_coded

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 32 << 20
_SHOWN = 64


class TableRecords:
    """The rows of a table.

    Columns of `mixed` kinds, such as numbers and texts, or objects, are handed out as text by `column` and `batches`;
    `record`, `values` and `iter_records` give each value as it was.

    Parameters
    ----------
    batches
        The rows, all with the same columns.
    name
        What the data are called in messages.
    root
        The folder that paths in the data start from.
    typed
        Whether the columns have types; in CSV all is text, and numbers are told by looking.
    fingerprint, digests
        Functions that return the fingerprint and the digests of the rows, where these are not made from the values.
    release
        A function to call when a block of rows is not needed for now.
    """

    def __init__(
        self,
        batches: Sequence[pa.RecordBatch],
        *,
        name: str,
        root: Path | None = None,
        typed: bool = True,
        fingerprint: Callable[[], str] | None = None,
        digests: Callable[[TableRecords], npt.NDArray[np.uint64]] | None = None,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        self._batches = [block for batch in batches for block in _blocks(batch)]
        if not self._batches:
            raise DataError(f"{name} has no rows: there is nothing to label")
        self._ends: list[int] = list(accumulate(batch.num_rows for batch in self._batches))
        self._schema = self._batches[0].schema
        self._coded = frozenset(field.name for field in self._schema if is_coded(field))
        self._find_fingerprint, self._find_digests, self._release = fingerprint, digests, release
        self._fingerprint: str | None = None
        self._digests: npt.NDArray[np.uint64] | None = None
        self._n_shown = 0
        self.name, self.root, self.typed = name, root, typed
        self.columns: tuple[str, ...] = tuple(self._schema.names)
        self.mixed: tuple[str, ...] = tuple(name for name in self.columns if name in self._coded)

    @property
    def n_rows(self) -> int:
        return self._ends[-1]

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            if self._find_fingerprint is not None:
                self._fingerprint = self._find_fingerprint()
            else:
                self._fingerprint = fingerprint_of_rows(self.columns, self.row_digests())
        return self._fingerprint

    def record(self, row: int) -> dict[str, Any]:
        """Return one row, each value as it was given: from JSON just what stood there."""
        if not 0 <= row < self.n_rows:
            raise QuestionError(f"{self.name} has no row {row}: its {self.n_rows:,} rows are counted from 0")
        at = bisect_right(self._ends, row)
        batch = self._batches[at]
        [found] = self._rows(batch.slice(row - self._ends[at] + batch.num_rows, 1))
        self._n_shown += 1
        if self._n_shown % _SHOWN == 0:  # the system may have mapped megabytes around each of them
            self._release()
        return found

    def iter_records(self) -> Iterator[dict[str, Any]]:
        """Go through all rows in order, each as `record` returns it."""
        for batch in self._batches:
            for start in range(0, batch.num_rows, 1024):
                yield from self._rows(batch.slice(start, 1024))
            self._release()

    def values(self, name: str) -> Iterator[Any]:
        """Go through the values of one column, each as `record` returns it."""
        self._check(name)
        for batch in self._batches:
            column = batch.column(name)
            yield from decode(column.to_pylist()) if name in self._coded else to_python(column)
            self._release()

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a whole column; values of mixed kinds, and objects, as text."""
        import pyarrow as pa

        self._check(name)
        chunks = [self._shown(name, batch.column(name)) for batch in self._batches]
        return pa.chunked_array(chunks)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Go through all rows in order, in blocks of some megabytes; values of mixed kinds, and objects, as text."""
        import pyarrow as pa

        names = self.columns if columns is None else tuple(columns)
        for name in names:
            self._check(name)
        for batch in self._batches:
            chosen = [self._shown(name, batch.column(name)) for name in names]
            yield pa.RecordBatch.from_arrays(chosen, names=list(names))
            self._release()

    def row_digests(self) -> npt.NDArray[np.uint64]:
        if self._digests is None:
            self._digests = digests_of(self) if self._find_digests is None else self._find_digests(self)
        return self._digests

    def _digest_blocks(self) -> Iterator[npt.NDArray[np.uint64]]:
        for batch in self._batches:
            yield digest_batch(batch)
            self._release()

    def _rows(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        columns = [
            decode(column.to_pylist()) if name in self._coded else to_python(column)
            for name, column in zip(self.columns, batch.columns, strict=True)
        ]
        return [dict(zip(self.columns, values, strict=True)) for values in zip(*columns, strict=True)]

    def _shown(self, name: str, column: pa.Array) -> pa.Array:
        return as_texts(column) if name in self._coded else plain(column)

    def _check(self, name: str) -> None:
        if name not in self.columns:
            raise ParameterError(no_such_column(self.name, name, self.columns))


def digests_of(records: TableRecords) -> npt.NDArray[np.uint64]:
    """Return a digest of each row, made from its values."""
    return join(list(records._digest_blocks()))


def fingerprint_of_rows(columns: Sequence[str], digests: npt.NDArray[np.uint64]) -> str:
    """Return a fingerprint of data that are in no file."""
    total = hashlib.sha256(json.dumps(columns).encode())
    total.update(digests.astype("<u8").tobytes())
    return total.hexdigest()


def no_such_column(where: str, name: str, columns: Sequence[str]) -> str:
    """Say that there is no such column, and what there is."""
    shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
    return f"{where} has no column {name!r}: it has {shown}"


def _blocks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch that is too large to be copied as a whole."""
    if batch.num_rows:
        step = max(1, int(batch.num_rows * _BLOCK_BYTES / max(batch.nbytes, _BLOCK_BYTES)))
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)
