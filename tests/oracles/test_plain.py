"""Records as oracles get them: nothing hidden shown, and everything as JSON can hold it."""

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

from bela.errors import OracleError, ParameterError
from bela.oracles._plain import Reader, image_path, to_json

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
    plain = to_json(value)
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
    assert to_json(value) == expected


def test_nothing_of_pandas_is_nothing() -> None:
    """pandas has three words for nothing; all are null."""
    pandas = pytest.importorskip("pandas")
    assert to_json([pandas.NA, pandas.NaT, float("nan"), pandas.Timestamp("2024-01-02")]) == [
        None, None, None, "2024-01-02T00:00:00"
    ]  # fmt: skip


def test_a_picture_in_memory() -> None:
    """A Pillow image is given as a PNG that shows the same."""
    from PIL import Image

    picture = Image.new("L", (3, 2), 77)
    kind, _, content = to_json(picture).partition(",")
    assert kind == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as read:
        assert (read.size, read.getpixel((0, 0))) == ((3, 2), 77)


class Folder:
    """Records whose paths start from a folder."""

    def __init__(self, root: Path, record: dict[str, Any]) -> None:
        self.root, self._record = root, record

    @property
    def fingerprint(self) -> str:
        raise AssertionError("nobody asked for the fingerprint, which takes a pass over all data")

    def record(self, row: int) -> dict[str, Any]:
        return self._record


def test_records_hide_columns_and_find_images(tmp_path: Path) -> None:
    """Hidden columns are gone; the path of an image that is there is absolute; other texts stay as they are."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.png").touch()
    record = {"image": "sub/a.png", "other": "sub/b.png", "text": "see a.png", "label": "cat", "n": 3}
    read = Reader(Folder(tmp_path, record), hide=["label"])  # type: ignore[arg-type]
    assert read(0) == {"image": str(tmp_path / "sub" / "a.png"), "other": "sub/b.png", "text": "see a.png", "n": 3}
    assert record["label"] == "cat"
    assert Reader(lambda row: {"label": row, "n": row}, hide="label")(4) == {"n": 4}


@pytest.mark.parametrize("value", ["", "a\0.png", "x" * 5000 + ".png", 3, None, "no.png", "a.txt", "\ud800.png"])
def test_what_is_no_image(tmp_path: Path, value: Any) -> None:
    """A text that ends like a picture but cannot be a path is a text."""
    (tmp_path / "a.txt").touch()
    assert image_path(value, tmp_path) is None


def test_bad_records() -> None:
    """Records that cannot be read are named."""
    with pytest.raises(ParameterError, match="records"):
        Reader(3)  # type: ignore[arg-type]
    with pytest.raises(OracleError, match="row 2 must map columns"):
        Reader(lambda row: "text")(2)  # type: ignore[arg-type, return-value]
