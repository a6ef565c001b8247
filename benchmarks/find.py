"""How long does it take to find rows among a million, by words and by labels?

    python benchmarks/find.py [--rows 1000000] [--folder DIR]

The texts are those of benchmarks/opening.py, 5 to 60 words each, in a campaign in which 300 rows were answered. Each
search is what the page asks for at once, without the network: the median and the longest of 20, while nothing else
happens in the campaign. Bar: 200 ms. The table goes to README.md. Exit status 1 if the bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from _measure import write_table
from bela.campaign import create_campaign
from bela.views import Wanted
from bela.web import LabelService
from opening import make

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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        data = Path(temporary, "texts.csv")
        make(data, arguments.rows)
        # Nothing is learned here, so no text has to be read before it begins.
        kinds, hidden = {"text": "ignored", "id": "number"}, ["topic"]
        with create_campaign(
            data, Path(temporary, "texts.bela"), method="random", kinds=kinds, hidden=hidden
        ) as stored:
            campaign = stored.campaign
            while campaign.n_asked < 300:
                for question in campaign.ask(50):
                    campaign.tell(question.id, f"topic {question.row % 20}", by=("Ann", "Bob")[question.row % 2])
            service = LabelService(stored, team=True)
            service.refresh()
            rows = [measure(service, name, wanted) for name, wanted in SEARCHES.items()]
    write_table(HERE / "README.md", "find", rows)
    sys.exit(any(row["longest, ms"] > BAR for row in rows))


def measure(service: LabelService, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Look for rows some times, and say how long it took and how far it came."""
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        found = service.find("Ann", Wanted(**wanted))
        taken.append(1000 * (time.perf_counter() - began))
    row = {
        "looked for": name, "median, ms": round(median(taken), 1), "longest, ms": round(max(taken), 1),
        "rows looked at": f"{found.n_looked:,}", "found": len(found.rows),
    }  # fmt: skip
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
