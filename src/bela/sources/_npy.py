"""NumPy's own files, memory-mapped: `.npy` with one array, `.npz` with several."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError

_LOCAL_HEADER = struct.Struct("<4s22xHH")  # of a file in a ZIP archive: signature, lengths of its name and extras


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Return the array in a file, where it lies on disk."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except Exception as error:  # of a damaged header NumPy raises whatever Python's parser raises
        try:  # an array without values cannot be mapped
            array = np.load(path, allow_pickle=False)
        except Exception:
            raise DataError(f"{path} cannot be read as an array, it may be cut short: {_say(error)}") from None
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path} holds several arrays where one is needed: give it the ending .npz")
    return array


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays in a file: where they lie on disk, or in memory if they are compressed."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            return {
                member.filename.removesuffix(".npy"): _read_member(path, archive, file, member)
                for member in archive.infolist()
            }
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except Exception as error:
        raise DataError(f"{path} cannot be read as arrays, it may be cut short: {_say(error)}") from None


def main_array(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> str | None:
    """Return the name of the array that holds the features: X, or the only one that has rows and columns.

    None where all arrays are plain columns.
    """
    tables = [name for name, array in arrays.items() if array.ndim >= 2]
    if "X" in arrays:
        return "X"
    if len(tables) > 1:
        raise DataError(
            f"{path} must have its features in an array named X, as {len(tables)} of its arrays could be them: "
            f"{', '.join(tables)}"
        )
    return tables[0] if tables else None


def _read_member(path: Path, archive: zipfile.ZipFile, file: Any, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    if member.compress_type != zipfile.ZIP_STORED or member.file_size == 0:
        with archive.open(member) as content:
            return np.asarray(np.lib.format.read_array(content, allow_pickle=False))
    file.seek(member.header_offset)
    signature, n_name, n_extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise ValueError(f"{member.filename} is not where the archive says")
    file.seek(member.header_offset + _LOCAL_HEADER.size + n_name + n_extra)
    start = file.tell()
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError(f"{member.filename} holds Python objects")
    if 0 in shape or shape == ():
        with archive.open(member) as content:
            return np.asarray(np.lib.format.read_array(content, allow_pickle=False))
    offset = file.tell()
    if offset - start + dtype.itemsize * int(np.prod(shape)) != member.file_size:
        raise ValueError(f"{member.filename} is not as long as it says")
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order="F" if is_fortran else "C")


def _say(error: Exception) -> str:
    if "pickle" in str(error) or "Object arrays" in str(error):
        return "it holds Python objects, which are not read for safety; save numbers or texts"
    return " ".join(str(error).split())[:200] or type(error).__name__
