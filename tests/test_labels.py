"""Labels and texts: one way there and one way back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bela.errors import LabelError
from bela.labels import is_missing, label_from_text, label_like, label_to_text

CLASSES = st.lists(st.integers(-(10**17), 10**17), min_size=1) | st.just([True, False]) | st.lists(st.text(min_size=1))


@given(CLASSES.flatmap(lambda classes: st.tuples(st.just(classes), st.sampled_from(classes or ["a"]))))
def test_there_and_back(case):
    """A label that is written as text and read beside its classes is the same label, but for spaces around it."""
    classes, label = case
    found = label_from_text(label_to_text(label), classes)
    assert found == label or label_to_text(found).strip() == label_to_text(label).strip()
    assert type(found) is type(label)


@pytest.mark.parametrize(
    ("text", "like", "label"),
    [
        ("cat", [], "cat"),
        ("3", [], "3"),
        (" cat ", ["cat"], "cat"),
        ("cat", [" cat"], " cat"),
        ("dog", ["cat"], "dog"),
        ("3", ["cat"], "3"),
        ("3", [7], 3),
        (" -3 ", [7], -3),
        ("3.0", [7], 3),
        ("007", [7], 7),
        ("True", [False], True),
        ("false", [True], False),
    ],
)
def test_a_text_takes_the_type_of_the_classes(text, like, label):
    """Spaces around it do not count; without classes it is a text."""
    found = label_from_text(text, like)
    assert (found, type(found)) == (label, type(label))


@pytest.mark.parametrize(("text", "like"), [("cat", [1]), ("3.5", [1]), ("", [1]), ("9" * 30, [1]), ("yes", [True])])
def test_a_text_that_cannot_be_such_a_label_is_refused(text, like):
    """With one sentence that says what the others are."""
    with pytest.raises(LabelError, match="as the other labels are"):
        label_from_text(text, like)


@pytest.mark.parametrize(
    ("label", "like", "expected"),
    [("3", [3], 3), (3, ["3"], "3"), (3, [], 3), (4, [3], 4), (True, ["true"], "true"), (np.int64(2), ["2"], "2")],
)
def test_what_is_written_alike_is_the_same_class(label, like, expected):
    """3 and "3" are one class, of the type that the classes have."""
    found = label_like(label, like)
    assert (found, type(found)) == (expected, type(expected))


def test_what_is_missing():
    """None, NaN and what NumPy and pandas have in their place; no text and no number."""
    pandas = pytest.importorskip("pandas")
    nothing = (None, float("nan"), np.float32("nan"), np.datetime64("NaT"), pandas.NA, pandas.NaT)
    assert all(map(is_missing, nothing))
    assert not any(map(is_missing, ("", "nan", "None", 0, -1, False)))
