"""Go on with a campaign of 5,000 answers on MNIST: how long from the start of Python to the next question?

    python benchmarks/resume.py [--folder DIR] [--answers 5000]

Needs BELA_DATA. The campaigns are made by an oracle that knows the truth, which takes some minutes; with `--folder`
they are kept there and used again. Each opening is a process of its own with one thread; the figures are medians of
five, in seconds of the processor and of the clock (other processes come and go). The results go into README.md beside
this file. Exit status 1 if one takes more than 5 s of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _measure import ONE_THREAD, write_table

HERE = Path(__file__).resolve().parent
BAR = 5.0
AIMS: dict[str, float | None] = {"target 0.99": 0.99, "no target": None}
LOOK = """
import json, resource, sys, time
from pathlib import Path
began = float(sys.argv[2])
from bela.campaign import open_campaign
with open_campaign(Path(sys.argv[1])) as stored:
    opened = time.time() - began
    campaign = stored.campaign
    campaign.certificate, campaign.forecast
    assert campaign.ask()
    seconds = time.time() - began
    print(json.dumps({
        "answers": campaign.n_asked, "draws": campaign.certificate.n_bounds, "events": stored.journal.n_events,
        "revisions": campaign.book.n_revisions, "opened": opened, "seconds": seconds,
        "processor": time.process_time(), "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }))
"""


def make(path: Path, target: float | None, n_answers: int) -> None:
    """Make a campaign with so many answers, or go on with it until there are."""
    from bela.campaign import create_campaign, open_campaign, step
    from bela.data import load_dataset
    from bela.oracles import make_oracle

    y = load_dataset("mnist").y
    budget = None if target is not None else n_answers + 1000
    stored = open_campaign(path) if path.exists() else create_campaign("mnist", path, target=target, budget=budget)
    with stored:
        campaign = stored.campaign
        while campaign.n_asked < n_answers:
            step(campaign, make_oracle(y, len(y)), min(campaign.assessment.batch, n_answers - campaign.n_asked))


def take_back(path: Path, n_answers: int) -> None:
    """Take back and give again some answers, one by one and in heaps."""
    from bela.campaign import open_campaign
    from bela.data import load_dataset

    y = load_dataset("mnist").y
    with open_campaign(path) as stored:
        for heap in [1] * (n_answers // 2) + [n_answers // 10] * 5:
            for _ in range(heap):
                stored.campaign.undo()
            for question in stored.campaign.open_questions:
                stored.campaign.tell(question.id, int(y[question.row]))


def look(path: Path) -> dict[str, Any]:
    """Open a campaign some times and return the medians."""
    import time

    found = []
    for _ in range(5):
        command = [sys.executable, "-c", LOOK, str(path), str(time.time())]
        output = subprocess.run(command, env=os.environ | ONE_THREAD, check=True, capture_output=True, text=True).stdout
        found.append(json.loads(output))
    return {key: round(statistics.median(one[key] for one in found), 2) for key in found[0]}


def main() -> int:
    """Make the campaigns that are not there, open each, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--answers", type=int, default=5000)
    options = parser.parse_args()
    os.environ |= ONE_THREAD
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, target in AIMS.items():
            path = folder / f"{name.replace(' ', '-')}.bela"
            make(path, target, options.answers)
            table.append({"campaign": name} | look(path))
            print(table[-1], flush=True)
        path, undone = folder / "target-0.99.bela", folder / "undone.bela"
        if not undone.exists():
            shutil.copytree(path, undone)
            take_back(undone, options.answers // 10)
        table.append({"campaign": "target 0.99, undone"} | look(undone))
        print(table[-1], flush=True)
    write_table(HERE / "README.md", "resume", table)
    return int(max(row["processor"] for row in table) > BAR)


if __name__ == "__main__":
    sys.exit(main())
