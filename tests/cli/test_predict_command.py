"""`bela predict`: what it writes, what it never writes over, and what it needs a yes for."""

import csv
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import write_csv

BEGIN = ("run", "pets.csv", "--truth", "kind", "--budget", 12)


@pytest.fixture
def campaign(call: Any, table: Path) -> Path:
    """A campaign about pets, which have ids, and new rows in `more.csv`."""
    call(*BEGIN, "--id", "name")
    head, *lines = table.read_text().splitlines()
    Path("more.csv").write_text(
        "\n".join([head, *(f"new{i},{line.partition(',')[2]}" for i, line in enumerate(lines))])
    )
    return Path("pets.bela")


def rows_of(path: str) -> list[dict[str, str]]:
    """Read what was written."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_are_called_by_their_ids(call: Any, campaign: Path) -> None:
    """Each line has number, label, probability and the id that the campaign goes by; one row is one row."""
    call("predict", campaign, "more.csv", "--to", "out.csv")
    found = rows_of("out.csv")
    assert list(found[0]) == ["row", "label", "probability", "name"]
    assert [row["name"] for row in found] == [f"new{i}" for i in range(80)]
    lines = Path("more.csv").read_text().splitlines()
    Path("one.csv").write_text("\n".join(lines[:2]))
    assert "1 row with its label: out.csv" in call("predict", campaign, "one.csv", "--to", "out.csv").out
    assert len(rows_of("out.csv")) == 1


@pytest.mark.parametrize("place", ["pets.csv", "more.csv", "notes.csv", "folder.csv"])
def test_nothing_is_lost(call: Any, campaign: Path, place: str) -> None:
    """The data, the new rows and whatever else is there stay as they are; one sentence says so."""
    Path("notes.csv").write_text("mine,alone\n1,2\n")
    Path("folder.csv").mkdir()
    before = Path(place).read_bytes() if Path(place).is_file() else b""
    call("predict", campaign, "more.csv", "--to", place, status=2)
    if place in ("pets.csv", "more.csv"):
        call("predict", campaign, "more.csv", "--to", place, "--overwrite", status=2)
    assert not before or Path(place).read_bytes() == before
    if place == "notes.csv":
        call("predict", campaign, "more.csv", "--to", place, "--overwrite")
        assert len(rows_of(place)) == 80


def test_new_rows_of_many_classes(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few new rows may each be predicted to be of another class, and have no scores: the campaign knows the column."""
    monkeypatch.chdir(tmp_path)
    rows = [{"n": i, "kind": f"k{i % 40}", "said": f"k{i % 40}", "sure": 0.5} for i in range(200)]
    write_csv(Path("many.csv"), rows)
    call("run", "many.csv", "--truth", "kind", "--prediction", "said:sure", "--budget", 30)
    write_csv(Path("more.csv"), [row | {"sure": ""} for row in rows[:40]])
    call("predict", "many.bela", "more.csv", "--to", "out.csv")
    assert [row["label"] for row in rows_of("out.csv")] == [f"k{i}" for i in range(40)]


READS = """
calls = []

def embed(texts):
    calls.extend(texts)
    return [[len(t), t.count("a"), t.count("e"), 1.0] for t in texts]
"""


def test_a_function_that_reads_texts_needs_a_yes(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the new rows alone; on another machine it does not run before somebody has agreed."""
    monkeypatch.chdir(tmp_path)
    Path("reads_new_rows.py").write_text(READS)
    lines = [f"the {'cat purrs' if i % 3 else 'dog barks'} on day {i},{'cat' if i % 3 else 'dog'}\n" for i in range(60)]
    Path("pets.csv").write_text("text,kind\n" + "".join(lines))
    Path("more.csv").write_text("text\nthe cow moos\nthe cat purrs\n")
    call(*BEGIN, "--method", "random", "--embed", "reads_new_rows:embed")
    calls = sys.modules["reads_new_rows"].calls
    calls.clear()
    monkeypatch.setenv("BELA_CONFIG", str(tmp_path / "of-somebody-else"))
    predict = ("predict", "pets.bela", "more.csv", "--to", "out.csv")
    assert "--allow-code" in call(*predict, status=2).err
    assert calls == []
    call(*predict, "--allow-code")
    assert sorted(calls) == ["the cat purrs", "the cow moos"]
    del sys.modules["reads_new_rows"]
