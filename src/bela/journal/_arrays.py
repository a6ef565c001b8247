"""Arrays in files that may be deleted at any time, and are never trusted when damaged."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_DIGEST = 32
_HOUR = 3600


class FolderStore:
    """Keeps arrays in a folder: one file a name, with a digest in front of its content.

    Parameters
    ----------
    folder
        Made when the first arrays are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tidy = False

    def load(self, name: str) -> list[npt.NDArray[Any]] | None:
        """Return the arrays kept under a name, None where there are none or the file is damaged."""
        try:
            content = (self.folder / f"{name}.arrays").read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
            return None
        try:
            with np.load(io.BytesIO(content[_DIGEST:]), allow_pickle=False) as archive:
                return [archive[f"arr_{i}"] for i in range(len(archive.files))]
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, name: str, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Keep arrays under a name; a store that cannot be written to is no reason to stop."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, *arrays)
        content = buffer.getvalue()
        temporary: str | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._tidy_up()
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".part", delete=False) as file:
                temporary = file.name
                file.write(hashlib.sha256(content).digest())
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.folder / f"{name}.arrays")
        except OSError:
            if temporary is not None:
                with suppress(OSError):
                    os.unlink(temporary)

    def _tidy_up(self) -> None:
        """Remove what killed processes left behind, once; by age, as others may be at work here."""
        if not self._tidy:
            for part in self.folder.glob("*.part"):
                with suppress(OSError):
                    if time.time() - part.stat().st_mtime > _HOUR:
                        part.unlink()
            self._tidy = True
