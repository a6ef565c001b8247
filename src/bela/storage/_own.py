"""Files of the user's own, beside no campaign: nobody else may read them, or have written to them."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bela.records import Json
from bela.storage._kept import read_checked, write_checked


def config_folder() -> Path:
    """Return the folder for what belongs to the user rather than to a campaign: `$BELA_CONFIG`, or the system's."""
    if chosen := os.environ.get("BELA_CONFIG"):
        return Path(chosen)
    if sys.platform == "win32" and (roaming := os.environ.get("APPDATA")):
        return Path(roaming) / "bela"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "bela"


def read_own(path: Path) -> dict[str, Json] | None:
    """Return what a file of the user's own holds; None if it is not there, is damaged, or others could write to it."""
    with suppress(OSError):
        status = path.stat()
        ours = not hasattr(os, "getuid") or status.st_uid in (os.getuid(), 0)
        if ours and not (os.name == "posix" and status.st_mode & 0o022):
            return read_checked(path)
    return None


def write_own(path: Path, content: Mapping[str, Json]) -> None:
    """Write a file that only its owner can read, on disk when this returns; its folder is made if need be."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_checked(path, content, mode=0o600)
