"""Any value as JSON can hold it."""

import base64
import datetime
import decimal
import io
import math
from collections.abc import Collection, Mapping

import numpy as np

from bela.errors import DataError
from bela.labels import is_missing
from bela.records import Json

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"BM": "image/bmp",
    b"II*\0": "image/tiff", b"MM\0*": "image/tiff", b"%PDF": "application/pdf",
}  # fmt: skip


def to_plain(value: object, *, exact: bool = False) -> Json:
    """Return a value as JSON can hold it: the same where it can, else the text that says the most.

    Bytes and pictures become `data:` addresses in base64, with the type of what they hold; dates become ISO 8601; NaN
    and the other ways to say that nothing is there become null; arrays become lists. What is read again as data is
    `exact`: bytes are base64 and nothing else, a length of time is its seconds, an infinite number is an OverflowError,
    and what has no form in JSON a DataError.

    >>> to_plain({"n": np.int64(3), "when": datetime.date(2024, 2, 29), "nothing": float("nan"), "raw": b"abc"})
    {'n': 3, 'when': '2024-02-29', 'nothing': None, 'raw': 'data:application/octet-stream;base64,YWJj'}
    >>> to_plain([b"abc", datetime.timedelta(minutes=1)], exact=True)
    ['YWJj', 60.0]
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        return float(value)
    if is_missing(value):
        return None
    if isinstance(value, (bytes, bytearray, memoryview)):
        text = base64.b64encode(value).decode("ascii")
        return text if exact else f"data:{_media_type(bytes(value))};base64,{text}"
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return to_plain(value.tolist(), exact=exact)
    if isinstance(value, Mapping):
        return {str(name): to_plain(inner, exact=exact) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(inner, exact=exact) for inner in value]
    if isinstance(value, Collection):  # a set has no order, but the same set should look the same
        return sorted((to_plain(inner, exact=exact) for inner in value), key=repr)
    return _text(value, exact)


def _text(value: object, exact: bool) -> Json:
    if isinstance(value, datetime.timedelta):
        return value.total_seconds() if exact else str(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if type(value).__module__.startswith("PIL."):
        from PIL.Image import Image

        if isinstance(value, Image):
            file = io.BytesIO()
            value.save(file, format="PNG")
            return to_plain(file.getvalue(), exact=exact)
    if exact and isinstance(value, float):
        raise OverflowError("JSON has no infinite numbers")
    if exact and not isinstance(value, decimal.Decimal):
        raise DataError(f"a value of type {type(value).__name__} cannot be written as text: export to Parquet instead")
    return str(value)


def _media_type(content: bytes) -> str:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES.items() if content.startswith(start)), "application/octet-stream")
