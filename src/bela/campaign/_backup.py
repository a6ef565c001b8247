"""A campaign in one file: made while somebody answers, and put back whole or not at all.

It has the journals, as SQLite copies them at one moment, and all other files that cannot be made again, each with its
digest. What can be made again (the cache, exports) is not in it, nor are the data. An array is on disk before the event
that names it, so whatever the journal names is there when the arrays are copied after it.
"""

import hashlib
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bela.book import Revised, read_event
from bela.campaign._folder import place_of
from bela.campaign._settings import SETTINGS, Settings, read_settings, write_settings
from bela.data import is_address, is_dataset, is_elsewhere
from bela.errors import JournalError, ParameterError
from bela.storage import FolderStore, SQLiteJournal, check_no_links, most_unpacked, sync_file, sync_folder

_FORMAT = 1
_MANIFEST, _INSIDE = "manifest.json", "campaign/"
_LARGEST_MANIFEST = 64 << 20
_TRIES = 5  # as the data may be changing under the campaign, which gives it other files
_BLOCK = 1 << 20
_NAME = re.compile(r"(revisions/)?([\w-][\w.-]*/)*[\w-][\w.-]*", re.ASCII)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    size: Annotated[int, Field(ge=0)]
    sha256: str


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: int
    n_events: int
    digest: str  # of all events
    files: dict[str, _File]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """What was kept, or put back."""

    path: Path
    n_events: int
    n_files: int
    n_bytes: int
    data: str | None = None  # where the data should be, if they are not there


def back_up(path: Path, to: Path, *, overwrite: bool = False) -> Backup:
    """Write a campaign to one file, which is there whole or not at all; somebody may be answering meanwhile."""
    check_no_links(path)
    if to.is_dir() or (to.exists() and not overwrite):
        raise ParameterError(f"there is already something at {to}: choose another file, or overwrite it")
    if not to.absolute().parent.is_dir():
        raise ParameterError(f"there is no folder {to.parent} to write the backup to: make it first")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.absolute().parent) as name:
            folder = Path(name)
            settings = _copy(path, folder / "copy")
            n_events, digest = _check(folder / "copy", settings)
            files = dict(_digests(folder / "copy"))
            manifest = _Manifest(format=_FORMAT, n_events=n_events, digest=digest, files=files)
            with zipfile.ZipFile(folder / "new", "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr(_MANIFEST, manifest.model_dump_json())
                for file in files:
                    archive.write(folder / "copy" / file, _INSIDE + file)
            os.chmod(folder / "new", 0o600)  # it has everybody's answers
            sync_file(folder / "new")
            os.replace(folder / "new", to)
            sync_folder(to.absolute().parent)
    except OSError as error:
        raise JournalError(f"{path} cannot be backed up to {to}: {error.strerror or error}") from None
    return Backup(path=to, n_events=n_events, n_files=len(files), n_bytes=to.stat().st_size)


def restore(file: Path, path: Path, *, data: str | Path | None = None) -> Backup:
    """Put a campaign back from a file into a new folder, after everything in it was checked.

    `data` is where the data are by now, if not where they were as seen from the campaign.
    """
    if os.path.lexists(path):
        raise ParameterError(f"there is already something at {path}: choose another folder, or move it away")
    new = None
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent))
        manifest = _unpack(file, new)
        settings = read_settings(new / SETTINGS)
        if _check(new, settings) != (manifest.n_events, manifest.digest):
            raise JournalError(f"{file} is damaged: its journal is not the one that was backed up")
        if data is not None:
            named = is_dataset(data) or is_address(data)
            settings = settings.model_copy(update={"data": place_of(str(data) if named else Path(data), path)})
            write_settings(new / SETTINGS, settings)
        sync_folder(new)
        new.rename(path)
        sync_folder(path.absolute().parent)
    except OSError as error:
        raise JournalError(f"{file} cannot be put back to {path}: {error.strerror or error}") from None
    finally:
        if new is not None:
            shutil.rmtree(new, ignore_errors=True)
    place = os.path.normpath(path / settings.data)
    there = is_elsewhere(settings.data) or os.path.exists(place)
    n_bytes = sum(one.size for one in manifest.files.values())
    return Backup(
        path=path, n_events=manifest.n_events, n_files=len(manifest.files), n_bytes=n_bytes,
        data=None if there else place,
    )  # fmt: skip


def _copy(path: Path, to: Path) -> Settings:
    """Copy what is to be kept; once more where the campaign has got other files meanwhile."""
    for _ in range(_TRIES):
        settings = read_settings(path / SETTINGS)
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        for journal in sorted(path.glob("*.sqlite")):
            with closing(SQLiteJournal(journal, read_only=True)) as opened:
                opened.copy_to(to / journal.name)
        for name in _others(path):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path / name, to / name, follow_symlinks=False)
        if read_settings(path / SETTINGS) == settings == read_settings(to / SETTINGS):
            return settings
    raise JournalError(f"{path} is being changed all the time: try again later")


def _others(path: Path) -> Iterator[str]:
    """Yield the files that cannot be made again, besides the journals, which SQLite copies."""
    for place in sorted([*path.iterdir(), *(path / "revisions").rglob("*")]):
        name = place.relative_to(path).as_posix()
        beside = re.search(r"\.sqlite(-\w+)?$|\.part$", name) or name in ("lock", "open.html")
        if place.is_file() and not beside and _NAME.fullmatch(name):
            yield name


def _check(folder: Path, settings: Settings) -> tuple[int, str]:
    """Make sure that the journal, and what it names, is sound; return how many events it has, and their digest."""
    arrays = FolderStore(folder / "revisions" / Path(settings.journal).stem)
    with closing(SQLiteJournal(folder / settings.journal, read_only=True)) as journal:
        for entry in journal.events():
            event = read_event(entry.seq, entry.kind, entry.data)
            if isinstance(event, Revised):
                arrays.load(event.arrays)
        found = journal.n_events, journal.digest
    for left in folder.glob("*.sqlite-*"):  # of our own reading
        left.unlink()
    return found


def _digests(folder: Path) -> Iterator[tuple[str, _File]]:
    for place in sorted(folder.rglob("*")):
        if place.is_file():
            with place.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            yield place.relative_to(folder).as_posix(), _File(size=place.stat().st_size, sha256=digest)


def _unpack(file: Path, to: Path) -> _Manifest:
    """Unpack a backup into a folder, if all of it is as its manifest says."""
    damaged = f"{file} is not a backup of a campaign, or is damaged"
    try:
        with zipfile.ZipFile(file) as archive:
            if archive.getinfo(_MANIFEST).file_size > _LARGEST_MANIFEST:
                raise JournalError(f"{damaged}: its manifest is too large")
            manifest = _Manifest.model_validate_json(archive.read(_MANIFEST))
            if manifest.format != _FORMAT:
                raise JournalError(f"{file} has format {manifest.format}, this bela knows {_FORMAT}: upgrade bela")
            if {*archive.namelist()} != {_MANIFEST, *(_INSIDE + name for name in manifest.files)}:
                raise JournalError(f"{damaged}: it holds other files than it says")
            if sum(one.size for one in manifest.files.values()) > most_unpacked(file.stat().st_size):
                raise JournalError(f"{damaged}: it unpacks to far too much")
            for name, about in manifest.files.items():
                if not _NAME.fullmatch(name) or ".." in PurePosixPath(name).parts:
                    raise JournalError(f"{damaged}: {name!r} is no file of a campaign")
                _unpack_file(archive, name, about, to / name, damaged)
    except (zipfile.BadZipFile, KeyError, ValueError, ValidationError, EOFError, NotImplementedError) as error:
        raise JournalError(f"{damaged}: {' '.join(str(error).split())[:200]}") from None
    except FileNotFoundError:
        raise JournalError(f"there is no backup {file}") from None
    return manifest


def _unpack_file(archive: zipfile.ZipFile, name: str, about: _File, to: Path, damaged: str) -> None:
    digest, n_bytes = hashlib.sha256(), 0
    to.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(_INSIDE + name) as packed, to.open("xb") as out:
        while n_bytes <= about.size and (block := packed.read(_BLOCK)):
            n_bytes += len(block)
            digest.update(block)
            out.write(block)
        sync_file(out)
    if (n_bytes, digest.hexdigest()) != (about.size, about.sha256):
        raise JournalError(f"{damaged}: {name} is not what was backed up")
