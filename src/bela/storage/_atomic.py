"""Files that are there whole or not at all, also when the power fails, and locks. Errors are the system's own."""

import errno
import glob
import os
import secrets
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

_HOUR = 3600.0


def write_durably(path: Path, content: bytes | Iterable[bytes | memoryview], *, mode: int = 0o666) -> None:
    """Write a file, whole or in pieces, in place of what was there, on disk when this returns.

    If that fails, what was there stays.
    """
    for stale in path.parent.glob(f"{glob.escape(path.name)}.*.part"):  # killed processes left it; others are at work
        with suppress(OSError):
            if time.time() - stale.stat().st_mtime > _HOUR:
                stale.unlink()
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")  # others may write at once
    try:
        with open_fresh(new, mode) as file:
            for piece in (content,) if isinstance(content, bytes) else content:
                file.write(piece)
            sync_file(file)
        os.replace(new, path)
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def open_fresh(path: Path, mode: int = 0o666) -> IO[bytes]:
    """Open a file to write that was not there before, be it as a link to somewhere else."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, mode), "wb")


def sync_file(file: Path | IO[bytes] | IO[str]) -> None:
    """Put what was written to a file on disk; by its path whoever wrote it, or open as it is."""
    if isinstance(file, Path):
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())
    else:
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Put the names of the files in a folder on disk, where a system can do that and does not do so by itself."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def lock_file(path: Path, *, seconds: float = -1.0) -> ExitStack:
    """Lock a file until what is returned is closed; below 0 seconds, wait as long as it takes.

    A BlockingIOError if somebody else has it for longer than that.
    """
    from filelock import FileLock, Timeout

    if path.is_symlink():  # whoever locks a file empties it first
        raise OSError(errno.ELOOP, "a lock is not a link to somewhere else", str(path))
    lock = FileLock(path, thread_local=False)  # whichever thread closes it
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise BlockingIOError(errno.EAGAIN, "somebody else is at work there", str(path)) from None
    held = ExitStack()
    held.callback(lock.release)
    return held
