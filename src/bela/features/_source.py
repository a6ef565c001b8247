"""The features of a dataset, in the form that every method takes, in those that the learner wants, and on disk.

On disk they are plain .npy files that are memory-mapped.
"""

import copy
import os
import shutil
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.data import ArraySource
from bela.features._images import fit_image_features, sample_of_images
from bela.features._rows import KeptRows, LearnerRows, ReadySource, scaled_rows
from bela.features._scaling import Floats, Prepared, prepare_blocks
from bela.protocols import BLOCK_ROWS, Source
from bela.records import AnyArray, Matrix

HEADER_BYTES, BLOCK = 128, 1 << 22  # there is room for the largest shape in a header, to be filled in at the end


class FeatureSource(ArraySource):
    """The rows of a dataset as features, made by `compute_features`.

    `X` are the rows as every method sees them, None where they are `prepared`; `prepared` is what the learner sees,
    None to make it from the rows when it is asked for. Images that are `flat` are nothing but numbers. `unreadable`
    says of which rows something could not be read, and why. A `temporary` folder goes when this goes. Where features
    are `kept` in a cache, that is the folder, and a digest of all that they depend on: what follows from them may be
    kept beside them.
    """

    def __init__(
        self, X: Matrix | None = None, *, prepared: Prepared | None = None, flat: bool = False,
        unreadable: Mapping[int, str] | None = None, temporary: Path | None = None, finite: bool = False,
        kept: tuple[Path, str] | None = None,
    ) -> None:  # fmt: skip
        if X is not None:
            super().__init__(X, finite=finite or prepared is not None)
        elif prepared is not None:
            self.X, self.image_shape = prepared.dense, None
        if flat:
            self.image_shape = None
        self.prepared, self.kept = prepared, kept
        self.unreadable: Mapping[int, str] = unreadable or {}
        if temporary is not None:
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)


@runtime_checkable
class KeptSource(Protocol):
    """A source whose features may be kept in a cache: in which folder, and a digest of what they depend on."""

    kept: tuple[Path, str] | None


@runtime_checkable
class ImageSource(Protocol):
    """A source whose rows may be images: their height, width and channels, None where they are not."""

    image_shape: tuple[int, ...] | None


class NoFeatures(ArraySource):
    """Rows of which nothing is known: all look the same."""

    def __init__(self, n_rows: int) -> None:
        super().__init__(np.zeros((n_rows, 1), dtype=np.float32), finite=True)


def learner_features(source: Source, seed: int = 0) -> Prepared | Floats:
    """Return the features of a source that has them ready, those of images, or the matrix prepared as it suggests."""
    prepared = source.prepared if isinstance(source, FeatureSource) else None
    if isinstance(source, ReadySource):
        prepared = source.learner_rows().take(np.arange(source.n_rows))
    prepared = prepared or Prepared.join(learner_blocks(source, seed), source.n_rows)
    return prepared if image_shape(source) is None else prepared.dense


def learner_rows(source: Source, seed: int = 0) -> LearnerRows:
    """Return what `learner_features` does block by block: nothing of the size of all rows need be in memory."""
    if isinstance(source, ReadySource):
        return source.learner_rows()
    if isinstance(source, FeatureSource) and source.prepared is not None:
        return KeptRows(source.prepared)
    if image_shape(source) is None and not (isinstance(source, ArraySource) and sparse.issparse(source.X)):
        return scaled_rows(source, seed)
    return KeptRows(Prepared.join(learner_blocks(source, seed), source.n_rows))


def kept_in(source: Source) -> tuple[Path, str] | None:
    """Return the folder that the features of a source are kept in, if they are, with a digest of what made them."""
    return source.kept if isinstance(source, KeptSource) else None


def image_shape(source: Source) -> tuple[int, ...] | None:
    """Return height, width and channels where the rows of a source are images."""
    return source.image_shape if isinstance(source, ImageSource) else None


def as_numbers(source: Source) -> Source:
    """Return a source whose rows are nothing but numbers, even if they are images."""
    if not isinstance(source, ImageSource) or source.image_shape is None:
        return source
    flat = copy.copy(source)
    flat.image_shape = None
    return flat


def learner_blocks(source: Source, seed: int) -> Iterator[Prepared]:
    """Make what `learner_features` returns of the rows, block by block."""
    X = source.X if isinstance(source, ArraySource) else source.take(np.arange(source.n_rows))
    shape = image_shape(source)
    if shape is None:
        yield from prepare_blocks(X, seed)
        return
    images = np.asarray(X).reshape(-1, *shape)
    # as floats, so that the features are the same whichever type the pixels are kept in
    features = fit_image_features(np.asarray(sample_of_images(images), np.float32))
    step = features.grid.block * max(1, BLOCK_ROWS // features.grid.block)
    for start in range(0, len(images), step):
        yield Prepared(dense=features.transform(images[start : start + step]))


class NpyWriter(AbstractContextManager["NpyWriter"]):
    """Writes an array to a .npy file block by block, without knowing how long it will be.

    Mapped pages would count as this process's memory. After an error the file is left without its header.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._dtype, self._shape = np.dtype(dtype), (0,)
        self._file = path.open("wb")
        self._file.write(bytes(HEADER_BYTES))

    def append(self, block: AnyArray) -> None:
        """Write further rows."""
        self._shape = (self._shape[0] + len(block), *block.shape[1:])
        self._file.write(np.ascontiguousarray(block, self._dtype).data.cast("B") if block.size else b"")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._file:
            if kind is None:
                text = f"{{'descr': '{self._dtype.str}', 'fortran_order': False, 'shape': {self._shape}, }}"
                text = text.ljust(HEADER_BYTES - 11) + "\n"
                self._file.seek(0)
                self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1"))


class FeatureWriter(ExitStack):
    """Writes the forms of `Prepared` as the blocks of rows come in; the files are whole when it is left."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.n_rows, self.linear_width = folder, 0, 0
        self._writers: dict[str, NpyWriter] = {}
        self._squares, self._n_stored = 0.0, 0

    def append(self, block: Prepared) -> None:
        """Write a block of rows."""
        dense, linear, columns = block.forms
        self._squares += sum_of_squares(dense)
        self.n_rows += len(dense)
        self._write("dense", dense)
        if columns is not None:
            self._write("columns", columns)
        for i, view in enumerate(block.views):
            self._write(f"view-{i}", view)
        if isinstance(linear, np.ndarray):
            self._write("linear", linear)
        elif linear is not None:
            self.linear_width = int(linear.shape[1])
            if "pointer" not in self._writers:
                self._write("pointer", np.zeros(1), np.int64)
            self._write("values", linear.data)
            self._write("places", linear.indices, np.int32)
            self._write("pointer", linear.indptr[1:].astype(np.int64) + self._n_stored, np.int64)
            self._n_stored += int(linear.nnz)

    def norm(self) -> None:
        """Bring the rows that were written to mean squared norm 1."""
        mean = self._squares / max(self.n_rows, 1)
        if mean == 0:
            return
        with (self.folder / "dense.npy").open("r+b") as file:
            file.seek(HEADER_BYTES)
            while read := file.read(BLOCK):
                file.seek(-len(read), os.SEEK_CUR)
                file.write((np.frombuffer(read, np.float32) * np.float32(1 / np.sqrt(mean))).data)

    def _write(self, name: str, block: AnyArray, dtype: npt.DTypeLike = np.float32) -> None:
        if name not in self._writers:
            self._writers[name] = self.enter_context(NpyWriter(self.folder / f"{name}.npy", dtype))
        self._writers[name].append(block)


def sum_of_squares(dense: Floats) -> float:
    """Return the sum of the squares of all numbers of a block."""
    return float(np.einsum("ij,ij->", dense, dense, dtype=np.float64))


def read_features(folder: Path, linear_width: int) -> tuple[Prepared, AnyArray | None]:
    """Map a folder of features into memory, and the numbers that they were made from if these are nowhere else."""
    arrays = {path.stem: _map(path) for path in folder.glob("*.npy")}
    linear: Matrix | None = arrays.get("linear")
    if "pointer" in arrays:
        wide = len(arrays["values"]) >= 2**31  # scikit-learn's solvers take no wider indices unless they must
        places, pointer = (np.asarray(arrays[name], np.int64 if wide else np.int32) for name in ("places", "pointer"))
        linear = sparse.csr_array((arrays["values"], places, pointer), shape=(len(pointer) - 1, linear_width))
    views = tuple(arrays[f"view-{i}"] for i in range(sum(name.startswith("view-") for name in arrays)))
    prepared = Prepared(dense=arrays["dense"], linear=linear, columns=arrays.get("columns"), views=views)
    return prepared, arrays.get("numbers")


def _map(path: Path) -> AnyArray:
    """The array of a file, read when it is looked at; a plain one, as slices of `np.memmap` are slower to use."""
    empty = path.stat().st_size <= HEADER_BYTES  # which cannot be mapped
    return np.asarray(np.load(path, mmap_mode=None if empty else "r", allow_pickle=False))
