"""Measure the time from a key press until the next row is on the screen, also while all rows are labelled anew.

    python benchmarks/page.py [--data mnist] [--answers 300]

Real key presses in a real browser, five a second, answered by the truth. The page itself takes the time, from the
moment of the press to the frame that shows the next picture (`performance.measure("bela:next-row")`).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from _browser import chromium, pictures_file, serving
from bela.campaign import create_campaign

BAR = 50.0  # milliseconds
EVERY = 0.2  # seconds between two presses
LOOK = """() => [document.querySelector('h1').textContent, Boolean(document.querySelector('.busy.on')),
  performance.getEntriesByName('bela:next-row').map((entry) => entry.duration)]"""


def answer(page: Any, truth: np.ndarray, n: int) -> tuple[list[float], list[bool]]:
    """Answer n rows; return what each took, and whether all rows were being labelled anew at that moment."""
    times: list[float] = []
    busy: list[bool] = []
    while len(times) < n:
        began = time.monotonic()
        title, revising, _ = page.evaluate(LOOK)
        if not title.startswith("Row "):
            time.sleep(0.02)
            continue
        page.keyboard.press(str(truth[int(title.split()[-1])]))
        page.wait_for_function(
            "(n) => performance.getEntriesByName('bela:next-row').length > n", arg=len(times), timeout=60_000
        )
        times = page.evaluate(LOOK)[2]
        busy.append(revising)
        time.sleep(max(0.0, EVERY - (time.monotonic() - began)))
    return times, busy


def report(name: str, times: list[float]) -> None:
    """Print the quantiles of some times."""
    if times:
        p50, p95, most = np.quantile(times, [0.5, 0.95, 1.0])
        verdict = "within" if p95 < BAR else "above"
        print(f"{name}: {len(times)} rows, median {p50:.0f} ms, p95 {p95:.0f} ms, most {most:.0f} ms: {verdict} bar")


def main() -> None:
    """Make a campaign, serve it, and press keys."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--answers", type=int, default=300)
    parser.add_argument("--port", type=int, default=8790)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, campaign = Path(folder) / "images.npz", Path(folder) / "page.bela"
        truth = pictures_file(data, arguments.data, None)
        create_campaign(data, campaign, classes=[str(label) for label in sorted(set(truth.tolist()))]).close()
        with serving(campaign, arguments.port) as url, chromium() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(url)
            page.wait_for_selector(".stage img", timeout=60_000)
            times, busy = answer(page, truth, arguments.answers)
    report("all", times)
    report("while all rows are labelled anew", [t for t, revising in zip(times, busy, strict=True) if revising])


if __name__ == "__main__":
    main()
