"""Killed at random moments, or out of room: every acknowledged answer is there, and nothing is half done.

The full version is `python benchmarks/durability.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals, fork and resource limits")


def rounds(*options: object) -> list[dict[str, Any]]:
    """What was found in each round; in memory where that is possible, as forcing files to disk takes its time."""
    script = Path(__file__).with_name("killing.py")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - the folder has a name of its own
    with TemporaryDirectory(dir=memory) as folder:
        command = [sys.executable, str(script), folder, *map(str, options)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_killed_at_random_moments() -> None:
    """While it opens, asks, writes, exports: all that was acknowledged is there, and replays to what was seen live."""
    found = rounds("--kills", 8, "--rows", 150, "--actions", 15)
    assert sum(case["died"] != "closed" for case in found) == 8
    assert [case for case in found if case["wrong"]] == []
    assert sum(case["acknowledged"] for case in found) > 20


def test_a_full_disk() -> None:
    """No room: clear errors, all that was acknowledged is there, and it goes on when there is room again."""
    found = rounds("--full", 2, "--rows", 150, "--actions", 25)
    assert len(found) == 2
    assert [case for case in found if case["wrong"]] == []
    assert any(case["n_errors"] for case in found)
