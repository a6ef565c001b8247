"""The files that data lie in: whether they have changed, a digest of what is in them, and their text."""

import codecs
import contextlib
import errno
import hashlib
import io
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

import pyarrow as pa

from bela.errors import DataError, ParameterError
from bela.records import Json
from bela.storage import most_unpacked, read_checked, write_checked

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Progress: TypeAlias = Callable[[str, float], object]
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # how files are compressed, by the ending
_BLOCK, _DIGESTED = 1 << 20, 1 << 23
_SETTLED_NS = 2 * 10**9  # a file may change twice within one tick of its clock: 2 s is the coarsest in use
_MARKS = {  # the longer ones first, as one begins like another
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_UNDECODABLE = "\udc80"  # stands for bytes that are no text, and cannot be one itself


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file as it was when it was looked at; `name` is its path within the data, with slashes."""

    name: str
    path: Path
    size: int
    mtime_ns: int

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was looked at."""
        if look_at(self.path, self.name) != self:
            raise DataError(f"{self.path} was changed while it was read: open it again when it is complete")


def look_at(path: Path, name: str) -> DataFile:
    """Return a file with its present size and time of change."""
    with readable(path):
        status = path.stat()
    check_regular(status, str(path))
    return DataFile(name=name, path=path, size=status.st_size, mtime_ns=status.st_mtime_ns)


def check_regular(status: os.stat_result, told: str) -> None:
    """Refuse pipes, devices and folders: whoever reads from them may wait for ever, or never come to an end."""
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{told} is not a regular file: give one that is")


def read_regular(path: Path, told: str, most: int) -> bytes:
    """Return what is in a regular file of at most so many bytes; errors other than these are the system's own."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        check_regular(status, told)
        if status.st_size > most:
            raise DataError(f"{told} is larger than {most >> 20} MB, which is too much for one file: make it smaller")
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(min(status.st_size + 1, most))  # room for `most` would take longer than to read
            return content if len(content) <= status.st_size else content + file.read(most - len(content))
    finally:
        os.close(handle)


def is_inside(root: Path, path: Path) -> bool:
    """Whether a path leads to somewhere below a folder, by its words and, links followed, on disk."""
    try:
        if not os.path.abspath(path).startswith(os.path.abspath(root).rstrip(os.sep) + os.sep):
            return False  # without a look at the disk, which may be that of another machine
        if _is_plainly_below(os.fspath(root), os.fspath(path)):
            return True
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    except (OSError, ValueError):  # such as a name with a zero in it
        return False


def _is_plainly_below(root: str, path: str) -> bool:
    """Whether a path goes on from a folder without steps up or links: then it matters not where the folder lies."""
    place = root.rstrip(os.sep) + os.sep
    parts = path.removeprefix(place).split(os.sep)
    if os.name != "posix" or not path.startswith(place) or os.pardir in parts:  # Windows has further kinds of links
        return False
    for part in parts:
        place = os.path.join(place, part)
        with contextlib.suppress(OSError):  # where there is nothing, there is no link
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return False
    return True


class DigestBook:
    """The SHA-256 of files while their size and time of change stay the same, kept in a folder, or else in memory."""

    def __init__(self, folder: Path | None, progress: Progress) -> None:
        self._path, self._progress = None if folder is None else folder / "files.json", progress
        self._kept: dict[str, Json] = (None if self._path is None else read_checked(self._path)) or {}
        self._known = dict(self._kept)
        self._unsettled: set[str] = set()  # files that may change without a trace, so good for this session only

    def known(self, file: DataFile) -> str | None:
        """Return the digest of a file that has not changed since it was written into the book."""
        match self._known.get(file.name):
            case [file.size, file.mtime_ns, str(digest)]:
                return digest
        return None

    def digests(self, files: tuple[DataFile, ...]) -> list[str]:
        """Return the digest of each file, reading those that are not in the book, and keep the book of these files."""
        total, done = sum(file.size for file in files) or 1, 0
        found, kept = [], dict[str, Json]()
        for file in files:
            digest = self.known(file)
            if digest is None:
                digest = _sha256(file, partial(self._tell, done, total))
                if time.time_ns() - file.mtime_ns < _SETTLED_NS:
                    self._unsettled.add(file.name)
            found.append(digest)
            done += file.size
            self._known[file.name] = [file.size, file.mtime_ns, digest]
            if file.name not in self._unsettled:
                kept[file.name] = self._known[file.name]
        if self._path is not None and kept != self._kept:
            with writing(self._path.parent, "the digests of the files"):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_checked(self._path, kept)
            self._kept = kept
        return found

    def _tell(self, done: int, total: int, n_read: int) -> None:
        self._progress("checking the files", (done + n_read) / total)


def _sha256(file: DataFile, tell: Callable[[int], object]) -> str:
    """Return the digest of a file; `tell` is called with the number of bytes that were read, now and then."""
    digest, block, n_read = hashlib.sha256(), memoryview(bytearray(min(_DIGESTED, file.size + 1))), 0
    with readable(file.path), file.path.open("rb", buffering=0) as content:
        while n := content.readinto(block):
            digest.update(block[:n])
            n_read += n
            tell(n_read)
    file.check_unchanged()
    return digest.hexdigest()


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say in one sentence that a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


@contextlib.contextmanager
def writing(folder: Path, what: str) -> Iterator[None]:
    """Say in one sentence that there is no room, or no right, to write something to a folder."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG)
        advice = "make room, or name another folder" if full else "name another folder"
        raise DataError(f"{folder} cannot take {what}: {error.strerror or error}; {advice}") from None


class TextFile:
    """A text file, compressed or not, that is open for reading: by default as its byte order mark says, else as UTF-8.

    `newline` is "" to keep line ends of every kind as they are, or the only line end to split at.
    """

    def __init__(self, path: Path, encoding: str | None = None, newline: str = "") -> None:
        self.path = path
        self._raw, stream = _open(path)
        try:
            start = stream.peek(4)
            by_mark = next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), "utf-8")
            self.encoding = check_encoding(encoding) or by_mark
            if self.encoding == "utf-8" and start.startswith(codecs.BOM_UTF8):
                stream.read(3)
        except OSError as error:
            self._raw.close()
            raise self._damaged(error) from None
        self.lines = io.TextIOWrapper(stream, encoding=self.encoding, newline=newline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.lines.close()
        self._raw.close()
        if isinstance(error, UnicodeError):  # undecodable, or UTF-16 without its mark
            shown = self.encoding.upper() if self.encoding.startswith("utf-") else self.encoding
            reason = str(error)
            advice = "for example --encoding latin-1 or cp1252 (encoding= in Python), or save it as UTF-8"
            if isinstance(error, UnicodeDecodeError):
                reason = f"{error.reason} at line {self._undecodable_line()}"
            found = f"{self.path} is not a text file in {shown}: {reason}"
            raise DataError(f"{found}, so name the encoding that it has, {advice}") from None
        if isinstance(error, (OSError, EOFError)):
            raise self._damaged(error) from None

    @property
    def position(self) -> int:
        """How many bytes of the file were read."""
        return self._raw.tell()

    def _undecodable_line(self) -> int:
        """Find the line of the first bytes that are no text, which takes another reading."""
        raw, stream = _open(self.path)
        with raw, io.TextIOWrapper(stream, self.encoding, errors="bela-undecodable", newline="\n") as lines:
            return next((i for i, line in enumerate(lines, start=1) if _UNDECODABLE in line), 1)

    def _damaged(self, error: Exception) -> DataError:
        return DataError(f"{self.path} cannot be read, it may be cut short or damaged: {error}")


def _mark_undecodable(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return _UNDECODABLE, error.end
    raise error


codecs.register_error("bela-undecodable", _mark_undecodable)


def check_encoding(encoding: str | None) -> str | None:
    """Return the usual name of an encoding."""
    if encoding is None:
        return None
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)  # codecs that are not about text refuse this
    except (LookupError, TypeError, ValueError):
        raise ParameterError(f"there is no encoding {encoding!r}: utf-8, latin-1, cp1252 or utf-16 are some") from None
    return "utf-8" if found.name == "utf-8-sig" else found.name


class _Buffered(io.BufferedReader):
    """A buffer that hands on more at once than the few kilobytes that a text wrapper asks for."""

    def read1(self, size: int = -1, /) -> bytes:
        return super().read1(_BLOCK)


def _open(path: Path) -> tuple[io.FileIO, io.BufferedReader]:
    """Return a file, and what is in it, unpacked."""
    with readable(path):
        raw = path.open("rb", buffering=0)
    codec = PACKED.get(path.suffix.lower())
    if codec is None:
        return raw, _Buffered(raw, _BLOCK)
    unpacked = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec)
    return raw, _Buffered(_Limited(unpacked, path, os.fstat(raw.fileno()).st_size), _BLOCK)


def check_unpacked(n_unpacked: int, path: Path | str, n_packed: int) -> None:
    """Refuse a file that unpacks to far more than files of its size do."""
    if n_unpacked > most_unpacked(n_packed):
        much = f"{max(1, n_packed >> 20):,} MB unpack to more than {most_unpacked(n_packed) >> 20:,} MB"
        raise DataError(f"{path} may be made to fill the disk, as its {much}: unpack it yourself if you trust it")


class _Limited(io.RawIOBase):
    """What is in a packed file, as far as it is not out of all proportion."""

    def __init__(self, stream: pa.CompressedInputStream, path: Path, n_packed: int) -> None:
        self._stream, self._path, self._n_packed, self._n_read = stream, path, n_packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        content = self._stream.read(len(memoryview(buffer)))
        self._n_read += len(content)
        check_unpacked(self._n_read, self._path, self._n_packed)
        memoryview(buffer)[: len(content)] = content
        return len(content)
