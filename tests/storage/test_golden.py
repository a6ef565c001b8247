"""Journals of earlier versions, kept as they were written: each opens, replays, and goes on."""

from __future__ import annotations

import json
import runpy
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from bela.storage import SQLiteJournal

HERE = Path(__file__).parent
GOLDEN = SimpleNamespace(**runpy.run_path(str(HERE / "golden.py")))


@pytest.mark.parametrize("name", ["journal-v1"])
def test_a_journal_of_an_earlier_version(name: str, tmp_path: Path) -> None:
    """It replays to what it came to then, event by event unchanged, and takes further events."""
    path = tmp_path / "journal.sqlite"
    db = sqlite3.connect(path)
    db.executescript((HERE / f"{name}.sql").read_text(encoding="utf-8"))
    db.close()
    expected = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    journal = SQLiteJournal(path)
    assert journal.digest == expected.pop("digest")
    kinds = {event.kind for event in journal.events()}
    assert kinds == {
        "began", "asked", "answered", "skipped", "undone", "relabelled", "second opinion", "flagged",
        "class added", "class renamed", "class merged", "target set",
    }  # fmt: skip
    campaign = GOLDEN.make_campaign(journal)
    assert GOLDEN.seen(campaign) == expected
    campaign.tell(campaign.open_questions[0].id, "wasp")
    again = GOLDEN.seen(campaign)
    journal.close()
    journal = SQLiteJournal(path, read_only=True)
    assert GOLDEN.seen(GOLDEN.make_campaign(journal)) == again != expected
    journal.close()
