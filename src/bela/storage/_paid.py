"""What was asked of a service that wants money: what it said, and what that cost, on disk before anybody is told."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bela.errors import JournalError

_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, cost REAL NOT NULL, claimed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS calls_by_key ON calls (key);
CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) STRICT;
"""


class PaidCalls:
    """Calls by the key of what was asked, each with the most it can cost before it is made, and with its cost after.

    So the sum never falls short of what was spent, whenever the process is killed; a reply that was paid for is there
    for whoever asks the same again. Without a path it is kept in memory. Threads may share it.

    >>> paid = PaidCalls()
    >>> number = paid.reserve("a question", 0.5)
    >>> paid.settle(number, 0.25, "a reply")
    >>> paid.reply("a question"), paid.spent, paid.claim("a question"), paid.claim("a question")
    ('a reply', 0.25, 0.25, 0.0)
    """

    def __init__(self, path: Path | None = None) -> None:
        self._title, self._lock = "the record of what was paid" if path is None else str(path), threading.Lock()
        with self._clear_errors():
            place = ":memory:" if path is None else path
            self._db = sqlite3.connect(place, isolation_level=None, timeout=10, check_same_thread=False)
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_TABLES)

    @property
    def spent(self) -> float:
        """What all calls have cost, and those that are under way, or were when a process ended, can cost at most."""
        with self._lock, self._clear_errors():
            return float(self._db.execute("SELECT coalesce(sum(cost), 0) FROM calls").fetchone()[0])

    def reply(self, key: str) -> str | None:
        """Return what was said when this was asked before, if it was."""
        with self._lock, self._clear_errors():
            found = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def reserve(self, key: str, most: float) -> int:
        """Take note of a call that is about to be made, and return its number."""
        with self._lock, self._clear_errors():
            made = self._db.execute("INSERT INTO calls (key, cost) VALUES (?, ?)", (key, most))
            return int(made.lastrowid or 0)

    def settle(self, number: int, cost: float, reply: str | None = None) -> None:
        """Say what a call has cost, and keep what came of it."""
        with self._lock, self._clear_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute("UPDATE calls SET cost = ? WHERE number = ?", (cost, number))
                if reply is not None:
                    kept = "INSERT OR IGNORE INTO replies SELECT key, ? FROM calls WHERE number = ?"
                    self._db.execute(kept, (reply, number))
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def claim(self, key: str) -> float:
        """Return what was paid for this and nobody has been told of; from now on somebody has."""
        with self._lock, self._clear_errors():
            taken = "UPDATE calls SET claimed = 1 WHERE key = ? AND NOT claimed RETURNING cost"
            return float(sum(cost for (cost,) in self._db.execute(taken, (key,)).fetchall()))

    def close(self) -> None:
        """Let go of the file; everything is on disk already."""
        with self._lock, suppress(sqlite3.Error):
            self._db.close()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(f"{self._title} cannot be read or written: {error}") from None
