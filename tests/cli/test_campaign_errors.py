"""What bad input gets from the commands of campaigns: one sentence, status 2, and nothing lost or left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAPER = ("--method", "bela-paper")  # the quickest, where the method does not matter
RUN = ("run", "pets.csv", "--truth", "kind", *PAPER)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--target", "0"), "target"),
        (("--target", "1.5"), "target"),
        (("--target", "nan"), "target"),
        (("--target", "high"), "--target"),
        (("--budget", "-1"), "budget"),
        (("--budget", "81"), "budget is a whole number from 0 to the number of rows, 80"),
        (("--budget", "1.5"), "--budget"),
        (("--confidence", "1"), "confidence"),
        (("--seed", "-1"), "seed"),
        (("--method", "magic"), "choose one of"),
        (("--classes", "cat,,dog"), "without a name"),
        (("--classes", ""), "without a name"),
        (("--classes", "cat,cat"), "'cat' twice"),
        (("--classes", "a,b"), "is not one of the declared classes: a, b"),
        (("--kind", "weight"), "COLUMN=KIND"),
        (("--kind", "weight=heavy"), "cannot be of kind 'heavy'"),
        (("--kind", "sort=text"), "no column 'sort'"),
        (("--kind", "weight=image"), "cannot be of kind image"),
        (("--kind", "weight=text", "--kind", "weight=number"), "twice"),
        (("--hide", "sort"), "no column 'sort'"),
        (("--id", "sort"), "no column 'sort'"),
        (("--label", "sort"), "no column 'sort'"),
        (("--id", "kind"), "twice"),
        (("--encoding", "klingon"), "klingon"),
        (("--encoding", "utf-16"), "pets.csv"),
        (("--features", "nowhere:function"), "nowhere"),
        (("--hide", "name", "--hide", "weight", "--hide", "height"), "no column"),
        (("--campaign", "pets.csv"), "pets.csv is a file, not the folder of a campaign"),
        (("--campaign", "pets.csv/inside"), "pets.csv is a file, not a folder"),
        (("--nonsense", "1"), "--nonsense"),
    ],
)
def test_bad_options(call: Any, table: Path, options: tuple[str, ...], says: str) -> None:
    """What is wrong with an option is said, and no half-made campaign stays behind, nor any other file."""
    before = set(table.parent.iterdir())
    assert says in call(*RUN, *options, status=2).err
    assert set(table.parent.iterdir()) - {table.with_name("pets.bela")} == before
    assert not table.with_name("pets.bela").exists() or options[0] == "--classes"  # found when the first answer came


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.csv", None, "no file or folder missing.csv"),
        ("missing.bela", None, "no campaign missing.bela"),
        ("empty.csv", b"", "empty.csv"),
        ("norows.csv", b"a,b\n", "rows"),
        ("ragged.csv", b"a,b\n1,2\n3\n", "ragged.csv"),
        ("latin.csv", b"a,b\ncaf\xe9,2\nx,3\n", "latin.csv"),
        ("cut.parquet", b"PAR1xxxx", "cut.parquet"),
        ("cut.jsonl", b'{"a": 1}\n{"a": ', "cut.jsonl"),
        ("cut.npy", b"\x93NUMPY\x01\x00", "cut.npy"),
        ("letter.docx", b"x", "letter.docx"),
        ("same.csv", b"a,b\n1,2\n1,2\n1,2\n", "no column tells the rows apart"),
        ("twice.csv", b"a,a\n1,2\n3,4\n", "a"),
    ],
)
def test_bad_data(call: Any, table: Path, name: str, content: bytes | None, says: str) -> None:
    """Data that cannot be worked with are named, with what is wrong, and leave no campaign behind."""
    if content is not None:
        Path(name).write_bytes(content)
    before = set(table.parent.iterdir())
    line = call("label", "--terminal", name, status=None)
    if name == "twice.csv":  # columns that are called alike may be told apart
        assert line.status in (0, 2)
        return
    assert line.status == 2, line
    assert says in line.err
    assert set(table.parent.iterdir()) == before


def test_arrays_that_are_no_numbers(call: Any, table: Path) -> None:
    """NaN and infinite features are told."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    for bad in (np.nan, np.inf):
        X[7, 1] = bad
        np.save("X.npy", X)
        said = call("label", "--terminal", "X.npy", status=2).err
        assert "NaN or infinity" in said
        assert "CSV" in said  # where gaps are taken
        assert not Path("X.bela").exists()


@pytest.mark.parametrize("place", ["pets.csv", "nowhere", "nowhere.bela", ".", "digits"])
@pytest.mark.parametrize("command", [("status",), ("undo",), ("verify",), ("export", "--to", "x.csv")])
def test_no_campaign(call: Any, table: Path, place: str, command: tuple[str, ...]) -> None:
    """Where there is no campaign, none is begun by looking for it."""
    before = set(table.parent.iterdir())
    assert "campaign" in call(command[0], place, *command[1:], status=2).err
    assert set(table.parent.iterdir()) == before


def test_one_row(call: Any, table: Path) -> None:
    """One row is asked, and then all is known."""
    Path("one.csv").write_text("text,kind\nmeow meow,cat\n")
    found = call("run", "one.csv", "--truth", "kind", "--json", "-").json
    assert (found["n_rows"], found["n_asked"], found["certificate"]["lower"]) == (1, 1, 1.0)
    call("export", "one.bela", "--to", "out.csv")
    assert "Yes" in call("verify", "one.bela", "--export", "out.csv").out


def test_one_class(call: Any, make_table: Callable[..., Path]) -> None:
    """Where all rows are of one class, that is what is certified."""
    make_table(("cat", "cat"))
    found = call(*RUN, "--target", 0.5, "--json", "-").json
    assert found["stop_reason"] == "target"
    assert [entry["label"] for entry in found["classes"]] == ["cat"]
    assert found["accuracy"] == 1


def test_every_row_labelled_already(call: Any, table: Path) -> None:
    """Where the data have all labels, nobody is asked."""
    said = call("label", "--terminal", "pets.csv", "--label", "kind", typed="\n")
    assert "The target is reached" in said.out
    found = call("status", "pets.bela", "--json").json
    assert (found["n_given"], found["n_asked"], found["certificate"]["lower"]) == (80, 0, 1.0)


def test_nothing_left_to_ask(call: Any, table: Path) -> None:
    """When every row was asked or skipped, it says so, today and tomorrow."""
    Path("few.csv").write_text("a,kind\n" + "".join(f"{i * i % 7},{'cat' if i < 3 else ''}\n" for i in range(6)))
    found = call("run", "few.csv", "--truth", "kind", "--json", "-").json
    assert (found["n_asked"], found["n_skipped"], found["stop_reason"]) == (3, 3, "exhausted")
    assert "There is nothing left to ask" in call("status", "few.bela").out
    assert call("run", "few.csv", "--truth", "kind", "--json", "-").json["stop_reason"] == "exhausted"


def test_labels_of_mixed_types(call: Any, table: Path) -> None:
    """Labels of mixed types in the data are refused, with the column."""
    Path("mixed.json").write_text(json.dumps([{"a": i, "kind": "cat" if i % 2 else 1} for i in range(10)]))
    line = call("run", "mixed.json", "--truth", "kind", status=2).err
    assert "kind" in line


def test_a_campaign_amid_the_data(call: Any, table: Path) -> None:
    """The folder of a campaign must not be taken for data."""
    Path("parts").mkdir()
    Path("parts/a.csv").write_bytes(table.read_bytes())
    options = ("run", "parts", "--truth", "kind", "--budget", "5", *PAPER, "--campaign")
    assert "amid the data" in call(*options, "parts/campaign", status=2).err
    call(*options, "parts/my.bela")
    call(*options, "parts/my.bela")


def test_exports_never_harm_the_data(call: Any, table: Path) -> None:
    """Neither the data nor anything else is overwritten, unless it is asked for; the data never."""
    call(*RUN, "--budget", 5)
    data = table.read_bytes()
    for overwrite in ((), ("--overwrite",)):
        line = call("export", "pets.bela", "--to", "pets.csv", *overwrite, status=2).err
        assert "would change the data" in line
    Path("mine.csv").write_text("mine")
    assert "overwrite" in call("export", "pets.bela", "--to", "mine.csv", status=2).err
    assert "folder" in call("export", "pets.bela", "--to", "pets.bela", status=2).err
    assert "folder" in call("export", "pets.bela", "--to", "no/where.csv", status=2).err
    assert "ending" in call("export", "pets.bela", "--to", "out.docx", status=2).err
    assert Path("mine.csv").read_text() == "mine"
    call("export", "pets.bela", "--to", "mine.csv", "--overwrite")
    call("export", "pets.bela", "--to", "mine.csv")
    assert table.read_bytes() == data


def test_an_export_amid_the_parts_of_a_table(call: Any, table: Path) -> None:
    """An export into a folder of data would be data itself the next time."""
    Path("parts").mkdir()
    Path("parts/a.csv").write_bytes(table.read_bytes())
    call("run", "parts", "--truth", "kind", "--budget", 5, *PAPER)
    assert "would change the data" in call("export", "parts.bela", "--to", "parts/out.csv", status=2).err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("seed = 'x'", "seed"),
        ("target = 'high'", "target"),
        ("budget = 1.5", "budget"),
        ("confidence = true", "confidence"),
        ("classes = 3", "classes"),
        ("features = 3", "features"),
        ("colour = 'red'", "colour"),
        ("journal = '../../x'", "makes no sense"),
        ("[[", "cannot be read"),
    ],
)
def test_settings_that_make_no_sense(call: Any, table: Path, line: str, says: str) -> None:
    """Settings that somebody has spoilt are named, whatever command reads them."""
    call(*RUN, "--budget", 5)
    path = Path("pets.bela/campaign.toml")
    name = line.partition(" = ")[0]
    kept = [old for old in path.read_text().splitlines() if not old.startswith(f"{name} =")]
    if name == "features":
        kept = kept[: kept.index("[features.columns]")]
    path.write_text("\n".join([line, *kept]))
    for command in (("status", "pets.bela"), ("undo", "pets.bela"), RUN, ("verify", "pets.bela")):
        assert says in call(*command, status=2).err


def test_help_names_every_option(call: Any) -> None:
    """Every command explains itself."""
    for command in ("label", "serve", "run", "status", "export", "undo", "verify"):
        assert command in call(command, "--help").out
