"""`bela people`: links are given, listed and ended from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from bela.campaign import Team, create_campaign
from bela.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A campaign, and a configuration of one's own."""
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "config"))
    np.save(tmp_path / "data.npy", np.random.default_rng(0).normal(size=(30, 2)))
    create_campaign(tmp_path / "data.npy", tmp_path / "data.bela").close()
    return str(tmp_path / "data.bela")


def test_from_the_first_link_to_the_last(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Add, list, change the role, renew, revoke; as words, and as JSON."""
    assert main(["people", folder, "add", "Ann"]) == 0
    assert "Ann, annotator: the address of the page, and then /?token=" in capsys.readouterr().out
    Team.of(Path(folder)).serve_at("http://localhost:8765/pets/")
    assert main(["people", folder, "--json"]) == 0
    people = {one["name"]: one for one in json.loads(capsys.readouterr().out)["people"]}
    assert {name: one["role"] for name, one in people.items()} == {"owner": "owner", "Ann": "annotator"}
    assert people["Ann"]["link"].startswith("http://localhost:8765/pets/?token=")
    assert main(["people", folder, "role", "Ann", "--owner"]) == 0
    assert "Ann, owner: http" in capsys.readouterr().out
    assert main(["people", folder, "renew", "ann", "--at", "https://label.example.org"]) == 0
    new = capsys.readouterr().out
    assert "https://label.example.org/?token=" in new
    assert people["Ann"]["link"].partition("=")[2] not in new
    assert main(["people", folder, "revoke", "Ann"]) == 0
    assert "Ann: may not come in any more" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["add"], "who?"),
        (["revoke", "Zoe"], "nobody called 'Zoe'"),
        (["revoke", "owner"], "owns the campaign"),
        (["add", "owner"], "is there already"),
        (["add", "me"], "gave no name"),
        (["list", "Ann"], "a list is of everybody"),
    ],
)
def test_what_cannot_be_done(
    folder: str, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence that says why."""
    assert main(["people", folder, *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
