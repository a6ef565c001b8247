"""The journal of a campaign: events appended to an SQLite file, on disk before anybody is told."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bela.errors import JournalError, ParameterError, VersionError
from bela.journal._head import HeadFile
from bela.journal._text import chain_digest, event_data, event_text
from bela.records import Event

SCHEMA = 1
_NEVER = 2**63 - 1  # the largest number of an event
_APPLICATION = 0x42454C41  # "BELA", so that `file` and we know the file by its head
_PAGES = 128  # written to the log before they are copied into the file: what is at stake if the log is damaged

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

    Every event carries a digest of itself and all events before it, so that a damaged file is noticed; the last one is
    noted in a file of its own (`-head`), so that lost events are, too.

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
        if os.path.lexists(path) if create else not path.is_file():
            raise JournalError(f"there is {'already a' if create else 'no'} journal {path}")
        if not (create or read_only):
            # A look first: whoever opens a damaged journal to write has SQLite throw away what it cannot read.
            SQLiteJournal(path, read_only=True).close()
        self._read_only = read_only
        self._head = HeadFile(path.with_name(f"{path.name}-head"))
        self._seq, self._digest = 0, b""
        noted = None if create else self._head.read()  # before anything else, as somebody may be writing
        self._connect(create)
        try:
            with self._clear_errors():
                if create:
                    self._begin()
                else:
                    self._check_kind()
                    self._check_whole(noted)
                self._seq, self._digest = self._last(self._until)
        except BaseException:
            self._db.close()
            raise
        if not read_only and noted != (self._seq, self._digest):
            self._head.write(self._seq, self._digest)

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
            text = event_text(kind, data)
            digest = chain_digest(digest, seq, at, kind, text)
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
        self._head.write(seq, digest)
        return [Event(seq=line[0], at=at, kind=line[2], data=event_data(line[3]) or {}) for line in lines]

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield events in order, from the one after `after` on, each checked against what was written."""
        with self._clear_errors():
            expected, digest = after, self._digest_of(after)
            lines = self._db.execute(
                "SELECT seq, at, kind, data, digest FROM events WHERE seq > ? AND seq <= ? ORDER BY seq",
                (after, self._until),
            )
            for seq, at, kind, text, written in lines:
                expected += 1
                if seq != expected or written != (digest := chain_digest(digest, seq, at, kind, text)):
                    raise self._damaged_at(expected)
                data = event_data(text)
                if data is None:
                    raise self._damaged_at(expected)
                if seq > self._seq:  # somebody else has gone on since it was opened
                    self._seq, self._digest = seq, digest
                yield Event(seq=seq, at=at, kind=kind, data=data)
            if expected < min(self._seq, self._until):
                raise self._damaged_at(expected + 1)

    def close(self) -> None:
        """Close the file; everything is on disk already."""
        with suppress(sqlite3.Error):
            if not self._read_only:  # a reader keeps the log alive, but nothing should be in it alone
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with suppress(sqlite3.Error):
            self._db.close()
        self._head.close()

    # ---------------------------------------------------------------------------------------------- opening

    def _connect(self, create: bool) -> None:
        mode = "mode=ro" if self._read_only else "mode=rwc" if create else "mode=rw"
        log = self.path.with_name(f"{self.path.name}-wal")
        if self._read_only and not os.access(self.path.parent, os.W_OK) and not log.exists():
            mode = "immutable=1"  # nobody can write there, and SQLite would want to
        with self._clear_errors():
            self._db = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?{mode}",
                uri=True, isolation_level=None, timeout=10, check_same_thread=False,
            )  # fmt: skip
            # What is no text any more has another digest than it had: that says more than that it is no text.
            self._db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")

    def _begin(self) -> None:
        db = self._db
        db.execute("PRAGMA journal_mode = WAL")
        self._write_through()
        db.execute("BEGIN IMMEDIATE")
        db.execute(_TABLES)
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {SCHEMA}")
        db.execute("COMMIT")

    def _check_kind(self) -> None:
        """Make sure that it is a journal that this version knows, and that it is written to safely."""
        db = self._db
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise JournalError(f"{self.path} is no journal of a campaign, or its head is damaged")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA:
            raise VersionError(
                f"{self.path} was written by a newer version of bela (journal version {version}, this one knows "
                f"{SCHEMA}): upgrade bela"
            )
        if version < SCHEMA:
            self._migrate(version)
        if not self._read_only:
            self._write_through()

    def _write_through(self) -> None:
        """Have everything on disk when it is committed."""
        # Some file systems of networks cannot do with a log; without one it takes a little more to be safe.
        (mode,) = self._db.execute("PRAGMA journal_mode").fetchone()
        self._db.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
        self._db.execute(f"PRAGMA wal_autocheckpoint = {_PAGES}")

    def _check_whole(self, noted: tuple[int, bytes] | None) -> None:
        """Make sure that the file is sound, and that it has what was noted when it was last written to."""
        (verdict,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise JournalError(f"{self.path} is damaged ({verdict.splitlines()[-1]}): restore the file from a copy")
        if noted is None:
            return
        (seq, digest), (last, _) = noted, self._last(_NEVER)
        if last < seq:
            raise JournalError(
                f"{self.path} has lost its last {seq - last} of {seq} events: put {self.path.name}-wal back, or "
                f"restore the folder from a copy; to go on without them, delete {self._head.path}"
            )
        if seq and digest != self._digest_of(seq):
            raise JournalError(
                f"{self.path} is not the journal that was last written here (event {seq} is another): put that one "
                f"back; to go on with this one, delete {self._head.path}"
            )

    def _migrate(self, version: int) -> None:
        raise JournalError(f"{self.path} has the journal version {version}, which no bela has written")

    def _last(self, until: int) -> tuple[int, bytes]:
        """Return the number and the digest of the last event, once they are seen to fit to the one before."""
        lines = self._db.execute(
            "SELECT seq, at, kind, data, digest FROM events WHERE seq <= ? ORDER BY seq DESC LIMIT 1", (until,)
        ).fetchall()
        if not lines:
            return 0, b""
        seq, at, kind, text, digest = lines[0]
        if type(seq) is not int or seq < 1 or digest != chain_digest(self._digest_of(seq - 1), seq, at, kind, text):
            raise self._damaged_at(seq)
        return seq, digest

    def _digest_of(self, seq: int) -> bytes:
        if seq == 0:
            return b""
        line = self._db.execute("SELECT digest FROM events WHERE seq = ?", (seq,)).fetchone()
        if line is None:
            raise JournalError(f"{self.path} has no event {seq}")
        if not isinstance(line[0], bytes):
            raise self._damaged_at(seq)
        return line[0]

    # ----------------------------------------------------------------------------------------------- errors

    def _damaged_at(self, seq: int) -> JournalError:
        return JournalError(
            f"{self.path} is damaged at event {seq}: restore the file from a copy; the events before it can be read"
        )

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError:
            raise JournalError(
                f"somebody else has written to {self.path} meanwhile: close it everywhere and open it again"
            ) from None
        except sqlite3.ProgrammingError:
            raise JournalError(f"{self.path} is closed: open it again") from None
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says at which step
            if code == sqlite3.SQLITE_FULL:
                raise JournalError(f"there is no room on the disk for {self.path}: make some") from None
            if code == sqlite3.SQLITE_IOERR:
                raise JournalError(
                    f"{self.path} cannot be read or written: the disk is full, failing or gone"
                ) from None
            raise JournalError(f"{self.path} cannot be read or written: {error}") from None
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise JournalError(f"{self.path} is damaged, restore it from a copy: {error}") from None
