"""Which columns are written where, what is refused, and what the certificate says."""

import json
import os
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

import bela
from bela.errors import DataError, ExportError, LabelError, ParameterError
from bela.exports import (
    EXPORTS,
    certificate_differences,
    certificate_document,
    certificate_path,
    check_export,
    export,
    labels_digest,
    plan_columns,
    read_certificate,
)
from bela.records import Certificate, Guarantee

TABLES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tables.py"))))


@pytest.fixture
def case():
    """Six rows with a partly filled label column."""
    table = pa.table({"text": list("abcdef"), "kind": ["x", None, None, "y", None, None], "leaf": range(6)})
    return TABLES.ArrowTable(table, block=4), TABLES.make_result(list("xyxyxy"))


# ------------------------------------------------------------------------------------------------------- columns


def test_our_columns_come_last_and_clashes_are_said(case, tmp_path):
    """A name that the data have gets an underscore, with a sentence about it; the data's own column is untouched."""
    notes, seen = [], []
    path = export(*case, tmp_path / "out.parquet", note=notes.append, progress=lambda *done: seen.append(done))
    table = pyarrow.parquet.read_table(path)
    assert table.schema.names == ["text", "kind", "leaf", "label", "label_source", "leaf_", "confidence"]
    assert table.select(case[0].columns).equals(case[0].table)
    assert notes == ["the data have a column 'leaf' of their own: ours is called 'leaf_'"]
    assert seen == [(4, 6), (6, 6)]
    assert read_certificate(path)["export"]["columns"]["leaf"] == "leaf_"


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_a_partly_filled_label_column_is_completed_in_place(case, tmp_path, name):
    """The labels stand where some of them were, and the source tells which those were."""
    records, result = case
    given = np.array([True, False, False, True, False, False])
    path = export(records, result, tmp_path / f"out.{name}", given=given, label_column="kind")
    first = path.read_text().splitlines()[0 if name == "jsonl" else 1]
    assert (
        first
        == {
            "csv": '"a","x",0,"given",0,1',
            "jsonl": '{"text": "a", "kind": "x", "leaf": 0, "label_source": "given", "leaf_": 0, "confidence": 1.0}',
        }[name]
    )
    assert read_certificate(path)["counts"]["given"] == 2


def test_names_are_free_of_clashes_however_many_there_are():
    """Underscores are added until a name is new, among the data's and among ours."""
    layout = plan_columns(["label", "label_", "label_source"], None)
    assert layout.added == ("label__", "label_source_", "leaf", "confidence")
    assert len(layout.notes) == 2
    layout = plan_columns(["leaf"], "leaf")
    assert layout.added == ("label_source", "leaf_", "confidence")
    with pytest.raises(DataError, match="two columns"):
        plan_columns(["a", "b", "a"])
    with pytest.raises(ParameterError, match="no column 'c'"):
        plan_columns(["a", "b"], "c")


@pytest.mark.parametrize(("labels", "written"), [([3, -1, 3], "3,-1,3"), ([True, False, True], "true,false,true")])
def test_labels_keep_their_type(labels, written, tmp_path):
    """Integers and booleans stay so where the format has them, and are written without quotes in CSV."""
    records, result = TABLES.ArrowTable(pa.table({"x": [1, 2, 3]})), TABLES.make_result(labels)
    lines = export(records, result, tmp_path / "o.csv").read_text().splitlines()[1:]
    assert ",".join(line.split(",")[1] for line in lines) == written
    assert pyarrow.parquet.read_table(export(records, result, tmp_path / "o.pq"))["label"].to_pylist() == labels


def test_an_array_is_exported_by_its_rows(tmp_path):
    """Of images there is nothing for a CSV file but which row has which label; other formats have the pixels."""
    records = TABLES.ArrowTable(pa.table({"pixels": [[[0, 1]], [[2, 3]]]}))
    result = TABLES.make_result(["a", "b"])
    lines = export(records, result, tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == '"row","label","label_source","leaf","confidence"'
    assert lines[1] == '0,"a","oracle",0,1'
    lines = export(records, result, tmp_path / "ids.tsv", ids=["p", "q"]).read_text().splitlines()
    assert lines[2].startswith('"q"\t"b"')
    first = json.loads(export(records, result, tmp_path / "out.json").read_text())[0]
    assert first["pixels"] == [[0, 1]]


def test_a_matrix_with_very_many_leaves_is_sparse(tmp_path, monkeypatch):
    """Beyond a limit the label matrix is one that SciPy reads, with the same votes."""
    records, result = TABLES.some_rows(50)
    with np.load(export(records, result, tmp_path / "dense.npz")) as archive:
        votes = archive["L"]
    monkeypatch.setattr("bela.exports.formats._snorkel.DENSE_LIMIT", 100)
    path = export(records, result, tmp_path / "sparse.npz", ids=[f"r{i}" for i in range(50)])
    assert (sparse.load_npz(path).toarray() - 1 == votes).all()
    with np.load(path, allow_pickle=False) as archive:
        assert "L" not in archive
        assert archive["ids"][3] == "r3"


# ------------------------------------------------------------------------------------------------------ refusals


def test_nothing_but_an_earlier_export_of_the_same_data_is_replaced(case, tmp_path):
    """Another file, an export of other data, or a folder with other things in it is kept, with a clear error."""
    records, result = case
    file = tmp_path / "data.csv"
    file.write_text("precious\n")
    with pytest.raises(ExportError, match="no earlier export"):
        export(records, result, file)
    assert file.read_text() == "precious\n"
    export(records, result, file, overwrite=True)
    export(records, result, file)  # the same data again
    with pytest.raises(ExportError, match="no earlier export"):
        export(TABLES.ArrowTable(records.table, fingerprint="other"), result, file)

    folder = tmp_path / "photos"
    folder.mkdir()
    export(records, result, folder)  # an empty folder will do
    export(records, result, folder)
    (folder / "cat.png").write_bytes(b"precious")
    with pytest.raises(ExportError, match="other things"):
        export(records, result, folder, overwrite=True)
    assert (folder / "cat.png").read_bytes() == b"precious"
    with pytest.raises(ExportError, match="is a folder"):
        export(records, result, folder, format="csv")
    with pytest.raises(ExportError, match="is no folder"):
        export(records, result, file, format="hf")


def test_links_are_followed_and_an_empty_file_may_be_replaced(case, tmp_path):
    """A link to a file stays a link; a file that somebody has only reserved holds nothing to lose."""
    (tmp_path / "real.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    path = export(*case, tmp_path / "link.csv")
    assert path.name == "real.csv"
    assert (tmp_path / "link.csv").is_symlink()
    assert check_export(path) == []


@pytest.mark.parametrize(
    ("to", "options", "message"),
    [
        ("out.xlsx", {}, r"\.xlsx names no format: use one of \.csv"),
        ("out.csv", {"format": "excel"}, "no export format 'excel': choose one of csv"),
        ("no/such/out.csv", {}, "there is no folder .*no/such"),
        ("out.csv", {"ids": [1, 2]}, "ids must have one entry for each of the 6 rows, not 2"),
        ("out.csv", {"given": [True]}, "given must have one entry"),
        ("out.csv", {"given": [False, True, False, False, False, False]}, "row 1 has a label by the data"),
        ("out.csv", {"label_column": "nope"}, "no column 'nope'"),
        ("out.csv", {"certificate": {"labels_sha256": "0"}}, "about other labels"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(case, tmp_path, to, options, message):
    """Each has its own message, and nothing is written."""
    with pytest.raises(bela.BelaError, match=message):
        export(*case, tmp_path / to, **options)
    assert list(tmp_path.iterdir()) == []


def test_what_json_cannot_say_is_refused(tmp_path):
    """An infinite number is an error with its column and row; NaN, a missing number, becomes null."""
    result = TABLES.make_result(["a", "b", "c"])
    for table, column in (({"x": [0.5, 1, -np.inf]}, "x"), ({"y": [[1.0], [2.0], [np.inf]]}, "y")):
        with pytest.raises(DataError, match=rf"column '{column}' is infinite in row 2"):
            export(TABLES.ArrowTable(pa.table(table), block=2), result, tmp_path / "out.jsonl")
    path = export(TABLES.ArrowTable(pa.table({"x": [0.5, np.nan, None]})), result, tmp_path / "out.jsonl")
    assert [json.loads(line)["x"] for line in path.read_text().splitlines()] == [0.5, None, None]


def test_labels_that_do_not_fit_are_refused(case, tmp_path):
    """Labels for other rows, half a character, a fraction, an integer beyond 64 bits: an error for each."""
    records, _ = case
    with pytest.raises(DataError, match="labels for 2 rows, but the data have 6"):
        export(records, TABLES.make_result(["a", "b"]), tmp_path / "out.csv")
    for label, message in (("\ud800", "not valid Unicode"), (0.5, "not 0.5"), (2**70, "cannot be written")):
        with pytest.raises(LabelError, match=message):
            export(records, TABLES.make_result([label] * 6), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", EXPORTS.names)
def test_no_rows_are_exported_as_such(name, tmp_path):
    """Data without rows are no reason for a traceback."""
    records = TABLES.ArrowTable(pa.table({"text": pa.array([], pa.string())}))
    assert check_export(export(records, TABLES.make_result([]), tmp_path / "out", format=name)) == []


# --------------------------------------------------------------------------------------------------- certificate


def test_the_certificate_says_what_a_report_must_say(case, tmp_path):
    """Bound, grounds, counts, data, labels and versions; the same from the document and from the file."""
    records, result = case
    document = certificate_document(result, records, target=0.9, n_skipped=2)
    path = export(records, result, tmp_path / "out.csv", certificate=document)
    written = read_certificate(path)
    assert certificate_differences(written, document) == []
    assert (written["lower"], written["confidence"], written["guarantee"]) == (0.9, 0.95, "anytime")
    assert (written["method"], written["seed"], written["target"], written["stop_reason"]) == ("bela", 1, 0.9, "target")
    assert written["data"] == {"fingerprint": "f00d", "columns": ["text", "kind", "leaf"]}
    assert written["counts"] == {
        "rows": 6, "asked": 2, "training": 3, "bounds": 5, "given": 0, "skipped": 2, "leaves": 3,
    }  # fmt: skip
    assert written["classes"] == [{"label": "x", "rows": 3, "known": 1}, {"label": "y", "rows": 3, "known": 1}]
    assert written["labels_sha256"] == labels_digest(list("xyxyxy"))
    assert written["versions"] == {"bela": bela.__version__, "schema": 1}
    again = certificate_document(TABLES.make_result(list("xyxyxx")), records, target=0.9, n_skipped=2)
    assert [sentence.split(":")[0] for sentence in certificate_differences(written, again)] == [
        "classes",
        "labels_sha256",
    ]


@pytest.mark.parametrize("guarantee", Guarantee)
def test_the_statement_never_says_more_than_is_certified(case, guarantee):
    """The bound is rounded down, and a bound that is not a guarantee is not called one."""
    records, result = case
    certificate = Certificate(lower=0.959999, confidence=0.95, guarantee=guarantee, n_training=1, n_bounds=1)
    changed = {name: getattr(result, name) for name in result.__slots__} | {"certificate": certificate}
    statement = certificate_document(type(result)(**changed), records)["statement"]
    assert "95.9 %" in statement
    assert statement.startswith(f"{certificate.claim} {guarantee.sentence}")
    assert ("not a guarantee" in statement) == (not guarantee.holds)


@pytest.mark.parametrize("name", EXPORTS.names)
def test_a_changed_export_is_noticed(case, tmp_path, name):
    """One byte more, a certificate that is gone, cut short or from a newer version: each is said."""
    path = export(*case, tmp_path / "out", format=name)
    certificate = certificate_path(path)
    data = path if path.is_file() else max(path.iterdir(), key=lambda file: file.suffix in (".arrow", ".parquet"))
    with data.open("ab") as file:
        file.write(b" ")
    assert "has been changed" in check_export(path)[0]
    whole = certificate.read_text()
    for text, message in (
        (whole[:-9], "cannot be read"),
        ("[]", "no certificate of BELA's"),
        (whole.replace('"schema": 1', '"schema": 2'), "newer BELA"),
    ):
        certificate.write_text(text)
        assert message in check_export(path)[0]
    certificate.unlink()
    assert "there is no certificate" in check_export(path)[0]
    assert check_export(tmp_path / "nothing")


def test_a_digest_tells_labels_apart_but_not_their_types():
    """What a CSV file cannot tell apart has one digest; everything else has its own."""
    assert labels_digest(np.array([True, False])) == labels_digest(["true", "false"])
    assert labels_digest([1, True]) == labels_digest(["1", "true"])
    different = [["a", "b"], ["b", "a"], ["ab"], ["a", "b", ""], ['a"\n"b'], []]
    assert len({labels_digest(labels) for labels in different}) == len(different)


def test_the_formats_are_chosen_by_the_ending(case, tmp_path):
    """Endings in any case; no ending is a folder."""
    found = {}
    for name in ("a.CSV", "a.tsv", "a.parquet", "a.jsonl", "a.ndjson", "a.json", "a.npz", "a", "b" + os.sep):
        found[name] = read_certificate(export(*case, f"{tmp_path}{os.sep}{name}"))["export"]["format"]
    assert list(found.values()) == ["csv", "tsv", "parquet", "jsonl", "jsonl", "json", "snorkel", "hf", "hf"]


def test_an_infinite_number_in_a_list_is_refused_by_csv_too(tmp_path):
    """What is made of others is JSON in a cell, so it holds what JSON can say; a bare infinite number is no trouble."""
    result = TABLES.make_result(["a", "b"])
    table = pa.table({"x": [np.inf, 1.0], "y": [[1.0], [np.inf]], "z": ["some", "text"]})
    with pytest.raises(DataError, match="column 'y' is infinite in row 1, which JSON cannot say"):
        export(TABLES.ArrowTable(table, block=1), result, tmp_path / "out.csv")
    export(TABLES.ArrowTable(table.drop_columns(["y"])), result, tmp_path / "out.csv")
