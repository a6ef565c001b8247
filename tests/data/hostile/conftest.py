"""A campaign that somebody else has made, and a place beside it that nobody may touch."""

from pathlib import Path

import pytest

from bela.campaign import create_campaign

ROWS = "".join(f"text {row} {'cat' if row % 2 else 'dog'},{row}\n" for row in range(40))


@pytest.fixture
def strangers(tmp_path: Path) -> Path:
    """A campaign with two answers, with its data beside it."""
    (tmp_path / "data.csv").write_text(f"text,number\n{ROWS}")
    path = tmp_path / "data.bela"
    with create_campaign(tmp_path / "data.csv", path, method="random", seed=0) as stored:
        for question in stored.campaign.ask(2):
            stored.campaign.tell(question.id, "cat")
    return path


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder of one's own with a file in it, which stays as it is."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "precious").write_text("precious")
    return folder
