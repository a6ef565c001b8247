"""Rows as oracles get them: without what they must not see, with paths that can be opened, and as JSON if need be."""

from __future__ import annotations

import base64
import io
import math
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePath
from typing import Any, TypeAlias

import numpy as np

from bela.errors import OracleError, ParameterError
from bela.protocols import Records

RecordOf: TypeAlias = Records | Callable[[int], Mapping[str, Any]]

_IMAGE_ENDINGS = frozenset({
    ".apng", ".avif", ".bmp", ".cur", ".dds", ".dib", ".emf", ".eps", ".fits", ".gif", ".heic", ".heif", ".icns",
    ".ico", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg", ".jpx", ".jxl", ".mpo", ".pbm", ".pcx", ".pfm", ".pgm",
    ".png", ".pnm", ".ppm", ".psd", ".qoi", ".rgb", ".sgi", ".svg", ".tga", ".tif", ".tiff", ".webp", ".wmf", ".xbm",
    ".xpm",
})  # fmt: skip
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"%PDF", "application/pdf"),
)


class Reader:
    """Give the record of a row, without hidden columns and with the paths of images made absolute.

    Parameters
    ----------
    records
        The data, or a function that gives the record of a row.
    hide
        Columns that the oracle must not see, such as the one that holds the labels.
    """

    def __init__(self, records: RecordOf, hide: Collection[str] = ()) -> None:
        # Not isinstance: that would look at every property, and so compute the fingerprint of all data.
        record = getattr(records, "record", records)
        if not callable(record):
            raise ParameterError("records must be the data, or a function that gives the record of a row")
        self._record: Callable[[int], Mapping[str, Any]] = record
        root = getattr(records, "root", None)
        self._root = None if root is None else Path(root).absolute()
        self._hidden = frozenset([hide] if isinstance(hide, str) else hide)

    def __call__(self, row: int) -> dict[str, Any]:
        record = self._record(row)
        if not isinstance(record, Mapping):
            raise OracleError(f"the record of row {row} must map columns to values, not be a {type(record).__name__}")
        return {name: self._found(value) for name, value in record.items() if name not in self._hidden}

    def _found(self, value: Any) -> Any:
        path = image_path(value, self._root)
        return value if path is None else str(path)


def image_path(value: Any, root: Path | None) -> Path | None:
    """Return the absolute path of an image, or None for a value that is not the path of an image that is there.

    A relative path is looked for under the root of the data, and nowhere else.
    """
    if not isinstance(value, (str, PurePath)) or len(str(value)) > 4096:
        return None
    path = Path(value)
    if path.suffix.lower() not in _IMAGE_ENDINGS or not (path.is_absolute() or root is not None):
        return None
    try:
        path = Path(os.path.normpath(path if root is None else root / path))
        return path if path.is_file() else None
    except (OSError, ValueError):  # a text that happens to end like a picture, but cannot be a path
        return None


def to_json(value: Any) -> Any:
    """Return a value as JSON can hold it: the same where it can, else the text that says the most.

    Bytes and pictures become `data:` addresses in base64, with the type of what they hold; dates become ISO 8601; NaN
    and the other ways to say that nothing is there become null; arrays become lists.

    Examples
    --------
    >>> import datetime
    >>> to_json({"n": np.int64(3), "when": datetime.date(2024, 2, 29), "nothing": float("nan"), "raw": b"abc"})
    {'n': 3, 'when': '2024-02-29', 'nothing': None, 'raw': 'data:application/octet-stream;base64,YWJj'}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if is_missing(value):
        return None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _as_address(bytes(value))
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return to_json(value.item() if isinstance(value, np.generic) else value.tolist())
    if isinstance(value, Mapping):
        return {str(name): to_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(inner) for inner in value]
    if isinstance(value, Collection):  # a set has no order, but the same set should give the same question
        return sorted((to_json(inner) for inner in value), key=repr)
    if type(value).__module__.startswith("PIL.") and hasattr(value, "save"):
        file = io.BytesIO()
        value.save(file, format="PNG")
        return _as_address(file.getvalue())
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(value)


def is_missing(value: Any) -> bool:
    """Whether a value stands for nothing: None, NaN, or what pandas and numpy have in their place."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def _as_address(content: bytes) -> str:
    kind = next((kind for start, kind in _SIGNATURES if content.startswith(start)), None)
    if kind is None:
        webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
        kind = "image/webp" if webp else "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
