"""Kill a campaign at hundreds of random moments, let its disk be full, and count what is lost.

    python benchmarks/durability.py [--kills 300] [--full 40]

A scripted campaign on the digits as a CSV file (tests/campaign/killing.py): a child opens it, answers, skips, takes
back, relabels, flags and exports, and says so after each action that has been acknowledged. It is killed (SIGKILL)
while it opens, asks (where revisions are made, in the background or not), writes, or exports. Then all is compared:
events by their digests, answers by row, the replayed state with the live one and with a second replay, exports with
their certificates. The same with no room on the disk, by a limit on the size of files and on a small disk in memory
(where one may be mounted): errors must be clear, and with room again the campaign must go on. The table goes to
README.md. Exit status 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _measure import ONE_THREAD, write_table

HERE = Path(__file__).resolve().parent
WORDS = {
    "opening": "killed while it opens",
    "asking": "killed while it asks or makes a revision",
    "writing": "killed while it writes an answer",
    "exporting": "killed while it exports",
    "between actions": "killed between actions",
    "closed": "ended before it was killed",
    "limit": "no file may grow further",
    "full": "the disk is full",
}


def rounds(folder: Path, *options: str) -> Iterator[dict[str, Any]]:
    """Yield what was found in each round."""
    command = [sys.executable, str(HERE.parent / "tests" / "campaign" / "killing.py"), str(folder), *options]
    with subprocess.Popen(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"the rounds ended with {process.returncode}")


def main() -> int:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", default="300")
    parser.add_argument("--full", default="40")
    parser.add_argument("--seed", default="0")
    options = parser.parse_args()
    cases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("--kills", options.kills, "--full", options.full, "--disk", options.full, "--seed", options.seed)
        for case in rounds(Path(folder), *arguments):
            cases[case["moment"] if case["died"] == "full" else case["died"]].append(case)
            print(json.dumps(case), flush=True)
    table = [
        {
            "what": words,
            "rounds": len(cases[name]),
            "actions acknowledged": sum(case["acknowledged"] for case in cases[name]),
            "clear errors": sum(case.get("n_errors", 0) for case in cases[name]),
            "failures": sum(bool(case["wrong"]) for case in cases[name]),
        }
        for name, words in WORDS.items()
        if cases[name]
    ]
    table.append({"what": "**all**"} | {key: sum(row[key] for row in table) for key in list(table[0])[1:]})
    for row in table:
        print(row)
    write_table(HERE / "README.md", "durability", table)
    return int(table[-1]["failures"] > 0)


if __name__ == "__main__":
    sys.exit(main())
