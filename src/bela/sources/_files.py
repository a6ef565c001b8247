"""The files that data lie in: what they are called, whether they have changed, and a digest of what is in them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from bela.errors import DataError

Progress: TypeAlias = Callable[[str, float], object]

_VERSION = 1
_BLOCK = 1 << 20
_SETTLED_NS = 2 * 10**9  # a file may change twice within one tick of its clock: 2 s is the coarsest in use


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file as it was when it was looked at; `name` is its path within the data, with slashes."""

    name: str
    path: Path
    size: int
    mtime_ns: int

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was looked at."""
        now = look_at(self.path, self.name)
        if (now.size, now.mtime_ns) != (self.size, self.mtime_ns):
            raise DataError(f"{self.path} was changed while it was read: open it again when it is complete")


def look_at(path: Path, name: str) -> DataFile:
    """Return a file with its present size and time of change."""
    try:
        status = path.stat()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return DataFile(name=name, path=path, size=status.st_size, mtime_ns=status.st_mtime_ns)


class DigestBook:
    """The SHA-256 of files, remembered for as long as their size and time of change stay the same.

    Parameters
    ----------
    folder
        Where the book is kept; None to keep it in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / "files.json"
        self._known: dict[str, tuple[int, int, str]] = {}
        self._unsettled: set[str] = set()  # files that may change without a trace, so good for this session only
        self._changed = False
        if self._path is not None:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # no book, or a damaged one
                check, _, text = self._path.read_text(encoding="utf-8").partition("\n")
                if int(check, 16) == zlib.crc32(text.encode()):
                    book = json.loads(text)
                    if book["version"] == _VERSION:
                        self._known = {name: (size, when, digest) for name, size, when, digest in book["files"]}

    def known(self, file: DataFile) -> str | None:
        """Return the digest of a file that has not changed since it was written into the book."""
        size, mtime_ns, digest = self._known.get(file.name, (-1, -1, ""))
        return digest if (size, mtime_ns) == (file.size, file.mtime_ns) else None

    def remember(self, file: DataFile, digest: str) -> None:
        """Write down the digest of a file."""
        entry = (file.size, file.mtime_ns, digest)
        self._changed |= self._known.get(file.name) != entry
        self._known[file.name] = entry
        if time.time_ns() - file.mtime_ns < _SETTLED_NS:
            self._unsettled.add(file.name)

    def digests(self, files: Sequence[DataFile], progress: Progress | None = None) -> list[str]:
        """Return the digest of each file, reading those that are not in the book."""
        total, done = sum(file.size for file in files) or 1, 0
        found = []
        for file in files:
            digest = self.known(file)
            if digest is None:
                digest = _sha256(file)
                self.remember(file, digest)
                if progress is not None:
                    progress("checking the files", done / total)
            found.append(digest)
            done += file.size
        return found

    def save(self, files: Sequence[DataFile]) -> None:
        """Put the book on disk, with these files in it and no others."""
        if self._path is None or not (self._changed or len(files) != len(self._known)):
            return
        entries = [
            [file.name, *self._known[file.name]]
            for file in files
            if file.name in self._known and file.name not in self._unsettled
        ]
        text = json.dumps({"version": _VERSION, "files": entries})
        with replacing(self._path) as out:
            out.write(f"{zlib.crc32(text.encode()):08x}\n{text}".encode())
        self._changed = False


def joint_digest(files: Sequence[DataFile], digests: Sequence[str], *, is_folder: bool) -> str:
    """Return one digest for all files: for a single file what `sha256sum` prints, for a folder that of its listing."""
    if not is_folder:
        return digests[0]
    total = hashlib.sha256()
    for file, digest in zip(files, digests, strict=True):
        total.update(f"{digest}  {file.name}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file completely or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path.parent} cannot be written to: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _sha256(file: DataFile) -> str:
    digest = hashlib.sha256()
    try:
        with file.path.open("rb") as content:
            while block := content.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise DataError(f"{file.path} cannot be read: {error.strerror or error}") from None
    file.check_unchanged()
    return digest.hexdigest()
