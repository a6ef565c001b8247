"""Texts that a spreadsheet would run as formulas: said, and escaped where that is wanted."""

import csv
import json
from pathlib import Path

import pytest

from bela.campaign import create_campaign, open_campaign
from bela.cli import main
from bela.errors import ParameterError
from bela.exports import export

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", '=HYPERLINK("http://e")', "\uff1d1"]
HARMLESS = ["-5", "+3.25", "1e-3", "'tis", "a=b", "", "x", "-1,000.5", "+2%"]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign about such texts, whose labels are among them."""
    lines = [{"=text": text, "n": i} for i, text in enumerate(FORMULAS + HARMLESS)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    path = tmp_path / "data.bela"
    with create_campaign(tmp_path / "data.jsonl", path, method="random") as stored:
        for question in stored.campaign.ask(4):
            stored.campaign.tell(question.id, "=a" if question.row % 2 else "b")
    return path


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_they_are_written_as_they_are_and_said(campaign: Path, tmp_path: Path) -> None:
    """Whoever reads the file by a program gets what was there; whoever opens it in a spreadsheet is told."""
    notes: list[str] = []
    with open_campaign(campaign, read_only=True) as stored:
        export(stored.records, stored.campaign.result(), tmp_path / "out.csv", note=notes.append)
    assert [row[0] for row in rows(tmp_path / "out.csv")] == ["=text", *FORMULAS, *HARMLESS]
    assert any("--excel-safe" in note for note in notes)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_excel_safe_escapes_them(
    campaign: Path, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of columns and labels, too, and nothing that is a number; and `verify` knows the labels again."""
    out = tmp_path / f"out.{ending}"
    assert main(["export", str(campaign), "--to", str(out), "--excel-safe"]) == 0
    assert "have a ' before them" in capsys.readouterr().out
    first = [line.split("\t")[0].strip('"') for line in out.read_text().splitlines()] if ending == "tsv" else []
    if ending == "csv":
        first = [row[0] for row in rows(out)]
        assert first == ["'=text", *(f"'{text}" for text in FORMULAS), *HARMLESS]
    assert first[0] == "'=text"
    assert not [cell for cell in first if cell.startswith(("=", "@", "\uff1d"))]
    assert main(["verify", str(campaign), "--export", str(out)]) == 0


def test_other_formats_need_no_escape(campaign: Path, tmp_path: Path) -> None:
    """And say so, rather than change texts."""
    with open_campaign(campaign, read_only=True) as stored, pytest.raises(ParameterError, match="CSV"):
        export(stored.records, stored.campaign.result(), tmp_path / "out.jsonl", excel_safe=True)
