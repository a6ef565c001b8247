"""What lies in a folder: images, parts of one table, or a dataset that Hugging Face saved."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bela.errors import DataError
from bela.sources._files import DataFile, look_at
from bela.sources._text import PACKED

KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}
"""What a file is, by its ending."""

_PARTS = ("parquet", "arrow", "csv", "tsv", "jsonl")  # kinds of which a folder may hold the parts of one table
_TEXTS = ("csv", "tsv", "jsonl", "json")
_NO_PICTURES = {"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"}  # Pillow knows these but needs other programs for them
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What was found at a path: of which kind, in which files, in their order."""

    kind: str
    files: tuple[DataFile, ...]
    root: Path
    is_folder: bool


def kind_of(path: str | Path) -> str | None:
    """Return what a file is by its name, None if that says nothing.

    Examples
    --------
    >>> [kind_of(name) for name in ("pets.CSV", "pets.jsonl.gz", "pets.npy.gz", "pets.docx")]
    ['csv', 'jsonl', None, None]
    """
    stem, ending = os.path.splitext(path)
    if ending.lower() in PACKED:
        kind = KINDS.get(os.path.splitext(stem)[1].lower())
        return kind if kind in _TEXTS else None
    return KINDS.get(ending.lower())


def look_into(path: Path) -> Contents:
    """Find out what data are at a path."""
    try:
        if path.is_dir():
            return _look_into_folder(path)
        if not path.exists():
            raise DataError(f"there is no file or folder {path}")
    except OSError as error:  # such as a name that is too long to be one
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    kind = kind_of(path)
    if kind is None:
        raise DataError(f"{path} ends in none of {', '.join(KINDS)}: convert it to one of them")
    return Contents(kind=kind, files=(look_at(path, path.name),), root=path.parent, is_folder=False)


def partition_values(name: str) -> dict[str, str | None]:
    """Return the values that the folders of a file state for all its rows, as Hive and Spark name them.

    Examples
    --------
    >>> partition_values("year=2024/kind=a%20b/part-0.parquet")
    {'year': '2024', 'kind': 'a b'}
    """
    found: dict[str, str | None] = {}
    for part in name.split("/")[:-1]:
        key, mark, value = part.partition("=")
        if key and mark:
            found[unquote(key)] = None if value == _NOTHING else unquote(value)
    return found


def image_endings() -> frozenset[str]:
    """Return the endings of images that can be read."""
    from PIL import Image

    Image.init()
    known = Image.registered_extensions().items()
    return frozenset(ending for ending, form in known if form in Image.OPEN and form not in _NO_PICTURES)


def _look_into_folder(path: Path) -> Contents:
    if (path / "dataset_dict.json").is_file():
        return _look_into_splits(path)
    if (path / "state.json").is_file() and (path / "dataset_info.json").is_file():
        return _look_into_saved(path)
    names = sorted(_walk(path))
    endings = image_endings()
    images = [name for name in names if os.path.splitext(name)[1].lower() in endings]
    # Spark and its kin keep notes in files and folders whose names begin with an underscore.
    visible = [name for name in names if not any(part.startswith("_") for part in name.split("/"))]
    tables = {name: kind for name in visible if (kind := kind_of(name)) in _PARTS}
    if images and len(images) >= len(tables):
        files = tuple(look_at(path / name, name) for name in images)
        return Contents(kind="images", files=files, root=path, is_folder=True)
    kinds = sorted({str(kind) for kind in tables.values()})
    if len(kinds) > 1:
        raise DataError(f"{path} holds files of several kinds ({', '.join(kinds)}): name one of them, or keep one kind")
    if not kinds:
        raise DataError(
            f"{path} has no images in it, and no files of one table ({', '.join(_PARTS)}): name a file or another "
            f"folder"
        )
    files = tuple(look_at(path / name, name) for name in tables)
    return Contents(kind=kinds[0], files=files, root=path, is_folder=True)


def _walk(path: Path) -> Iterator[str]:
    """Go through the files below a folder, but for hidden ones (macOS leaves such behind) and campaigns."""
    for folder, folders, names in os.walk(path, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith((".", "__MACOSX")) and not name.endswith(".bela")]
        prefix = "" if Path(folder) == path else f"{Path(folder).relative_to(path).as_posix()}/"
        yield from (prefix + name for name in names if not name.startswith("."))


def _refuse(error: OSError) -> None:
    raise DataError(f"{error.filename} cannot be read: {error.strerror or error}")


def _look_into_splits(path: Path) -> Contents:
    splits = _read_json(path / "dataset_dict.json").get("splits")
    if not isinstance(splits, list) or len(splits) != 1:
        found = ", ".join(map(str, splits)) if isinstance(splits, list) else "none"
        raise DataError(f"{path} holds several splits ({found}): name the folder of one, such as {path / 'train'}")
    return _look_into_folder(path / str(splits[0]))


def _look_into_saved(path: Path) -> Contents:
    state = _read_json(path / "state.json")
    try:
        parts: Any = state["_data_files"]
        names = [str(part["filename"]) for part in parts]
        if not names or any(Path(name).name != name for name in names):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path / 'state.json'} does not name the files of the dataset: save it again") from None
    files = tuple(look_at(path / name, name) for name in names)
    return Contents(kind="arrow", files=files, root=path, is_folder=True)


def _read_json(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read, it may be cut short: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no object: it may be damaged")
    return content
