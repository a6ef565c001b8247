"""Ids and labels that the data bring with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bela.data import column_labels, label_notices, open_table, row_ids
from bela.errors import DataError, LabelError, ParameterError

ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def csv_of(folder: Path, values: list[str]) -> Any:
    path = folder / "t.csv"
    path.write_text("n,label\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values)), encoding="utf-8")
    return open_table(path)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["cat", "", "dog"], {0: "cat", 2: "dog"}),
        (["nan", "None", "-1", "null", "NA"], {0: "nan", 1: "None", 2: "-1", 3: "null", 4: "NA"}),
        (["3", "", "-1", "0"], {0: 3, 2: -1, 3: 0}),
        (["007", "3"], {0: "007", 1: "3"}),
        (["3", "x"], {0: "3", 1: "x"}),
        (["-0", "1"], {0: "-0", 1: "1"}),
        (["+1", "1"], {0: "+1", 1: "1"}),
        (["1.0", "2"], {0: "1.0", 1: "2"}),
        (["1_000"], {0: "1_000"}),
        (["٣"], {0: "٣"}),
        ([str(2**63), "1"], {0: str(2**63), 1: "1"}),
        ([" ", " 🙈", "a b "], {1: "🙈", 2: "a b"}),
        (["", ""], {}),
        (["true", "false"], {0: "true", 1: "false"}),
    ],
)
def test_labels_in_a_csv(tmp_path: Path, values: list[str], labels: dict[int, Any]):
    """An empty text is no label, every other one is; whole numbers are so if all are written as such."""
    found = column_labels(csv_of(tmp_path, values), "label")
    assert found == labels
    assert [type(label) for label in found.values()] == [type(label) for label in labels.values()]


def test_spaces_around_labels_are_said(tmp_path: Path):
    """They are left out, which somebody should know."""
    assert label_notices(csv_of(tmp_path, ["cat", " cat", "dog ", ""]), "label") == (
        "spaces around 2 labels of column 'label', such as ' cat', are left out",
    )
    typed = open_table([{"label": " cat"}, {"label": "dog"}])
    assert label_notices(typed, "label") == (
        "spaces around 1 label of column 'label', such as ' cat', are part of them",
    )
    assert column_labels(typed, "label") == {0: " cat", 1: "dog"}
    assert label_notices(csv_of(tmp_path, ["cat", "  ", "3"]), "label") == ()


@ANY_FOLDER
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1))
def test_whole_numbers_survive_text(tmp_path: Path, values: list[int | None]):
    """Integers that were written into a CSV come back as integers."""
    found = column_labels(csv_of(tmp_path, ["" if value is None else str(value) for value in values]), "label")
    assert found == {row: value for row, value in enumerate(values) if value is not None}
    assert all(type(label) is int for label in found.values())


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, None, 3], {0: 1, 2: 3}),
        ([1.0, float("nan"), 3.0], {0: 1, 2: 3}),
        (["1", None, "2"], {0: "1", 2: "2"}),
        (["nan", "", None], {0: "nan"}),
        ([True, False, None], {0: True, 1: False}),
        ([1, 2.0, None], {0: 1, 1: 2}),
    ],
)
def test_labels_with_types(values: list[Any], labels: dict[int, Any]):
    """Where columns have types, a text is a text, and whole floats are integers that pandas had in its hands."""
    found = column_labels(open_table([{"label": value} for value in values]), "label")
    assert found == labels
    assert [type(label) for label in found.values()] == [type(label) for label in labels.values()]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, "x"], "mixed types in column 'label': texts, whole numbers"),
        ([1, True], "mixed types in column 'label': booleans, whole numbers"),
        ([0.5], "0.5 in column 'label' of row 0"),
        ([None, [1]], r"\[1\] in column 'label' of row 1"),
        ([{"a": 1}], "a label is a text"),
    ],
)
def test_what_is_no_label(values: list[Any], says: str):
    """Labels of mixed types, fractions, lists and objects are refused, with their place."""
    with pytest.raises(LabelError, match=says):
        column_labels(open_table([{"label": value} for value in values]), "label")


def test_labels_of_other_sources(tmp_path: Path):
    """Categories are texts, an array beside the features is a column, an unknown column is named."""
    table = pa.table({"label": pa.array(["a", None, "b"]).dictionary_encode()})
    assert column_labels(open_table(table), "label") == {0: "a", 2: "b"}
    np.savez(tmp_path / "x.npz", X=np.zeros((3, 2)), y=np.array([4, 5, 6], dtype=np.uint8))
    records = open_table(tmp_path / "x.npz")
    assert column_labels(records, "y") == {0: 4, 1: 5, 2: 6}
    with pytest.raises(ParameterError, match="no column 'z': it has X, y"):
        column_labels(records, "z")


def test_ids(tmp_path: Path):
    """By default the number of the row, otherwise a column whose values differ, as they stand there."""
    records = csv_of(tmp_path, ["a", "b", "c"])
    assert list(row_ids(records)) == [0, 1, 2]
    assert row_ids(records, "n") == ["0", "1", "2"]
    assert row_ids(open_table([{"k": 7}, {"k": 5}]), "k") == [7, 5]
    with pytest.raises(ParameterError, match="no column 'k'"):
        row_ids(records, "k")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["a", "b", "a"], "the id 'a' of column 'k' twice, in the rows 0 and 2"),
        ([1, 2, 1.0], "the id 1 of column 'k' twice, in the rows 0 and 2"),
        (["a", None], "no id in column 'k' of row 1"),
        (["a", ""], "no id in column 'k' of row 1"),
        ([0.5, 1.5], "0.5 in column 'k' of row 0"),
        ([True, False], "True in column 'k' of row 0"),
        ([1, "1"], "both texts and numbers"),
    ],
)
def test_bad_ids(values: list[Any], says: str):
    """An id that comes twice, is missing or is no id is named with its row."""
    with pytest.raises(DataError, match=says):
        row_ids(open_table([{"k": value} for value in values]), "k")
