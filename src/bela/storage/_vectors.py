"""Vectors that took long to make, each under a digest of what it was made from: appended, and none lost when killed.

Two files lie beside each other: the vectors, one after the other, and their keys, each with a checksum of its vector. A
vector counts once its key is written, so that a process that is killed leaves nothing half done behind.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bela.errors import JournalError
from bela.storage._atomic import lock_file, sync_file

Keys = npt.NDArray[np.bytes_]
"""Digests of 16 bytes."""
KEY_BYTES = 16
_HEADER = b"bela vectors 1"  # the first key; in place of a checksum it has how long the vectors are
_RECORD = np.dtype([("key", f"S{KEY_BYTES}"), ("check", "<u4")])


class VectorFile:
    """The vectors of one model, by the digests of what it was shown; several processes may add to them at once."""

    def __init__(self, path: Path) -> None:
        self._vectors, self._keys = path.with_suffix(".vectors"), path.with_suffix(".keys")
        self._lock = path.with_suffix(".lock")
        self.refresh()

    def refresh(self) -> None:
        """Look for what was added, by others too."""
        try:
            content = self._keys.read_bytes()
        except FileNotFoundError:
            content = b""
        records = np.frombuffer(content, _RECORD, count=len(content) // _RECORD.itemsize)
        self.width = int(records["check"][0]) if len(records) and records["key"][0] == _HEADER else 0
        self._known = records[1:] if self.width else records[:0]
        self._order = np.argsort(self._known["key"], kind="stable")

    def find(self, keys: Keys) -> npt.NDArray[np.intp]:
        """Return where the vectors of some keys are, the latest if there are several, -1 for those that are not."""
        known = self._known["key"]
        if not len(known):
            return np.full(len(keys), -1, np.intp)
        place = np.maximum(np.searchsorted(known, keys, side="right", sorter=self._order) - 1, 0)
        found = self._order[place]
        return np.asarray(np.where(known[found] == keys, found, -1))

    def take(self, places: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        """Return the vectors at some places; NaN for one that was damaged, and where the place is -1."""
        found = np.full((len(places), self.width), np.nan, np.float32)
        there = np.flatnonzero(places >= 0)
        if not len(there):
            return found
        stored = np.memmap(self._vectors, "<f4", "r", shape=(len(self._known), self.width))
        checks = self._known["check"]
        for i in there.tolist():
            vector = stored[places[i]]
            if zlib.crc32(vector.tobytes()) == checks[places[i]]:
                found[i] = vector
        return found

    def append(self, keys: Keys, vectors: npt.NDArray[np.float32]) -> None:
        """Add vectors; they survive whatever happens to this process once this returns."""
        block = np.ascontiguousarray(vectors, "<f4")
        records = np.empty(len(block), _RECORD)
        records["key"], records["check"] = keys, [zlib.crc32(row.tobytes()) for row in block]
        self._vectors.parent.mkdir(parents=True, exist_ok=True)
        with lock_file(self._lock):
            n = self._keys.stat().st_size // _RECORD.itemsize if self._keys.exists() else 0
            if self.width not in (0, block.shape[1]):
                raise JournalError(f"{self._vectors} has vectors of another length: delete it and {self._keys}")
            if n == 0:
                records = np.concatenate([np.array([(_HEADER, block.shape[1])], _RECORD), records])
                self.width = block.shape[1]
            # What somebody who was killed left half written is written over.
            _write_at(self._vectors, 4 * max(n - 1, 0) * self.width, block.tobytes())
            _write_at(self._keys, n * _RECORD.itemsize, records.tobytes())

    def sync(self) -> None:
        """Put everything on disk, also for when the power fails."""
        for path in (self._vectors, self._keys):
            if path.exists():
                sync_file(path)


def _write_at(path: Path, place: int, content: bytes) -> None:
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(place)
        file.seek(place)
        file.write(content)
