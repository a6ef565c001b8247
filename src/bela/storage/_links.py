"""Folders that may come from anybody: they hold files and folders, and nothing that leads elsewhere."""

import os
from pathlib import Path

from bela.errors import JournalError


def check_no_links(folder: Path) -> None:
    """Refuse a folder in which anything is a link, a pipe or a device; the folder itself may be a link."""
    folders = [os.fspath(folder)]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise JournalError(f"{error.filename} cannot be read: {error.strerror or error}") from None
        for entry in entries:
            if entry.is_symlink() or getattr(entry, "is_junction", bool)():
                what = "is a link to somewhere else, which is not followed in a campaign"
                raise JournalError(f"{entry.path} {what}: put there what it points to, or delete it")
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                raise JournalError(f"{entry.path} is neither a file nor a folder: delete it")
