"""`bela bench` on the command line."""

from __future__ import annotations

from pathlib import Path

import matplotlib.font_manager  # noqa: F401 - fonts are looked for before the cache is another
import pytest

from bela.cli import main


def test_a_quick_part_writes_its_page_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Table, figure and page are there; called again, nothing is measured and the page is the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    folder = tmp_path / "bench"
    arguments = ["bench", "--quick", "--only", "c", "--most-rows", "1000", "--to", str(folder)]
    assert main(arguments) == 0
    assert {path.name for path in folder.iterdir()} == {"README.md", "growth.csv", "growth.svg"}
    table = (folder / "growth.csv").read_bytes()
    assert main(arguments) == 0
    assert (folder / "growth.csv").read_bytes() == table
    assert f"see {folder / 'README.md'}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--only", "z"], "--only takes parts"), (["--seeds", "-1"], "--seeds"), (["--most-rows", "0"], "--most-rows")],
)
def test_what_cannot_be_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A mistake ends with status 2 before anything is measured."""
    assert main(["bench", "--to", str(tmp_path / "x"), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
