"""Table as oracles get them: nothing hidden shown, and images with paths that can be opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bela.errors import OracleError, ParameterError
from bela.oracles._reader import RecordReader, image_path


class Folder:
    """Table whose paths start from a folder."""

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
    read = RecordReader(Folder(tmp_path, record), hide=["label"])  # type: ignore[arg-type]
    assert read(0) == {"image": str(tmp_path / "sub" / "a.png"), "other": "sub/b.png", "text": "see a.png", "n": 3}
    assert record["label"] == "cat"
    assert RecordReader(lambda row: {"label": row, "n": row}, hide="label")(4) == {"n": 4}


@pytest.mark.parametrize("value", ["", "a\0.png", "x" * 5000 + ".png", 3, None, "no.png", "a.txt", "\ud800.png"])
def test_what_is_no_image(tmp_path: Path, value: Any) -> None:
    """A text that ends like a picture but cannot be a path is a text."""
    (tmp_path / "a.txt").touch()
    assert image_path(value, tmp_path) is None


def test_bad_records() -> None:
    """Table that cannot be read are named."""
    with pytest.raises(ParameterError, match="records"):
        RecordReader(3)  # type: ignore[arg-type]
    with pytest.raises(OracleError, match="row 2 must map columns"):
        RecordReader(lambda row: "text")(2)  # type: ignore[arg-type, return-value]
