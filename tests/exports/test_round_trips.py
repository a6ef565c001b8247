"""What is exported is read back as it was, by the packages that people read it with."""

import csv
import json
import math
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bela.exports import check_export, export, labels_digest, read_certificate

TABLES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tables.py"))))

OURS = ["label", "label_source", "leaf", "confidence"]
AWKWARD = [
    "nan",
    "-1",
    "None",
    "NA",
    "",
    " lead",
    'q"uo"te',
    "a,b\tc",
    "line\nbreak\r\n",
    "=1+1",
    "🎉",
    "é\u2028",
    "1e5",
]
# A NUL is allowed in Arrow and JSON, but there is no way to have pandas' or polars' CSV readers take it.
texts = st.sampled_from(AWKWARD) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
few = settings(max_examples=20)
names = st.lists(texts.filter(bool), min_size=4, max_size=4, unique=True)


@st.composite
def labelled(draw):
    """A table of texts, integers, floats and truth values, any of them missing, and labels for its rows."""
    n = draw(st.integers(1, 12))

    def column(values, kind):
        return pa.array(draw(st.lists(st.none() | values, min_size=n, max_size=n)), kind)

    table = pa.table(
        [
            column(texts, pa.string()),
            column(st.integers(-(2**63), 2**63 - 1), pa.int64()),
            column(st.floats(allow_nan=False, allow_infinity=False), pa.float64()),
            column(st.booleans(), pa.bool_()),
        ],
        names=draw(names.filter(lambda chosen: not set(chosen) & set(OURS))),
    )
    labels = draw(st.lists(texts, min_size=n, max_size=n))
    return TABLES.ArrowTable(table, block=draw(st.integers(1, 12))), TABLES.make_result(labels)


def with_ours(records, result):
    """The table that an export should hold."""
    source = np.where(result.known, "oracle", "inferred")
    for name, column in zip(OURS, (result.labels, source, result.leaf, result.probability), strict=True):
        records = records.append_column(name, pa.array(column.tolist()))
    return records


def exported(case, name, read):
    """Export, check the certificate, and read back."""
    records, result = case
    with TemporaryDirectory() as folder:
        path = export(records, result, Path(folder, "out"), format=name)
        assert check_export(path) == []
        assert read_certificate(path)["labels_sha256"] == labels_digest(result.labels)
        return read(path)


def assert_same(found, wanted):
    """Equal names, and equal values to the last bit; a missing one only where one was missing."""
    assert found.schema.names == wanted.schema.names
    for name, left, right in zip(wanted.schema.names, found.columns, wanted.columns, strict=True):
        assert left.to_pylist() == right.to_pylist(), name


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
@few
@given(case=labelled())
def test_arrow_reads_csv_back_whole(name, delimiter, case):
    """Arrow tells missing from empty, and has every value and every column as it was."""
    wanted = with_ours(case[0].table, case[1])
    found = exported(
        case,
        name,
        lambda path: pyarrow.csv.read_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=wanted.schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
            ),
        ),
    )
    assert_same(found, wanted)


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
@few
@given(case=labelled())
def test_the_csv_module_reads_csv_back(name, delimiter, case):
    """Python's csv module has every text as it was, a missing one as an empty one."""

    def read(path):
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file, delimiter=delimiter))

    table = with_ours(case[0].table, case[1])
    header, *lines = exported(case, name, read)
    assert header == table.schema.names
    for i in (0, 4, 5):
        assert [line[i] for line in lines] == [text or "" for text in table.column(i).to_pylist()]
    for i in (1, 2, 6, 7):
        assert [float(line[i]) for line in lines if line[i]] == [
            float(x) for x in table.column(i).to_pylist() if x is not None
        ]


@few
@given(case=labelled())
def test_pandas_reads_csv_back(case):
    """pandas has the labels "nan", "None" and "" as they were once it is told that no text means missing."""
    pandas = pytest.importorskip("pandas")
    found = exported(
        case,
        "csv",
        lambda path: pandas.read_csv(path, keep_default_na=False, dtype=str, encoding="utf-8"),
    )
    assert list(found.columns) == [*case[0].columns, *OURS]
    assert found["label"].tolist() == case[1].labels.tolist()
    assert found.iloc[:, 0].tolist() == [text or "" for text in case[0].table.column(0).to_pylist()]


@few
@given(case=labelled())
def test_polars_reads_csv_back(case):
    """polars has texts and labels as they were."""
    polars = pytest.importorskip("polars")
    found = exported(case, "csv", lambda path: polars.read_csv(path, infer_schema=False))
    # polars leaves quotes doubled in the header, though not below it
    assert [name.replace('""', '"') for name in found.columns] == [
        name.replace('""', '"') for name in (*case[0].columns, *OURS)
    ]
    assert [text or "" for text in found["label"].to_list()] == case[1].labels.tolist()
    assert [text or "" for text in found[:, 0].to_list()] == [
        text or "" for text in case[0].table.column(0).to_pylist()
    ]


@few
@given(case=labelled())
def test_parquet_is_read_back_whole(case):
    """Arrow, pandas and polars have every value and type as it was."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")

    def read(path):
        frame = pandas.read_parquet(path, dtype_backend="pyarrow")
        return pyarrow.parquet.read_table(path), frame, polars.read_parquet(path)

    arrow, frame, other = exported(case, "parquet", read)
    wanted = with_ours(case[0].table, case[1])
    assert arrow.equals(wanted)
    assert_same(pa.Table.from_pandas(frame, preserve_index=False), wanted)
    assert other.rows() == [tuple(row.values()) for row in wanted.to_pylist()]


@few
@given(case=labelled())
def test_json_lines_are_read_back_whole(case):
    """Python, Arrow and polars have every value as it was, missing ones too."""
    polars = pytest.importorskip("polars")
    wanted = with_ours(case[0].table, case[1])

    def read(path):
        lines = path.read_text(encoding="utf-8").splitlines()  # also cuts at U+2028, so there must be none
        options = pyarrow.json.ParseOptions(explicit_schema=wanted.schema)
        schema = dict(zip(wanted.schema.names, polars.from_arrow(wanted.slice(0, 0)).dtypes, strict=True))
        return (
            [json.loads(line) for line in lines],
            pyarrow.json.read_json(path, parse_options=options),
            polars.read_ndjson(path, schema=schema),
        )

    python, arrow, other = exported(case, "jsonl", read)
    assert python == wanted.to_pylist()
    assert_same(arrow.select(wanted.schema.names), wanted)
    assert other.rows() == [tuple(row.values()) for row in wanted.to_pylist()]


@few
@given(case=labelled())
def test_json_is_read_back_whole(case):
    """Python and pandas read the list."""
    pandas = pytest.importorskip("pandas")

    def read(path):
        frame = pandas.read_json(path, dtype=False)
        return json.loads(path.read_text(encoding="utf-8")), frame

    python, frame = exported(case, "json", read)
    wanted = with_ours(case[0].table, case[1])
    assert python == wanted.to_pylist()
    assert list(frame.columns) == wanted.schema.names
    assert frame["label"].tolist() == case[1].labels.tolist()


@few
@given(case=labelled())
def test_datasets_reads_the_folder_back_whole(case):
    """Hugging Face's `load_from_disk` has every value as it was."""
    datasets = pytest.importorskip("datasets")
    found = exported(case, "hf", lambda path: datasets.load_from_disk(str(path), keep_in_memory=True).data.table)
    assert_same(found, with_ours(case[0].table, case[1]))


@few
@given(case=labelled())
@example(case=(TABLES.ArrowTable(pa.table({"x": [1, 2]})), TABLES.make_result(["one", "one"])))
def test_the_label_matrix_says_the_same_as_the_labels(case):
    """Each row has one vote, by its leaf or by its answer, and that is its label; nothing is pickled."""

    def read(path):
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)

    records, result = case
    found = exported(case, "snorkel", read)
    votes = found["L"]
    assert votes.shape == (records.n_rows, 4)
    assert votes.min() >= -1
    assert ((votes >= 0).sum(axis=1) == 1).all()
    function = votes.argmax(axis=1)
    assert function.tolist() == np.where(result.known, 3, result.leaf).tolist()
    # NumPy's texts end at the last character that is no NUL, as the labels of a result do
    assert found["classes"][votes.max(axis=1)].tolist() == result.labels.tolist()
    assert found["leaf_lower"].tolist() == result.leaf_lower.tolist()


def test_every_arrow_type_survives_where_the_format_has_it(tmp_path):
    """Times, decimals, bytes, lists, structs and dictionaries come out of Parquet and the folder as they went in."""
    datasets = pytest.importorskip("datasets")
    table = pa.table(
        {
            "when": pa.array([1, None, 3], pa.timestamp("ns", tz="Europe/Berlin")),
            "day": pa.array([1, None, 3], pa.date32()),
            "price": pa.array([1, None, 3], pa.decimal128(10, 2)),
            "bytes": pa.array([b"\xff\0", None, b""]),
            "list": pa.array([[1.5], None, []]),
            "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": ""}]),
            "kind": pa.array(["a", None, "b"]).dictionary_encode(),
            "float": pa.array([math.inf, math.nan, None], pa.float32()),
            "view": pa.array(["a", None, ""], pa.string_view()),
        }
    )
    records, result = TABLES.ArrowTable(table, block=2), TABLES.make_result([True, False, True])
    found = pyarrow.parquet.read_table(export(records, result, tmp_path / "out.parquet"))
    assert str(found.select(table.schema.names).to_pylist()) == str(table.to_pylist())
    assert found["label"].to_pylist() == [True, False, True]
    loaded = datasets.load_from_disk(str(export(records, result, tmp_path / "folder")))
    assert str(loaded.data.table.select(table.schema.names).to_pylist()) == str(table.to_pylist())
    lines = export(TABLES.ArrowTable(table.drop_columns(["float"])), result, tmp_path / "o.jsonl").read_text()
    first = json.loads(lines.splitlines()[0])
    assert first["when"] == "1970-01-01 01:00:00.000000001+0100"
    assert (first["bytes"], first["list"], first["struct"]) == ("/wA=", [1.5], {"a": 1, "b": "x"})
    frame = pyarrow.csv.read_csv(export(records, result, tmp_path / "out.csv"))
    assert frame["struct"].to_pylist()[0] == '{"a": 1, "b": "x"}'
    assert str(frame["float"].to_pylist()[0]) == "inf"
