"""Who said what and when, in exports; and columns that are left out of them."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bela import Campaign
from bela.data import open_table
from bela.errors import ExportError
from bela.exports import History, export, history_of
from bela.storage import MemoryJournal

TABLES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tables.py"))))
TABLE = pa.table({"text": ["a", "b", "c"], "secret": ["x", "y", "z"], "flags": [1, 2, 3]})
ANN, BOB = ({"by": by, "at": "2026-01-02T03:04:05Z"} for by in ("Ann", "Bob"))
HISTORY = History(
    answers={0: ANN},
    opinions={0: [BOB | {"label": "q"}]},
    flags={1: [ANN | {"comment": "odd <b>"}, BOB | {"comment": ""}]},
)


def written(tmp_path, name, **options):
    """Export three rows with their history."""
    records, result = TABLES.ArrowTable(TABLE), TABLES.make_result(["p", "q", "p"])
    return export(records, result, tmp_path / name, **{"history": HISTORY, "leave_out": ["secret"], **options})


def test_json_says_who_and_when(tmp_path):
    """Opinions and flags are lists of objects; where there are none, there is nothing."""
    rows = json.loads(written(tmp_path, "o.json").read_text())
    assert [row["answered_by"] for row in rows] == ["Ann", None, None]
    assert [row["answered_at"] for row in rows] == ["2026-01-02T03:04:05Z", None, None]
    assert [row["opinions"] for row in rows] == [[BOB | {"label": "q"}], None, None]
    assert [row["flags"] for row in rows] == [1, 2, 3]
    assert [row["flags_"] for row in rows] == [None, HISTORY.flags[1], None]


def test_csv_says_it_too(tmp_path):
    """What is made of others is JSON in a cell."""
    records = open_table(written(tmp_path, "o.csv"))
    assert records.columns == (
        "text", "flags", "label", "label_source", "leaf", "confidence", "answered_by", "answered_at", "opinions",
        "flags_",
    )  # fmt: skip
    assert json.loads(records.record(0)["opinions"]) == [BOB | {"label": "q"}]
    assert json.loads(records.record(1)["flags_"])[0]["comment"] == "odd <b>"
    assert not records.record(2)["answered_by"]


def test_parquet_keeps_the_types(tmp_path):
    """Lists of objects stay that."""
    assert pq.read_table(written(tmp_path, "o.parquet")).to_pylist()[1]["flags_"] == HISTORY.flags[1]


def test_label_studio_has_an_annotation_for_each_opinion(tmp_path):
    """What Label Studio has no place for is in the meta data of the task."""
    first, second, _ = json.loads(written(tmp_path, "o.label-studio.json").read_text())
    assert [one["result"][0]["value"]["choices"] for one in first["annotations"]] == [["p"], ["q"]]
    assert (first["meta"]["answered"], first["meta"]["opinions"][0]["by"]) == (ANN, "Bob")
    assert [flag["comment"] for flag in second["meta"]["flags"]] == ["odd <b>", ""]


@pytest.mark.parametrize("name", ["o.csv", "o.json", "o.jsonl", "o.parquet", "o.label-studio.json", "o", "o.npz"])
def test_hidden_columns_are_left_out(tmp_path, name):
    """Neither their names nor what is in them is in the data; it is said which they are."""
    notes = []
    path = written(tmp_path, name, note=notes.append)
    assert "hidden columns are left out: secret" in notes
    files = [path] if path.is_file() else [one for one in path.iterdir() if one.name != "certificate.json"]
    files += tmp_path.glob("*.config.xml")
    assert all(b"secret" not in file.read_bytes() for file in files)


def test_hidden_columns_are_there_for_whoever_asks(tmp_path):
    """Or the test before would find nothing in any case."""
    assert "secret" in written(tmp_path, "o.json", leave_out=()).read_text()


def test_the_column_of_the_labels_stays(tmp_path):
    """It is completed, hidden or not."""
    path = written(tmp_path, "o.json", label_column="secret", given=np.array([True, False, False]))
    assert [row["secret"] for row in json.loads(path.read_text())] == ["p", "q", "p"]


def test_nothing_left_is_an_error(tmp_path):
    """In one sentence."""
    with pytest.raises(ExportError, match="all columns of the data are hidden"):
        written(tmp_path, "o.csv", leave_out=["text", "secret", "flags"])


def test_history_is_what_was_not_taken_back():
    """Answers, opinions, corrections and flags with their times; whoever changes an answer has given it."""
    rows, journal = np.random.default_rng(0).normal(size=(40, 2)), MemoryJournal()
    campaign = Campaign(rows, journal=journal, method="random", classes=["cat", "dog"])
    one, two, three = campaign.ask(3)
    campaign.tell(one.id, "cat", by="Ann")
    campaign.tell(two.id, "cat", by="Ann")
    campaign.opine(two.id, "dog", by="Bob")
    campaign.relabel(two.row, "dog", by="Cy")
    campaign.tell(three.id, "dog", by="Bob")
    campaign.undo(by="Bob")
    free = next(row for row in range(40) if row not in (one.row, two.row, three.row))
    campaign.relabel(free, "dog", by="Cy")
    campaign.flag(one.row, "odd", by="Bob")
    campaign.flag(two.row, "never mind", by="Cy")
    campaign.undo(by="Cy")
    campaign.rename_class("dog", "hound")
    found = history_of(campaign.book, journal.events())
    assert {row: said["by"] for row, said in found.answers.items()} == {one.row: "Ann", two.row: "Cy", free: "Cy"}
    assert all(str(said["at"]).endswith("Z") for said in found.answers.values())
    assert {row: [(said["by"], said["label"]) for said in all_] for row, all_ in found.opinions.items()} == {
        two.row: [("Ann", "cat"), ("Bob", "hound")]
    }
    assert {row: [said["comment"] for said in all_] for row, all_ in found.flags.items()} == {one.row: ["odd"]}
