"""Open a campaign on a million texts in a CSV file, features included; then open it again.

    python benchmarks/opening.py [--rows 1000000] [--folder DIR]

The texts are made of 30,000 words whose frequencies fall as in a language, of 20 topics, 5 to 60 words each, with
quotes, commas and line breaks in them. Each opening is a process of its own, from the start of Python to the first, or
next, question. Bars: under 4 GB; the second opening takes under 5 s of the processor. The table goes to README.md.
Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from _measure import ONE_THREAD, write_table

HERE = Path(__file__).resolve().parent
BARS = {"peak GB": 4.0, "second opening, s": 5.0}
LOOK = """
import json, resource, sys, time
from pathlib import Path
data, path, began = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
from bela.campaign import create_campaign, open_campaign
steps = []
def progress(what, share):
    steps.append(time.time())
new = not path.exists()
stored = create_campaign(data, path, hidden=["topic"], progress=progress) if new else open_campaign(path)
with stored:
    opened = time.time() - began
    questions = stored.campaign.ask(1)
    asked = time.time() - began
    if new:
        for question in questions:
            stored.campaign.tell(question.id, "some topic")
    waits = [b - a for a, b in zip([began, *steps], [*steps, began + asked])]
    print(json.dumps({
        "opened, s": opened, "first question, s": asked, "processor, s": time.process_time(),
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "longest without a word, s": max(waits) if new else 0.0,
    }))
"""


def make(path: Path, n_rows: int) -> None:
    """Write texts of several topics, a thousand at a time."""
    rng = np.random.default_rng(0)
    n_words, n_topics = 30_000, 20
    words = np.array(
        ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), rng.integers(2, 11))) for _ in range(n_words)]
    )
    common = 1.0 / np.arange(1, n_words + 1)
    topics = [np.cumsum(p / p.sum()) for p in common * rng.gamma(0.3, size=(n_topics, n_words))]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "topic"])
        for begin in range(0, n_rows, 1000):
            for row in range(begin, min(begin + 1000, n_rows)):
                topic = int(rng.integers(n_topics))
                drawn = np.searchsorted(topics[topic], rng.random(rng.integers(5, 61)))
                mark = ("", ', "so"', "\n")[row % 3]
                writer.writerow([row, " ".join(words[drawn]) + mark, f"topic {topic}"])


def look(data: Path, path: Path) -> dict[str, Any]:
    """Open the campaign in a process of its own."""
    command = [sys.executable, "-c", LOOK, str(data), str(path), str(time.time())]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return {key: round(value, 2) for key, value in json.loads(done.stdout).items()}


def main() -> int:
    """Make the file, open a campaign on it twice, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        data, path = folder / "texts.csv", folder / "texts.bela"
        if not data.exists():
            make(data, options.rows)
        size = round(data.stat().st_size / 2**20)
        table = []
        for which in ("first", "second"):
            table.append({"opening": which, "rows": options.rows, "file MB": size} | look(data, path))
            print(table[-1], flush=True)
    write_table(HERE / "README.md", "opening", table)
    peak = max(row["peak GB"] for row in table)
    return int(peak > BARS["peak GB"] or table[1]["processor, s"] > BARS["second opening, s"])


if __name__ == "__main__":
    sys.exit(main())
