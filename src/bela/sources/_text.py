"""Text files as people have them: compressed or not, in any encoding, hashed while they are read."""

from __future__ import annotations

import codecs
import hashlib
import io
from pathlib import Path
from types import TracebackType
from typing import Any

from bela.errors import DataError, ParameterError
from bela.sources._files import DataFile

PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""How files are compressed, by the ending."""

_BLOCK = 1 << 20
_MARKS = (  # the longer ones first, as one begins like another
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class TextFile:
    """A text file that is open for reading, line by line.

    Parameters
    ----------
    file
        The file.
    encoding
        How its bytes are to be understood. By default as its byte order mark says, and as UTF-8 if there is none.
    newline
        "" to keep line ends of every kind as they are, a line end to split at this one only.
    """

    def __init__(self, file: DataFile, encoding: str | None = None, newline: str = "") -> None:
        self.file, self.path = file, file.path
        self._given = check_encoding(encoding)
        self._raw, self._stream = _open(file.path)
        try:
            self.encoding = self._given or _encoding_by_mark(self._stream.peek(4))
            if self.encoding == "utf-8" and self._stream.peek(3)[:3] == codecs.BOM_UTF8:
                self._stream.read(3)
        except OSError as error:
            self._raw.close()
            raise DataError(f"{self.path} cannot be read, it may be cut short or damaged: {error}") from None
        self.lines = io.TextIOWrapper(self._stream, encoding=self.encoding, newline=newline)

    def __enter__(self) -> TextFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lines.close()
        self._raw.close()
        if isinstance(error, UnicodeDecodeError):
            raise DataError(self._where_undecodable(error)) from None
        if isinstance(error, UnicodeError):  # such as UTF-16 without its mark
            raise DataError(
                f"{self.path} is not a text file in {self.encoding}: {error}, so name the encoding that it has"
            ) from None
        if isinstance(error, (OSError, EOFError)) and not isinstance(error, DataError):
            raise DataError(f"{self.path} cannot be read, it may be cut short or damaged: {error}") from None

    @property
    def position(self) -> int:
        """How many bytes of the file were read."""
        return self._raw.position

    def finish(self) -> str:
        """Read what is left, and return the SHA-256 of the whole file as it lies on disk."""
        while self._raw.read(_BLOCK):
            pass
        return self._raw.hash.hexdigest()

    def _where_undecodable(self, error: UnicodeDecodeError) -> str:
        """Find the line of the first bytes that are no text, which takes another reading."""
        line, reason = 1, error.reason
        decoder = codecs.getincrementaldecoder(self.encoding)()
        raw, stream = _open(self.path)
        with raw, stream:
            while True:
                block = stream.read(_BLOCK)
                try:
                    line += decoder.decode(block, final=not block).count("\n")
                except UnicodeDecodeError as found:
                    before = found.object[: found.start].decode(self.encoding, "ignore")
                    line, reason = line + before.count("\n"), found.reason
                    break
                if not block:
                    break
        shown = {"utf-8": "UTF-8", "utf-16": "UTF-16", "utf-32": "UTF-32"}.get(self.encoding, self.encoding)
        return (
            f"{self.path} is not a text file in {shown}: {reason} at line {line}, so name the encoding that it has, "
            f"for example latin-1 or cp1252, or save it as UTF-8"
        )


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


class _HashedFile(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        self.hash = hashlib.sha256()
        self.position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self._file.readinto(buffer) or 0
        self.hash.update(memoryview(buffer)[:n])
        self.position += n
        return n

    def close(self) -> None:
        self._file.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """What is in a compressed file."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Buffered(io.BufferedReader):
    """A buffer that hands on more at once than the few kilobytes that a text wrapper asks for."""

    def read1(self, size: int = -1, /) -> bytes:
        return super().read1(_BLOCK)


def _open(path: Path) -> tuple[_HashedFile, io.BufferedReader]:
    try:
        raw = _HashedFile(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    codec = PACKED.get(path.suffix.lower())
    if codec is None:
        return raw, _Buffered(raw, _BLOCK)
    import pyarrow as pa

    return raw, _Buffered(_Unpacked(pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec)), _BLOCK)


def _encoding_by_mark(start: bytes) -> str:
    return next((encoding for mark, encoding in _MARKS if start.startswith(mark)), "utf-8")
