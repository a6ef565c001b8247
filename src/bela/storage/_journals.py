"""Journals: events as text, chained by digests, in memory or in an SQLite file that has them before anybody is told."""

import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from bela.errors import JournalError, ParameterError, VersionError
from bela.records import Entry, Json
from bela.storage._atomic import open_fresh

SCHEMA = 1
_NEVER = 2**63 - 1  # the largest number of an event
_APPLICATION = 0x42454C41  # "BELA", so that `file` and we know the file by its head
_PAGES = 128  # written to the log before they are copied into the file: what is at stake if the log is damaged
_WORDS = "bela-head"
_EVENTS = "SELECT seq, at, kind, data, digest FROM events"
_TABLES = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    digest BLOB NOT NULL
) STRICT
"""


def event_text(kind: str, data: Mapping[str, Json]) -> str:
    """Return the particulars of an event as one line of JSON.

    >>> event_text("answered", {"question": 3, "label": "Käfer"})
    '{"question":3,"label":"Käfer"}'
    """
    try:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # halves of characters, as in names from a system that has no UTF-8
            text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise JournalError(f"an event {kind!r} cannot be written down: {error}") from None
    return text


def event_data(text: str) -> dict[str, Json] | None:
    """Return the particulars of an event again; None if that is no text of an event."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def chain_digest(before: bytes, seq: int, at: float, kind: str, text: str) -> bytes:
    """Return the digest of an event and all events before it."""
    line = f"{seq}\n{at!r}\n{kind}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(before + line, digest_size=16).digest()


class MemoryJournal:
    """Events in a list, as plain as they would be on disk.

    >>> journal = MemoryJournal()
    >>> _ = journal.append([("answered", {"question": 0, "label": "cat"})])
    >>> [(event.seq, event.kind) for event in journal.events()]
    [(1, 'answered')]
    """

    def __init__(self) -> None:
        self._events: list[tuple[float, str, str]] = []

    def append(self, events: Sequence[tuple[str, Mapping[str, Json]]]) -> list[Entry]:
        """Take events in and return them."""
        at, before = time.time(), len(self._events)
        self._events += [(at, kind, event_text(kind, data)) for kind, data in events]
        return list(self.events(before))

    def events(self, after: int = 0) -> Iterator[Entry]:
        """Yield events in order."""
        if after > len(self._events):
            raise JournalError(f"the journal has no event {after}")
        for i, (at, kind, text) in enumerate(self._events[after:]):
            # made from its text each time, so that nobody who changes what he got changes what happened
            yield Entry(seq=after + i + 1, at=at, kind=kind, data=event_data(text) or {})

    def close(self) -> None:
        """Nothing is held open."""


class SQLiteJournal:
    """Events in an SQLite file in WAL mode: one writer, any number of readers.

    Every event carries a digest of itself and all events before it, so that a damaged file is noticed; the last one is
    noted in a file of its own (`-head`), so that lost events are, too. `create` begins a new journal; otherwise there
    must be one. `read_only` only looks, while somebody else may be writing; at the first `until` events.
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

    def append(self, events: Sequence[tuple[str, Mapping[str, Json]]]) -> list[Entry]:
        """Write events, all or none, and return them when they are on disk."""
        if self._read_only:
            raise JournalError(f"{self.path} was opened for reading only")
        digest, at = self._digest, time.time()
        lines = []
        for seq, (kind, data) in enumerate(events, self._seq + 1):
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
        self._seq, self._digest = self._seq + len(lines), digest
        self._head.write(self._seq, digest)
        return [Entry(seq=line[0], at=at, kind=line[2], data=event_data(line[3]) or {}) for line in lines]

    def events(self, after: int = 0) -> Iterator[Entry]:
        """Yield events in order, from the one after `after` on, each checked against what was written."""
        with self._clear_errors():
            expected, digest = after, self._digest_of(after)
            chosen = f"{_EVENTS} WHERE seq > ? AND seq <= ? ORDER BY seq"
            for seq, at, kind, text, written in self._db.execute(chosen, (after, self._until)):
                expected += 1
                data, digest = event_data(text), chain_digest(digest, seq, at, kind, text)
                if seq != expected or written != digest or data is None:
                    raise self._damaged_at(expected)
                if seq > self._seq:  # somebody else has gone on since it was opened
                    self._seq, self._digest = seq, digest
                yield Entry(seq=seq, at=at, kind=kind, data=data)
            if expected < min(self._seq, self._until):
                raise self._damaged_at(expected + 1)

    def copy_to(self, path: Path) -> None:
        """Write a copy of the journal as it is at one moment, whoever is writing to it; errors as for reading it."""
        open_fresh(path, 0o600).close()
        with self._clear_errors(), closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)

    def close(self) -> None:
        """Close the file; everything is on disk already."""
        with suppress(sqlite3.Error):
            if not self._read_only:  # a reader keeps the log alive, but nothing should be in it alone
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with suppress(sqlite3.Error):
            self._db.close()
        self._head.close()

    def _connect(self, create: bool) -> None:
        mode = "mode=ro" if self._read_only else "mode=rwc" if create else "mode=rw"
        log = self.path.with_name(f"{self.path.name}-wal")
        if self._read_only and not os.access(self.path.parent, os.W_OK) and not log.exists():
            mode = "immutable=1"  # nobody can write there, and SQLite would want to
        with self._clear_errors():
            uri = f"{self.path.absolute().as_uri()}?{mode}"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10, check_same_thread=False)
            # What is no text any more has another digest than it had: that says more than that it is no text.
            self._db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")

    def _begin(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._write_through()
        mark = f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {SCHEMA}"
        for statement in ("BEGIN IMMEDIATE", _TABLES, *mark, "COMMIT"):
            self._db.execute(statement)

    def _check_kind(self) -> None:
        """Make sure that it is a journal that this version knows, and that it is written to safely."""
        self._db.execute("PRAGMA trusted_schema = OFF")
        self._db.execute("PRAGMA cell_size_check = ON")
        if self._db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise JournalError(f"{self.path} is no journal of a campaign, or its head is damaged")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            newer = f"a newer version of bela (journal version {version}, this one knows {SCHEMA})"
            raise VersionError(f"{self.path} was written by {newer}: upgrade bela")
        if version < SCHEMA:
            raise JournalError(f"{self.path} has the journal version {version}, which no bela has written")
        # Triggers, views, indexes and constraints are code that our own statements would run.
        found = [" ".join(str(sql).split()) for (sql,) in self._db.execute("SELECT sql FROM sqlite_schema")]
        if found != [" ".join(_TABLES.split())]:
            what = "holds something else: it is damaged, or made to do harm"
            raise JournalError(f"{self.path} should hold nothing but events, and {what}")
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

    def _last(self, until: int) -> tuple[int, bytes]:
        """Return the number and the digest of the last event, once they are seen to fit to the one before."""
        line = self._db.execute(f"{_EVENTS} WHERE seq <= ? ORDER BY seq DESC LIMIT 1", (until,)).fetchone()
        if line is None:
            return 0, b""
        seq, at, kind, text, digest = line
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

    def _damaged_at(self, seq: int) -> JournalError:
        restore = "restore the file from a copy; the events before it can be read"
        return JournalError(f"{self.path} is damaged at event {seq}: {restore}")

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError:
            reopen = "close it everywhere and open it again"
            raise JournalError(f"somebody else has written to {self.path} meanwhile: {reopen}") from None
        except sqlite3.ProgrammingError:
            raise JournalError(f"{self.path} is closed: open it again") from None
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says at which step
            if code == sqlite3.SQLITE_FULL:
                raise JournalError(f"there is no room on the disk for {self.path}: make some") from None
            cause = "the disk is full, failing or gone" if code == sqlite3.SQLITE_IOERR else error
            raise JournalError(f"{self.path} cannot be read or written: {cause}") from None
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise JournalError(f"{self.path} is damaged, restore it from a copy: {error}") from None


class HeadFile:
    """A note beside a journal, which event was written last: its number and its digest.

    SQLite takes a log that was cut short or damaged for one that ends there, and says nothing; whoever was told that an
    answer is on disk must be told when it no longer is. The note is written after each event is safe and never forced
    to the disk: it may lag behind when the power fails, and can never be ahead of the journal unless the journal has
    lost something. It is overwritten in place, so that it takes no room that a full disk might not have.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def read(self) -> tuple[int, bytes] | None:
        """Return the number and the digest of the last event, None if there is no note or it is damaged."""
        with suppress(OSError, ValueError):
            words, number, digest, check = self.path.read_text("ascii").split()
            if (words, check) == (_WORDS, _check(f"{number} {digest}")):
                return int(number), bytes.fromhex(digest)
        return None

    def write(self, seq: int, digest: bytes) -> None:
        """Take note of an event that is safe in the journal; no failure of a note is worth an error."""
        text = f"{seq:019} {digest.hex():0<32}"
        with suppress(OSError):
            if self._file is None:
                flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
                self._file = os.open(self.path, flags, 0o666)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, f"{_WORDS} {text} {_check(text)}\n".encode())

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None


def _check(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
