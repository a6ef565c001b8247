"""Measure how long it takes from the command until a person can label the first row.

    python benchmarks/first_row.py [--rows 10000] [--times 3] [--many 10000000]

`bela label` on a CSV file of texts and on a folder of pictures, from the start of the command to the frame that shows
the first row in a browser that is open already. The campaign is new each time, but the files are in memory, as those
that somebody has just made are. With `--many`, a campaign of so many rows of numbers (those of size.py) that was opened
and answered before is opened again. The bar is 10 s. The results go into README.md beside this file.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image

from _browser import chromium, load, processor_seconds
from _measure import ONE_THREAD, write_table
from bela.campaign import create_campaign
from bela.data import load_dataset
from size import answer, write_data

HERE = Path(__file__).resolve().parent
BAR = 10.0
PATIENCE = 120  # seconds
WORDS = [
    "the", "a", "of", "train", "coast", "hour", "match", "draw", "goal", "late", "hotel", "harbour", "onions",
    "brown", "slowly", "bread", "rise", "coach", "young", "keeper", "museum", "closed", "mondays", "market",
    "prices", "fell", "sharply", "rain", "expected", "north", "wind", "evening",
]  # fmt: skip


def make_texts(path: Path, n_rows: int) -> Path:
    """Write texts of some forty words, with a few columns besides."""
    rng = random.Random(0)  # noqa: S311
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "year", "source"])
        for i in range(n_rows):
            text = " ".join(rng.choices(WORDS, k=rng.randrange(10, 80)))
            writer.writerow([f"doc{i}", text, rng.randrange(1990, 2026), rng.choice(["web", "print"])])
    return path


def make_pictures(path: Path, n_rows: int) -> Path:
    """Write clothes as a folder of PNG files."""
    path.mkdir()
    for i, pixels in enumerate(load_dataset("fashion-mnist").images[:n_rows]):
        Image.fromarray((pixels * (255 / max(pixels.max(), 1))).astype("uint8")).save(path / f"{i:06}.png")
    return path


def first_row(data: Path, campaign: Path, page: Any) -> dict[str, float]:
    """Begin a campaign by the command, and return when its page was there and when its first row was."""
    began = time.monotonic()
    server = subprocess.Popen(
        [sys.executable, "-m", "bela", "label", data, "--campaign", campaign, "--no-browser", "--port", "0"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        found = next(match for line in server.stdout if (match := re.search(r"http://localhost:\S+", line)))
        served = time.monotonic() - began
        page.goto(found[0])
        page.wait_for_function("() => performance.getEntriesByName('bela:first-row').length", timeout=1000 * PATIENCE)
        shown = time.monotonic() - began
        return {"server up, s": served, "first row, s": shown, "processor s": processor_seconds(server.pid)}
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE)


def main() -> int:
    """Measure both kinds of data, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--many", type=int)
    options = parser.parse_args()
    table = []
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = Path(temporary)
        places = {
            "texts, one CSV file": make_texts(folder / "texts.csv", options.rows),
            "pictures, a folder": make_pictures(folder / "pictures", options.rows),
        }
        rows = dict.fromkeys(places, options.rows)
        again = folder / "again.bela"
        if options.many:
            path, classes = write_data(folder, options.many, 64, "<f4")
            with create_campaign(path, again, target=0.95) as stored:
                answer(stored, classes, 150)
            places["numbers, a memory map, opened again"] = path
        for name, data in places.items():
            found = []
            for i in range(options.times):
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                found.append(first_row(data, folder / f"{data.stem}-{i}.bela" if name in rows else again, page))
                page.close()
                print(name, found[-1], flush=True)
            medians = {key: round(statistics.median(one[key] for one in found), 1) for key in found[0]}
            worst = round(max(one["first row, s"] for one in found), 1)
            n_rows = rows.get(name, options.many)
            table.append({"data": name, "rows": n_rows} | medians | {"slowest, s": worst, "load": load()})
    write_table(HERE / "README.md", "first row", table)
    return int(max(row["first row, s"] for row in table) > BAR)


if __name__ == "__main__":
    sys.exit(main())
