"""Environments of their own for other people's programs: made once, by venv and pip, under the user's cache."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from bela.bench import peers
from bela.bench.peers._loop import load_file
from bela.data import cache_folder
from bela.errors import BelaError

_PIP_SECONDS = 1200
_LAST_LINES = 3


class NotInstalled(BelaError):  # noqa: N818 - reads as what happened
    """A peer cannot be had from PyPI on this machine; the words are pip's."""


def peer_names() -> list[str]:
    """Return the peers that there is a file for."""
    return [module.name for module in pkgutil.iter_modules(peers.__path__) if not module.name.startswith("_")]


def peer_file(name: str) -> Path:
    """Return the file of a peer."""
    return Path(peers.__path__[0]) / f"{name}.py"


def load_peer(name: str) -> Any:
    """Return what the file of a peer says; nothing of the peer itself is imported."""
    return load_file(str(peer_file(name)))


def make_environment(name: str) -> tuple[Path, str]:
    """Install a peer into an environment of its own, unless that was done; return its Python and the peer's version."""
    peer = load_peer(name)
    folder = cache_folder() / "bench" / "peers" / name
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done, wanted = folder / "installed.json", json.dumps([peer.INSTALL, sys.version])
    if not (done.exists() and json.loads(done.read_text(encoding="utf-8"))["wanted"] == wanted):
        run_or_say([sys.executable, "-m", "venv", "--clear", str(folder)], {})
        for arguments in peer.INSTALL:
            run_or_say([str(python), "-m", "pip", "install", "--quiet", *arguments], peer.VARIABLES)
        code = f"from importlib.metadata import version; print(version({peer.PACKAGE!r}))"
        found = run_or_say([str(python), "-c", code], {}).strip()
        done.write_text(json.dumps({"wanted": wanted, "version": found}), encoding="utf-8")
    return python, json.loads(done.read_text(encoding="utf-8"))["version"]


def run_or_say(command: list[str], variables: dict[str, str]) -> str:
    """Run a command with more variables of the environment and return what it prints; if it fails, its words."""
    outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            command, env=outside | variables, capture_output=True, text=True, check=False, timeout=_PIP_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"pip had not ended after {_PIP_SECONDS} s") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise NotInstalled(" / ".join(lines[-_LAST_LINES:]) or f"pip ended with status {done.returncode}")
    return done.stdout
