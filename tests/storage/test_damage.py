"""Damaged files: an error that says so, or exactly what was acknowledged; never less, never anything else."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.errors import JournalError
from bela.storage import SQLiteJournal

N_EVENTS = 90  # the later half of them only in the log, if the process was killed
FILES = ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - where forcing files to disk is quick
fuzz = settings(max_examples=30 * int(os.environ.get("BELA_FUZZ_TIMES", "1")))
shares = st.floats(0, 1, exclude_max=True)


def event(i: int) -> tuple[str, dict[str, object]]:
    return ("answered" if i % 7 else "undone", {"question": i, "label": f"class {i % 3}", "note": "x" * (i % 90)})


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two folders: with a journal that was closed, and with one as a killed process leaves it."""
    made = tmp_path_factory.mktemp("journals")
    result = {name: made / name for name in ("closed", "killed")}
    (made / "live").mkdir()
    journal = SQLiteJournal(made / "live" / "journal.sqlite", create=True)
    for i in range(N_EVENTS):
        if i == N_EVENTS // 2:
            journal.close()
            journal = SQLiteJournal(made / "live" / "journal.sqlite")
        journal.append([event(i)])
    shutil.copytree(made / "live", result["killed"])
    journal.close()
    shutil.copytree(made / "live", result["closed"])
    assert (result["killed"] / "journal.sqlite-wal").stat().st_size > 20_000
    assert not (result["closed"] / "journal.sqlite-wal").exists()
    return result


class Copy:
    """A copy of a journal to damage."""

    def __init__(self, folder: Path) -> None:
        self._temporary = tempfile.TemporaryDirectory(dir=MEMORY)
        self.folder = Path(self._temporary.name) / "journal"
        shutil.copytree(folder, self.folder)

    def __enter__(self) -> Copy:
        return self

    def __exit__(self, *error: object) -> None:
        self._temporary.cleanup()

    def flip(self, name: str, place: float, value: int) -> None:
        content = bytearray((self.folder / name).read_bytes())
        content[int(place * len(content))] ^= value
        (self.folder / name).write_bytes(content)

    def cut(self, name: str, place: float) -> None:
        os.truncate(self.folder / name, int(place * (self.folder / name).stat().st_size))

    def found(self, *, read_only: bool) -> int | None:
        """Return the number of events if they are what was written, None for an error; anything else fails."""
        path = self.folder / "journal.sqlite"
        try:
            journal = SQLiteJournal(path, read_only=read_only)
        except JournalError as error:
            assert_clear(error)
            return None
        try:
            events = [(one.kind, one.data) for one in journal.events()]
            assert events == [event(i) for i in range(len(events))]
            if not read_only:
                journal.append([("answered", {})])
        except JournalError as error:
            assert_clear(error)
            return None
        finally:
            journal.close()
        return len(events)

    def check(self) -> None:
        """Check that a look says the same as an opening to write, and neither loses anything in silence."""
        looked = self.found(read_only=True)
        found = self.found(read_only=False)
        assert found == looked
        assert found in (None, N_EVENTS)
        if found is not None:
            again = SQLiteJournal(self.folder / "journal.sqlite", read_only=True)
            assert sum(1 for _ in again.events(N_EVENTS)) == 1
            again.close()


def assert_clear(error: JournalError) -> None:
    text = str(error)
    assert "journal.sqlite" in text
    assert "\n" not in text
    assert len(text) < 500


@pytest.mark.parametrize("state", ["closed", "killed"])
@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_the_file(folders: dict[str, Path], state: str, damage: str) -> None:
    """A byte of the journal flipped anywhere, or the file cut short anywhere."""

    @fuzz
    @given(place=shares, value=st.integers(1, 255))
    def check(place: float, value: int) -> None:
        with Copy(folders[state]) as copy:
            if damage == "flip":
                copy.flip("journal.sqlite", place, value)
            else:
                copy.cut("journal.sqlite", place)
            copy.check()

    check()


@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_the_log(folders: dict[str, Path], damage: str) -> None:
    """A byte of the log flipped, or the log cut short: SQLite would take that for its end, and say nothing."""

    @fuzz
    @given(place=shares, value=st.integers(1, 255))
    def check(place: float, value: int) -> None:
        with Copy(folders["killed"]) as copy:
            if damage == "flip":
                copy.flip("journal.sqlite-wal", place, value)
            else:
                copy.cut("journal.sqlite-wal", place)
            (copy.folder / "journal.sqlite-shm").unlink()  # as after a restart of the machine
            copy.check()

    check()


@fuzz
@given(data=st.data())
def test_several_at_once(folders: dict[str, Path], data: st.DataObject) -> None:
    """Some bytes here and there, in any of the files, and some files gone; the note of the last event is sound."""
    with Copy(folders["killed"]) as copy:
        for _ in range(data.draw(st.integers(1, 4))):
            name = data.draw(st.sampled_from(FILES))
            if not (copy.folder / name).exists():
                continue
            match data.draw(st.sampled_from(["flip", "cut", "delete"])):
                case "flip" if (copy.folder / name).stat().st_size:
                    copy.flip(name, data.draw(shares), data.draw(st.integers(1, 255)))
                case "cut":
                    copy.cut(name, data.draw(shares))
                case "delete" if name != "journal.sqlite":
                    (copy.folder / name).unlink()
        copy.check()


@fuzz
@given(place=shares, value=st.integers(1, 255))
def test_the_head_of_the_file(folders: dict[str, Path], place: float, value: int) -> None:
    """The first hundred bytes say how to read all others."""
    with Copy(folders["killed"]) as copy:
        content = bytearray((copy.folder / "journal.sqlite").read_bytes())
        content[int(place * 100)] ^= value
        (copy.folder / "journal.sqlite").write_bytes(content)
        copy.check()


@fuzz
@given(place=shares, value=st.integers(1, 255))
def test_the_note(folders: dict[str, Path], place: float, value: int) -> None:
    """A damaged note of the last event is no reason to doubt the journal."""
    with Copy(folders["killed"]) as copy:
        copy.flip("journal.sqlite-head", place, value)
        copy.check()


@pytest.mark.parametrize("name", ["journal.sqlite-shm", "journal.sqlite-head"])
def test_what_can_be_made_again(folders: dict[str, Path], name: str) -> None:
    """The index of the log and the note of the last event may vanish at any time."""
    with Copy(folders["killed"]) as copy:
        (copy.folder / name).unlink()
        assert copy.found(read_only=True) == N_EVENTS
        copy.check()


def test_a_lost_log_is_noticed_and_not_made_worse(folders: dict[str, Path]) -> None:
    """Without its log a journal has lost events: that is said, nothing is changed, and with the log all is well."""
    with Copy(folders["killed"]) as copy:
        log, aside = copy.folder / "journal.sqlite-wal", copy.folder / "aside"
        log.rename(aside)
        with pytest.raises(JournalError, match=rf"lost its last \d+ of {N_EVENTS} events: put journal.sqlite-wal back"):
            SQLiteJournal(copy.folder / "journal.sqlite")
        aside.replace(log)
        assert copy.found(read_only=False) == N_EVENTS


def test_a_damaged_log_is_not_thrown_away(folders: dict[str, Path]) -> None:
    """An opening that fails leaves the log as it is, for those who know how to mend it."""
    with Copy(folders["killed"]) as copy:
        copy.flip("journal.sqlite-wal", 0.5, 1)
        (copy.folder / "journal.sqlite-shm").unlink()
        before = (copy.folder / "journal.sqlite-wal").read_bytes()
        with pytest.raises(JournalError, match="lost its last"):
            SQLiteJournal(copy.folder / "journal.sqlite")
        assert (copy.folder / "journal.sqlite-wal").read_bytes() == before
