"""How long does it take to find rows among a million, by words and by labels, and to look into leaves?

    python benchmarks/find.py [--rows 1000000] [--folder DIR]
    python benchmarks/find.py --numbers 10000000 [--folder DIR]

The texts are those of benchmarks/opening.py, 5 to 60 words each, in a campaign in which 300 rows were answered. Each
search is what the page asks for at once, without the network: the median and the longest of 20, while nothing else
happens in the campaign. With `--numbers` the rows are so many of numbers (those of size.py, 16 columns), labelled by
the method `bela` after 100 answers, and the leaves and their galleries are looked at besides. Bar: 200 ms. The table
goes to README.md. Exit status 1 if the bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from _measure import write_table
from bela.campaign import create_campaign
from bela.views import Wanted
from bela.web import LabelService
from opening import make
from size import NAMES, answer, write_data

HERE = Path(__file__).resolve().parent
BAR = 200.0  # milliseconds
TIMES = 20
SEARCHES: dict[str, dict[str, Any]] = {
    "all rows, the least certain first": {},
    "one label": {"labels": ["topic 3"]},
    "less sure than 0.6": {"below": 0.6},
    "by one person": {"person": "Ann"},
    "a word that many rows have": {"text": "so"},
    "a word that no row has": {"text": "qqqqqqqqqqqq"},
    "eight words that no row has": {"text": "qqqa qqqb qqqc qqqd qqqe qqqf qqqg qqqh"},
    "a word that no row has, one label": {"text": "qqqqqqqqqqqq", "labels": ["topic 3"]},
}


def main() -> None:
    """Make the campaign, and look for rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--numbers", type=int, default=None, metavar="ROWS")
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        if arguments.numbers is None:
            name, rows = "find", among_texts(Path(temporary), arguments.rows)
        else:
            name, rows = "find, numbers", among_numbers(Path(temporary), arguments.numbers)
    write_table(HERE / "README.md", name, rows)
    sys.exit(any(row["longest, ms"] > BAR for row in rows))


def among_texts(folder: Path, n_rows: int) -> list[dict[str, Any]]:
    """Look for texts."""
    data = folder / "texts.csv"
    make(data, n_rows)
    # Nothing is learned here, so no text has to be read before it begins.
    kinds, hidden = {"text": "ignored", "id": "number"}, ["topic"]
    with create_campaign(data, folder / "texts.bela", method="random", kinds=kinds, hidden=hidden) as stored:
        campaign = stored.campaign
        while campaign.n_asked < 300:
            for question in campaign.ask(50):
                campaign.tell(question.id, f"topic {question.row % 20}", by=("Ann", "Bob")[question.row % 2])
        service = LabelService(stored, team=True)
        service.refresh()
        return [measure_search(service, name, wanted) for name, wanted in SEARCHES.items()]


def among_numbers(folder: Path, n_rows: int) -> list[dict[str, Any]]:
    """Look for labels, and into the leaves."""
    path, y = write_data(folder, n_rows, 16, "<f2")
    with create_campaign(path, folder / "rows.bela", target=None, budget=None) as stored:
        answer(stored, y, 100)
        service = LabelService(stored, team=True)
        service.refresh()
        label = str(NAMES[3])
        searches = {
            "one label": {"labels": [label]},
            "one label, less sure than 0.6": {"labels": [label], "below": 0.6},
        }
        searches |= {name: wanted for name, wanted in SEARCHES.items() if not {"labels", "text"} & set(wanted)}
        rows = [measure_search(service, name, wanted) for name, wanted in searches.items()]
        monitor = service.monitor
        largest = monitor.leaves()[0]
        views: dict[str, Callable[[], int]] = {
            "leaves": lambda: len(monitor.leaves()),
            "the largest leaf, least certain rows": lambda: len(monitor.leaf_rows(largest.leaf, 0, 60)),
            "the largest leaf, 6,000 rows further": lambda: len(monitor.leaf_rows(largest.leaf, 6_000, 60)),
            "classes": lambda: len(monitor.classes().classes),
            "one row": lambda: int(monitor.row(n_rows // 2).row > 0),
            "status": lambda: int(service.status().n_rows > 0),
        }
        return [*rows, *(measure(name, look) | {"rows looked at": f"{n_rows:,}"} for name, look in views.items())]


def measure_search(service: LabelService, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Look for rows some times, and say how long it took and how far it came."""
    n_looked = 0

    def look() -> int:
        nonlocal n_looked
        found = service.find("Ann", Wanted(**wanted))
        n_looked = found.n_looked
        return len(found.rows)

    return measure(name, look) | {"rows looked at": f"{n_looked:,}"}


def measure(name: str, look: Callable[[], int]) -> dict[str, Any]:
    """Do something some times, and say how long it took and how many were found."""
    taken, worked, found = [], [], 0
    for _ in range(TIMES):
        began = time.perf_counter(), time.process_time()
        found = look()
        taken.append(1000 * (time.perf_counter() - began[0]))
        worked.append(1000 * (time.process_time() - began[1]))
    row = {
        "looked for": name, "median, ms": round(median(taken), 1), "longest, ms": round(max(taken), 1),
        "median of the processor": round(median(worked), 1),
    }  # fmt: skip
    print(row, found, flush=True)
    return row | {"rows looked at": "", "found": found}


if __name__ == "__main__":
    main()
