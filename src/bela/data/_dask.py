"""Dask's arrays and frames, and Parquet on any file system that fsspec knows, as tables whose rows lie on a cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from bela.data._arrays import FILL, ArrayTable, SourceRows, to_arrow
from bela.data._arrow import check_names, fit, plain, widen
from bela.data._cluster import Cluster, ClusterBlocks, piece_ends
from bela.data._digests import U64, combine, digest_batch, digest_dense
from bela.data._table import ArrowTable, shown_batch
from bela.errors import DataError
from bela.records import AnyArray, IntArray, Matrix

_ARRAY, _FRAME = "the Dask array", "the Dask frame"
_NUMBERS = "biuf"

About: TypeAlias = tuple[int, int, pa.Schema]
"""How many rows and bytes a part of a table has, and its schema."""

_TAKEN = 10_000  # rows that are fetched at once by whoever begins in the middle


def open_collection(data: Any) -> ArrowTable | ArrayTable:
    """Open an array or a frame of Dask."""
    if hasattr(data, "to_frame") and not hasattr(data, "columns"):
        data = data.to_frame("text" if data.name in (None, "") else data.name)
    if hasattr(data, "columns"):
        return _open_frame(data)
    if hasattr(data, "rechunk"):
        return _open_array(data)
    what = f"dask.{type(data).__name__}"
    raise DataError(f"data of the type {what} cannot be read: give a dask.array or a dask.dataframe")


class ClusterSource:
    """The rows of an array on a cluster, as 32-bit floats; those with more dimensions are images."""

    def __init__(self, blocks: ClusterBlocks[AnyArray], shape: tuple[int, ...]) -> None:
        self.blocks, self._width = blocks, int(np.prod(shape[1:], dtype=np.int64))
        self.image_shape: tuple[int, ...] | None = shape[1:] if len(shape) > 2 else None
        bad = [found for found in blocks.each(_not_finite) if found[0]]
        if bad:
            found = f"in {sum(n for n, _ in bad)} place(s), the first in row {bad[0][1]}"
            raise DataError(f"the features hold NaN or infinity {found}: {FILL}")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.blocks.n_rows

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self._width

    def take(self, rows: IntArray) -> Matrix:
        """Return the features of these rows, in their order."""
        return _as_floats(self.blocks.take(rows))

    def scan(self, function: Callable[[Matrix], AnyArray]) -> AnyArray:
        """Apply a function to every block of rows, where it lies, and join what it returns."""
        return self.blocks.scan(partial(_of_floats, function))


def _as_floats(block: AnyArray) -> AnyArray:
    return np.asarray(block.reshape(len(block), -1), np.float32)


def _of_floats(function: Callable[[Matrix], AnyArray], block: AnyArray) -> AnyArray:
    return function(_as_floats(block))


def _not_finite(start: int, block: AnyArray) -> tuple[int, int]:
    """How many numbers of a block are none, and the row of the first."""
    if block.dtype.kind != "f":
        return 0, 0
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(_as_floats(block)))
    return len(bad), start + int(bad[0]) // max(1, block.size // len(block)) if len(bad) else 0


class ClusterRows(SourceRows):
    """An array on a cluster, in its own type, as if it were one of NumPy's; `source` has its features."""

    def __init__(self, blocks: ClusterBlocks[AnyArray], shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__(ClusterSource(blocks, shape))
        self.blocks, self.shape = blocks, shape
        self.ndim, self.dtype = len(shape), np.dtype(dtype)

    def __getitem__(self, rows: slice | int) -> AnyArray:
        if not isinstance(rows, slice):
            return np.asarray(self.blocks.take(np.array([rows]))[0])
        return self.blocks.take(np.arange(*rows.indices(self.shape[0])))


class ClusterArrayTable(ArrayTable):
    """Rows of an array on a cluster, whose digests are made where they lie."""

    @functools.cached_property
    def _row_digests(self) -> U64:
        digests = {name: np.asarray(array.blocks.scan(digest_dense)) for name, array in self._arrays.items()}
        return combine(self.n_rows, digests)

    def far(self) -> ClusterBlocks[pa.RecordBatch]:
        """Return all rows where they lie, as `batches` shows them."""
        blocks: ClusterBlocks[Any] = self._arrays[self.main].blocks
        return replace(blocks, cut=partial(_cut_as_batch, self.main), stack=stack_batches)


def _open_array(data: Any) -> ArrayTable:
    dtype, n_dims = np.dtype(data.dtype), data.ndim
    if n_dims < 2:
        advice = "give texts as a frame, and a single feature as data.reshape(-1, 1)"
        raise DataError(f"{_ARRAY} must have rows and columns, not {n_dims} dimension(s): {advice}")
    if n_dims > 4:
        raise DataError(f"{_ARRAY} has {n_dims} dimensions where images have at most four")
    if dtype.kind not in _NUMBERS or not isinstance(data._meta, np.ndarray):
        found = type(data._meta).__name__ if dtype.kind in _NUMBERS else dtype
        raise DataError(f"{_ARRAY} holds {found} where plain numbers are needed: convert its blocks first")
    if any(np.isnan(size) for sizes in data.chunks for size in sizes):
        data = data.compute_chunk_sizes()
    if not data.size:
        raise DataError(f"{_ARRAY} has the shape {data.shape}: there are no rows, or no values in them")
    cluster = Cluster.current()
    row_bytes = dtype.itemsize * data.size / data.shape[0]
    ends = piece_ends(cluster, data.shape[0], row_bytes)
    sizes = tuple(np.diff(ends, prepend=0).tolist())
    cut = data.rechunk({0: sizes, **dict.fromkeys(range(1, n_dims), -1)})
    pieces = cluster.keep([cluster.task(np.ascontiguousarray, piece) for piece in cut.to_delayed().ravel()])
    blocks = ClusterBlocks(cluster=cluster, pieces=tuple(pieces), ends=ends, cut=cut_array, stack=np.concatenate)
    rows = ClusterRows(blocks, tuple(map(int, data.shape)), dtype)
    return ClusterArrayTable({"features" if n_dims == 2 else "image": rows}, name=_ARRAY, notices=cluster.notices)


def cut_array(array: AnyArray, rows: IntArray | slice) -> AnyArray:
    """Return some rows of an array."""
    return np.asarray(array[rows])


def _cut_as_batch(name: str, rows: AnyArray | pa.RecordBatch, some: IntArray | slice) -> pa.RecordBatch:
    if isinstance(rows, pa.RecordBatch):
        return cut_batch(rows, some)
    return pa.RecordBatch.from_arrays([to_arrow(rows[some])], names=[name])


class StreamedTable(ArrowTable):
    """A table whose rows are computed by Dask whenever they are looked at."""

    def __init__(
        self, blocks: ClusterBlocks[pa.RecordBatch], schema: pa.Schema, *, name: str,
        root: Path | None = None, fingerprint: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        self._blocks = blocks
        self._describe(
            schema, blocks.n_rows, name=name, root=root, typed=True, notices=blocks.cluster.notices,
            fingerprint=fingerprint, digests=lambda _: np.asarray(blocks.scan(digest_batch)),
        )  # fmt: skip

    def record(self, row: int) -> dict[str, Any]:
        """Return one row, each value as it was given."""
        self._check_row(row)
        return self._rows(self._blocks.take(np.array([row])))[0]

    def stored(self, start: int = 0, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Go through all rows block by block, or from one on, some at a time: they travel."""
        if not start and most is None:
            return self._blocks.each(_itself)
        n, step = self.n_rows, most or _TAKEN
        return (self._blocks.take(np.arange(first, min(first + step, n))) for first in range(start, n, step))


class ClusterTable(StreamedTable):
    """A table whose rows lie on a cluster: `bela.protocols.FarTable`."""

    def far(self) -> ClusterBlocks[pa.RecordBatch]:
        """Return all rows where they lie, as `batches` shows them."""
        return replace(self._blocks, cut=_cut_shown)


def _itself(_: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def cut_batch(batch: pa.RecordBatch, rows: IntArray | slice) -> pa.RecordBatch:
    """Return some rows of a batch."""
    if isinstance(rows, slice):
        return batch.slice(rows.start, rows.stop - rows.start)
    return batch.take(pa.array(np.asarray(rows, np.int64)))


def _cut_shown(batch: pa.RecordBatch, rows: IntArray | slice) -> pa.RecordBatch:
    return shown_batch(cut_batch(batch, rows), batch.schema.names)


def stack_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Put batches of one schema on top of each other."""
    columns = [pa.concat_arrays([batch.column(i) for batch in batches]) for i in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


def _open_frame(data: Any) -> ArrowTable:
    cluster = Cluster.current()
    parts = cluster.keep([cluster.task(_from_partition, part) for part in data.to_delayed()])
    about = list(cluster.results([cluster.task(_about, part) for part in parts]))
    return open_parts(cluster, parts, about, name=_FRAME, loose=True)


def _from_partition(frame: Any) -> pa.RecordBatch:
    """Return a partition as the table that the same frame would be in memory, in plain types."""
    from bela.data._open import from_pandas  # which comes here for frames of Dask

    if not len(frame):
        return pa.RecordBatch.from_pydict({})
    return stack_batches([_in_plain_types(batch) for batch in from_pandas(frame, _FRAME)])


def _in_plain_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Decode dictionaries and the like, which differ from part to part; what is coded stays marked as such."""
    columns = [plain(column) for column in batch.columns]
    fields = [field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _about(batch: pa.RecordBatch) -> About:
    return batch.num_rows, batch.nbytes, batch.schema


def open_parts(
    cluster: Cluster, parts: Sequence[Any], about: Sequence[About], *, name: str, loose: bool,
    root: Path | None = None, fingerprint: Callable[[], str] | None = None,
) -> ArrowTable:  # fmt: skip
    """Cut parts of any number of rows (each with that, bytes and schema) into pieces of whole blocks."""
    schema = None
    for n, _, one in about:
        schema = widen(schema, one, where=name, loose=loose) if n else schema
    stops = np.cumsum([n for n, _, _ in about])
    n_rows = int(stops[-1]) if len(stops) else 0
    if schema is None or not n_rows:
        raise DataError(f"{name} has no rows: there is nothing to label")
    check_names(name, schema.names)
    ends = piece_ends(cluster, n_rows, sum(size for _, size, _ in about) / n_rows)
    starts, tasks, sent = stops - [n for n, _, _ in about], [], cluster.value(schema)
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        inside = np.flatnonzero((stops > start) & (starts < end)).tolist()
        spans = [(max(start - int(starts[i]), 0), min(end, int(stops[i])) - int(starts[i])) for i in inside]
        tasks.append(cluster.task(_joined, [parts[i] for i in inside], spans, sent))
    pieces = tuple(cluster.keep(tasks))
    blocks = ClusterBlocks(cluster=cluster, pieces=pieces, ends=ends, cut=cut_batch, stack=stack_batches)
    kind = ClusterTable if cluster.is_far else StreamedTable
    return kind(blocks, schema, name=name, root=root, fingerprint=fingerprint)


def _joined(parts: Sequence[pa.RecordBatch], spans: Sequence[tuple[int, int]], schema: pa.Schema) -> pa.RecordBatch:
    """Return some rows of each part as one batch."""
    some = [fit(part.slice(low, high - low), schema) for part, (low, high) in zip(parts, spans, strict=True)]
    return stack_batches(some)
