"""Files of text that are put into place whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from bela.errors import ExportError


def save_report(text: str, path: Path) -> None:
    """Write a report, in place of what was there; if that fails, what was there stays."""
    new = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with new.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ExportError(f"the report {path} cannot be written: {error.strerror or error}") from None
