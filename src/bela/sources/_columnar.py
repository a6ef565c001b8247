"""Files that have columns and types of their own: Parquet, and Arrow IPC, also known as Feather."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bela.errors import DataError
from bela.sources._arrow import ARROW_ERRORS, plain_batch
from bela.sources._names import check_names

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 16 << 20
_FILE_MAGIC = b"ARROW1"
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"


def parquet_blocks(path: Path) -> Iterator[tuple[float, pa.RecordBatch]]:
    """Go through the rows of a Parquet file in blocks of some megabytes, each with the share that is done."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, buffer_size=1 << 20) as file:
            names = file.schema_arrow.names
            check_names(str(path), names)
            n_bytes = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            n_rows, n_done = file.metadata.num_rows, 0
            n_block = min(max(1, _BLOCK_BYTES * n_rows // max(1, n_bytes)), 1 << 17)
            for batch in file.iter_batches(batch_size=n_block, use_threads=False):
                n_done += batch.num_rows
                batch.validate(full=True)  # Parquet does not look whether texts are text
                yield n_done / max(1, n_rows), plain_batch(batch)
    except DataError:
        raise
    except ARROW_ERRORS as error:
        raise DataError(f"{path} cannot be read as Parquet, it may be cut short: {_first_line(error)}") from None


class MappedFile:
    """The record batches of an Arrow file, where they lie on disk.

    Unless the file is compressed, the batches point into it, and only what is looked at is in memory.

    Parameters
    ----------
    path
        A file in Arrow's file or stream format.
    check
        Whether to look through each batch for damage. Without this a damaged file can crash the process.
    """

    def __init__(self, path: Path, *, check: bool) -> None:
        import pyarrow as pa

        self._path, self._check = path, check
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise self.trouble(error) from None
        source = pa.BufferReader(pa.py_buffer(self._map))
        self._is_file = self._map[: len(_FILE_MAGIC)] == _FILE_MAGIC
        if not self._is_file and self._map[-len(_STREAM_END) :] != _STREAM_END:
            raise self.trouble(ValueError("the mark of its end is missing"))  # else a cut between batches goes unseen
        try:
            self._reader = pa.ipc.open_file(source) if self._is_file else pa.ipc.open_stream(source)
        except ARROW_ERRORS as error:
            raise self.trouble(error) from None
        try:
            self.schema = self._reader.schema
            names = self.schema.names
        except ARROW_ERRORS as error:  # names that are no text
            raise self.trouble(error) from None
        check_names(str(path), names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Go through the batches, once."""
        try:
            if self._is_file:
                reader = self._reader
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                batches = iter(self._reader)
            for batch in batches:
                if self._check:
                    batch.validate(full=True)
                    self.release()
                yield batch
        except ARROW_ERRORS as error:
            raise self.trouble(error) from None

    def holds(self, batch: pa.RecordBatch) -> bool:
        """Whether a batch points into the file, and is no unpacked copy."""
        start = np.frombuffer(self._map, dtype=np.uint8).ctypes.data
        buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None]
        return all(start <= buffer.address < start + len(self._map) for buffer in buffers if buffer.size)

    def release(self) -> None:
        """Let the system have back the memory of what was looked at; looking at it again reads it again."""
        if hasattr(self._map, "madvise"):  # not on Windows
            self._map.madvise(mmap.MADV_DONTNEED)

    def trouble(self, error: Exception) -> DataError:
        """Return the error for a file that is not as it should be."""
        return DataError(f"{self._path} cannot be read as an Arrow file, it may be cut short: {_first_line(error)}")


def arrow_blocks(path: Path) -> Iterator[tuple[float, pa.RecordBatch]]:
    """Go through the rows of an Arrow file of any kind."""
    file = MappedFile(path, check=True)
    for batch in file.batches():
        try:
            block = plain_batch(batch)
        except ARROW_ERRORS as error:  # names within types that are no text
            raise file.trouble(error) from None
        yield 0.0, block


def _first_line(error: Any) -> str:
    return str(error).partition("\n")[0][:200]
