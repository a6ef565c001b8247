"""Rows of a dataset in blocks whose borders depend on the data only, never on how the source happens to cut them.

Sums of floats depend on their order; with fixed borders the same data give the same features to the last bit, from a
CSV file, a Parquet folder or a table in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError
from bela.protocols import Records

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 8_192
FEWEST_ROWS = 64
BLOCK_BYTES = 32 << 20  # long texts and images come in smaller blocks


def fixed_blocks(records: Records, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Go through all rows; yield the number of each block's first row, and the block."""
    waiting: list[pa.RecordBatch] = []
    n_waiting, start, size = 0, 0, 0

    def cut(n: int) -> pa.RecordBatch:
        nonlocal waiting, n_waiting
        taken, left = [], n
        while left:
            first = waiting[0]
            if first.num_rows <= left:
                taken.append(waiting.pop(0))
            else:
                taken.append(first.slice(0, left))
                waiting[0] = first.slice(left)
            left -= taken[-1].num_rows
        n_waiting -= n
        return _join(taken)

    for batch in records.batches(list(columns)):
        if batch.num_rows == 0:
            continue
        waiting.append(plain_batch(batch, columns))
        n_waiting += batch.num_rows
        if size == 0 and n_waiting >= FEWEST_ROWS:
            head = cut(FEWEST_ROWS)
            waiting.insert(0, head)
            n_waiting += FEWEST_ROWS
            size = _block_rows(head)
        while size and n_waiting >= size:
            yield start, cut(size)
            start += size
    while n_waiting:
        n = min(n_waiting, size or n_waiting)
        yield start, cut(n)
        start += n
    if start != records.n_rows:
        raise DataError(
            f"the data gave {start} rows where there should be {records.n_rows}: they changed while they were read"
        )


def plain_batch(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Return these columns of a batch, as the types that the rest deals with."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([plain_array(batch.column(name)) for name in columns], names=list(columns))


def plain_array(array: Any) -> pa.Array:
    """Take off what only says how values are stored: dictionaries, extensions, views."""
    import pyarrow as pa

    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_large_string(array.type) or str(array.type) == "string_view":
        array = array.cast(pa.string())
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":  # Python's own moments have no nanoseconds
        array = array.cast(pa.timestamp("us", array.type.tz), safe=False)
    return array


def taken(block: pa.RecordBatch, start: int, rows: npt.NDArray[np.intp]) -> pa.RecordBatch:
    """Return those rows of a block that are among the sorted `rows`."""
    low, high = np.searchsorted(rows, [start, start + block.num_rows])
    return block.take(_indices(rows[low:high] - start))


def stack(batches: Sequence[pa.RecordBatch], columns: Sequence[str]) -> pa.RecordBatch:
    """Put batches on top of each other; no rows at all are an error long before this."""
    return _join([plain_batch(batch, columns) for batch in batches])


def _join(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    import pyarrow as pa

    if len(batches) == 1:
        return batches[0]
    names = batches[0].schema.names
    arrays = [pa.concat_arrays([batch.column(i) for batch in batches]) for i in range(len(names))]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _indices(rows: npt.NDArray[np.intp]) -> pa.Array:
    import pyarrow as pa

    return pa.array(np.asarray(rows, np.int64))


def _block_rows(head: pa.RecordBatch) -> int:
    """A power of two of rows that has about as many bytes as a block should."""
    bytes_a_row = max(1.0, head.nbytes / head.num_rows)
    return int(2 ** np.clip(np.floor(np.log2(BLOCK_BYTES / bytes_a_row)), np.log2(FEWEST_ROWS), np.log2(MOST_ROWS)))
