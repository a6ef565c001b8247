"""A server that is told to end does so, whatever is being made, and loses nothing by it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = """
import sys, time
from bela.methods import METHODS, DecidingMethod
method = METHODS["random"]
class Job:
    optional, method_version = False, 1
    def compute(self):
        time.sleep(300)
    def decide(self, book, arrays):
        return None
method.revise = lambda self, book: Job()
from bela.cli import main
sys.exit(main())
"""
IN_PYTHON = SLOW.replace("time.sleep(300)", "\n        while True: pass")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("code", [SLOW, IN_PYTHON], ids=["waiting", "computing"])
def test_a_revision_does_not_keep_the_server(folder: Path, code: str) -> None:
    """It can be made again: what was answered is on disk."""
    text = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(re.sub(r'method = ".*"', 'method = "random"', text))
    command = [sys.executable, "-c", code, "serve", str(folder), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    with process.stdout:
        said = [next(process.stdout) for _ in range(2)]
        assert "Ctrl-C" in said[-1], said
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        assert process.wait(60) == 0, rest  # where it would take five minutes
    assert "To go on: bela serve" in rest
    assert "Traceback" not in rest
