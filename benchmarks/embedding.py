"""Have a sentence model read 100,000 texts of 12 words, killed half-way: what is lost, and where does the time go?

    python benchmarks/embedding.py FOLDER [--rows 100000] [--words 12]

FOLDER has the model as ONNX with its tokenizer.json, such as all-MiniLM-L6-v2 in eight bits; it is read by the door
that everybody uses. The first process is killed (SIGKILL) in the middle; the second does the rest. Whatever is not
spent inside the model counts as outside: loading it, reading rows, digests, tokens, keeping vectors. Figures are of the
clock and of the processor, as other processes come and go; judged is the processor. Exit status 1 if more than 10 % of
the time is outside, if more than one batch was lost, or if the bar does not move with each batch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MOST_OUTSIDE = 0.10


def write_texts(path: Path, n_rows: int, n_words: int) -> None:
    """Write texts of words as people use them, those of this project's own pages."""
    pages = " ".join(page.read_text(encoding="utf-8") for page in sorted((HERE.parent / "docs").glob("*.md")))
    words = np.unique(re.findall(r"\b[a-z]{2,12}\b", pages))
    chosen = np.random.default_rng(0).choice(words, (n_rows, n_words))
    path.write_text("text\n" + "".join(f"{' '.join(row)}\n" for row in chosen.tolist()), encoding="utf-8")


def read(table: Path, model: str, kept: Path, log: Path) -> None:
    """Read the texts in this process; each batch that the model has done is counted in a file, before it is kept."""
    from bela.data import open_table
    from bela.features.embedding import EMBEDDINGS, Embedding, Reading
    from bela.features.embedding import _onnx as onnx

    inside, busy, n_done, shares = 0.0, 0.0, 0, [0.0]
    original, run = onnx.TextModel.__call__, onnx._Session.run

    def timed(self, feed, wanted):  # type: ignore[no-untyped-def]
        nonlocal inside, busy
        start, began = time.perf_counter(), time.process_time()
        found = run(self, feed, wanted)
        inside += time.perf_counter() - start
        busy += time.process_time() - began
        return found

    def counted(self, items):  # type: ignore[no-untyped-def]
        nonlocal n_done
        found = original(self, items)
        n_done += len(items)
        log.write_text(str(n_done))
        return found

    onnx.TextModel.__call__, onnx._Session.run = counted, timed  # type: ignore[method-assign]
    records = open_table(table)
    digest = EMBEDDINGS["folder"].digest(model, "text", print)
    start, began = time.perf_counter(), time.process_time()
    embedding = Embedding(model=model, door="folder", digest=digest)
    reading = Reading(records=records, column="text", kind="text", embedding=embedding, kept=kept, allowed=False)
    reading.write(kept.parent / "vectors.npy", shares.append)
    total, all_busy = time.perf_counter() - start, time.process_time() - began
    steps = np.diff(shares)
    print(json.dumps({
        "read": n_done, "seconds": total, "inside": inside, "processor": all_busy, "busy": busy,
        "steps": int((steps > 0).sum()), "backwards": bool((steps < 0).any()), "last": shares[-1],
        "batch": onnx.TextModel.batch,
    }))  # fmt: skip


def n_kept(kept: Path) -> int:
    """Count the vectors that are kept."""
    from bela.storage import VectorFile

    return max((len(VectorFile(file)._known) for file in kept.glob("*.keys")), default=0)


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=12)
    parser.add_argument("--inside", nargs=3, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        read(options.inside[0], options.model, *options.inside[1:])
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table, kept, log = folder / "texts.csv", folder / "kept", folder / "log"
        write_texts(table, options.rows, options.words)
        command = [sys.executable, __file__, options.model, "--inside", *map(str, (table, kept, log))]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        start = time.perf_counter()
        while first.poll() is None and (not log.exists() or int(log.read_text() or 0) < options.rows // 2):
            time.sleep(0.01)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        before, done = time.perf_counter() - start, int(log.read_text())
        survived = n_kept(kept)
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        found = json.loads(output.splitlines()[-1])
        total = n_kept(kept)
    outside = 1 - found["busy"] / found["processor"]
    by_clock = 1 - found["inside"] / found["seconds"]
    print(f"killed after {before:.0f} s with {done:,} texts read: {survived:,} are kept, {done - survived} are lost")
    rate = found["read"] / found["seconds"]
    print(f"the rest: {found['read']:,} texts in {found['seconds']:.0f} s, {rate:.0f} a second")
    print(f"outside the model: {100 * outside:.1f} % of the processor's time, {100 * by_clock:.1f} % of the clock's")
    print(f"the bar moved {found['steps']} times")
    good = 0 <= done - survived <= found["batch"] and found["read"] == total - survived
    moved = not found["backwards"] and found["last"] == 1 and found["steps"] >= found["read"] // found["batch"]
    return 0 if good and moved and outside <= MOST_OUTSIDE else 1


if __name__ == "__main__":
    sys.exit(main())
