"""Who may come in: tokens that outlive the server, for their owner alone, and never a part of the campaign."""

import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from bela.campaign import Team, back_up, create_campaign, restore
from bela.errors import ParameterError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of somebody's own."""
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def folder(tmp_path: Path, config: Path) -> Path:
    """A campaign."""
    np.save(tmp_path / "data.npy", np.random.default_rng(0).normal(size=(30, 2)))
    create_campaign(tmp_path / "data.npy", tmp_path / "data.bela").close()
    return tmp_path / "data.bela"


def texts_below(folder: Path) -> bytes:
    """Return all that is in a folder."""
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_tokens_outlive_the_process(folder: Path) -> None:
    """Another object on the same campaign knows the same people, also those who were changed meanwhile."""
    team = Team.of(folder)
    owner, ann = team.owner("Olga"), team.add("Ann")
    other = Team.of(folder)
    assert other.members == (owner, ann)
    assert other.owner() == owner
    assert other.by_token(ann.token) == ann
    renewed = other.renew("ann")
    assert renewed.token != ann.token
    assert team.reread()
    assert not team.reread()
    assert team.by_token(ann.token) is None
    assert team.revoke("Ann").revoked
    assert other.reread()
    assert other.by_token(renewed.token).revoked
    assert other.add("Ann").id == ann.id


def test_only_their_owner_can_read_them(folder: Path, config: Path) -> None:
    """The file has mode 0600, in a folder of mode 0700; one that others could have written to is not believed."""
    team = Team.of(folder)
    team.owner()
    [file] = (config / "teams").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "team").stat().st_mode) == 0o600
    os.chmod(file, 0o666)  # noqa: S103 - that is what is refused
    with pytest.raises(ParameterError, match="damaged or open to others"):
        Team.of(folder)
    os.chmod(file, 0o600)
    file.write_text("nonsense")
    with pytest.raises(ParameterError, match="damaged or open to others"):
        Team.of(folder)
    (folder / "team").write_text("../../elsewhere")
    with pytest.raises(ParameterError, match="is damaged"):
        Team.of(folder)


def test_no_copy_hands_over_a_token(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the folder nor a backup has one. Put back on this machine the links go on, and nowhere else."""
    team = Team.of(folder)
    tokens = [team.owner().token, team.add("Ann").token]
    backup = back_up(folder, tmp_path / "backup.zip").path
    restore(backup, tmp_path / "back.bela")
    for token in tokens:
        assert token.encode() not in texts_below(folder) + texts_below(tmp_path / "back.bela") + backup.read_bytes()
    assert [member.token for member in Team.of(tmp_path / "back.bela").members] == tokens
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "of-somebody-else"))
    assert Team.of(tmp_path / "back.bela").members == ()


def test_a_campaign_lets_nobody_in_by_itself(folder: Path, tmp_path: Path) -> None:
    """Whoever sends a campaign cannot put a token into it: what lies in the folder is not looked at."""
    (folder / "teams").mkdir()
    (folder / "people.json").write_text('{"members": [{"token": "mallory"}]}')
    assert Team.of(folder).by_token("mallory") is None


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\x00b", "me", "\u202eevil", "OWNER", "ann", "\uff21nn"])
def test_names_that_cannot_be_used(name: str) -> None:
    """Nothing that cannot be seen, nobody's name twice however it is written, and not that of whoever has none."""
    team = Team()
    team.owner()
    team.add("Ann")
    with pytest.raises(ParameterError):
        team.add(name)
    assert len(team.members) == 2


def test_somebody_stays_who_owns_it() -> None:
    """The owner at the machine is neither revoked nor made an annotator, and has a name of their own."""
    team = Team()
    owner = team.owner()
    team.add("Ann")
    for change in (team.revoke, lambda name: team.set_role(name, is_owner=False)):
        with pytest.raises(ParameterError, match="owns the campaign"):
            change(owner.name)
    with pytest.raises(ParameterError, match="somebody else"):
        team.owner("Ann")
    assert team.renew(owner.name).at_machine
    with pytest.raises(ParameterError, match="nobody called"):
        team.revoke("Zoe")


def test_many_at_once_lose_nobody(folder: Path) -> None:
    """Each change starts from what the one before has left, whichever thread or process made it."""
    teams = [Team.of(folder) for _ in range(4)]
    names = [f"person {i}" for i in range(16)]

    def add(team: Team, mine: list[str]) -> None:
        for name in mine:
            team.add(name)

    threads = [threading.Thread(target=add, args=(team, names[i::4])) for i, team in enumerate(teams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(member.name for member in Team.of(folder).members) == sorted(names)
