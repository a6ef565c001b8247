"""What a journal on disk promises beyond the laws of every journal."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bela.errors import JournalError, ParameterError
from bela.storage import SQLiteJournal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of ten events, closed."""
    made = tmp_path / "journal.sqlite"
    journal = SQLiteJournal(made, create=True)
    for i in range(10):
        journal.append([("answered", {"question": i, "label": "cat"})])
    journal.close()
    return made


def change(path: Path, statement: str, *values: Any) -> None:
    """Change the file behind the journal's back."""
    db = sqlite3.connect(path)
    db.execute(statement, values)
    db.commit()
    db.close()


def numbers(path: Path, **options: Any) -> list[int]:
    journal = SQLiteJournal(path, **options)
    try:
        return [event.seq for event in journal.events()]
    finally:
        journal.close()


def test_nothing_is_left_beside_a_closed_journal(path: Path) -> None:
    """Closed, everything is in the file itself; beside it is only the note of the last event."""
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["journal.sqlite", "journal.sqlite-head"]
    assert numbers(path) == list(range(1, 11))


def test_an_answer_is_on_disk_when_it_is_acknowledged(tmp_path: Path) -> None:
    """A process that ends without a word the moment after: everything that it was told is safe is there."""
    script = """
import os, sys
from pathlib import Path
from bela.storage import SQLiteJournal
journal = SQLiteJournal(Path(sys.argv[1]), create=True)
for i in range(25):
    journal.append([("answered", {"question": i})])
os._exit(9)
"""
    path = tmp_path / "journal.sqlite"
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 9
    assert path.with_name("journal.sqlite-wal").stat().st_size > 0  # killed, so nobody has tidied up
    assert numbers(path, read_only=True) == list(range(1, 26))
    assert numbers(path) == list(range(1, 26))


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_version_is_refused(path: Path, read_only: bool) -> None:
    """A journal of a version to come is not touched: upgrade first."""
    change(path, "PRAGMA user_version = 2")
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r"newer version of bela .*journal version 2.*upgrade"):
        SQLiteJournal(path, read_only=read_only)
    assert path.read_bytes() == before
    change(path, "PRAGMA user_version = 0")
    with pytest.raises(JournalError, match="version 0, which no bela has written"):
        SQLiteJournal(path, read_only=read_only)


def test_what_is_no_journal(tmp_path: Path) -> None:
    """A missing file, an empty one, a text, somebody else's database, a folder: one clear sentence each."""
    with pytest.raises(JournalError, match="there is no journal"):
        SQLiteJournal(tmp_path / "none.sqlite")
    for name, content in (("empty", b""), ("text", b"a,b\n1,2\n" * 500)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(JournalError, match=r"no journal of a campaign|not a database"):
            SQLiteJournal(tmp_path / name)
    change(tmp_path / "other", "CREATE TABLE events (seq)")
    with pytest.raises(JournalError, match="no journal of a campaign"):
        SQLiteJournal(tmp_path / "other")
    change(tmp_path / "bare", "PRAGMA application_id = 0x42454C41")
    change(tmp_path / "bare", "PRAGMA user_version = 1")
    with pytest.raises(JournalError, match=r"damaged|no such table"):
        SQLiteJournal(tmp_path / "bare")
    (tmp_path / "folder").mkdir()
    with pytest.raises(JournalError, match="there is no journal"):
        SQLiteJournal(tmp_path / "folder")
    with pytest.raises(JournalError, match="unable to open"):
        SQLiteJournal(tmp_path / "no" / "journal.sqlite", create=True)


def test_a_new_journal_replaces_nothing(path: Path) -> None:
    """Where a journal is, none can be begun."""
    with pytest.raises(JournalError, match="already a journal"):
        SQLiteJournal(path, create=True)
    assert numbers(path) == list(range(1, 11))


def test_readers_see_what_is_written(path: Path) -> None:
    """While somebody writes, readers come and go, see all that is acknowledged, and change nothing."""
    writer, reader = SQLiteJournal(path), SQLiteJournal(path, read_only=True)
    assert reader.n_events == 10
    with pytest.raises(JournalError, match="reading only"):
        reader.append([("answered", {})])
    for i in range(300):  # more than a checkpoint
        writer.append([("answered", {"question": i})])
        assert sum(1 for _ in reader.events(reader.n_events)) == 1
    halfway = reader.events()
    next(halfway)  # somebody who is in the middle of it
    writer.append([("undone", {})])
    assert [event.seq for event in halfway] == list(range(2, 311))
    assert numbers(path, read_only=True) == list(range(1, 312))
    writer.close()
    assert [event.kind for event in reader.events(310)] == ["undone"]
    reader.close()
    assert numbers(path) == list(range(1, 312))


def test_a_part_of_it(path: Path) -> None:
    """A journal can be looked at as it was, with the digest of then; and not be written to."""
    journal = SQLiteJournal(path)
    digests = [journal.digest]
    journal.append([("undone", {})])
    digests.append(journal.digest)
    journal.close()
    for until, digest in ((10, digests[0]), (11, digests[1]), (99, digests[1])):
        part = SQLiteJournal(path, read_only=True, until=until)
        assert (part.n_events, part.digest) == (min(until, 11), digest)
        assert [event.seq for event in part.events()] == list(range(1, min(until, 11) + 1))
        part.close()
    assert numbers(path, read_only=True, until=0) == []
    with pytest.raises(ParameterError, match="reading only"):
        SQLiteJournal(path, until=3)


def test_a_second_writer_that_slipped_in(path: Path) -> None:
    """Two writers, where the lock does not work: the second to write is told, and nothing is overwritten."""
    first, second = SQLiteJournal(path), SQLiteJournal(path)
    first.append([("answered", {"by": "first"})])
    with pytest.raises(JournalError, match="somebody else has written"):
        second.append([("answered", {"by": "second"})])
    first.append([("answered", {"by": "first"})])
    first.close()
    second.close()
    journal = SQLiteJournal(path)
    assert [event.data for event in journal.events(10)] == [{"by": "first"}] * 2
    journal.close()


def test_a_closed_journal_says_so(path: Path) -> None:
    """Whoever goes on with a closed journal is told that, not that it is damaged."""
    journal = SQLiteJournal(path)
    journal.close()
    with pytest.raises(JournalError, match="is closed"):
        journal.append([("answered", {})])
    with pytest.raises(JournalError, match="is closed"):
        list(journal.events())


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ('UPDATE events SET data = \'{"question":3,"label":"dog"}\' WHERE seq = 4', 4),
        ("UPDATE events SET kind = 'skipped' WHERE seq = 1", 1),
        ("UPDATE events SET at = at + 1e-6 WHERE seq = 10", 10),
        ("UPDATE events SET digest = x'00' WHERE seq = 5", 5),
        ("DELETE FROM events WHERE seq = 3", 3),
        ("DELETE FROM events WHERE seq <= 2", 1),
        ("INSERT INTO events SELECT 0, at, kind, data, digest FROM events WHERE seq = 1", 1),
        ("INSERT INTO events SELECT 11, at, kind, data, digest FROM events WHERE seq = 10", 11),
        ("INSERT INTO events SELECT 2000, at, kind, data, digest FROM events WHERE seq = 10", 2000),
        ("INSERT INTO events SELECT -5, at, kind, data, digest FROM events WHERE seq = 10", 1),
        ("UPDATE events SET seq = CASE seq WHEN 6 THEN -7 WHEN 7 THEN -6 ELSE seq END", 6),
    ],
)
def test_the_chain_shows_every_change(path: Path, statement: str, where: int) -> None:
    """Nobody changes, removes, adds or reorders an event unnoticed, with any tool."""
    change(path, statement)
    if "-7" in statement:
        change(path, "UPDATE events SET seq = -seq WHERE seq < 0")
    if "INSERT" in statement and where == 1:  # events before the first are no events
        assert numbers(path) == list(range(1, 11))
        return
    with pytest.raises(JournalError, match=rf"damaged at event {where}\b|no event {where - 1}\b"):
        numbers(path)


def test_lost_events_are_noticed(path: Path) -> None:
    """Where acknowledged events are gone, that is said, with what to do about it; and that works."""
    change(path, "DELETE FROM events WHERE seq > 7")
    for read_only in (False, True):
        with pytest.raises(JournalError, match=r"lost its last 3 of 10 events.*delete .*journal.sqlite-head"):
            SQLiteJournal(path, read_only=read_only)
    path.with_name("journal.sqlite-head").unlink()
    journal = SQLiteJournal(path)
    journal.append([("answered", {})])
    journal.close()
    assert numbers(path) == list(range(1, 9))


def test_another_journal_in_its_place_is_noticed(path: Path, tmp_path: Path) -> None:
    """A journal that was put in the place of another is not taken for it."""
    other = tmp_path / "other.sqlite"
    journal = SQLiteJournal(other, create=True)
    for i in range(12):
        journal.append([("answered", {"question": i})])
    journal.close()
    shutil.copy(other, path)
    with pytest.raises(JournalError, match="not the journal that was last written here"):
        SQLiteJournal(path)


def test_a_note_that_lags_behind_is_brought_up_to_date(path: Path) -> None:
    """Killed between the event and the note, the journal is ahead: nothing is lost, and the note follows."""
    head = path.with_name("journal.sqlite-head")
    old = head.read_bytes()
    journal = SQLiteJournal(path)
    journal.append([("answered", {})])
    journal.close()
    new = head.read_bytes()
    assert len(old) == len(new)  # written in place
    for content in (old, b"", b"nonsense", new[:-3]):
        head.write_bytes(content)
        assert numbers(path, read_only=True) == list(range(1, 12))
        assert head.read_bytes() == content
        assert numbers(path) == list(range(1, 12))
        assert head.read_bytes()[: len(new)] == new


def test_where_there_can_be_no_log(path: Path) -> None:
    """On a file system that cannot do with a log, a journal is written without one; it can be read and written."""
    change(path, "PRAGMA journal_mode = DELETE")
    journal = SQLiteJournal(path)
    assert journal._db.execute("PRAGMA synchronous").fetchone() == (3,)  # the name of the old journal is gone for good
    journal.append([("undone", {})])
    assert numbers(path, read_only=True) == list(range(1, 12))
    journal.close()
    assert numbers(path) == list(range(1, 12))


def test_names_with_odd_characters(tmp_path: Path) -> None:
    """A folder may be called anything that a folder can be called."""
    for name in ("a?b#c%20d", "Käfer 🪲", "-x", "with\nnewline", "file:x"):
        folder = tmp_path / name
        folder.mkdir()
        journal = SQLiteJournal(folder / "journal.sqlite", create=True)
        journal.append([("answered", {})])
        journal.close()
        assert numbers(folder / "journal.sqlite", read_only=True) == [1]


def test_a_relative_path(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may be relative to the current folder."""
    monkeypatch.chdir(path.parent)
    assert numbers(Path("journal.sqlite")) == list(range(1, 11))


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="whoever may do anything cannot be kept from it")
def test_a_folder_that_may_only_be_read(path: Path) -> None:
    """On a medium that cannot be written to, a journal can be looked at."""
    path.parent.chmod(0o555)
    try:
        assert numbers(path, read_only=True) == list(range(1, 11))
    finally:
        path.parent.chmod(0o755)
