"""Writes a journal of the present version, to be kept: python tests/storage/golden.py journal-v1

Every kind of event is in it. What it came to is written beside it. Neither is ever changed once a version is released;
a new version of the journal gets a golden of its own.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bela import Campaign
from bela.book import count
from bela.protocols import Journal
from bela.storage import SQLiteJournal

HERE = Path(__file__).parent


def make_campaign(journal: Journal) -> Campaign:
    """Return the campaign that a golden is about, as its journal has it: rows in random order, no fits."""
    X = np.arange(24.0).reshape(12, 2)
    return Campaign(X, method="random", target=0.9, budget=8, seed=7, labels={3: "ant", 8: "bee"}, journal=journal)


def live(campaign: Campaign) -> None:
    """Do everything once."""
    first, second, third, fourth = campaign.ask(4)
    campaign.tell(first.id, "ant", by="Ann", cost=0.25)
    campaign.tell(second.id, "Käfer 🪲")
    campaign.skip(third.id, by="Bob")
    campaign.tell(fourth.id, "nan", cost=2.0)
    campaign.undo()
    campaign.opine(first.id, "bee", by="Bob")
    campaign.flag(8, 'really?\n"yes"', by="Ann")
    campaign.add_class("-1")
    campaign.relabel(3, "bee", by="Ann")
    campaign.relabel(5, "-1")  # never asked
    campaign.rename_class("bee", "wasp")
    campaign.add_class("fly", by="Ann")
    campaign.merge_class("ant", "fly")
    campaign.set_target(target=None, budget=9)
    campaign.undo(by="Bob")
    campaign.tell(campaign.ask(2)[1].id, "wasp")


def seen(campaign: Campaign) -> dict[str, Any]:
    """Return what can be seen of it, as plain values."""
    counts = count(campaign.book)
    return {
        "classes": list(campaign.classes),
        "answers": [campaign.book.label(row) for row in range(campaign.n_rows)],
        "open": [[question.id, question.row, str(question.role)] for question in campaign.open_questions],
        "goals": [campaign.target, campaign.budget],
        "steps": len(campaign.book.steps),
        "counts": [counts.n_training, counts.n_bounds, counts.n_skipped, counts.n_given, counts.n_corrected],
        "cost": counts.cost,
        "lower": campaign.certificate.lower,
        "labels": campaign.result().labels.tolist(),
    }


def main(name: str) -> None:
    """Write a golden."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite"
        journal = SQLiteJournal(path, create=True)
        campaign = make_campaign(journal)
        live(campaign)
        journal.close()
        db = sqlite3.connect(path)
        head = [f"PRAGMA {pragma} = {db.execute(f'PRAGMA {pragma}').fetchone()[0]};" for pragma in PRAGMAS]
        (HERE / f"{name}.sql").write_text("\n".join([*head, *db.iterdump()]) + "\n", encoding="utf-8")
        db.close()
    expected = json.dumps({"digest": journal.digest, **seen(campaign)}, ensure_ascii=False, indent=1)
    (HERE / f"{name}.json").write_text(expected + "\n", encoding="utf-8")


PRAGMAS = ("application_id", "user_version", "journal_mode")

if __name__ == "__main__":
    main(sys.argv[1])
