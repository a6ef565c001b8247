"""Files that are put into place whole or not at all.

Everything is written into a hidden folder beside its place, `.name.bela-export`, and made durable there; then it is
renamed. An export is one file or folder, whose companions (its certificate) may stand beside it. No system renames
two files at once, so the order matters:

1. the data that were there are moved into the hidden folder: from here on the export is absent;
2. their companions follow;
3. the new companions are put into place;
4. the new data are put into place: the export is there, and so is everything that belongs to it.

Killed before 1, what was there is untouched; after 4, the new export is complete; in between (a few renames) it is
absent, and the next export into the same folder puts back what was there. So data never stand beside a certificate
that is not theirs, nor without one. A folder has its certificate inside, and is there or not with it.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bela.errors import ExportError

if TYPE_CHECKING:
    from filelock import FileLock

STAGING = ".bela-export"
"""How the names of the hidden folders end."""

_TRIES = 10

_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def durable(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that is on disk, not only in memory, when the block ends."""
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Lend a folder to write what is to become `target` in; nobody else writes to that target meanwhile."""
    _sweep(target)
    folder = _staging(target)
    lock = _enter(folder)
    if lock is None:
        raise ExportError(f"another export is just being written to {target}: wait for it to end")
    try:
        _recover(folder, target)
        new = folder / "new"
        new.mkdir()
        yield new
    finally:
        _dispose(folder, lock)


def place(new: Path, target: Path, companions: Sequence[str]) -> None:
    """Put what was written in `new` into place: first the companions of the target, then itself."""
    names = [*companions, target.name]
    for folder in {new, new / target.name}:
        if folder.is_dir():
            _sync(folder)
    old = new.parent / "old"
    old.mkdir()
    try:
        for name in reversed(names):
            if os.path.lexists(target.parent / name):
                os.replace(target.parent / name, old / name)
                _sync(target.parent)
        for name in names:
            os.replace(new / name, target.parent / name)
            _sync(target.parent)
    except BaseException:
        if not os.path.lexists(target):
            for name in companions:
                if not os.path.lexists(new / name):
                    (target.parent / name).unlink(missing_ok=True)
        _recover(new.parent, target)
        raise


def write_error(error: OSError, target: Path) -> ExportError:
    """Say in one sentence why something could not be written."""
    if error.errno in _NO_ROOM:
        return ExportError(f"there is not enough room on the disk to write {target}: make some, or export elsewhere")
    return ExportError(f"{target} could not be written: {error.strerror or error}")


def _staging(target: Path) -> Path:
    return target.parent / f".{target.name}{STAGING}"


def _enter(folder: Path) -> FileLock | None:
    """Make a hidden folder and lock it, or return None while somebody has it for longer than a moment."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError, FileExistsError):  # the one before has just taken the folder away
            folder.mkdir(exist_ok=True)
            return _try_lock(folder, seconds=0.5)
    return None


def _try_lock(folder: Path, seconds: float = 0) -> FileLock | None:
    """Return the lock on a hidden folder, or None while somebody alive has it."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        return None
    return lock


def _sweep(target: Path) -> None:
    """Clean up after exports into the same folder that were killed."""
    own = _staging(target).name
    with os.scandir(target.parent) as entries:
        stale = [entry.name for entry in entries if entry.name.endswith(STAGING) and entry.name.startswith(".")]
    for name in stale:
        folder = target.parent / name
        with suppress(OSError):  # somebody else's, or gone by now
            if name != own and folder.is_dir() and (lock := _try_lock(folder)) is not None:
                _recover(folder, target.parent / name[1 : -len(STAGING)])
                _dispose(folder, lock)


def _recover(folder: Path, target: Path) -> None:
    """Put back what an export has moved out of the way, unless its own data are in place; forget the rest."""
    old = folder / "old"
    if old.is_dir() and not os.path.lexists(target) and os.path.lexists(old / target.name):
        for name in sorted(os.listdir(old), key=lambda name: name == target.name):  # the data last
            os.replace(old / name, target.parent / name)
        _sync(target.parent)
    for name in os.listdir(folder):
        if name != "lock":
            _remove(folder / name)


def _dispose(folder: Path, lock: FileLock) -> None:
    """Take a hidden folder away, as the holder of its lock."""
    for name in os.listdir(folder):
        if name != "lock":
            _remove(folder / name)
    # A lock is taken away by its holder only: once it is released, the file may be that of the next one.
    with suppress(OSError):  # on Windows a file that is open stays, and so does the folder, for the next export
        (folder / "lock").unlink()
    lock.release()
    with suppress(OSError):  # the next one is in it
        folder.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make renames within a folder durable, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
