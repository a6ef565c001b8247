"""Everything exported can be read back as input."""

import json
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bela.data import given_labels, open_table
from bela.exports import check_export, export

TABLES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tables.py"))))

TYPED = {"parquet": "out.parquet", "jsonl": "out.jsonl", "json": "out.json", "hf": "out"}
TEXTS = {"csv": "out.csv", "tsv": "out.tsv"}
ENDINGS = TYPED | TEXTS

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["nan", "-1", "None", "", "a\nb", '"'])
values = {
    "text": st.none() | texts,
    "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
    "share": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "yes": st.none() | st.booleans(),
}


def ours(result, row):
    """What an export adds to a row."""
    return {
        "label": result.labels[row].item(),
        "label_source": "oracle" if result.known[row] else "inferred",
        "leaf": int(result.leaf[row]),
        "confidence": float(result.probability[row]),
    }


def known(result):
    """The labels that somebody gave, by row."""
    return {row: result.labels[row].item() for row in np.flatnonzero(result.known).tolist()}


@pytest.mark.parametrize("name", TYPED)
@settings(max_examples=20)
@given(data=st.data())
def test_formats_with_types_are_read_back_whole(name, data):
    """Every value of every row is as it was, and ours are there."""
    rows = data.draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=6))
    labels = data.draw(
        st.lists(texts.filter(lambda label: label.rstrip("\0") == label), min_size=len(rows), max_size=6)
    )
    records, result = open_table(rows), TABLES.make_result(labels[: len(rows)])
    with TemporaryDirectory() as folder:
        path = export(records, result, Path(folder, ENDINGS[name]))
        found = open_table(path)
        assert found.columns == (*records.columns, "label", "label_source", "leaf", "confidence")
        for row in range(len(rows)):
            assert found.record(row) == records.record(row) | ours(result, row)
        assert given_labels(found, "label") == {row: label for row, label in known(result).items() if label}


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=20)
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_texts_are_read_back_whole(name, rows):
    """A CSV file that is read, labelled, exported and read again has the texts that it had, twice over."""
    records = TABLES.ArrowTable(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}))
    result = TABLES.make_result([("nan", "-1", "None")[i % 3] for i in range(len(rows))])
    with TemporaryDirectory() as folder:
        found = open_table(export(records, result, Path(folder, ENDINGS[name])))
        again = open_table(export(found, result, Path(folder, f"again-{ENDINGS[name]}")))
        for row, (a, b) in enumerate(rows):
            assert (found.record(row)["a"], found.record(row)["b"]) == (a, b)
            assert again.record(row) | found.record(row) == again.record(row)
        assert given_labels(found, "label") == known(result)


@pytest.mark.parametrize("name", ["jsonl", "json"])
def test_objects_and_mixed_columns_stay_what_they_were(name, tmp_path):
    """JSON in, JSON out: values of several kinds and objects within objects are not turned into text."""
    rows = [
        {"value": 1, "meta": {"tags": ["a", None, 2.5], "who": {"name": "x"}}, "big": 2**80},
        {"value": "one", "meta": None, "big": 1},
        {"value": 1.5, "meta": {"tags": []}, "big": 0},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    records = open_table(tmp_path / "in.jsonl")
    result = TABLES.make_result([5, 6, 5])
    path = export(records, result, tmp_path / f"out.{name}")
    text = path.read_text()
    found = json.loads(text) if name == "json" else [json.loads(line) for line in text.splitlines()]
    assert found == [row | ours(result, i) for i, row in enumerate(rows)]
    assert [type(row["value"]) for row in found] == [int, str, float]
    assert [open_table(path).record(i) for i in range(3)] == found
    tasks = json.loads(export(records, result, tmp_path / "tasks.json", format="label-studio").read_text())
    assert [{key: task["data"][key] for key in rows[0]} for task in tasks] == rows


@pytest.mark.parametrize("name", ENDINGS)
def test_a_second_campaign_takes_up_where_the_first_left_off(name, tmp_path):
    """The exported label column brings its labels; completing it keeps all columns and adds those that clash."""
    source = tmp_path / "in.csv"
    source.write_text("text,label\n" + "".join(f"row {i},{'yes' if i < 3 else ''}\n" for i in range(9)))
    records = open_table(source)
    known = np.arange(9) < 3
    result = TABLES.make_result(["yes"] * 3 + ["no"] * 6, known=known)
    path = export(records, result, tmp_path / ENDINGS[name], label_column="label", given=known)
    found = open_table(path)
    assert found.columns == ("text", "label", "label_source", "leaf", "confidence")
    assert given_labels(found, "label") == {0: "yes", 1: "yes", 2: "yes"}  # what was inferred is no answer
    assert check_export(path) == []
    later = TABLES.make_result(["yes"] * 3 + ["no"] * 6, known=np.arange(9) != 8)
    again = open_table(export(found, later, tmp_path / "second.parquet", label_column="label"))
    assert again.columns == (*found.columns, "label_source_", "leaf_", "confidence_")
    assert list(given_labels(again, "label")) == list(range(8))


@pytest.mark.parametrize("kind", ["vectors", "images", "sparse"])
def test_arrays_are_exported_in_every_format(kind, tmp_path):
    """Vectors, images and sparse matrices: their labels, and their numbers where a format can hold them."""
    array = np.arange(24, dtype=np.float32).reshape((6, 4) if kind != "images" else (6, 2, 2))
    records = open_table(sparse.csr_array(array) if kind == "sparse" else array)
    result = TABLES.make_result([1, 2, 1, 2, 1, 2])
    for name, ending in ENDINGS.items():
        found = open_table(export(records, result, tmp_path / ending))
        column = "row" if name in TEXTS else records.columns[0]
        assert found.columns == (column, "label", "label_source", "leaf", "confidence")
        assert given_labels(found, "label") == known(result)
        if name not in TEXTS and kind != "sparse":
            assert np.array_equal(np.array([found.record(i)[column] for i in range(6)]), array)
    tasks = json.loads(export(records, result, tmp_path / "t.json", format="label-studio").read_text())
    assert tasks[5]["data"] == {"row": "5"}
    with np.load(export(records, result, tmp_path / "l.npz")) as archive:
        assert archive["L"].shape == (6, 4)
