"""Arrays of so many rows that they are better kept in a file that is mapped than in memory."""

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bela.errors import ParameterError
from bela.records import AnyArray

LARGE = 8 << 20  # bytes
_MAGIC, _HEADER, _ALIGN, _DIGEST, _BLOCK = b"BELA mapped 1\n\0\0", 8, 64, 32, 1 << 22


def empty_array(shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
    """Return an array to be filled: in memory, or if it is large, in a file without a name that goes when it goes.

    Where the disk is full, a large one is in memory as well.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if size > LARGE:
        with suppress(OSError), tempfile.TemporaryFile(prefix="bela-") as file:
            if hasattr(os, "posix_fallocate"):  # a page that finds no room when it is written ends the process
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, kind, "w+", shape=shape)
    return np.empty(shape, kind)


def check_plain(arrays: Sequence[AnyArray]) -> None:
    """Refuse arrays that cannot be kept."""
    if any(array.dtype.hasobject for array in arrays):
        raise ParameterError("arrays of Python objects cannot be kept: make them arrays of numbers or of strings")


def is_large(arrays: Sequence[AnyArray]) -> bool:
    """Whether arrays are better mapped than packed."""
    return sum(array.nbytes for array in arrays) > LARGE


def bytes_of(array: AnyArray) -> memoryview | bytes:
    """Return the content of an array, without a copy where that can be."""
    if not array.flags.c_contiguous or not array.nbytes:
        return array.tobytes()
    return np.asarray(array).reshape(-1).view(np.uint8).data


def map_pieces(arrays: Sequence[AnyArray]) -> Iterator[bytes | memoryview]:
    """Yield the pieces of a file: what the arrays are, each of them as it is, and a digest of all that."""
    check_plain(arrays)
    digest = hashlib.sha256()
    for piece in _pieces(arrays):
        digest.update(piece)
        yield piece
    yield digest.digest()


def _pieces(arrays: Sequence[AnyArray]) -> Iterator[bytes | memoryview]:
    about = json.dumps([[array.dtype.str, list(array.shape)] for array in arrays]).encode()
    head = _MAGIC + len(about).to_bytes(_HEADER, "little") + about
    yield head + bytes(-len(head) % _ALIGN)
    for array in arrays:
        content = bytes_of(array)
        for start in range(0, len(content), _BLOCK):
            yield content[start : start + _BLOCK]
        yield bytes(-len(content) % _ALIGN)


def is_mapped(path: Path) -> bool:
    """Whether a file was written in this way."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def load_mapped(path: Path) -> list[AnyArray] | None:
    """Map the arrays of a file; None if it is damaged. Whoever changes them does not change the file."""
    content = np.memmap(path, np.uint8, "c")
    digest, end = hashlib.sha256(), len(content) - _DIGEST
    for start in range(0, end, _BLOCK):
        digest.update(bytes_of(content[start : min(start + _BLOCK, end)]))
    if digest.digest() != content[max(end, 0) :].tobytes():
        return None
    start = len(_MAGIC) + _HEADER
    place = start + int.from_bytes(content[len(_MAGIC) : start].tobytes(), "little")
    arrays: list[AnyArray] = []
    try:
        for kind, shape in json.loads(content[start:place].tobytes()):
            place += -place % _ALIGN
            size = math.prod(shape) * np.dtype(kind).itemsize
            arrays.append(content[place : place + size].view(kind).reshape(shape))
            place += size
    except (TypeError, ValueError, OverflowError):
        return None
    return arrays
