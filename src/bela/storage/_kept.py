"""What took long to make and may be thrown away at any time: folders that are there whole, or not at all."""

import json
import secrets
import shutil
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from bela.records import Json
from bela.storage._atomic import lock_file, sync_file, sync_folder, write_durably

HEADER = "header.json"
_BLOCK = 1 << 22
_LARGE = 1 << 30  # bytes: of larger files, only blocks spread over them are compared


def find_kept(cache: Path, name: str, key: str) -> tuple[Path, dict[str, Json]] | None:
    """Return the folder that is kept under a name for a key, and what was said about it.

    None where there is none, or one for another key, or one in which anything was damaged.
    """
    folder = cache / f"{name}-{key[:16]}"
    header = read_checked(folder / HEADER) or {}
    files, about = header.get("files"), header.get("about")
    if header.get("key") != key or not isinstance(files, dict) or not isinstance(about, dict):
        return None
    with suppress(OSError):
        if all(_checksum(folder / file) == check for file, check in files.items()):
            return folder, about
    return None


def keep(cache: Path, name: str, key: str, build: Callable[[Path], Mapping[str, Json]]) -> tuple[Path, dict[str, Json]]:
    """Have files made in a new folder, and keep it under a name in place of what was kept there; one at a time.

    `key` says what they are made from; `build` writes them, and returns what is to be said about them.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with lock_file(cache / f"{name}.lock"):
        found = find_kept(cache, name, key)  # somebody else may have been at it
        if found is not None:
            return found
        for left_over in cache.glob(f".{name}-*"):  # of a process that was killed: nobody else writes now
            shutil.rmtree(left_over, ignore_errors=True)
        folder, final = cache / f".{name}-{secrets.token_hex(8)}", cache / f"{name}-{key[:16]}"
        try:
            folder.mkdir()
            about = dict(build(folder))
            written = sorted(folder.iterdir())
            for file in written:
                sync_file(file)
            files: dict[str, Json] = {file.name: _checksum(file) for file in written}
            write_checked(folder / HEADER, {"key": key, "files": files, "about": about})
            shutil.rmtree(final, ignore_errors=True)  # damaged, or it would have been found
            folder.replace(final)
            sync_folder(cache)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for outdated in {*cache.glob(f"{name}-*")} - {final}:
            shutil.rmtree(outdated, ignore_errors=True)
    return final, about


def write_checked(path: Path, content: Mapping[str, Json], *, mode: int = 0o666) -> None:
    """Write an object with its checksum, so that damage is noticed."""
    text = json.dumps(content)
    write_durably(path, f"{zlib.crc32(text.encode()):08x}\n{text}".encode(), mode=mode)


def read_checked(path: Path) -> dict[str, Json] | None:
    """Return an object that was written with its checksum, None if it is not there or damaged."""
    try:
        check, _, text = path.read_text(encoding="utf-8").partition("\n")
        found = json.loads(text) if check == f"{zlib.crc32(text.encode()):08x}" else None
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _checksum(path: Path) -> list[Json]:
    """Return the size of a file, and a checksum of it: of all if it is not too large."""
    size = path.stat().st_size
    step = _BLOCK if size <= _LARGE else size // (_LARGE // _BLOCK)
    check = 0
    with path.open("rb") as file:
        for place in range(0, size, step):
            file.seek(place)
            check = zlib.crc32(file.read(_BLOCK), check)
    return [size, check]
