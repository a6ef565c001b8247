"""A note beside a journal: which event was written last.

SQLite takes a log that was cut short or damaged for one that ends there, and says nothing. Whoever was told that an
answer is on disk must be told when it no longer is; so the number and the digest of the last event stand in a file of
their own. It is written after each event is safe and never forced to the disk: it may lag behind when the power fails,
and can never be ahead of the journal unless the journal has lost something.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

_WORDS = "bela-head"


class HeadFile:
    """The note, overwritten in place, so that it takes no room that a full disk might not have.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def read(self) -> tuple[int, bytes] | None:
        """Return the number and the digest of the last event, None if there is no note or it is damaged."""
        try:
            words, number, digest, check = self.path.read_text("ascii").split()
            if (words, check) == (_WORDS, _check(f"{number} {digest}")):
                return int(number), bytes.fromhex(digest)
        except (OSError, ValueError):
            pass
        return None

    def write(self, seq: int, digest: bytes) -> None:
        """Take note of an event that is safe in the journal; no failure of a note is worth an error."""
        text = f"{seq:019} {digest.hex():0<32}"
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, f"{_WORDS} {text} {_check(text)}\n".encode())

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None


def _check(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
