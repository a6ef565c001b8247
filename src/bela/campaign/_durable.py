"""Files of a campaign that are there whole or not at all, and still there when the power fails."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from bela.errors import JournalError


def write_durably(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all; it is on disk when this returns."""
    new = path.with_name(f"{path.name}.part")
    try:
        try:
            with new.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, path)
        except BaseException:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise JournalError(f"{path} cannot be written: {error.strerror or error}") from None


def sync_folder(folder: Path) -> None:
    """Put the names of the files in a folder on disk, where a system can do that and does not do so by itself."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
