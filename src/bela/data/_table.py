"""Tables of named columns: in memory, or in Arrow files that are looked at where they lie."""

import functools
import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bela.data._arrow import as_texts, index_column, is_coded, plain, to_python
from bela.data._coded import arrow_blocks
from bela.data._digests import U64, digest_batch
from bela.data._watching import ScanWatch
from bela.errors import DataError, ParameterError, QuestionError
from bela.storage import empty_array

_BLOCK_BYTES, _SHOWN = 32 << 20, 64


class OpenTable:
    """What all tables that are open have in common; `notices` say what was made of the data where there was a choice.

    Digests and fingerprint are made when first asked for, the latter from the digests where there is no other way.
    """

    def __init__(
        self, *, name: str, columns: Sequence[str], n_rows: int, root: Path | None,
        fingerprint: Callable[[], str] | None, notices: Sequence[str] = (),
    ) -> None:  # fmt: skip
        if not n_rows:
            raise DataError(f"{name} has no rows: there is nothing to label")
        self.name, self.root, self.columns, self.n_rows = name, root, tuple(columns), n_rows
        index = index_column(self.columns)
        told = () if index is None else (f"column {index!r} is an index: no feature, but good as an id",)
        self.notices: tuple[str, ...] = (*notices, *told)
        self._find_fingerprint = fingerprint

    @functools.cached_property
    def fingerprint(self) -> str:
        if self._find_fingerprint is not None:
            return self._find_fingerprint()
        digests = self.row_digests().astype("<u8").tobytes()
        return hashlib.sha256(json.dumps(self.columns).encode() + digests).hexdigest()

    @functools.cached_property
    def _row_digests(self) -> U64:
        raise NotImplementedError

    def row_digests(self) -> U64:
        return self._row_digests

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a whole column, as `batches` shows it."""
        return pa.chunked_array([batch.column(0) for batch in self.batches([name])])

    def batches(
        self, columns: Sequence[str] | None = None, *, start: int = 0, most: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Go through all rows in order, or those from `start` on, in blocks of some megabytes, or of `most` rows."""
        raise NotImplementedError

    def _check_row(self, row: int) -> None:
        if not 0 <= row < self.n_rows:
            raise QuestionError(f"{self.name} has no row {row}: its {self.n_rows:,} rows are counted from 0")

    def _chosen(self, columns: Sequence[str] | None) -> list[str]:
        """Return the names of these columns, or of all, if there are such."""
        for name in columns or ():
            if name not in self.columns:
                shown = ", ".join(self.columns[:20]) + (", ..." if len(self.columns) > 20 else "")
                raise ParameterError(f"{self.name} has no column {name!r}: it has {shown}")
        return list(self.columns if columns is None else columns)


class ArrowTable(OpenTable):
    """The rows of batches that all have the same columns; `release` is called when a block is not needed for now.

    Columns of `mixed` kinds, such as numbers and texts, or objects, are handed out as text by `column` and `batches`;
    all else gives each value as it was. Where they are not `typed`, as in CSV, all is text.
    """

    def __init__(
        self, batches: Sequence[pa.RecordBatch], *, name: str, root: Path | None = None, typed: bool = True,
        notices: Sequence[str] = (), fingerprint: Callable[[], str] | None = None,
        digests: Callable[["ArrowTable"], U64] | None = None, release: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._batches = [block for batch in batches for block in _blocks(batch)]
        self._ends: list[int] = list(accumulate(batch.num_rows for batch in self._batches))
        self._release, self._n_shown = release, 0
        self._describe(
            self._batches[0].schema if self._batches else pa.schema([]), self._ends[-1] if self._ends else 0,
            name=name, root=root, typed=typed, notices=notices, fingerprint=fingerprint, digests=digests or digests_of,
        )  # fmt: skip

    def _describe(
        self, schema: pa.Schema, n_rows: int, *, name: str, root: Path | None, typed: bool, notices: Sequence[str],
        fingerprint: Callable[[], str] | None, digests: Callable[["ArrowTable"], U64],
    ) -> None:  # fmt: skip
        """Say what the table is like, wherever its rows are."""
        self.typed, self.mixed = typed, tuple(field.name for field in schema if is_coded(field))
        self._coded, self._find_digests = frozenset(self.mixed), digests
        OpenTable.__init__(
            self, name=name, columns=schema.names, n_rows=n_rows, root=root, fingerprint=fingerprint, notices=notices
        )

    def record(self, row: int) -> dict[str, Any]:
        """Return one row, each value as it was given: from JSON just what stood there."""
        self._check_row(row)
        at = bisect_right(self._ends, row)
        batch = self._batches[at]
        self._n_shown += 1
        if self._n_shown % _SHOWN == 0:  # the system may have mapped megabytes around each of them
            self._release()
        return self._rows(batch.slice(row - self._ends[at] + batch.num_rows, 1))[0]

    def iter_records(self) -> Iterator[dict[str, Any]]:
        """Go through all rows in order, each as `record` returns it."""
        for batch in self.stored():
            for start in range(0, batch.num_rows, 1024):
                yield from self._rows(batch.slice(start, 1024))

    def values(self, name: str) -> Iterator[Any]:
        """Go through the values of one column, each as `record` returns it."""
        self._chosen([name])
        for batch in self.stored():
            yield from self._values(name, batch.column(name))

    def blocks(self, name: str) -> Iterator[pa.Array | list[Any]]:
        """Go through the same values in blocks: as Arrow has them, where that is what labels are made of."""
        self._chosen([name])
        for batch in self.stored():
            if name in self._coded:
                yield self._values(name, batch.column(name))
            else:
                yield from arrow_blocks(batch.column(name))

    def batches(
        self, columns: Sequence[str] | None = None, *, start: int = 0, most: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        names = self._chosen(columns)
        for batch in self.stored(start, most):
            yield shown_batch(batch, names)

    def stored(self, start: int = 0, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Go through the batches as they are kept, or cut, and let go of each when the next is asked for."""
        for batch, end in zip(self._batches, self._ends, strict=True):
            first = max(0, start - end + batch.num_rows)
            for at in range(first, batch.num_rows, most or batch.num_rows):
                yield batch.slice(at, most)
            if first < batch.num_rows:
                self._release()

    @functools.cached_property
    def _row_digests(self) -> U64:
        return self._find_digests(self)

    def _rows(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        columns = [self._values(name, column) for name, column in zip(self.columns, batch.columns, strict=True)]
        return [dict(zip(self.columns, values, strict=True)) for values in zip(*columns, strict=True)]

    def _values(self, name: str, column: pa.Array) -> list[Any]:
        if name not in self._coded:
            return to_python(column)
        return [None if text is None else json.loads(text) for text in column.to_pylist()]


def shown_batch(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Return some columns as they are handed out: values of mixed kinds as text."""
    fields = [batch.schema.field(name) for name in names]
    shown = [(as_texts if is_coded(field) else plain)(batch.column(field.name)) for field in fields]
    return pa.RecordBatch.from_arrays(shown, names=list(names))


def digests_of(table: ArrowTable) -> U64:
    """Return a digest of each row, made from its values."""
    found, n_done, tell = empty_array((table.n_rows,), np.uint64), 0, ScanWatch()
    for batch in table.stored():
        found[n_done : n_done + batch.num_rows] = digest_batch(batch)
        n_done += batch.num_rows
        tell(n_done / table.n_rows)
    return found


def _blocks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch that is too large to be copied as a whole."""
    if batch.num_rows:
        step = max(1, int(batch.num_rows * _BLOCK_BYTES / max(batch.nbytes, _BLOCK_BYTES)))
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)
