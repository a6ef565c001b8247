"""Journals that hold more than events: code in SQL, forged events, other tables."""

import sqlite3
from pathlib import Path

import pytest

from bela.campaign import open_campaign
from bela.errors import JournalError
from bela.storage import SQLiteJournal

ADDED = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON events BEGIN UPDATE events SET kind = 'x'; END",
    "view": "CREATE VIEW v AS SELECT * FROM events",
    "index": "CREATE INDEX i ON events (json_extract(data, '$.x'))",
    "another table": "CREATE TABLE other (x)",
    "virtual table": "CREATE VIRTUAL TABLE f USING fts5(x)",
}
INSTEAD = {
    "a view for the events": (
        "ALTER TABLE events RENAME TO hidden",
        "CREATE VIEW events AS SELECT seq, at, kind, data, digest FROM hidden",
    ),
    "a check": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'data TEXT NOT NULL', 'data TEXT NOT NULL CHECK (data > 0)')",
        "PRAGMA writable_schema = OFF",
    ),
}


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("what", [*ADDED, *INSTEAD])
def test_a_journal_with_anything_but_events_is_refused(strangers: Path, what: str, read_only: bool) -> None:
    """Before a query could run it."""
    path = strangers / "journal.sqlite"
    db = sqlite3.connect(path)
    try:
        for statement in INSTEAD.get(what, (ADDED.get(what, ""),)):
            db.execute(statement)
        db.commit()
    except sqlite3.OperationalError as error:  # an SQLite without full-text search
        pytest.skip(str(error))
    finally:
        db.close()
    with pytest.raises(JournalError, match=r"nothing but events|malformed"):
        open_campaign(strangers, read_only=read_only)


def test_a_journal_without_additions_opens(strangers: Path) -> None:
    """The check does not refuse what BELA writes."""
    journal = SQLiteJournal(strangers / "journal.sqlite", read_only=True)
    assert journal.n_events > 2
    journal.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET data = replace(data, 'cat', 'dog')",
        "DELETE FROM events WHERE seq = 2",
        "UPDATE events SET kind = 'skipped' WHERE kind = 'answered'",
        "UPDATE events SET seq = seq + 1000",
    ],
)
def test_forged_events_are_refused(strangers: Path, statement: str) -> None:
    """Each is chained to all before it."""
    db = sqlite3.connect(strangers / "journal.sqlite")
    db.execute(statement)
    db.commit()
    db.close()
    with pytest.raises(JournalError):
        open_campaign(strangers, read_only=True)
