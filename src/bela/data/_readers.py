"""What is at a path, and what reads it, chosen by its ending."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from bela._registry import Registry
from bela.data._datasets import DATASETS
from bela.data._files import PACKED, DataFile, TextFile, is_inside, look_at, readable
from bela.data._images import image_endings
from bela.errors import DataError, ParameterError
from bela.records import AnyArray, Json

_NOTHING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(slots=True, kw_only=True)
class OpenFile:
    """A file that is being read.

    A reader may say in `notices` what it made of the file where there was a choice, and in `done` which share of it is
    read. `content` is the text of the file, for readers of text.
    """

    file: DataFile
    content: TextFile | None = None
    notices: list[str] = field(default_factory=list)
    done: float = 0.0

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def n_read(self) -> int:
        """How many bytes of the file are read."""
        return int(self.done * self.file.size) if self.content is None else self.content.position

    @property
    def text(self) -> TextFile:
        """The file as text."""
        if self.content is None:
            raise DataError(f"{self.path} is no text: whoever reads it must not ask for any")
        return self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How files of one kind become rows.

    `read` goes through a file and yields blocks of some megabytes, or `arrays` returns arrays of equal length by their
    names, that with the features first. Their errors are `DataError`.
    """

    endings: tuple[str, ...]
    """The endings of their names, such as ".csv"."""
    read: Callable[[OpenFile], Iterator[pa.RecordBatch]] | None = None
    arrays: Callable[[Path], Mapping[str, AnyArray]] | None = None
    is_text: bool = False
    """Whether the files are text, which may be compressed, in an encoding that somebody may have to name."""
    newline: str = ""
    """Of text: "" to have every kind of line end as it is, "\\n" to split at this one only."""
    typed: bool = True
    """Whether values have types; otherwise all are texts, and numbers are told by looking."""
    loose: bool = False
    """Whether rows may lack columns, and have values of other types in them than the rows before."""
    parts: bool = False
    """Whether a folder of such files is one table."""


READERS: Registry[Reader] = Registry("reader", "bela.readers", package="bela.data.readers")
"""The readers by name. One that comes with BELA is a module in `bela.data.readers` that adds itself here."""


def readers_by_ending() -> dict[str, str]:
    """Return the name of the reader for each ending; readers of other packages that do not load are left out."""
    found: dict[str, str] = {}
    for name in READERS:
        with suppress(ParameterError):
            for ending in READERS[name].endings:
                found.setdefault(ending, name)
    return found


def kind_of(path: str | Path) -> str | None:
    """Return the name of the reader for a file by its ending, None if there is none.

    >>> [kind_of(name) for name in ("pets.CSV", "pets.jsonl.gz", "pets.npy.gz", "pets.docx")]
    ['csv', 'jsonl', None, None]
    """
    return _kind_by(readers_by_ending(), path)


def _kind_by(endings: Mapping[str, str], path: str | Path) -> str | None:
    stem, ending = os.path.splitext(path)
    if ending.lower() in PACKED:
        kind = endings.get(os.path.splitext(stem)[1].lower())
        return kind if kind is not None and READERS[kind].is_text else None
    return endings.get(ending.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What was found at a path: of which kind, in which files, in their order."""

    kind: str
    files: tuple[DataFile, ...]
    root: Path
    is_folder: bool = True

    def fingerprint(self, digests: list[str]) -> str:
        """Return one digest from those of the files: what `sha256sum` prints for one, for a folder of its listing."""
        if not self.is_folder:
            return digests[0]
        listing = (f"{digest}  {file.name}\n" for file, digest in zip(self.files, digests, strict=True))
        return hashlib.sha256("".join(listing).encode("utf-8", "surrogateescape")).hexdigest()


def look_into(path: Path) -> Contents:
    """Find out what data are at a path: a file, images, parts of one table, or what Hugging Face saved."""
    with readable(path):  # its name may be too long to be one
        if path.is_dir():
            return _look_into_folder(path)
        if not path.exists():
            hint = f", and no dataset of that name: {', '.join(DATASETS)}" if path.name == str(path) else ""
            raise DataError(f"there is no file or folder {path}{hint}")
    kind = kind_of(path)
    if kind is None:
        raise DataError(f"{path} ends in none of {', '.join(readers_by_ending())}: convert it to one of them")
    return Contents(kind=kind, files=(look_at(path, path.name),), root=path.parent, is_folder=False)


def partition_values(name: str) -> dict[str, str | None]:
    """Return the values that the folders of a file state for all its rows, as Hive and Spark name them.

    >>> partition_values("year=2024/kind=a%20b/part-0.parquet")
    {'year': '2024', 'kind': 'a b'}
    """
    pairs = (part.partition("=") for part in name.split("/")[:-1])
    return {unquote(key): None if value == _NOTHING else unquote(value) for key, mark, value in pairs if key and mark}


def _look_into_folder(path: Path) -> Contents:
    if (path / "dataset_dict.json").is_file():
        return _look_into_splits(path)
    if (path / "state.json").is_file() and (path / "dataset_info.json").is_file():
        return _look_into_saved(path)
    names, endings, readers = sorted(_walk(path)), image_endings(), readers_by_ending()
    images = [name for name in names if os.path.splitext(name)[1].lower() in endings]
    # Spark and its kin keep notes in files and folders whose names begin with an underscore.
    visible = [name for name in names if not any(part.startswith("_") for part in name.split("/"))]
    tables = {name: kind for name in visible if (kind := _kind_by(readers, name)) is not None and READERS[kind].parts}
    if images and len(images) >= len(tables):
        return _contents("images", path, images)
    if "txt" in tables.values() and len(set(tables.values())) > 1:  # a licence, or how the data were made
        tables = {name: kind for name, kind in tables.items() if kind != "txt"}
    kinds = sorted(set(tables.values()))
    if len(kinds) > 1:
        raise DataError(f"{path} holds files of several kinds ({', '.join(kinds)}): name one of them, or keep one kind")
    if not kinds:
        known = ", ".join(name for name in READERS if READERS[name].parts)
        found = f"{path} has no images in it, and no files of one table ({known})"
        raise DataError(f"{found}: name a file or another folder")
    return _contents(kinds[0], path, list(tables))


def _contents(kind: str, root: Path, names: list[str]) -> Contents:
    paths = [root / name for name in names]
    for path in paths:
        if path.is_symlink() and not is_inside(root, path):
            what = "is a link to somewhere outside of the folder, which is not followed"
            raise DataError(f"{path} {what}: name the file itself, or copy it there")
    return Contents(kind=kind, files=tuple(map(look_at, paths, names)), root=root)


def _walk(path: Path) -> Iterator[str]:
    """Go through the files below a folder, but for hidden ones (macOS leaves such behind) and campaigns."""

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename} cannot be read: {error.strerror or error}")

    for folder, folders, names in os.walk(path, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith((".", "__MACOSX")) and not name.endswith(".bela")]
        prefix = "" if Path(folder) == path else f"{Path(folder).relative_to(path).as_posix()}/"
        yield from (prefix + name for name in names if not name.startswith("."))


def _look_into_splits(path: Path) -> Contents:
    splits = _read_json(path / "dataset_dict.json").get("splits")
    if isinstance(splits, list) and len(splits) == 1:
        return _look_into_folder(path / str(splits[0]))
    found = ", ".join(map(str, splits)) if isinstance(splits, list) else "none"
    raise DataError(f"{path} holds several splits ({found}): name the folder of one, such as {path / 'train'}")


def _look_into_saved(path: Path) -> Contents:
    match _read_json(path / "state.json"):
        case {"_data_files": [_, *_] as parts}:
            names = [part.get("filename") if isinstance(part, dict) else None for part in parts]
            if all(isinstance(name, str) and Path(name).name == name for name in names):
                return _contents("arrow", path, [str(name) for name in names])
    raise DataError(f"{path / 'state.json'} does not name the files of the dataset: save it again")


def _read_json(path: Path) -> dict[str, Json]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read, it may be cut short: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no object: it may be damaged")
    return content
