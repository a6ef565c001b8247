"""Campaigns of earlier versions, kept as they were written: each opens, says what it said then, and goes on."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from bela.campaign import open_campaign

HERE = Path(__file__).parent
MAKE = SimpleNamespace(**runpy.run_path(str(HERE / "make.py")))
KEPT = sorted(folder.relative_to(HERE).as_posix() for folder in HERE.glob("format-*/*"))


def test_all_are_kept() -> None:
    """There is a campaign of every kind, and they take little room."""
    assert {f"format-1/{make.__name__}" for make in MAKE.CAMPAIGNS} == set(KEPT)
    assert sum(file.stat().st_size for file in HERE.glob("format-*/**/*") if file.is_file()) < 200_000


@pytest.mark.parametrize("name", KEPT)
def test_a_campaign_of_an_earlier_version(name: str, tmp_path: Path) -> None:
    """Status, labels and certificate are what they were; it takes answers and undo, and opens again as it was."""
    shutil.copytree(HERE / name, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "data.bela"
    expected = json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))
    with open_campaign(path, read_only=True) as stored:
        assert MAKE.seen(stored) == expected
    with open_campaign(path) as stored:
        assert MAKE.seen(stored) == expected
        for question in stored.campaign.ask(3):
            stored.campaign.tell(question.id, stored.campaign.classes[0])
        stored.campaign.undo()
        seen = MAKE.seen(stored)
    with open_campaign(path, read_only=True) as stored:
        assert MAKE.seen(stored) == seen != expected
