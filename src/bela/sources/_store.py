"""Tables that were read, written as Arrow files: read once, then opened where they lie, whatever their size."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError
from bela.sources._columnar import MappedFile
from bela.sources._files import replacing
from bela.sources._schema import fit, widen

if TYPE_CHECKING:
    import pyarrow as pa

_VERSION = 1  # of the layout: another one makes all caches stale
_DAY = 86_400
_BLOCK = 1 << 20


class TableStore:
    """A folder with the table that was last read into it.

    Whatever is damaged or stands for other data is taken for absent, and replaced when the table is read again.

    Parameters
    ----------
    folder
        The folder; it need not exist.
    durable
        Whether what is written has to survive a crash of the system.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self._folder, self._durable = folder, durable
        self._about = folder / "table.json"

    def holds_something(self) -> bool:
        """Whether there is a table, so that it is worth while to find out of what."""
        return self._about.is_file()

    def find(self, fingerprint: str, options: str) -> MappedFile | None:
        """Return the table of data with this fingerprint, read with these options, if it is there and whole."""
        try:
            about = json.loads(self._about.read_text(encoding="utf-8"))
            if about["key"] != _key(fingerprint, options):
                return None
            path = self._folder / f"table-{about['key']}.arrow"
            if path.stat().st_size != about["size"] or _crc32(path) != about["crc32"]:
                return None
            return MappedFile(path, check=False)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, blocks: Iterable[tuple[str, pa.RecordBatch]], *, loose: bool) -> tuple[Path, dict[str, int]]:
        """Write blocks, each with the name of its file, into a partial file; return it with its size and checksum.

        Where the columns of later blocks are of other types, the table begins anew in a second file, and is written
        as a whole when all blocks are known.
        """
        self._tidy()
        parts: list[Path] = []
        with _no_room(self._folder), contextlib.ExitStack() as stack:
            self._folder.mkdir(parents=True, exist_ok=True)
            stack.callback(_remove, parts)
            schema, out = None, None
            for where, block in blocks:
                wider = widen(schema, block.schema, where=where, loose=loose)
                if out is None or not wider.equals(schema, check_metadata=True):
                    if out is not None:
                        out.finish(durable=self._durable)
                    schema, out = wider, self._begin(parts, wider, stack)
                if block.num_rows:
                    out.write_batch(fit(block, wider))
            if out is None or schema is None:
                raise DataError("there are no blocks to write")
            out.finish(durable=self._durable)
            if len(parts) > 1:
                before = [*parts]
                out = self._begin(parts, schema, stack)
                for part in before:
                    for batch in MappedFile(part, check=False).batches():
                        out.write_batch(fit(batch, schema))
                out.finish(durable=self._durable)
            partial = parts.pop()
        return partial, {"size": out.size, "crc32": out.crc32}

    def keep(self, partial: Path, about: dict[str, int], fingerprint: str, options: str) -> Path:
        """Make what was written the table of this folder."""
        key = _key(fingerprint, options)
        path = self._folder / f"table-{key}.arrow"
        try:
            partial.replace(path)
        except OSError as error:
            raise DataError(f"{self._folder} cannot be written to: {error.strerror or error}") from None
        with replacing(self._about) as out:
            out.write(json.dumps({"version": _VERSION, "key": key, **about}).encode())
        _remove([other for other in self._folder.glob("table-*.arrow") if other != path])
        return path

    def _begin(self, parts: list[Path], schema: pa.Schema, stack: contextlib.ExitStack) -> _Output:
        parts.append(self._folder / f"table.{os.getpid()}.{len(parts)}.partial")
        return stack.enter_context(_Output(parts[-1], schema))

    def _tidy(self) -> None:
        """Remove what killed processes left behind; by age, as others may be at work here."""
        for partial in self._folder.glob("*.partial"):
            with contextlib.suppress(OSError):
                if time.time() - partial.stat().st_mtime > _DAY:
                    partial.unlink()


def load_digests(folder: Path, key: str, n_rows: int) -> npt.NDArray[np.uint64] | None:
    """Return digests of rows that were saved under a key, if they are there and whole."""
    try:
        saved = np.load(folder / f"rows-{key}.npy", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if saved.shape != (n_rows + 1,) or saved.dtype != np.uint64 or zlib.crc32(saved[:-1].tobytes()) != saved[-1]:
        return None
    digests: npt.NDArray[np.uint64] = saved[:-1]
    return digests


def save_digests(folder: Path, key: str, digests: npt.NDArray[np.uint64]) -> None:
    """Save digests of rows under a key, with a checksum at their end."""
    with replacing(folder / f"rows-{key}.npy") as out:
        np.save(out, np.append(digests, np.uint64(zlib.crc32(digests.tobytes()))))
    _remove([other for other in folder.glob("rows-*.npy") if other.name != f"rows-{key}.npy"])


class _Output:
    """An Arrow file that is being written, with its size and checksum."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow as pa

        self._file = path.open("wb")
        self.size = self.crc32 = 0
        self.closed = False  # pyarrow asks
        self._writer = pa.ipc.new_file(self, schema)

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):  # there was no room for the last of it, which is told already
            self._file.close()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self._writer.write_batch(batch)

    def finish(self, *, durable: bool) -> None:
        """Write the end, and if need be see that all is on the disk."""
        self._writer.close()
        self._file.flush()
        if durable:
            os.fsync(self._file.fileno())
        self._file.close()

    def write(self, data: Any) -> int:
        """Take bytes from pyarrow."""
        n = memoryview(data).nbytes
        self._file.write(data)
        self.crc32 = zlib.crc32(data, self.crc32)
        self.size += n
        return n

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.size

    def flush(self) -> None:
        """Do nothing yet."""

    def close(self) -> None:
        """Do nothing: the file is closed when it is finished."""


@contextlib.contextmanager
def _no_room(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, DataError):
            raise
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG)
        advice = "make room, or name another folder" if full else "name another folder"
        raise DataError(f"{folder} cannot take the table: {error.strerror or error}; {advice}") from None


def _remove(paths: list[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):  # somebody may have it open, on Windows
            path.unlink()


def _key(fingerprint: str, options: str) -> str:
    return hashlib.sha256(f"{_VERSION} {fingerprint} {options}".encode()).hexdigest()[:32]


def _crc32(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value
