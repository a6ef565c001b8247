"""Features on disk: plain .npy files that are memory-mapped, and a header that says what they are made from.

A folder of features is complete or absent: it is written under another name and renamed when everything is on disk.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bela.features._components import Floats
from bela.features._scaling import Prepared
from bela.records import Matrix

HEADER = "header.json"
HEADER_BYTES = 128  # room for the largest shape, so that it can be filled in at the end
PAGE = 4096
PAGES = 16  # of each file are compared with their checksum on opening
BLOCK = 1 << 22


class NpyWriter:
    """Writes an array to a .npy file block by block, without knowing how long it will be.

    Ordinary writes rather than a memory map: mapped pages would count as this process's memory.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.path, self.dtype = path, np.dtype(dtype)
        self._file: IO[bytes] = path.open("wb")
        self._file.write(bytes(HEADER_BYTES))
        self._rest: tuple[int, ...] = ()
        self._n_rows = 0

    def append(self, block: npt.NDArray[Any]) -> None:
        """Write further rows."""
        self._rest = block.shape[1:]
        self._n_rows += len(block)
        self._file.write(np.ascontiguousarray(block, self.dtype).data.cast("B") if block.size else b"")

    def close(self) -> None:
        """Fill in the header and see to it that all is on disk."""
        shape = (self._n_rows, *self._rest)
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
        text = text.ljust(HEADER_BYTES - 11) + "\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1"))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def __enter__(self) -> NpyWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            self._file.close()


class FeatureWriter:
    """Writes the forms of `Prepared` as the blocks of rows come in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writers: dict[str, NpyWriter] = {}
        self._squares, self._n_rows, self._width = 0.0, 0, 0
        self._n_stored, self._linear_width = 0, 0

    def append(self, dense: Floats, linear: Matrix | None, columns: Floats | None) -> None:
        """Write a block of rows."""
        self._squares += float(np.einsum("ij,ij->", dense, dense, dtype=np.float64))
        self._n_rows += len(dense)
        self._write("dense", dense, np.float32)
        if columns is not None:
            self._write("columns", columns, np.float32)
        if linear is None:
            return
        self._linear_width = int(linear.shape[1])
        if isinstance(linear, np.ndarray):
            self._write("linear", linear, np.float32)
            return
        if not self._n_stored and "pointer" not in self._writers:
            self._write("pointer", np.zeros(1, np.int64), np.int64)
        self._write("values", linear.data, np.float32)
        self._write("places", linear.indices, np.int32)
        self._write("pointer", linear.indptr[1:].astype(np.int64) + self._n_stored, np.int64)
        self._n_stored += int(linear.nnz)

    def finish(self, about: dict[str, Any]) -> None:
        """Bring the rows to mean squared norm 1, and write the header."""
        for writer in self._writers.values():
            writer.close()
        mean = self._squares / max(self._n_rows, 1)
        if mean > 0:
            _multiply(self.folder / "dense.npy", 1 / np.sqrt(mean))
        files = {f"{name}.npy": _checksum(self.folder / f"{name}.npy") for name in self._writers}
        header = {**about, "n_rows": self._n_rows, "linear_width": self._linear_width, "files": files}
        with (self.folder / HEADER).open("w", encoding="utf-8") as file:
            json.dump(header, file, indent=1)
            file.flush()
            os.fsync(file.fileno())

    def abandon(self) -> None:
        """Close all files, whatever is in them."""
        for writer in self._writers.values():
            writer._file.close()

    def _write(self, name: str, block: npt.NDArray[Any], dtype: npt.DTypeLike) -> None:
        if name not in self._writers:
            self._writers[name] = NpyWriter(self.folder / f"{name}.npy", dtype)
        self._writers[name].append(block)


def read_features(folder: Path, key: str) -> Prepared | None:
    """Map a folder of features into memory; None if it is absent, damaged or made from something else."""
    try:
        header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
        if header["key"] != key:
            return None
        for name, checksum in header["files"].items():
            if _checksum(folder / name) != checksum:
                return None
        arrays = {name: _map(folder / name) for name in header["files"]}
        dense = arrays["dense.npy"]
        linear: Matrix | None = arrays.get("linear.npy")
        if "pointer.npy" in arrays:
            linear = _csr(arrays["values.npy"], arrays["places.npy"], arrays["pointer.npy"], header["linear_width"])
        forms = [form for form in (dense, linear, arrays.get("columns.npy")) if form is not None]
        if any(form.ndim != 2 or form.shape[0] != header["n_rows"] for form in forms):
            return None
        return Prepared(dense=dense, linear=linear, columns=arrays.get("columns.npy"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def replace_folder(new: Path, final: Path) -> None:
    """Give a finished folder its name; whatever had the name before is removed."""
    if final.exists():
        old = final.with_name(f"{final.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        final.replace(old)
        new.replace(final)
        shutil.rmtree(old, ignore_errors=True)
    else:
        new.replace(final)
    if os.name == "posix":
        handle = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _map(path: Path) -> npt.NDArray[Any]:
    """The array of a file, read when it is looked at. A plain array: `np.memmap` makes each slice an object of its own
    that is slower to use."""
    with path.open("rb") as file:
        empty = np.lib.format.read_magic(file) == (1, 0) and 0 in np.lib.format.read_array_header_1_0(file)[0]
    return np.asarray(np.load(path, mmap_mode=None if empty else "r", allow_pickle=False))


def _csr(values: Any, places: Any, pointer: Any, width: int) -> Matrix:
    from scipy import sparse

    wide = len(values) >= 2**31  # scikit-learn's solvers take no wider indices unless they must
    pointer = np.asarray(pointer, np.int64 if wide else np.int32)
    return sparse.csr_array((values, np.asarray(places, pointer.dtype), pointer), shape=(len(pointer) - 1, width))


def _multiply(path: Path, factor: float) -> None:
    with path.open("r+b") as file:
        file.seek(HEADER_BYTES)
        while True:
            place = file.tell()
            block = np.frombuffer(file.read(BLOCK), np.float32)
            if not len(block):
                break
            file.seek(place)
            file.write((block * np.float32(factor)).data)
        file.flush()
        os.fsync(file.fileno())


def _checksum(path: Path) -> list[int]:
    """The size of a file, and a checksum of its header and of pages spread over it.

    A cut file or one that the file system lost pages of is seen at once, without reading gigabytes.
    """
    size = path.stat().st_size
    check = 0
    with path.open("rb") as file:
        for place in np.linspace(0, max(0, size - PAGE), PAGES).astype(int):
            file.seek(int(place))
            check = zlib.crc32(file.read(PAGE), check)
    return [size, check]
