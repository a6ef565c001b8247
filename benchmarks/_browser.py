"""What benchmarks of the labelling page share: a server in a process of its own, and Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from _measure import ONE_THREAD

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


PROGRAM = """
import json, sys
from pathlib import Path
from bela.campaign import open_campaign
from bela.web import serve
stored = open_campaign(Path(sys.argv[1]), background=True)
serve(stored, open_browser=False, **{"token": False} | json.loads(sys.argv[2]))
"""


@contextmanager
def serving(folder: Path, port: int, **options: Any) -> Iterator[str]:
    """Serve a campaign in a process of its own; yield its address."""
    command = [sys.executable, "-c", PROGRAM, str(folder), json.dumps({"port": port} | options)]
    server = subprocess.Popen(command, env=os.environ | ONE_THREAD, stdout=subprocess.DEVNULL)
    try:
        url = f"http://localhost:{port}/"
        while server.poll() is None:
            try:
                urllib.request.urlopen(f"{url}healthz", timeout=30).close()  # noqa: S310
                break
            except OSError:
                time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait()


def load() -> float:
    """Return how many processes wanted a processor in the last minute: other work makes all of this slower."""
    return round(os.getloadavg()[0], 1)


def processor_seconds(pid: int) -> float:
    """Return what a process has used of the processors so far, by Linux's own account."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright

    path = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), None)
    if path is None:
        sys.exit("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def pictures_file(path: Path, name: str, n_rows: int | None) -> np.ndarray:
    """Write a dataset of images as a file of arrays; return what each is."""
    from bela.data import load_dataset

    dataset = load_dataset(name)
    images = dataset.images[:n_rows]
    np.savez(path, image=(images * (255 / images.max())).astype(np.uint8))
    return np.asarray(dataset.y)[:n_rows]
