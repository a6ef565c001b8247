"""Open a campaign of 50,000 answers that were given one by one on MNIST: how long does it take to go through them?

    python benchmarks/replay.py [--folder DIR] [--answers 50000]

Needs BELA_DATA. To make the campaign takes a quarter of an hour, though revisions are made only whenever there are
twice as many answers; with `--folder` it is kept there and used again. It is answered in heaps, and its journal then
written anew as if each question had been asked by itself, as the page does. The figures are seconds of the processor,
with one thread, medians of three. The results go into README.md beside this file. Exit status 1 if it takes more than
10 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from _measure import ONE_THREAD, write_table

HERE = Path(__file__).resolve().parent
BAR = 10.0
LOOK = """
import json, sys, time
from pathlib import Path
from bela.campaign import open_campaign
began, folding = time.process_time(), []
def progress(what, share):
    if what == "going through the answers":
        folding.append(time.process_time())
with open_campaign(Path(sys.argv[1]), read_only=True, progress=progress) as stored:
    opened = time.process_time()
    stored.campaign.certificate
    print(json.dumps({
        "answers": stored.campaign.n_asked, "events": stored.journal.n_events,
        "revisions": stored.campaign.book.n_revisions, "draws": stored.campaign.certificate.n_bounds,
        "folded, s": folding[-1] - folding[0], "opened, s": opened - began,
        "with its certificate, s": time.process_time() - began,
    }))
"""


def make(path: Path, n_answers: int) -> None:
    """Make a campaign with so many answers, with few revisions: a day's work of the learner is not what is measured."""
    from bela.campaign import create_campaign
    from bela.campaign._recorder import Revising
    from bela.data import load_dataset

    y, advance, due = load_dataset("mnist").y, Revising.advance, {"at": 0}

    def seldom(self: Revising) -> None:
        if self._running is not None or self._book.version >= due["at"]:
            before = self._running
            advance(self)
            if self._running is not None and self._running is not before:
                due["at"] = max(300, 2 * self._book.version)

    Revising.advance = seldom  # type: ignore[method-assign]
    with create_campaign("mnist", path, target=None, budget=len(y), background=True) as stored:
        campaign = stored.campaign
        while campaign.n_asked < n_answers:
            questions = campaign.ask(500, wait=False)
            with campaign.together():
                for question in questions:
                    campaign.tell(question.id, int(y[question.row]), by="Ann")
            if not questions:  # it needs another revision to go on
                due["at"] = 0
                time.sleep(0.2)
    Revising.advance = advance  # type: ignore[method-assign]


def ask_singly(path: Path) -> None:
    """Write the journal anew, with an event for each question."""
    from bela.storage import SQLiteJournal

    new: list[tuple[str, dict[str, Any]]] = []
    versions = {0: 0}
    with closing(SQLiteJournal(path / "journal.sqlite", read_only=True)) as journal:
        for entry in journal.events():
            data = dict(entry.data)
            if entry.kind == "asked":
                heaps = [[question] for question in data.get("questions", ())] or [[]]
                new += [
                    ("asked", {**data, "version": len(new) + i, "n": 1, "questions": q}) for i, q in enumerate(heaps)
                ]
            else:
                new.append((entry.kind, data | ({"version": versions[data["version"]]} if "version" in data else {})))
            versions[entry.seq] = len(new)
    for file in path.glob("journal.sqlite*"):
        file.unlink()
    with closing(SQLiteJournal(path / "journal.sqlite", create=True)) as journal:
        journal.append(new)


def main() -> int:
    """Make the campaign if it is not there, open it some times, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--answers", type=int, default=50_000)
    options = parser.parse_args()
    os.environ |= ONE_THREAD
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "singly.bela"
        if not path.exists():
            making = folder / "making.bela"
            make(making, options.answers)
            ask_singly(making)
            making.rename(path)
        found = []
        for _ in range(3):
            command = [sys.executable, "-c", LOOK, str(path)]
            found.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        row = {key: round(statistics.median(one[key] for one in found), 2) for key in found[0]}
    print(row)
    write_table(HERE / "README.md", "replay", [row])
    return int(row["with its certificate, s"] > BAR)


if __name__ == "__main__":
    sys.exit(main())
