"""Columns of few values: whatever they come as, each row has the value that it had, and no object of its own."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bela.data import CodedColumn, _coded, code_values, coded_labels, column_labels, open_table
from bela.errors import LabelError
from bela.records import UNKNOWN

TEXTS = ["b", "a", "", "b", "ä b", "a"]


@pytest.fixture(autouse=True, params=[2, 1 << 18])
def blocks(monkeypatch, request):
    """Two rows a block, or all in one."""
    monkeypatch.setattr(_coded, "BLOCK", request.param)


@pytest.mark.parametrize(
    "values",
    [
        TEXTS,
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        [3, 3.0, "3", True, None, 3],
        np.array([2, 1, 2, 1, 7, 2], dtype=">i4"),
        np.array([True, False, True]),
        np.array([0.5, 2.0, -0.0, 0.5], dtype=np.float16),
        pa.array(["x", None, "y", "x"]),
        pa.chunked_array([["x", None], ["y", "x"]]).dictionary_encode(),
        pa.array([[1], [2], [1]]),
        pd.Series(["a", "b", "a"]),
        np.array(["\ud800", "a", "\ud800"]),
        np.array(["a\0b", "a", "a\0c", "a"]),
        np.ma.MaskedArray([1, 2, 1], [False, True, False]),
        np.ma.MaskedArray(["a", "b", "b"], [False, True, False]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_each_row_has_its_value(values):
    """As Python has it, of its own type, the values that differ in the order in which they are seen."""
    plain = values.to_pylist() if isinstance(values, (pa.Array, pa.ChunkedArray)) else list(values)
    plain = values.tolist() if isinstance(values, np.ndarray) else plain
    found = code_values(values)
    assert [(type(a), a) for a in found] == [(type(b), b) for b in plain]
    assert [found[row] for row in range(len(found))] == plain
    assert list(found[1:3]) == plain[1:3]
    assert found.places.dtype == np.int32
    firsts = [plain.index(value) for value in found.values]
    assert firsts == sorted(firsts)
    assert found.counts().sum() == sum(value is not None for value in plain)
    assert code_values(found) is found


def test_no_number_is_one_value():
    """NaN is not equal to itself, and yet there is one of it; None is none."""
    small = [np.float32("nan"), np.float32(1), np.float32("nan")]
    for values in (np.array([np.nan, 1.0, np.nan]), [float("nan"), 1.0, float("nan")], [np.nan, 1.0, -np.nan], small):
        found = code_values(values)
        assert found.places.tolist() == [0, 1, 0]
    assert code_values([None, "a"]).places.tolist() == [UNKNOWN, 0]


def test_values_can_be_replaced():
    """Some by the same, some by nothing; and codes of another kind are looked up."""
    column = code_values(["a", " a", "b", None, ""])
    found = column.replaced([None if text == "" else text.strip() for text in column.values])
    assert list(found) == ["a", "a", "b", None, None]
    assert found.values == ("a", "b")
    assert column.table_of([5, 6, 7, 8]).tolist() == [5, 6, 7, UNKNOWN, 8]
    assert found.to_arrow().to_pylist() == list(found)
    for values in ([1, None, 2**64 - 1], [True, None], [None, None]):
        assert code_values(values).to_arrow().to_pylist() == values


def test_labels_of_a_column(tmp_path):
    """The same as by row; dictionaries may name more than there is, and the first bad value is named by its row."""
    names = pa.DictionaryArray.from_arrays(pa.array([2, None, 0, 2], pa.int8()), pa.array(["b", "never", "a"]))
    table = open_table(pa.table({"label": names}))
    assert isinstance(coded_labels(table, "label"), CodedColumn)
    assert coded_labels(table, "label").values == ("a", "b")
    assert column_labels(table, "label") == {0: "a", 2: "b", 3: "a"}
    (tmp_path / "x.csv").write_text("label\n 1\n2\n\n1\n", encoding="utf-8")
    found = coded_labels(open_table(tmp_path / "x.csv"), "label")
    assert [label for label in found if label is not None] == [1, 2, 1]
    with pytest.raises(LabelError, match=r"0\.5 in column 'label' of row 2"):
        coded_labels(open_table(pa.table({"label": [1.0, 2.0, 0.5, 0.25]})), "label")
