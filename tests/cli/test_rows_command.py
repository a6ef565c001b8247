"""`bela rows`, and exports with and without the columns that were hidden."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from bela.campaign import open_campaign


@pytest.fixture
def tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Any) -> Path:
    """A campaign about some texts, with a column that is hidden and one that has the truth."""
    monkeypatch.chdir(tmp_path)
    with Path("tickets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "weight", "secret", "kind"])
        for i in range(90):
            what = "card lost" if i % 2 else "fee too high"
            writer.writerow([f"{what}, number {i}", 9 * (i % 2) + i / 100, f"hush{i}", ("fee", "card")[i % 2]])
    call("run", "tickets.csv", "--truth", "kind", "--hide", "secret", "--kind", "text=text", "--stop-after", "30")
    return tmp_path / "tickets.bela"


def test_rows_are_found(call: Any, tickets: Path) -> None:
    """In words and as JSON; with words in the order of the data, otherwise the least certain first."""
    found = call("rows", tickets, "--text", 'number "card lost"', "--limit", "3", "--json").json
    assert [row["row"] for row in found["rows"]] == [1, 3, 5]
    assert (found["more"], found["n_found"], found["by_doubt"]) == (True, None, False)
    assert all("secret" not in row["record"] and "kind" not in row["record"] for row in found["rows"])
    answered = call("rows", tickets, "--source", "oracle", "--by", "truth kind", "--limit", "100", "--json").json
    assert answered["n_found"] == len(answered["rows"]) == 30
    doubtful = call("rows", tickets, "--below", "1", "--limit", "100", "--json").json
    shares = [row["probability"] for row in doubtful["rows"]]
    assert shares == sorted(shares)
    with open_campaign(tickets, read_only=True) as stored:
        assert len(shares) == 60 - len(stored.campaign.book.open)
    said = call("rows", tickets, "--text", "lost", "--label", "card", "--limit", "2").out
    assert "2 rows among the first" in said
    assert "card lost, number 1" in said
    assert "No row is like that." in call("rows", tickets, "--text", "hush3").out
    assert "No row is like that." in call("rows", tickets, "--flagged").out


def test_flags_are_shown(call: Any, tickets: Path) -> None:
    """With who wrote them, and nothing in them steers the terminal."""
    with open_campaign(tickets) as stored:
        stored.campaign.flag(7, "which\x1b[31m one?", by="Ann")
    said = call("rows", tickets, "--flagged").out
    assert "1 row, the least certain first." in said
    assert "flagged by Ann: which\\x1b[31m one?" in said


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--label", "dog"], "there is no class 'dog': there are"),
        (["--source", "nowhere"], "there is no source 'nowhere'"),
        (["--text", "a b c d e f g h i"], "at most 8 words"),
        (["--below", "2"], "--below"),
    ],
)
def test_what_makes_no_sense_is_said(call: Any, tickets: Path, wrong: list[str], message: str) -> None:
    """In one sentence."""
    assert message in call("rows", tickets, *wrong, status=2).err


def test_hidden_columns_are_exported_for_whoever_asks(call: Any, tickets: Path) -> None:
    """Left out otherwise, which is said; the certificate holds for both, and says who answered."""
    said = call("export", tickets, "--to", "out.csv")
    assert "hidden columns are left out: secret, kind" in said.out
    text = Path("out.csv").read_text(encoding="utf-8")
    assert "hush" not in text
    assert '"truth kind","20' in text
    call("export", tickets, "--to", "all.jsonl", "--with-hidden")
    first = json.loads(Path("all.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (first["secret"], first["kind"]) == ("hush0", "fee")
    for name in ("out.csv", "all.jsonl"):
        assert "are those of the campaign" in call("verify", tickets, "--export", name, "--quick").out
