"""Tables on disk: Arrow files looked at where they lie, and any other files read once and written as such."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from bela.data._arrow import ARROW_ERRORS, check_names, fit, widen
from bela.data._files import DataFile, Progress, TextFile, check_unpacked
from bela.data._readers import READERS, Contents, OpenFile, Reader, partition_values
from bela.errors import DataError

TABLE, ARROW = "table.arrow", "an Arrow file"
_FILE_MAGIC, _STREAM_END = b"ARROW1", b"\xff\xff\xff\xff\0\0\0\0"


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Say in one sentence that pyarrow cannot read a file."""
    try:
        yield
    except DataError:
        raise
    except ARROW_ERRORS as error:
        reason = str(error).partition("\n")[0][:200]
        raise DataError(f"{path} cannot be read as {what}, it may be cut short: {reason}") from None


class MappedFile:
    """The record batches of an Arrow file (also known as Feather), where they lie on disk unless it is compressed.

    Unless `check` looks through each batch for damage, a damaged file can crash the process.
    """

    def __init__(self, path: Path, *, check: bool) -> None:
        self._path, self._check = path, check
        with reading(path, ARROW):
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # refuses an empty file
            source = pa.BufferReader(pa.py_buffer(self._map))
            self._is_file = self._map[: len(_FILE_MAGIC)] == _FILE_MAGIC
            if not self._is_file and self._map[-len(_STREAM_END) :] != _STREAM_END:
                raise ValueError("the mark of its end is missing")  # else a cut between batches goes unseen
            self._reader = pa.ipc.open_file(source) if self._is_file else pa.ipc.open_stream(source)
            self.schema = self._reader.schema
            check_names(str(path), self.schema.names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Go through the batches, once."""
        reader = self._reader
        with reading(self._path, ARROW):
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else reader:
                if self._check:
                    batch.validate(full=True)
                    self.release()
                yield batch

    def holds(self, batch: pa.RecordBatch) -> bool:
        """Whether a batch points into the file, and is no unpacked copy."""
        start = np.frombuffer(self._map, dtype=np.uint8).ctypes.data
        buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None]
        return all(start <= buffer.address < start + len(self._map) for buffer in buffers if buffer.size)

    def release(self) -> None:
        """Let the system have back the memory of what was looked at; looking at it again reads it again."""
        if hasattr(self._map, "madvise"):  # not on Windows
            self._map.madvise(mmap.MADV_DONTNEED)


def write_table(folder: Path, blocks: Iterable[tuple[str, pa.RecordBatch]], *, loose: bool) -> None:
    """Write blocks, each with the name of its file, as one table.

    Where later blocks have other types, it begins anew in a second file, and is written as a whole in the end.
    """
    parts, schema, out = list[Path](), None, None
    with ExitStack() as stack:

        def begin(path: Path, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
            stack.close()  # the part before is complete
            return stack.enter_context(pa.ipc.new_file(stack.enter_context(path.open("wb")), schema))

        for where, block in blocks:
            wider = widen(schema, block.schema, where=where, loose=loose)
            if out is None or not wider.equals(schema, check_metadata=True):
                parts.append(folder / f"{len(parts)}.part")
                schema, out = wider, begin(parts[-1], wider)
            if block.num_rows:
                out.write_batch(fit(block, wider))
        if len(parts) > 1:
            out = begin(folder / TABLE, schema)
            for batch in chain.from_iterable(MappedFile(part, check=False).batches() for part in parts):
                out.write_batch(fit(batch, schema))
    if len(parts) == 1:
        parts.pop().rename(folder / TABLE)
    for part in parts:
        part.unlink()


def table_blocks(
    contents: Contents, encoding: str | None, notices: list[str], progress: Progress
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Go through the parts of one table in order, each block with the file that it is from."""
    total, before, is_empty = sum(file.size for file in contents.files) or 1, 0, True
    for file in contents.files:
        stated = partition_values(file.name) if contents.is_folder else {}
        for n_read, block in _file_blocks(file, READERS[contents.kind], encoding, notices):
            is_empty = False
            yield str(file.path), _with_stated(block, stated, file)
            progress(f"reading {file.name}", (before + n_read) / total)
        before += file.size
    if is_empty:
        where = contents.root if contents.is_folder else contents.files[0].path
        raise DataError(f"{where} has no rows: there is nothing to label")


def _file_blocks(
    file: DataFile, reader: Reader, encoding: str | None, notices: list[str]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Go through one file; with each block comes how many bytes were read."""
    if reader.read is None:
        raise DataError(f"{file.path} holds arrays, which are not read as parts of a table")
    with TextFile(file.path, encoding, newline=reader.newline) if reader.is_text else nullcontext() as text:
        opened, n_bytes = OpenFile(file=file, content=text, notices=notices), 0
        for block in reader.read(opened):
            n_bytes += block.nbytes
            check_unpacked(n_bytes, file.path, file.size)  # Parquet can say the same a million times in a few bytes
            yield opened.n_read, block


def _with_stated(block: pa.RecordBatch, stated: dict[str, str | None], file: DataFile) -> pa.RecordBatch:
    """Add what the folders of a file say about all its rows."""
    new = {name: value for name, value in stated.items() if name not in block.schema.names}
    try:
        texts = [pa.array([value] * block.num_rows, pa.large_string()) for value in new.values()]
    except UnicodeEncodeError:
        raise DataError(f"{file.path} is in a folder whose name is no text: rename it") from None
    fields = [*block.schema, *(pa.field(name, pa.large_string()) for name in new)]
    return pa.RecordBatch.from_arrays([*block.columns, *texts], schema=pa.schema(fields))
