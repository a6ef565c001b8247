"""Rows as oracles get them: without what they must not see, and with paths that can be opened."""

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePath
from typing import TypeAlias

from bela.errors import OracleError, ParameterError
from bela.protocols import Table

Record: TypeAlias = dict[str, object]
RecordOf: TypeAlias = Table | Callable[[int], Mapping[str, object]]

_IMAGE_ENDINGS = {
    ".apng", ".avif", ".bmp", ".cur", ".dds", ".dib", ".emf", ".eps", ".fits", ".gif", ".heic", ".heif", ".icns",
    ".ico", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg", ".jpx", ".jxl", ".mpo", ".pbm", ".pcx", ".pfm", ".pgm",
    ".png", ".pnm", ".ppm", ".psd", ".qoi", ".rgb", ".sgi", ".svg", ".tga", ".tif", ".tiff", ".webp", ".wmf", ".xbm",
    ".xpm",
}  # fmt: skip


class RecordReader:
    """Give the record of a row, without what the oracle must not see and with the paths of images made absolute.

    `records` are the data, or a function that gives the record of a row.
    """

    def __init__(self, records: RecordOf, hide: Collection[str] = ()) -> None:
        # Not isinstance: that would look at every property, and so compute the fingerprint of all data.
        record = getattr(records, "record", records)
        if not callable(record):
            raise ParameterError("records must be the data, or a function that gives the record of a row")
        self._record: Callable[[int], Mapping[str, object]] = record
        root = getattr(records, "root", None)
        self._root = None if root is None else Path(root).absolute()
        self._hidden = frozenset([hide] if isinstance(hide, str) else hide)

    def __call__(self, row: int) -> Record:
        record = self._record(row)
        if not isinstance(record, Mapping):
            raise OracleError(f"the record of row {row} must map columns to values, not be a {type(record).__name__}")
        return {name: self._found(value) for name, value in record.items() if name not in self._hidden}

    def _found(self, value: object) -> object:
        path = image_path(value, self._root)
        return value if path is None else str(path)


def image_path(value: object, root: Path | None) -> Path | None:
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
