"""A row as a language model gets it: text, and small pictures without anything that a camera wrote into them."""

import base64
import io
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import cast

import numpy as np

from bela._plain import to_plain
from bela.errors import OracleError
from bela.oracles._reader import RecordOf, image_path
from bela.records import Json

LONGEST = 20_000  # characters of one value: what is longer is cut, and the model is told
_SIDE = 512  # pixels of the longer side of a picture: models look no closer for one tile of it
_LEAST_SIDE = 8  # of an array of numbers that is taken for a picture


class RowContent:
    """Gives the content of a message about a row: a text, or parts of which some are pictures.

    Columns that are `hidden` are in none of it. A picture that a value names is sent only if it lies in the folder of
    the data: a file that somebody else has made must not name others of this machine.
    """

    def __init__(self, records: RecordOf, hidden: Collection[str]) -> None:
        record = getattr(records, "record", records)  # not isinstance: that would look at every property
        self._record = cast("Callable[[int], object]", record)
        root = getattr(records, "root", None)
        self._root = None if root is None else Path(root).resolve()
        self._hidden = frozenset(hidden)

    def __call__(self, row: int) -> Json:
        """Return the content for this row."""
        record = self._record(row)
        if not isinstance(record, Mapping):
            raise OracleError(f"the record of row {row} must map columns to values, not be a {type(record).__name__}")
        return self.of_record(record)

    def of_record(self, record: Mapping[str, object]) -> Json:
        """Return the content for a record."""
        shown = {str(name): value for name, value in record.items() if name not in self._hidden}
        lines, pictures = [], []
        for name, value in shown.items():
            picture = self._picture(value)
            if picture is not None:
                pictures.append(picture)
            text = f"[picture {len(pictures)}]" if picture is not None else _text(value)
            lines.append(text if len(shown) == 1 else f"{name}: {text}")
        text = "\n".join(lines)
        if not pictures:
            return text
        parts: list[Json] = [{"type": "image_url", "image_url": {"url": picture}} for picture in pictures]
        return parts if len(shown) == 1 else [{"type": "text", "text": text}, *parts]

    def _picture(self, value: object) -> str | None:
        """Return a value as the address of a picture, None if it is none."""
        from PIL import Image, ImageOps

        if isinstance(value, Mapping):  # as Hugging Face has them
            value = value.get("bytes") or value.get("path")
        pixels, path = _pixels(value), self._path(value)
        try:
            if pixels is not None:
                value = Image.fromarray(pixels)
            elif path is not None:
                value = path.read_bytes()
            image = Image.open(io.BytesIO(value)) if isinstance(value, bytes) else value
            if not isinstance(image, Image.Image):
                return None
            image = ImageOps.exif_transpose(image) or image.copy()
            image.thumbnail((_SIDE, _SIDE))
            file = io.BytesIO()
            image.convert("RGB").save(file, format="PNG" if pixels is not None else "JPEG", quality=85)
        except Exception:  # readers of some formats raise whatever comes to hand; then it is no picture
            return None
        kind = "png" if pixels is not None else "jpeg"
        return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"

    def _path(self, value: object) -> Path | None:
        """Return where the picture lies that a value names, if it does and that is in the folder of the data."""
        path = image_path(value, self._root) if self._root is not None else None
        return path if path is not None and path.resolve().is_relative_to(self._root or path) else None


def _pixels(value: object) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None:
    """Return an array of numbers that can only be a picture as pixels of 256 levels; None for anything else."""
    if not isinstance(value, (list, np.ndarray)) or len(value) < _LEAST_SIDE:
        return None
    try:
        levels = np.nan_to_num(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        return None
    if levels.ndim == 3 and levels.shape[2] == 1:
        levels = levels[..., 0]
    coloured = levels.ndim == 3 and levels.shape[2] == 3
    if not (levels.ndim == 2 or coloured) or min(levels.shape[:2]) < _LEAST_SIDE:
        return None
    top = float(levels.max(initial=0.0))
    full = next((full for full in (1.0, 16.0, 255.0) if top <= full), top)
    return np.asarray(np.clip(levels / full, 0, 1) * 255).astype(np.uint8)


def _text(value: object) -> str:
    if isinstance(value, (bytes, bytearray, Mapping)) and (not isinstance(value, Mapping) or value.get("bytes")):
        return "[cannot be read]"
    plain = to_plain(value)
    text = "" if plain is None else plain if isinstance(plain, str) else str(plain)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (cut here)"
