"""Files that belong together, put into place whole or not at all.

Everything is written into a hidden folder beside its place, `.name.bela-export`, and made durable there; then it is
renamed. What is written is one file or folder, the target, and perhaps companions beside it, such as its certificate.
No system renames two files at once, so the order matters: (1) the target that was there is moved into the hidden
folder, (2) its companions follow, (3) the new companions are put into place, and last (4) the new target.

Killed before 1, what was there is untouched; after 4, the new files are complete; in between (a few renames) the target
is absent, and whoever writes into the same folder next puts back what was there. So a target never stands beside a
companion that is not its own, nor without one. What is inside a folder is there or not with it.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bela.storage._atomic import lock_file, sync_file, sync_folder

_STAGING = ".bela-export"  # how the names of the hidden folders end
_TRIES = 10


@contextmanager
def placed_together(target: Path) -> Iterator[Path]:
    """Lend a folder to write in; when the block ends without an error, what it holds is put beside `target`, that last.

    Errors are the system's own; a BlockingIOError while somebody else writes to the same target.
    """
    _sweep(target)
    folder = target.parent / f".{target.name}{_STAGING}"
    lock = _enter(folder)
    try:
        _recover(folder, target)
        new = folder / "new"
        new.mkdir()
        yield new
        _place(new, target)
    finally:
        _dispose(folder, lock)


def _place(new: Path, target: Path) -> None:
    """Put what was written in `new` into place: first the companions of the target, then itself."""
    for folder, _, files in os.walk(new, topdown=False):
        for name in files:
            sync_file(Path(folder, name))
        sync_folder(Path(folder))
    companions = sorted({*os.listdir(new)} - {target.name})
    names = [*companions, target.name]
    old = new.parent / "old"
    old.mkdir()
    try:
        for name in reversed(names):
            if os.path.lexists(target.parent / name):
                os.replace(target.parent / name, old / name)
                sync_folder(target.parent)
        for name in names:
            os.replace(new / name, target.parent / name)
            sync_folder(target.parent)
    except BaseException:
        if not os.path.lexists(target):
            for name in companions:
                if not os.path.lexists(new / name):
                    (target.parent / name).unlink(missing_ok=True)
        _recover(new.parent, target)
        raise


def _enter(folder: Path) -> ExitStack:
    """Make a hidden folder and lock it."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError, FileExistsError):  # the one before has just taken the folder away
            folder.mkdir(exist_ok=True)
            if folder.is_symlink():  # all that it holds is emptied
                raise OSError(errno.ELOOP, "a link to somewhere else is in the way", str(folder))
            return lock_file(folder / "lock", seconds=0.5)
    raise BlockingIOError(errno.EAGAIN, "somebody else is at work there", str(folder))


def _sweep(target: Path) -> None:
    """Clean up in the same folder after those that were killed."""
    for folder in target.parent.glob(f".*{_STAGING}"):
        other = folder.with_name(folder.name[1 : -len(_STAGING)])
        with suppress(OSError):  # somebody else's, in use, or gone by now
            if other != target and folder.is_dir() and not folder.is_symlink():
                lock = lock_file(folder / "lock", seconds=0)
                _recover(folder, other)
                _dispose(folder, lock)


def _recover(folder: Path, target: Path) -> None:
    """Put back what was moved out of the way, unless a target is in place; forget the rest."""
    old = folder / "old"
    if old.is_dir() and not os.path.lexists(target) and os.path.lexists(old / target.name):
        for name in sorted(os.listdir(old), key=lambda name: name == target.name):  # the target last
            os.replace(old / name, target.parent / name)
        sync_folder(target.parent)
    _empty(folder)


def _dispose(folder: Path, lock: ExitStack) -> None:
    """Take a hidden folder away, as the holder of its lock."""
    _empty(folder)
    # A lock is taken away by its holder only: once it is released, the file may be that of the next one.
    with suppress(OSError):  # on Windows a file that is open stays, and so does the folder, for the next one
        (folder / "lock").unlink()
    lock.close()
    with suppress(OSError):  # the next one is in it
        folder.rmdir()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != "lock":
            path.unlink(missing_ok=True)
