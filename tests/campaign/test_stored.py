"""Campaigns in folders: one writer, many readers, and whatever happens to the files."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bela.campaign import SETTINGS, StoredCampaign, create_campaign, is_open, open_campaign, read_settings
from bela.errors import BelaError, DataError, JournalError, LabelError, ParameterError
from bela.storage import SQLiteJournal

LIVES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("lives.py"))))
FUZZ = int(os.environ.get("BELA_FUZZ_TIMES", "1"))  # so many times the usual number of examples
QUICK = "hsal"  # a method that takes no time
KINDS = ("cat", "dog", "emu")
N_ROWS = 60
fuzz = settings(max_examples=20 * FUZZ, suppress_health_check=[HealthCheck.function_scoped_fixture])


def lines() -> list[str]:
    """Three clusters of pets, one line each."""
    rng = np.random.default_rng(0)
    side = np.arange(N_ROWS) % 3
    X = rng.normal(size=(N_ROWS, 2)) + 6 * np.array([(0, 0), (1, 0), (0, 1)])[side]
    return [f"pet {i},{a:.4f},{b:.4f},{KINDS[k]}" for i, ((a, b), k) in enumerate(zip(X, side, strict=True))]


def write(path: Path, rows: list[str], head: str = "name,weight,height,kind") -> Path:
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def answer(stored: StoredCampaign, n: int) -> None:
    """Answer n questions rightly, one after the other."""
    for _ in range(n):
        for question in stored.campaign.ask():
            stored.campaign.tell(question.id, stored.records.record(question.row)["kind"])


def view(path: Path, **options: Any) -> dict[str, Any]:
    """Return all that can be seen of a campaign on disk."""
    options.setdefault("read_only", True)
    with open_campaign(path, **options) as stored:
        seen: dict[str, Any] = LIVES.view(stored.campaign)
        return seen


def make(folder: Path, **options: Any) -> Path:
    """Begin a campaign about pets and give 14 answers."""
    table = write(folder / "pets.csv", lines())
    path = folder / "pets.bela"
    options = {"method": QUICK, "hidden": ("kind", "name"), **options}
    with create_campaign(table, path, **options) as stored:
        answer(stored, 14)
        stored.campaign.skip(stored.campaign.ask(3)[0].id)
        stored.campaign.relabel(50, "emu")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what is forced to disk takes its time."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder in it has a name of its own
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture
def path(folder: Path) -> Path:
    """A campaign of a quick method."""
    return make(folder)


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of the default method, with revisions in its cache; to be copied."""
    return make(tmp_path_factory.mktemp("certified"), method="bela", target=0.8)


def copy(path: Path, folder: Path) -> Path:
    """Copy a campaign together with its data."""
    shutil.copytree(path.parent, folder, dirs_exist_ok=True)
    return folder / path.name


# ------------------------------------------------------------------------------------------- writers and readers


def test_it_goes_on_where_it_stood(path: Path) -> None:
    """Opened again, everything is as it was when it was closed, for those who write and those who look."""
    with open_campaign(path) as stored:
        seen = LIVES.view(stored.campaign)
        assert stored.campaign.n_asked == 14
        assert stored.campaign.book.label(50) == "emu"
        assert [question.id for question in stored.campaign.ask(2)] == [15, 16]
    assert sorted(entry.name for entry in path.iterdir()) == [
        "cache", SETTINGS, "journal.sqlite", "journal.sqlite-head", "lock", "rows.npy",
    ]  # fmt: skip
    assert view(path) == seen
    assert view(path, recompute=True) == seen


def test_one_writer_and_any_number_of_readers(path: Path) -> None:
    """A second writer is refused, in this process and in others; readers see each answer as soon as it is given."""
    script = "import sys, pathlib, bela.campaign; bela.campaign.open_campaign(pathlib.Path(sys.argv[1]))"
    assert is_open(path) is False
    with open_campaign(path) as stored:
        assert is_open(path) is True
        with pytest.raises(JournalError, match="open elsewhere"):
            open_campaign(path)
        other = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
        assert "open elsewhere" in other.stderr
        with open_campaign(path, read_only=True) as reader:
            for n in (15, 16):
                answer(stored, 1)
                assert view(path)["n_asked"] == n
            assert reader.campaign.n_asked == 14  # as it was when it was opened
            with pytest.raises(JournalError, match="reading only"):
                answer(reader, 1)
    assert is_open(path) is False
    with open_campaign(path) as stored:
        answer(stored, 1)
    assert view(path)["n_asked"] == 17


def test_whoever_fails_to_open_it_lets_go(path: Path) -> None:
    """A campaign that cannot be opened is not left locked."""
    data = path.parent / "pets.csv"
    before = data.read_text()
    data.write_text(before + "x,1,2,cat\n")
    with pytest.raises(DataError, match="has changed"):
        open_campaign(path)
    assert is_open(path) is False
    data.write_text(before)
    assert view(path, read_only=False)["n_asked"] == 14


def test_somebody_who_stops_half_way_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped while the next question is being chosen, nothing has happened, and it can be asked for again."""
    with open_campaign(path) as stored:
        seen = LIVES.view(stored.campaign)
        with monkeypatch.context() as patch:
            patch.setattr(stored.campaign.method, "propose", _stopped)
            with pytest.raises(Stopped):
                stored.campaign.ask(9)
        assert LIVES.view(stored.campaign) == seen
        assert len(stored.campaign.ask(9)) == 9


def test_somebody_who_stops_between_disk_and_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after an answer is on disk and before it takes effect, it goes no further until it is opened again."""
    with open_campaign(path) as stored:
        waiting = stored.campaign.open_questions
        monkeypatch.setattr(stored.campaign.method, "follow", _stopped)
        with pytest.raises(Stopped):
            stored.campaign.tell(waiting[0].id, "cat")
        monkeypatch.undo()
        for action in (lambda: stored.campaign.ask(9), lambda: stored.campaign.tell(waiting[1].id, "cat")):
            with pytest.raises(JournalError, match="open it again"):
                action()
    with open_campaign(path) as stored:
        assert stored.campaign.book.answer_to(waiting[0].id) == "cat"
        assert stored.campaign.book.answer_to(waiting[1].id) is None
        seen = LIVES.view(stored.campaign)
    assert view(path) == seen


class Stopped(BaseException):
    """As by Ctrl-C."""


def _stopped(*arguments: object) -> None:
    raise Stopped


# ------------------------------------------------------------------------------------------------------- the cache


def test_the_cache_may_be_deleted_at_any_time(certified: Path, folder: Path) -> None:
    """Without its cache a campaign is the same: deleted before it is opened, or while it is open."""
    path = copy(certified, folder)
    seen = view(path)
    assert seen["revisions"]
    shutil.rmtree(path / "cache")
    assert view(path) == seen
    with open_campaign(path) as stored:
        shutil.rmtree(path / "cache")
        answer(stored, 6)
        seen = LIVES.view(stored.campaign)
    assert view(path) == seen
    shutil.rmtree(path / "cache")
    (path / "cache").write_text("something else")
    with pytest.raises(BelaError, match="cache"):
        view(path)
    (path / "cache").unlink()
    assert view(path) == seen


def test_revisions_are_no_part_of_the_cache(certified: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its cache nothing is fitted anew, which might come out a little otherwise; revisions are data."""
    path = copy(certified, folder)
    seen = view(path)
    shutil.rmtree(path / "cache")

    def never(self: object, *arguments: object) -> None:
        raise AssertionError("nothing needs to be fitted")

    monkeypatch.setattr("bela.learning.TransductiveLearner.fit", never)
    assert view(path) == seen
    shutil.move(path / "revisions", folder / "elsewhere")
    with pytest.raises(JournalError, match="restore the file from a copy"):
        view(path)
    shutil.move(folder / "elsewhere", path / "revisions")
    assert view(path) == seen


@fuzz
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_a_damaged_revision(certified: Path, place: float, value: int) -> None:
    """A revision with a byte flipped, cut short, or that of another moment is refused, by name."""
    revisions = sorted((certified / "revisions").rglob("revision-*"))
    for file, other in ((revisions[0], revisions[-1]), (revisions[-1], revisions[0])):
        whole = file.read_bytes()
        content = bytearray(whole)
        cut = int(place * len(content))
        content[cut] ^= value
        try:
            for damaged in (content if value else content[:cut], *([other.read_bytes()] if other != file else [])):
                file.write_bytes(damaged)
                with pytest.raises(JournalError, match=f"{file.stem}.*restore"):
                    view(certified)
        finally:
            file.write_bytes(whole)


def test_a_damaged_cache_is_made_again(certified: Path, folder: Path) -> None:
    """Whatever happens to a file of the cache, the campaign is the same as without it."""
    path = copy(certified, folder)
    seen = view(path)
    kept = (path / "cache").rglob("*")
    files = sorted(file for file in kept if file.is_file() and file.suffix != ".lock")
    assert "header.json" in {file.name for file in files}
    assert len(files) > 4

    @fuzz
    @given(file=st.sampled_from(files), place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
    def check(file: Path, place: float, value: int) -> None:
        if not file.exists():  # one that is no longer needed
            return
        content = bytearray(file.read_bytes())
        cut = int(place * len(content))
        if value and content:
            content[cut] ^= value
        file.write_bytes(content if value else content[:cut])
        assert LIVES.differences(view(path), seen) == {}

    check()


# ---------------------------------------------------------------------------------------------------- the settings

ODD: tuple[Any, ...] = (
    "", "nonsense", "../journal.sqlite", -1, 7, 0.5, 1e300, True, [], ["x", 1], [["x"]], {}, {"columns": 3},
    {"columns": {"weight": "nonsense"}}, float("nan"),
)  # fmt: skip


def test_damaged_settings(path: Path) -> None:
    """Each setting with odd values or without any: a clear sentence, or a campaign with the same answers."""
    file = path / SETTINGS
    whole = file.read_text()
    plain = tomllib.loads(whole)
    answers = view(path)["answers"]
    for name in [*plain, "budget", "target", "classes", "carried", "encoding", "label_column", "id_column"]:
        for value in (None, *ODD):
            changed = {key: entry for key, entry in plain.items() if key != name}
            if value is not None:
                changed[name] = value
            file.write_text(tomli_w.dumps(changed))
            try:
                with open_campaign(path) as stored:
                    found = [stored.campaign.book.label(row) for row in range(N_ROWS)]
            except BelaError as error:
                assert "\n" not in str(error)  # noqa: PT017 - either is fine
            else:
                assert found == answers, (name, value)
    file.write_text(whole)
    assert view(path)["answers"] == answers


@fuzz
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_damaged_settings_file(path: Path, place: float, value: int) -> None:
    """A byte of the settings flipped (or the file cut short, for 0): a clear sentence, or the same answers."""
    file = path / SETTINGS
    whole = file.read_bytes()
    answers = view(path)["answers"]
    content = bytearray(whole)
    cut = int(place * len(content))
    content[cut] ^= value
    file.write_bytes(content if value else content[:cut])
    try:
        assert view(path)["answers"] == answers
    except BelaError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either is fine
    finally:
        file.write_bytes(whole)


def test_settings_of_a_newer_version(path: Path) -> None:
    """Settings of a version to come are not guessed at."""
    file = path / SETTINGS
    whole = file.read_text()
    file.write_text(whole.replace("format = 1", "format = 2"))
    with pytest.raises(JournalError, match="format 2, this bela knows 1: upgrade bela"):
        open_campaign(path)
    for odd in ("0", "'one'", "true", "[]"):
        file.write_text(whole.replace("format = 1", f"format = {odd}"))
        with pytest.raises(JournalError, match="this bela knows 1: repair the file"):
            open_campaign(path)


def test_a_folder_from_before_the_first_release(path: Path) -> None:
    """It gets one sentence that says what to do, and is left as it was."""
    file = path / SETTINGS
    file.write_text(file.read_text().replace("format = 1", "version = 1"))
    before = {entry.name: entry.stat().st_mtime_ns for entry in path.iterdir()}
    for options in ({}, {"read_only": True}, {"accept_changes": True}):
        with pytest.raises(JournalError, match="made before the first release of bela") as caught:
            open_campaign(path, **options)
        assert "\n" not in str(caught.value)
    assert {entry.name: entry.stat().st_mtime_ns for entry in path.iterdir()} == before


def test_no_room_for_settings(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that cannot be written: one sentence, and they are as they were."""
    before = (path / SETTINGS).read_text()
    with open_campaign(path) as stored:
        monkeypatch.setattr(os, "fsync", _no_room)
        with pytest.raises(JournalError, match=f"{SETTINGS} .*No space left"):
            stored.set_target(target=0.5, budget=None)
        monkeypatch.undo()
        assert (path / SETTINGS).read_text() == before
        assert sorted(entry.name for entry in path.glob("*.part")) == []
        stored.set_target(target=0.5, budget=None)
    assert read_settings(path / SETTINGS).target == 0.5
    assert (view(path)["target"], view(path)["budget"]) == (0.5, None)


def _no_room(file: int) -> None:
    raise OSError(28, "No space left on device")


# ------------------------------------------------------------------------------------------------ other journals


def test_the_journal_of_another_campaign(path: Path, tmp_path: Path) -> None:
    """A journal from elsewhere is refused: by the note beside it, and without that by what it says it began with."""
    other = make(tmp_path, seed=3)
    shutil.copy(other / "journal.sqlite", path / "journal.sqlite")
    with pytest.raises(JournalError, match="not the journal that was last written here"):
        open_campaign(path)
    (path / "journal.sqlite-head").unlink()
    with pytest.raises(JournalError, match="that of another campaign"):
        open_campaign(path)
    assert is_open(path) is False


def test_no_journal(path: Path) -> None:
    """A missing journal is not replaced by an empty one."""
    (path / "journal.sqlite").unlink()
    with pytest.raises(JournalError, match="there is no journal"):
        open_campaign(path)
    assert not (path / "journal.sqlite").exists()


# --------------------------------------------------------------------------------------------------- other places


def test_moved_with_its_data(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data and campaign moved together open as before, from any current folder; so does a link to the campaign."""
    seen = view(path)
    moved = tmp_path / "other place"
    shutil.move(path.parent, moved)
    assert view(moved / "pets.bela") == seen
    monkeypatch.chdir(moved / "pets.bela")
    assert view(Path()) == seen
    monkeypatch.chdir(tmp_path)
    assert view(Path("other place/pets.bela")) == seen


def test_moved_without_its_data(path: Path, tmp_path: Path) -> None:
    """A campaign without its data says which are missing, and opens when they are back."""
    seen = view(path)
    moved = tmp_path / "alone" / "pets.bela"
    moved.parent.mkdir()
    shutil.move(path, moved)
    with pytest.raises(DataError, match=r"pets\.csv"):
        open_campaign(moved)
    shutil.copy(path.parent / "pets.csv", moved.parent / "pets.csv")
    assert view(moved) == seen


# ------------------------------------------------------------------------------------------------------ beginnings


def test_a_beginning_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign is there whole or not at all."""
    table = write(folder / "pets.csv", lines())
    before = sorted(os.listdir(folder))
    for options, error in (
        ({"hidden": ("nothing",)}, ParameterError),
        ({"method": "nothing"}, ParameterError),
        ({"budget": 1000}, ParameterError),
        ({"seed": -1}, ParameterError),
        ({"confidence": 1.5}, ParameterError),
        ({"label_column": "kind", "classes": ("cat",)}, LabelError),
        ({"kinds": {"weight": "nonsense"}}, BelaError),
    ):
        with pytest.raises(error):
            create_campaign(table, folder / "pets.bela", **options)
        assert sorted(os.listdir(folder)) == before
    monkeypatch.setattr(os, "fsync", _no_room)
    with pytest.raises(BelaError, match=r"No space left|no room|cannot be written"):
        create_campaign(table, folder / "pets.bela", method=QUICK)
    monkeypatch.undo()
    assert sorted(os.listdir(folder)) == before
    (folder / "pets.bela").mkdir()
    with pytest.raises(ParameterError, match="already something"):
        create_campaign(table, folder / "pets.bela")


def test_an_empty_campaign_can_be_opened(folder: Path) -> None:
    """Nothing was asked yet: it opens, to write and to look."""
    table = write(folder / "pets.csv", lines())
    create_campaign(table, folder / "pets.bela", method=QUICK, hidden=("kind",)).close()
    assert view(folder / "pets.bela")["n_asked"] == 0
    assert SQLiteJournal(folder / "pets.bela" / "journal.sqlite", read_only=True).n_events == 0
    with open_campaign(folder / "pets.bela") as stored:
        answer(stored, 2)
    assert view(folder / "pets.bela")["n_asked"] == 2
