"""Read and write IDX files, the format in which MNIST and its successors are kept."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError

_UNSIGNED_BYTE = 0x08


def read_idx(path: Path, *, n_dimensions: int, sha256: str | None = None) -> npt.NDArray[np.uint8]:
    """Return the bytes of an IDX file, plain or compressed with gzip, in their dimensions.

    Parameters
    ----------
    path
        The file.
    n_dimensions
        How many dimensions it must have: 1 for labels, 3 for images.
    sha256
        What the uncompressed content must hash to, None to take any.
    """
    content = _content(path)
    if len(content) < 4:
        raise DataError(f"{path} is cut short: it has {len(content)} bytes, fewer than an IDX file's first four")
    zero, kind, n_found = struct.unpack(">HBB", content[:4])
    if zero != 0 or kind != _UNSIGNED_BYTE:
        raise DataError(f"{path} is no IDX file of bytes: it begins with 0x{content[:4].hex()}, not with 0x000008")
    if n_found != n_dimensions:
        raise DataError(f"{path} has {n_found} dimension(s) where {n_dimensions} are needed")
    start = 4 + 4 * n_dimensions
    if len(content) < start:
        raise DataError(f"{path} is cut short within its dimensions: fetch it again")
    shape = struct.unpack(f">{n_dimensions}I", content[4:start])
    found, needed = len(content) - start, math.prod(shape)
    if found != needed:
        trouble = "is cut short" if found < needed else "is longer than it says"
        raise DataError(f"{path} {trouble}: it holds {found} bytes of data where its header says {needed}")
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{path} is not the file it should be (its SHA-256 is another): fetch it again")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def write_idx(path: Path, array: npt.NDArray[Any]) -> None:
    """Write whole numbers from 0 to 255 as a compressed IDX file, all of it or nothing."""
    head = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTE, array.ndim, *array.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes(), compresslevel=6, mtime=0))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _content(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is cut short or damaged ({error}): fetch it again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
