"""Label Studio's own packages read the tasks that are written for it."""

import json
import runpy
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.data import open_table
from bela.errors import LabelError
from bela.exports import export

TABLES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tables.py"))))

# Label Studio writes labels into an XML attribute, which knows neither control characters nor half a surrogate pair.
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)
labels = st.sampled_from(["nan", "-1", "None", 'q"uo"te', "<b>&amp;", "🎉", " lead", "a\nb"]) | texts


@st.composite
def labelled(draw):
    n = draw(st.integers(1, 8))
    column = st.lists(texts, min_size=n, max_size=n)
    name = draw(st.sampled_from(["text", "my text", "label", "row", "ünï", "$x"]))
    table = pa.table({name: draw(column), "x": pa.array(range(n)), "odd": pa.array([[i] for i in range(n)])})
    result = TABLES.make_result(draw(st.lists(labels, min_size=n, max_size=n)))
    return TABLES.ArrowTable(table, block=3), result


def exported(case, read):
    with TemporaryDirectory() as folder:
        path = export(*case, Path(folder, "tasks.json"), format="label-studio")
        config = path.with_name("tasks.json.config.xml").read_text(encoding="utf-8")
        return read(path, config), config


def load(path, _):
    return json.loads(path.read_text(encoding="utf-8"))


@settings(max_examples=30)
@given(case=labelled())
def test_tasks_hold_the_columns_the_answers_and_the_predictions(case):
    """The data are those of the row; an answer is an annotation, another label a prediction with its score."""
    records, result = case
    tasks, config = exported(case, load)
    choices = [choice.get("value") for choice in ET.fromstring(config).iter("Choice")]  # noqa: S314 - our own
    assert choices == list(result.classes)
    assert len(tasks) == records.n_rows
    for row, task in enumerate(tasks):
        assert {name: task["data"][name] for name in records.columns} == records.record(row)
        [written] = task["annotations"] or task["predictions"]
        assert bool(task["annotations"]) == result.known[row] != bool(task["predictions"])
        assert written["result"][0]["value"] == {"choices": [result.labels[row]]}
        if task["predictions"]:
            assert written["score"] == result.probability[row]


@settings(max_examples=15)
@given(case=labelled())
def test_label_studios_converter_reads_the_answers(case):
    """Label Studio's converter finds every answer in our tasks, by our configuration."""
    converter = pytest.importorskip("label_studio_converter")

    def read(path, config):
        tool = converter.Converter(config, str(path.parent))
        tool.convert_to_json_min(str(path), str(path.parent / "min"), is_dir=False)
        return json.loads((path.parent / "min" / "result.json").read_text(encoding="utf-8"))

    records, result = case
    found, _ = exported(case, read)
    control = "label_" if "label" in records.columns else "label"
    assert [task.get(control) for task in found] == [
        label if known else None for label, known in zip(result.labels.tolist(), result.known, strict=True)
    ]
    for row, task in enumerate(found):
        assert {name: task[name] for name in records.columns} == records.record(row)


@settings(max_examples=15)
@given(case=labelled())
def test_label_studios_sdk_takes_configuration_annotations_and_predictions(case):
    """The SDK's own checks pass: the configuration, each annotation, each prediction, each object of a task."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is written for an older pydantic
        interface = pytest.importorskip("label_studio_sdk.label_interface")
    tasks, config = exported(case, load)
    tool = interface.LabelInterface(config)
    tool.validate()
    for task in tasks:
        assert all(tool.validate_annotation(annotation) for annotation in task["annotations"])
        assert all(tool.validate_prediction(prediction) for prediction in task["predictions"])
        assert tool.validate_task({"data": task["data"]})


def test_pictures_are_shown_as_such(tmp_path):
    """A column of paths is shown as pictures, and the label that the data brought is not shown to the annotator."""
    table = pa.table({"size": [1, 2], "kind": ["cat", None], "path": ["a/1.png", "a/2.JPG"]})
    path = tmp_path / "out.json"
    export(
        TABLES.ArrowTable(table),
        TABLES.make_result(["cat", "dog"]),
        path,
        format="label-studio",
        label_column="kind",
        given=[True, False],
    )
    view = ET.fromstring(path.with_name("out.json.config.xml").read_text())  # noqa: S314 - our own
    assert [(tag.tag, tag.get("value")) for tag in view] == [
        ("Image", "$path"),
        ("Header", "size: $size"),
        ("Choices", None),
    ]
    first, second = json.loads(path.read_text())
    assert (first["meta"]["label_source"], second["meta"]["label_source"]) == ("given", "inferred")


def test_every_value_that_is_shown_is_there(tmp_path):
    """Label Studio refuses all tasks where one has nothing to show; what is not shown stays nothing."""
    table = pa.table({"text": ["a", None], "size": [None, 2], "my text": [None, "b"], "list": [None, [1]]})
    path = export(TABLES.ArrowTable(table), TABLES.make_result(["x", "y"]), tmp_path / "o.json", format="label-studio")
    first, second = (task["data"] for task in json.loads(path.read_text()))
    assert (first["text"], first["size"], first["column_2"], second["text"]) == ("a", "", "", "")
    assert (first["my text"], first["list"]) == (None, None)


def test_objects_are_shown_as_text(tmp_path):
    """Label Studio shows texts and numbers; the object itself is in the task as well."""
    records = open_table([{"what": {"a": 1}, "n": 1}, {"what": "b", "n": 2}])
    path = export(records, TABLES.make_result(["x", "y"]), tmp_path / "o.json", format="label-studio")
    first, second = (task["data"] for task in json.loads(path.read_text()))
    assert (first["what"], first["column_0"]) == ({"a": 1}, '{"a": 1}')
    assert (second["what"], second["column_0"]) == ("b", "b")
    assert 'value="$column_0"' in path.with_name("o.json.config.xml").read_text()


def test_an_array_is_shown_by_its_rows(tmp_path):
    """Lists of numbers are left out: a task has the row's id, which is enough to put the labels back."""
    records = TABLES.ArrowTable(pa.table({"pixels": [[0, 1], [2, 3]]}))
    path = export(records, TABLES.make_result([7, 8]), tmp_path / "o.json", format="label-studio", ids=["a", "b"])
    first, second = json.loads(path.read_text())
    assert (first["data"], second["data"]) == ({"row": "a"}, {"row": "b"})
    assert second["predictions"][0]["result"][0]["value"] == {"choices": ["8"]}


def test_a_label_that_no_xml_can_hold_is_refused(tmp_path):
    """A control character in a label is an error that names it, and nothing is written."""
    records = TABLES.ArrowTable(pa.table({"x": [1]}))
    with pytest.raises(LabelError, match=r"control character"):
        export(records, TABLES.make_result(["a\x01"]), tmp_path / "out.json", format="label-studio")
    assert list(tmp_path.iterdir()) == []
