"""Pictures of rows, made anew from whatever the data hold: no file is ever passed on as it is."""

import io
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image as Images
from PIL.Image import Image

from bela.data import ArrayTable, open_image, upright
from bela.errors import DataError, QuestionError
from bela.protocols import Table
from bela.records import AnyArray
from bela.views._rows import check_row

LARGEST = 1024  # pixels of the longer side
SMALLEST = 256  # arrays of fewer are scaled up, each pixel a sharp square
_KEPT = 128  # pictures, of at most some hundred kilobytes each
_LOOKED_AT = 500


class Pictures:
    """Gives the pictures in some columns as PNG or JPEG, the last ones from memory."""

    def __init__(self, records: Table, columns: tuple[str, ...]) -> None:
        self._records, self._columns = records, columns
        self._pixels = records if isinstance(records, ArrayTable) else None
        self._root = None if records.root is None else Path(os.path.realpath(records.root))
        self._range: tuple[float, float] | None = None
        self._encoded = lru_cache(_KEPT)(lambda row, column: _encode(self._image(row, column)))

    def picture(self, row: int, column: str) -> tuple[bytes, str]:
        """Return the content of a picture and its media type."""
        if column not in self._columns:
            raise QuestionError(f"there is no column {column!r} of pictures")
        return self._encoded(row, column)

    def thumbnail(self, row: int, column: str, size: int) -> tuple[bytes, str]:
        """Return a small picture of a row, at most so many pixels wide and high; small arrays stay as they are."""
        image = self._image(row, column, enlarge=False)
        image.thumbnail((size, size))
        return _encode(image, quality=75)

    def _image(self, row: int, column: str, *, enlarge: bool = True) -> Image:
        check_row(self._records, row)
        if self._pixels is not None and column == self._pixels.main:
            return self._of_pixels(np.asarray(self._pixels.array[row]), enlarge)
        value = self._records.record(row).get(column)
        if isinstance(value, list):
            return self._of_pixels(np.asarray(value), enlarge)
        where = f"row {row} of column {column!r}"
        if isinstance(value, dict):  # as Hugging Face datasets have them
            value = value.get("bytes") or value.get("path")
        if isinstance(value, str):
            return _open(str(self._inside(value, where)), self._root, where)
        if isinstance(value, bytes):
            return _open(value, None, where)
        raise QuestionError(f"there is no picture in {where}")

    def _inside(self, path: str, where: str) -> Path:
        """Return the place of a picture file, which must be below the folder of the data, links followed."""
        if self._root is None:
            raise QuestionError(f"{where} names a picture, but the data lie in no folder that it could be in")
        try:
            place = Path(os.path.realpath(self._root / path))
            there = place.is_relative_to(self._root) and place.is_file()
        except (OSError, ValueError):  # such as a name with a zero in it
            there = False
        if not there:
            raise QuestionError(f"{where} names no picture inside the folder of the data")
        return place

    def _of_pixels(self, pixels: AnyArray, enlarge: bool) -> Image:
        if pixels.ndim not in (2, 3) or pixels.dtype.kind not in "buif" or 0 in pixels.shape:
            raise DataError(f"an array of shape {pixels.shape} is no picture")
        if pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4) and pixels.shape[0] in (1, 3, 4):
            pixels = np.moveaxis(pixels, 0, 2)  # channels first, as PyTorch has them
        if pixels.ndim == 3 and pixels.shape[2] not in (3, 4):
            pixels = pixels[:, :, 0]
        if pixels.dtype != np.uint8:
            low, high = self._levels(pixels)
            scaled = (np.nan_to_num(pixels.astype(np.float64)) - low) / max(high - low, 1e-12)
            pixels = (np.clip(scaled, 0, 1) * 255).round().astype(np.uint8)
        image = Images.fromarray(np.ascontiguousarray(pixels))
        factor = SMALLEST // max(image.size) if enlarge else 1
        if factor > 1:
            image = image.resize((image.width * factor, image.height * factor), Images.Resampling.NEAREST)
        return image

    def _levels(self, pixels: AnyArray) -> tuple[float, float]:
        """Return what is black and what is white, the same in all pictures of an array."""
        if self._range is None:
            sample = pixels
            if self._pixels is not None:
                n = self._pixels.n_rows
                rows = np.unique(np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(int))
                sample = np.asarray(self._pixels.array[rows])
            sample = np.nan_to_num(sample.astype(np.float64))
            self._range = (min(float(sample.min()), 0.0), float(sample.max()))
        return self._range


def _open(value: str | bytes, root: Path | None, where: str) -> Image:
    """Open a picture, upright, in black, grey or colours, on white where it is transparent."""
    try:
        image = upright(open_image(value, root, where, side=LARGEST))  # JPEG can be read at a fraction of its size
        return image.convert("L" if image.mode in ("1", "L") else "RGB")
    except Exception as error:  # readers of some formats raise whatever comes to hand when a file is damaged
        why = str(error) if root is None else str(error).replace(f"{root}{os.sep}", "")  # for others to see
        raise DataError(f"the picture in {where} cannot be shown: {why}") from None


def _encode(image: Image, quality: int = 88) -> tuple[bytes, str]:
    """Return an image as PNG if it is small or has few colours, else as JPEG; nothing of its metadata is kept."""
    image.thumbnail((LARGEST, LARGEST), Images.Resampling.LANCZOS)
    image.info = {}
    file = io.BytesIO()
    if image.mode in ("L", "1", "P") or max(image.size) <= SMALLEST:
        image.save(file, "PNG", compress_level=1)
        return file.getvalue(), "image/png"
    image.save(file, "JPEG", quality=quality)
    return file.getvalue(), "image/jpeg"
