"""Any value as JSON can hold it."""

from __future__ import annotations

import base64
import datetime
import decimal
import io
import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bela._plain import to_plain
from bela.errors import DataError

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.decimals()
    | st.uuids()
    | st.timedeltas()
    | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(ANYTHING)
def test_anything_becomes_json(value: Any) -> None:
    """Whatever a record holds, strict JSON can be written of it, and reads back as the same."""
    plain = to_plain(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.datetime64("2024-02-29"), "2024-02-29"),
        (np.datetime64("NaT"), None),
        (float("inf"), "inf"),
        (datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC), "2024-01-02T03:00:00+00:00"),
        (datetime.time(1, 2), "01:02:00"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"b", "a"}, ["a", "b"]),
        (Path("a/b"), str(Path("a/b"))),
        (b"\x89PNG\r\n\x1a\nrest", "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()),
        (bytearray(b"RIFF0000WEBP"), "data:image/webp;base64," + base64.b64encode(b"RIFF0000WEBP").decode()),
        ({"bytes": b"GIF89a", "path": None}, {"bytes": "data:image/gif;base64,R0lGODlh", "path": None}),
    ],
)
def test_what_json_does_not_know(value: Any, expected: Any) -> None:
    """Numbers of numpy stay numbers, dates are ISO 8601, bytes are addresses that say what they hold."""
    assert to_plain(value) == expected


def test_nothing_of_pandas_is_nothing() -> None:
    """pandas has three words for nothing; all are null."""
    pandas = pytest.importorskip("pandas")
    assert to_plain([pandas.NA, pandas.NaT, float("nan"), pandas.Timestamp("2024-01-02")]) == [
        None, None, None, "2024-01-02T00:00:00"
    ]  # fmt: skip


def test_a_picture_in_memory() -> None:
    """A Pillow image is given as a PNG that shows the same."""
    from PIL import Image

    picture = Image.new("L", (3, 2), 77)
    kind, _, content = to_plain(picture).partition(",")
    assert kind == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as read:
        assert (read.size, read.getpixel((0, 0))) == ((3, 2), 77)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\x89PNG\r\n\x1a\nrest", base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()),
        (datetime.timedelta(hours=1), 3600.0),
        ({"a": (1, float("nan"))}, {"a": [1, None]}),
        (decimal.Decimal("1.10"), "1.10"),
    ],
)
def test_what_is_read_again_is_exact(value: Any, expected: Any) -> None:
    """Bytes are base64 alone, and a length of time is a number."""
    assert to_plain(value, exact=True) == expected


@pytest.mark.parametrize(("value", "error"), [([float("inf")], OverflowError), (1j, DataError)])
def test_what_cannot_be_exact_is_refused(value: Any, error: type[Exception]) -> None:
    """Rather than written as a text that reads back as something else."""
    with pytest.raises(error):
        to_plain(value, exact=True)
