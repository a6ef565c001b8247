"""Pictures: of any kind, made anew, and never from outside the data."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

from bela.campaign import create_campaign
from bela.data import open_table
from bela.errors import DataError, QuestionError
from bela.views._pictures import Pictures
from bela.web import LabelService


def shown(pictures: Pictures, row: int, column: str) -> Image.Image:
    content, kind = pictures.picture(row, column)
    image = Image.open(io.BytesIO(content))
    assert kind == {"PNG": "image/png", "JPEG": "image/jpeg"}[str(image.format)]
    return image


@pytest.mark.parametrize(
    ("mode", "ending"),
    [("RGB", "png"), ("RGB", "jpg"), ("L", "png"), ("1", "png"), ("P", "gif"), ("RGBA", "png"), ("LA", "png"),
     ("CMYK", "jpg"), ("I;16", "png"), ("F", "tiff"), ("RGB", "webp"), ("RGB", "bmp")],
)  # fmt: skip
def test_every_kind_of_picture(tmp_path: Path, mode: str, ending: str) -> None:
    """Whatever Pillow reads is shown, no larger than a screen needs."""
    image = Image.new("L", (1500, 40), 200)
    (tmp_path / "pictures").mkdir()
    for name in ("one", "two"):
        made = Image.fromarray(np.full((40, 1500), 0.5, np.float32)) if mode == "F" else image.convert(mode)
        made.save(tmp_path / "pictures" / f"{name}.{ending}")
    pictures = Pictures(open_table(tmp_path / "pictures"), ("path",))
    found = shown(pictures, 0, "path")
    assert found.size == (1024, 27)
    assert found.mode in ("L", "RGB")
    assert pictures.picture(0, "path") is pictures.picture(0, "path")  # from memory


def test_nothing_but_pixels_is_passed_on(tmp_path: Path) -> None:
    """Metadata, such as where a photograph was taken, stay where they are; pictures are turned upright by them."""
    image = Image.new("RGB", (300, 200), "red")
    exif = image.getexif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010E] = "a secret description"
    image.save(tmp_path / "a.jpg", exif=exif)
    Image.new("RGB", (9, 9)).save(tmp_path / "b.jpg")
    content, _ = Pictures(open_table(tmp_path), ("path",)).picture(0, "path")
    assert b"secret" not in content
    assert Image.open(io.BytesIO(content)).size == (200, 300)


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [((8, 8), "uint8", (256, 256)), ((28, 28), "float32", (252, 252)), ((28, 20, 3), "uint8", (180, 252)),
     ((3, 28, 28), "float64", (252, 252)), ((28, 28, 1), "int16", (252, 252)), ((5, 5, 7), "uint8", (255, 255)),
     ((2000, 10), "uint8", (5, 1024)), ((16, 16), "bool", (256, 256))],
)  # fmt: skip
def test_arrays_are_pictures_with_sharp_pixels(shape: tuple[int, ...], dtype: str, size: tuple[int, int]) -> None:
    """Grey or coloured, of any type; small ones are scaled up, each pixel a square."""
    rng = np.random.default_rng(0)
    array = (rng.random((3, *shape)) * (1 if dtype.startswith("float") else 250)).astype(dtype)
    records = open_table(array)
    found = shown(Pictures(records, records.columns), 1, records.columns[0])
    assert found.size == size
    if shape == (8, 8):
        assert (np.asarray(found)[::32, ::32] == array[1]).all()


def test_levels_are_the_same_in_all_pictures() -> None:
    """Black and white of an array of numbers are those of all its pictures, not of each."""
    array = np.zeros((2, 8, 8))
    array[0] += 4
    array[1] += 16
    records = open_table(array)
    pictures = Pictures(records, records.columns)
    assert np.asarray(shown(pictures, 0, records.columns[0])).max() == 64
    assert np.asarray(shown(pictures, 1, records.columns[0])).max() == 255


def test_pictures_in_tables(tmp_path: Path) -> None:
    """As bytes, as Hugging Face keeps them, or by a path beside the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    Image.new("RGB", (20, 10), "blue").save(file, "PNG")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a b.png").write_bytes(file.getvalue())
    table = pa.table({
        "raw": [file.getvalue(), b"no picture"],
        "both": [{"bytes": file.getvalue(), "path": None}, {"bytes": None, "path": "p/a b.png"}],
        "where": ["p/a b.png", None],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet")
    pictures = Pictures(open_table(tmp_path / "t.parquet"), ("raw", "both", "where"))
    for row, column in ((0, "raw"), (0, "both"), (1, "both"), (0, "where")):
        assert shown(pictures, row, column).size == (20, 10)
    with pytest.raises(DataError):
        pictures.picture(1, "raw")
    with pytest.raises(QuestionError):
        pictures.picture(1, "where")


def test_pictures_never_come_from_outside_the_data(tmp_path: Path) -> None:
    """Not by .., not by an absolute path, not by a link; and only from columns of pictures."""
    (tmp_path / "data").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "private.png")
    Image.new("RGB", (9, 9)).save(tmp_path / "data" / "mine.png")
    os.symlink(tmp_path / "private.png", tmp_path / "data" / "link.png")
    os.symlink(tmp_path, tmp_path / "data" / "up")
    paths = ["mine.png", "../private.png", str(tmp_path / "private.png"), "link.png", "up/private.png", "/etc/passwd",
             "./../data/../private.png", "no\0name.png", "x" * 5000]  # fmt: skip
    records = open_table([{"picture": path, "other": "mine.png"} for path in paths])
    records.root = tmp_path / "data"  # type: ignore[misc]
    pictures = Pictures(records, ("picture",))
    assert shown(pictures, 0, "picture").size == (9, 9)
    for row in range(1, len(paths)):
        with pytest.raises(QuestionError, match="inside the folder"):
            pictures.picture(row, "picture")
    with pytest.raises(QuestionError):
        pictures.picture(0, "other")
    with pytest.raises(QuestionError):
        pictures.picture(99, "picture")


def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file may claim to be huge."""
    Image.new("1", (4000, 4000)).save(tmp_path / "bomb.png")
    Image.new("1", (9, 9)).save(tmp_path / "c.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000_000)
    with pytest.raises(DataError, match="cannot be shown"):
        Pictures(open_table(tmp_path), ("path",)).picture(0, "path")


def test_odd_names_of_files_and_columns(tmp_path: Path, make_any: Any) -> None:
    """Names with signs that mean something in addresses and in HTML are names like others."""
    (tmp_path / "p").mkdir()
    names = [
        "<img src=x onerror=alert(1)>.png",
        "a?b#c&d%20.png",
        "ü ' \".png",
        "%2e%2e%2f.png",
        *(f"{i}.png" for i in range(9)),
    ]
    for i, name in enumerate(names):
        Image.new("L", (9, 9), 20 * i).save(tmp_path / "p" / name)
    with create_campaign(tmp_path / "p", tmp_path / "p.bela", method="random") as stored:
        page = make_any(LabelService(stored))
        for row in range(len(names)):
            response = page.get(f"/api/rows/{row}/images/{quote('path', safe='')}")
            assert response.status_code == 200
            assert response.headers["content-type"] == "image/png"
            shown = page.get(f"/api/rows/{row}")
            assert shown.headers["content-type"].startswith("application/json")
            assert shown.json()["files"]["path"] in names  # as it is, for a page that sets it as text
        assert page.get("/api/rows/0/images/folder").status_code == 404
        assert page.get("/api/rows/0/images/..%2f..%2fcampaign.toml").status_code == 404
