"""Backups while somebody answers, damaged ones, and copies made file by file: sound, or refused."""

import itertools
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bela.campaign import StoredCampaign, back_up, create_campaign, open_campaign, restore
from bela.cli import main
from bela.errors import BelaError, JournalError, ParameterError

N_ROWS = 200


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and a campaign about them that has revisions."""
    folder, rng = tmp_path_factory.mktemp("backup"), np.random.default_rng(0)
    np.save(folder / "data.npy", rng.normal(size=(N_ROWS, 2)) + 9 * (np.arange(N_ROWS) % 2)[:, None])
    with create_campaign(folder / "data.npy", folder / "data.bela", target=None, budget=N_ROWS) as stored:
        answer(stored, 40)
        assert stored.campaign.book.n_revisions
    return folder


@pytest.fixture
def campaign(template: Path, tmp_path: Path) -> Path:
    """A campaign of one's own."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path / "data.bela"


def answer(stored: StoredCampaign, n: int) -> None:
    for _ in range(n):
        for question in stored.campaign.ask(1):
            stored.campaign.tell(question.id, "ab"[question.row % 2])


def events(path: Path) -> list[tuple[int, str]]:
    with open_campaign(path, read_only=True) as stored:
        stored.campaign.result()  # which takes the arrays of the last revision
        return [(entry.seq, json.dumps(entry.data)) for entry in stored.journal.events()]


def test_what_is_put_back_is_what_was_there(campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the commands; the campaign goes on from there as it would have."""
    (campaign / "guidelines.md").write_text("# Guidelines")
    backup, place = tmp_path / "backup.zip", tmp_path / "again.bela"
    assert main(["backup", str(campaign), "--to", str(backup), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_events"] == len(events(campaign))
    assert backup.stat().st_mode & 0o777 == 0o600
    assert main(["restore", str(backup), "--to", str(place)]) == 0
    assert "are back" in capsys.readouterr().out
    assert events(place) == events(campaign)
    assert (place / "guidelines.md").read_text() == "# Guidelines"
    assert place.stat().st_mode & 0o777 == 0o700
    questions = []
    for path in (campaign, place):
        with open_campaign(path) as stored:
            questions.append(stored.campaign.ask(1))
    assert questions[0] == questions[1]
    assert main(["verify", str(place)]) == 0


def test_a_backup_is_made_while_somebody_answers(campaign: Path, tmp_path: Path) -> None:
    """It has all that was acknowledged before it began, and is sound."""
    with open_campaign(campaign) as stored:
        for i in range(3):
            answer(stored, 7)
            n_events = stored.journal.n_events
            assert back_up(campaign, tmp_path / f"{i}.zip").n_events == n_events
            restore(tmp_path / f"{i}.zip", tmp_path / f"{i}.bela")
        answer(stored, 1)
    assert [len(events(tmp_path / f"{i}.bela")) for i in range(3)][-1] == n_events


def test_data_that_were_moved(campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said that they are not there, or one says where they are."""
    back_up(campaign, tmp_path / "backup.zip")
    assert main(["restore", str(tmp_path / "backup.zip"), "--to", str(tmp_path / "deep" / "down" / "a.bela")]) == 0
    assert "data.npy" in capsys.readouterr().out
    restore(tmp_path / "backup.zip", tmp_path / "deep" / "down" / "b.bela", data=tmp_path / "data.npy")
    assert events(tmp_path / "deep" / "down" / "b.bela") == events(campaign)


def test_nothing_is_overwritten(campaign: Path, tmp_path: Path) -> None:
    """Neither a backup, unless told so, nor a campaign."""
    backup = tmp_path / "backup.zip"
    back_up(campaign, backup)
    with pytest.raises(ParameterError, match="already"):
        back_up(campaign, backup)
    back_up(campaign, backup, overwrite=True)
    with pytest.raises(ParameterError, match="already"):
        restore(backup, campaign)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def rewritten(backup: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Change the files of a backup."""
    with zipfile.ZipFile(backup) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(backup, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def with_manifest(change: Callable[[dict[str, object]], object]) -> Callable[[dict[str, bytes]], None]:
    def rewrite(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["manifest.json"])
        change(manifest)
        files["manifest.json"] = json.dumps(manifest).encode()

    return rewrite


def escape(files: dict[str, bytes], name: str) -> None:
    """Have a file put somewhere else, with a manifest that says so."""
    files[f"campaign/{name}"] = b"x"
    with_manifest(
        lambda m: m["files"].update(
            {name: {"size": 1, "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}}
        )
    )(files)


DAMAGE: dict[str, Callable[[dict[str, bytes]], object]] = {
    "a byte of the journal": lambda files: files.update(
        {"campaign/journal.sqlite": files["campaign/journal.sqlite"][:-1] + b"!"}
    ),
    "a file is gone": lambda files: files.pop("campaign/rows.npy"),
    "a file more": lambda files: files.update({"campaign/more": b"x"}),
    "no manifest": lambda files: files.pop("manifest.json"),
    "an odd manifest": lambda files: files.update({"manifest.json": b"[1]"}),
    "a newer format": with_manifest(lambda m: m.update(format=2)),
    "other events": with_manifest(lambda m: m.update(digest="00")),
    "up": lambda files: escape(files, "../outside"),
    "absolute": lambda files: escape(files, "/outside"),
    "a link's name": lambda files: escape(files, "a/../../outside"),
    "hidden": lambda files: escape(files, ".bashrc"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_and_forged_backups_are_refused(campaign: Path, tmp_path: Path, what: str) -> None:
    """Nothing is put anywhere."""
    backup, place = tmp_path / "backup.zip", tmp_path / "place" / "again.bela"
    back_up(campaign, backup)
    rewritten(backup, DAMAGE[what])
    with pytest.raises(JournalError):
        restore(backup, place)
    assert list((tmp_path / "place").iterdir()) == []
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive"])
def test_what_is_no_backup_is_refused(tmp_path: Path, content: bytes) -> None:
    """One sentence each."""
    (tmp_path / "backup.zip").write_bytes(content)
    with pytest.raises(JournalError, match="backup"):
        restore(tmp_path / "backup.zip", tmp_path / "again.bela")
    with pytest.raises(JournalError, match="no backup"):
        restore(tmp_path / "nowhere.zip", tmp_path / "again.bela")


def test_a_backup_without_an_array_is_not_made(campaign: Path, tmp_path: Path) -> None:
    """A campaign that is damaged is found out when it is backed up, not when it is needed."""
    for file in (campaign / "revisions").rglob("*.arrays"):
        file.unlink()
    with pytest.raises(JournalError, match="restore"):
        back_up(campaign, tmp_path / "backup.zip")
    assert not (tmp_path / "backup.zip").exists()


PARTS = ("journal.sqlite", "journal.sqlite-head", "journal.sqlite-wal", "revisions")


@pytest.mark.parametrize("order", list(itertools.permutations(PARTS))[::5], ids="/".join)
def test_copies_made_file_by_file_are_sound_or_refused(campaign: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    """In any order, with answers between the files: it has all that was there when it began, or is refused."""
    with open_campaign(campaign) as stored:
        answer(stored, 3)
        before = [(entry.seq, json.dumps(entry.data)) for entry in stored.journal.events()]
        copy = tmp_path / "copy.bela"
        copy.mkdir()
        for name in ("campaign.toml", "rows.npy"):
            shutil.copy(campaign / name, copy / name)
        for name in order:
            if (campaign / name).is_dir():
                shutil.copytree(campaign / name, copy / name)
            elif (campaign / name).exists():
                shutil.copy(campaign / name, copy / name)
            answer(stored, 4)
        after = [(entry.seq, json.dumps(entry.data)) for entry in stored.journal.events()]
    try:
        found = events(copy)
    except BelaError:
        return
    assert found[: len(before)] == before
    assert found == after[: len(found)]
