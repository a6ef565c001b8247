"""Links in somebody else's campaign or data lead nowhere: nothing outside is read, written or emptied."""

import os
import shutil
from pathlib import Path

import pytest

from bela.campaign import create_campaign, is_open, open_campaign
from bela.cli import main
from bela.data import open_table
from bela.errors import DataError, JournalError
from bela.storage import SQLiteJournal, lock_file, placed_together, write_durably
from bela.views import write_guidelines

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links take rights of their own on Windows")
FILES = (
    "campaign.toml", "journal.sqlite", "journal.sqlite-head", "journal.sqlite-wal", "lock", "rows.npy", "guidelines.md",
    "exports", "cache", "revisions", "cache/points.jsonl", "cache/anything", "exports/data-labelled.csv",
)  # fmt: skip


def everything(folder: Path) -> dict[str, str]:
    """Return the files of a folder with what is in them."""
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("read_only", [True, False])
def test_a_campaign_with_a_link_is_refused(strangers: Path, mine: Path, name: str, read_only: bool) -> None:
    """Whichever of its files it is, be it to write or to look; nothing of what it points to changes."""
    place, target = strangers / name, mine if "." not in name and name != "lock" else mine / "precious"
    place.parent.mkdir(exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(target)
    with pytest.raises(JournalError, match="link"):
        open_campaign(strangers, read_only=read_only)
    assert everything(mine) == {"precious": "precious"}


@pytest.mark.parametrize("name", ["guidelines.md", "campaign.toml", "cache/points.jsonl"])
def test_a_campaign_with_a_pipe_is_refused(strangers: Path, name: str) -> None:
    """Whoever opens one waits for ever."""
    (strangers / name).unlink(missing_ok=True)
    os.mkfifo(strangers / name)
    with pytest.raises(JournalError, match="neither a file nor a folder"):
        open_campaign(strangers, read_only=True)


def test_the_campaign_itself_may_be_a_link(strangers: Path, tmp_path: Path) -> None:
    """Whoever opens it has named it."""
    (tmp_path / "data-link.bela").symlink_to(strangers)
    with open_campaign(tmp_path / "data-link.bela", read_only=True) as stored:
        assert stored.campaign.n_asked == 2


def test_no_command_follows_a_link(strangers: Path, mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lock that `status` looks at would be emptied."""
    (strangers / "lock").unlink(missing_ok=True)
    (strangers / "lock").symlink_to(mine / "precious")
    assert main(["status", str(strangers)]) == 2
    assert "link" in capsys.readouterr().err
    assert is_open(strangers) is None
    assert everything(mine) == {"precious": "precious"}


def test_a_note_of_the_last_event_follows_no_link(tmp_path: Path, mine: Path) -> None:
    """It is written in place, so it would change what the link points to."""
    journal = SQLiteJournal(tmp_path / "journal.sqlite", create=True)
    (tmp_path / "journal.sqlite-head").unlink(missing_ok=True)
    journal.close()
    (tmp_path / "journal.sqlite-head").symlink_to(mine / "precious")
    journal = SQLiteJournal(tmp_path / "journal.sqlite")
    journal.append([("answered", {"question": 0, "label": "cat"})])
    journal.close()
    assert everything(mine) == {"precious": "precious"}


def test_temporary_files_have_names_that_nobody_knows(tmp_path: Path, mine: Path) -> None:
    """And a file that is there already, by chance or as a link, is not written to."""
    seen = set()
    real = os.replace
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "replace", lambda a, b: (seen.add(str(a)), real(a, b)))
            write_guidelines(tmp_path, "text")
    assert len(seen) == 2
    link = tmp_path / "guidelines.md"
    link.unlink()
    link.symlink_to(mine / "precious")
    write_durably(link, b"new")
    assert everything(mine) == {"precious": "precious"}
    assert link.read_text() == "new"


def test_locks_follow_no_link(tmp_path: Path, mine: Path) -> None:
    """Whoever takes a lock empties its file."""
    (tmp_path / "lock").symlink_to(mine / "precious")
    with pytest.raises(OSError, match="link"):
        lock_file(tmp_path / "lock")
    assert everything(mine) == {"precious": "precious"}


@pytest.mark.parametrize("name", [".out.csv.bela-export", ".other.csv.bela-export"])
def test_a_hidden_folder_that_is_a_link_is_not_emptied(tmp_path: Path, mine: Path, name: str) -> None:
    """Beside an export, somebody may have put a link where what was left over is cleaned up."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(mine)
    try:
        with placed_together(tmp_path / "out" / "out.csv") as new:
            (new / "out.csv").write_text("new")
    except OSError:
        assert name == ".out.csv.bela-export"
    assert everything(mine) == {"precious": "precious"}


def test_new_campaigns_are_made_in_fresh_folders(tmp_path: Path, mine: Path) -> None:
    """A folder under the name that the next process would use is not written to."""
    (tmp_path / "data.csv").write_text("text\na\nb\nc\n")
    (tmp_path / f".data.bela.{os.getpid()}.new").symlink_to(mine)
    create_campaign(tmp_path / "data.csv", tmp_path / "data.bela", method="random").close()
    assert everything(mine) == {"precious": "precious"}
    assert (tmp_path / "data.bela").stat().st_mode & 0o777 == 0o700


def test_parts_of_a_table_that_lie_elsewhere_are_refused(tmp_path: Path, mine: Path) -> None:
    """Or a folder that somebody sends would have other files read, and shown to whoever answers."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.txt").symlink_to(mine / "precious")
    with pytest.raises(DataError, match="outside"):
        open_table(folder)
    (folder / "b.txt").unlink()
    (folder / "b.txt").symlink_to("a.txt")
    assert open_table(folder).n_rows == 4
    (tmp_path / "named.txt").symlink_to(mine / "precious")  # whoever opens it has named it
    assert open_table(tmp_path / "named.txt").n_rows == 1


def test_data_that_are_no_file_are_refused(tmp_path: Path) -> None:
    """Whoever reads from a pipe waits for ever."""
    os.mkfifo(tmp_path / "data.csv")
    with pytest.raises(DataError, match="not a regular file"):
        open_table(tmp_path / "data.csv")
