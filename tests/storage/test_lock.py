"""One process at a time."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

import bela
from bela.storage import lock_file


def test_a_lock_is_held_until_it_is_closed(tmp_path: Path) -> None:
    """Whoever comes second is told, until the first is done; whichever thread closes it, and however often."""
    held = lock_file(tmp_path / "lock")
    with pytest.raises(BlockingIOError, match="somebody else"):
        lock_file(tmp_path / "lock", seconds=0)
    closer = threading.Thread(target=held.close)
    closer.start()
    closer.join()
    held.close()
    with lock_file(tmp_path / "lock", seconds=0), pytest.raises(BlockingIOError):
        lock_file(tmp_path / "lock", seconds=0)
    lock_file(tmp_path / "lock", seconds=0).close()


def test_only_storage_forces_to_disk_and_locks() -> None:
    """There is one place in the project that knows how a file becomes durable, and one that locks."""
    source = Path(bela.__file__).parent
    users = {
        path.relative_to(source).parts[0]
        for path in source.rglob("*.py")
        if re.search(r"os\.fsync|filelock", path.read_text(encoding="utf-8"))
    }
    assert users == {"storage"}
