"""`bela report`: one HTML file about a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_a_report_of_answers_that_no_page_saw(call: Any, table: Path) -> None:
    """The course of a campaign is looked up again where nobody took notes; the truth is not in the report."""
    call("run", table, "--truth", "kind", "--method", "bela-paper", "--budget", "12", "--target", "0.99", status=None)
    said = call("report", "pets.bela")
    path = Path("pets-report.html")
    text = path.read_text(encoding="utf-8")
    assert f"{path}" in said.out
    assert "How it came about" in text
    assert "The questions in their order (all of them)" in text
    assert "kind: " not in text
    assert sorted(place.name for place in Path.cwd().iterdir()) == ["pets-report.html", "pets.bela", "pets.csv"]

    found = call("report", "pets.csv", "--overwrite", "--json").json
    assert found["n_bytes"] == path.stat().st_size
    assert found["n_asked"] == 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "report.pdf"], "end in .html"),
        (["--to", "nowhere/report.html"], "no folder"),
        (["--to", "there.html"], "already something"),
        ([], "answer at least one question"),
    ],
)
def test_a_report_that_cannot_be_written(call: Any, table: Path, arguments: list[str], words: str) -> None:
    """One sentence says why, and nothing is left behind."""
    Path("there.html").write_text("mine", encoding="utf-8")
    call("run", table, "--truth", "kind", "--method", "bela-paper", "--budget", "0", status=None)
    assert words in call("report", "pets.bela", *arguments, status=2).err
    assert Path("there.html").read_text(encoding="utf-8") == "mine"
    assert not Path("pets-report.html").exists()
