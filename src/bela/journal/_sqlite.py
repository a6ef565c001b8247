"""The journal of a campaign: events appended to an SQLite file, on disk before anybody is told."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bela.errors import JournalError, ParameterError
from bela.records import Event

SCHEMA = 1
_NEVER = 2**63 - 1  # the largest number of an event
_APPLICATION = 0x42454C41  # "BELA", so that `file` and we know the file by its head

_TABLES = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    digest BLOB NOT NULL
) STRICT
"""


class SQLiteJournal:
    """Events in an SQLite file in WAL mode: one writer, any number of readers.

    Every event carries a digest of itself and all events before it, so that a damaged file is noticed.

    Parameters
    ----------
    path
        The file.
    create
        Begin a new journal; otherwise there must be one.
    read_only
        Only look; somebody else may be writing.
    until
        Look at the first so many events only.
    """

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False, until: int | None = None) -> None:
        self.path = path
        if until is not None and not read_only:
            raise ParameterError("a part of a journal can be opened for reading only")
        self._until = _NEVER if until is None else until
        if create == path.exists():
            raise JournalError(f"there is {'already a' if create else 'no'} journal {path}")
        self._read_only = read_only
        with self._clear_errors():
            mode = "ro" if read_only else "rwc" if create else "rw"
            self._db = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True, isolation_level=None, timeout=10, check_same_thread=False,
            )  # fmt: skip
        try:
            with self._clear_errors():
                self._prepare(create)
                last = self._db.execute(
                    "SELECT seq, digest FROM events WHERE seq <= ? ORDER BY seq DESC LIMIT 1", (self._until,)
                ).fetchone()
        except BaseException:
            self._db.close()
            raise
        self._seq: int
        self._digest: bytes
        self._seq, self._digest = last if last is not None else (0, b"")

    @property
    def n_events(self) -> int:
        """How many events there were when it was opened, and that were appended or read since."""
        return self._seq

    @property
    def digest(self) -> str:
        """A digest of all these events, which nobody can change without changing it."""
        return self._digest.hex()

    def append(self, events: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Event]:
        """Write events, all or none, and return them when they are on disk."""
        if self._read_only:
            raise JournalError(f"{self.path} was opened for reading only")
        seq, digest, at = self._seq, self._digest, time.time()
        lines = []
        for kind, data in events:
            seq += 1
            text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            digest = _digest(digest, seq, at, kind, text)
            lines.append((seq, at, kind, text, digest))
        with self._clear_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", lines)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
        self._seq, self._digest = seq, digest
        return [Event(seq=line[0], at=at, kind=line[2], data=json.loads(line[3])) for line in lines]

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield events in order, from the one after `after` on, each checked against what was written."""
        with self._clear_errors():
            expected, digest = after, b""
            if after:
                line = self._db.execute("SELECT digest FROM events WHERE seq = ?", (after,)).fetchone()
                if line is None:
                    raise JournalError(f"{self.path} has no event {after}")
                digest = line[0]
            lines = self._db.execute(
                "SELECT seq, at, kind, data, digest FROM events WHERE seq > ? AND seq <= ? ORDER BY seq",
                (after, self._until),
            )
            for seq, at, kind, data, written in lines:
                expected += 1
                if seq != expected or written != (digest := _digest(digest, seq, at, kind, data)):
                    raise JournalError(
                        f"{self.path} is damaged at event {expected}: restore the file from a copy; the events before "
                        "it can be read"
                    )
                if seq > self._seq:  # somebody else has gone on since it was opened
                    self._seq, self._digest = seq, digest
                yield Event(seq=seq, at=at, kind=kind, data=json.loads(data))

    def close(self) -> None:
        """Close the file; everything is on disk already."""
        with suppress(sqlite3.Error):
            self._db.close()

    def _prepare(self, create: bool) -> None:
        db = self._db
        if create:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            db.execute(_TABLES)
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {SCHEMA}")
            db.execute("COMMIT")
            return
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise JournalError(f"{self.path} is no journal of a campaign, or its head is damaged")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA:
            raise JournalError(
                f"{self.path} was written by a newer version of bela (journal version {version}, this one knows "
                f"{SCHEMA}): upgrade bela"
            )
        if version < SCHEMA:
            self._migrate(version)
        if not self._read_only:
            db.execute("PRAGMA synchronous = FULL")
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise JournalError(f"{self.path} is damaged ({verdict}): restore the file from a copy")

    def _migrate(self, version: int) -> None:
        raise JournalError(f"{self.path} has the journal version {version}, which no bela has written")

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise JournalError(f"{self.path} cannot be read or written: {error}") from None
        except (sqlite3.Error, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise JournalError(f"{self.path} is damaged, restore it from a copy: {error}") from None


def _digest(before: bytes, seq: int, at: float, kind: str, data: str) -> bytes:
    text = f"{seq}\n{at!r}\n{kind}\n{data}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(before + text, digest_size=16).digest()
