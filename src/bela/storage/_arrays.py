"""Arrays that belong to a campaign, such as those of its revisions: never lost, and never trusted when damaged."""

import hashlib
import io
import re
import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bela.errors import JournalError, ParameterError
from bela.records import AnyArray
from bela.storage._atomic import write_durably
from bela.storage._mapped import bytes_of, check_plain, is_large, is_mapped, load_mapped, map_pieces
from bela.storage._unpacked import most_unpacked

_DIGEST = 32
_FASTEST = 1  # a revision of 60,000 rows takes 15 ms, and 87 ms with the default level to save 2 % more
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class FolderStore:
    """Keeps arrays in a folder, made for the first of them: one file a name, with a digest of its content.

    Small ones are packed. Large ones lie there as they are, and are mapped: what is not looked at takes no memory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __contains__(self, name: str) -> bool:
        return self._path(name).is_file()

    def load(self, name: str) -> list[AnyArray]:
        """Return the arrays kept under a name; a JournalError where they are missing or damaged."""
        path = self._path(name)
        try:
            arrays = load_mapped(path) if is_mapped(path) else _unpack(path.read_bytes())
        except FileNotFoundError:
            raise JournalError(f"there is no {path}: restore the file from a copy") from None
        except OSError as error:
            raise JournalError(f"{path} cannot be read: {error.strerror or error}") from None
        if arrays is None:
            raise JournalError(f"{path} is damaged: restore the file from a copy")
        return arrays

    def save(self, name: str, arrays: Sequence[AnyArray]) -> None:
        """Keep arrays under a name; they are on disk when this returns."""
        path = self._path(name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_durably(path, map_pieces(arrays) if is_large(arrays) else _pack(arrays))
        except OSError as error:
            raise JournalError(f"{path} cannot be written: {error.strerror or error}") from None

    def _path(self, name: str) -> Path:
        return self.folder / f"{_checked(name)}.arrays"


class MemoryArrays:
    """Keeps arrays as long as the process lasts; large ones in a temporary folder, as in a `FolderStore`.

    >>> store = MemoryArrays()
    >>> store.save("first", [np.arange(3)])
    >>> store.load("first")
    [array([0, 1, 2])]
    """

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}  # so that nobody who changes an array changes what was kept
        self._large: FolderStore | None = None

    def __contains__(self, name: str) -> bool:
        return _checked(name) in self._packed or (self._large is not None and name in self._large)

    def load(self, name: str) -> list[AnyArray]:
        """Return the arrays kept under a name."""
        if _checked(name) not in self._packed and self._large is not None and name in self._large:
            return self._large.load(name)
        arrays = _unpack(self._packed.get(name, b""))
        if arrays is None:
            raise JournalError(f"there are no arrays {name!r}")
        return arrays

    def save(self, name: str, arrays: Sequence[AnyArray]) -> None:
        """Keep arrays under a name."""
        if not is_large(arrays):
            self._packed[_checked(name)] = _pack(arrays)
            return
        if self._large is None:
            self._large = FolderStore(Path(tempfile.mkdtemp(prefix="bela-")))
            weakref.finalize(self, shutil.rmtree, self._large.folder, ignore_errors=True)
        self._large.save(name, arrays)
        self._packed.pop(name, None)


def digest_arrays(arrays: Sequence[AnyArray]) -> str:
    """Return a digest of the content of some arrays.

    >>> digest_arrays([np.arange(3)]) == digest_arrays([np.arange(3)]) != digest_arrays([np.arange(4)])
    True
    """
    result = hashlib.blake2b(digest_size=12)
    for array in arrays:
        result.update(f"{array.dtype.str}{array.shape}".encode())
        result.update(bytes_of(array))
    return result.hexdigest()


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ParameterError(f"arrays are named with letters, digits, '.', '_' and '-', not {name!r}")
    return name


def _pack(arrays: Sequence[AnyArray]) -> bytes:
    check_plain(arrays)
    buffer = io.BytesIO()
    np.savez(buffer, *arrays)
    content = zlib.compress(buffer.getvalue(), _FASTEST)
    return hashlib.sha256(content).digest() + content


def _unpack(content: bytes) -> list[AnyArray] | None:
    """Return arrays as they were packed, or None if that is not what was packed."""
    if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
        return None
    try:
        unpacking = zlib.decompressobj()
        unpacked = unpacking.decompress(content[_DIGEST:], most_unpacked(len(content)))
        if not unpacking.eof:  # cut short, or far more than it should be
            return None
        with np.load(io.BytesIO(unpacked), allow_pickle=False) as archive:
            return [archive[f"arr_{i}"] for i in range(len(archive.files))]
    except (ValueError, KeyError, OSError, EOFError, MemoryError, zlib.error, zipfile.BadZipFile):
        return None
