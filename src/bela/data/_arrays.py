"""Rows that are arrays: NumPy's, in memory or mapped from a file, SciPy's sparse matrices, features of a source."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from bela.data._arrow import check_names
from bela.data._blocks import scan_blocks
from bela.data._digests import U64, combine, digest_array, digest_dense, digest_sparse
from bela.data._table import OpenTable
from bela.errors import DataError
from bela.protocols import Source
from bela.records import AnyArray, IntArray, Matrix

_BATCH_BYTES, _AT_ONCE = 16 << 20, 1 << 18
FILL = "fill or drop them first, or give a table (a frame, CSV, Parquet), in which values may be missing"


class ArraySource:
    """The rows of a two-dimensional array, dense or sparse, as 32-bit floats.

    An array with more dimensions holds images: each becomes a row, and `image_shape` remembers height, width and
    channels. An array that is mapped from a file stays there, whatever its type, and is converted as it is looked at.
    Whether all numbers are `finite` is looked up unless it is known.

    Examples
    --------
    >>> source = ArraySource([[1, 2], [3, 4], [5, 6]])
    >>> source.n_rows, source.n_features
    (3, 2)
    >>> source.scan(lambda block: block.sum(axis=1))
    array([ 3.,  7., 11.], dtype=float32)
    """

    def __init__(self, X: object, *, finite: bool = False) -> None:
        shape = X.shape if isinstance(X, np.ndarray) else ()
        self.image_shape: tuple[int, ...] | None = tuple(shape[1:]) if len(shape) in (3, 4) else None
        self.X: Matrix = _as_sparse(X) if sparse.issparse(X) else _as_dense(X)
        if not self.n_rows:
            raise DataError("there are no rows: found 0 sample(s) where a minimum of 1 is required.")
        if not self.n_features:
            found = f"0 feature(s) (shape={self.X.shape})"
            raise DataError(f"there are no columns: {found} while a minimum of 1 is required.")
        if not finite:
            _check_finite(self.X)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def take(self, rows: IntArray) -> Matrix:
        return _as_floats(self.X[rows])

    def scan(self, function: Callable[[Matrix], AnyArray]) -> AnyArray:
        return scan_blocks(self.n_rows, lambda rows: function(_as_floats(self.X[rows])))


def _as_floats(X: Matrix) -> Matrix:
    return X if sparse.issparse(X) else np.asarray(X, np.float32)


def _check_finite(matrix: Matrix) -> None:
    is_sparse = sparse.issparse(matrix)
    values: AnyArray = matrix.data if is_sparse else matrix
    if len(values) <= _AT_ONCE:
        fine = bool(_row_sums_are_finite(values[None]).all())
    else:
        fine = bool(scan_blocks(len(values), lambda rows: _row_sums_are_finite(values[rows])).all())
    if not fine and not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values))
        row = np.searchsorted(matrix.indptr, bad[0], "right") - 1 if is_sparse else bad[0] // matrix.shape[1]
        found = f"in {len(bad)} place(s), the first in row {row}"
        raise DataError(f"the features hold NaN or infinity {found}: {FILL}")


def _row_sums_are_finite(values: AnyArray) -> AnyArray:
    with np.errstate(invalid="ignore", over="ignore"):  # infinity less infinity is what is looked for
        return np.asarray(np.isfinite(values.reshape(len(values), -1).sum(axis=1, dtype=np.float64)))


def _as_sparse(X: object) -> sparse.csr_array:
    matrix = sparse.csr_array(X).astype(np.float32)
    if matrix.nnz < 2**31:  # scikit-learn's solvers take no wider indices
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def _as_dense(X: object) -> AnyArray:
    is_mapped = isinstance(X, np.memmap)
    try:
        array = np.asarray(X)
        if array.dtype.kind not in ("biufc" if is_mapped else "c"):
            array = array.astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features must be numbers in rows and columns of equal length: {error}") from None
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: the features hold complex numbers")
    if array.ndim < 2:
        advice = "Reshape your data, for a single feature with X.reshape(-1, 1)"
        raise DataError(f"the features must have rows and columns, not {array.ndim} dimension(s). {advice}")
    matrix = array.reshape(len(array), -1) if array.size else array
    return matrix if is_mapped else np.ascontiguousarray(matrix)


class SourceRows:
    """The features of a source, looked up when they are asked for, as if they were an array."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shape: tuple[int, ...] = (source.n_rows, source.n_features)
        self.ndim, self.dtype = 2, np.dtype(np.float32)

    def __getitem__(self, rows: slice) -> AnyArray:
        block = self.source.take(np.arange(*rows.indices(self.shape[0])))
        return np.asarray(block.toarray() if sparse.issparse(block) else block, np.float32)


class ArrayTable(OpenTable):
    """Rows of arrays of the same length, dense or sparse, each a column, of vectors or images as lists.

    `array` is the array itself, so that features need not go through lists; where there are several, it is that of the
    column `main`: X, or the only one that has rows and columns.
    """

    def __init__(
        self, arrays: Mapping[str, Matrix], *, name: str, root: Path | None = None,
        fingerprint: Callable[[], str] | None = None, notices: Sequence[str] = (),
    ) -> None:  # fmt: skip
        check_names(name, list(arrays))
        lengths = {key: int(array.shape[0]) for key, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{key} {n:,}" for key, n in lengths.items())
            raise DataError(f"{name} has arrays with different numbers of rows ({found}): keep those of one dataset")
        self._arrays = {key: _checked(array, f"{name} ({key})") for key, array in arrays.items()}
        self.main, self.typed = _main(name, self._arrays), True
        self.array, n_rows = self._arrays[self.main], lengths[self.main]
        super().__init__(
            name=name, columns=list(self._arrays), n_rows=n_rows, root=root, fingerprint=fingerprint, notices=notices
        )

    def record(self, row: int) -> dict[str, Any]:
        self._check_row(row)
        return {key: to_arrow(array[row : row + 1])[0].as_py() for key, array in self._arrays.items()}

    def iter_records(self) -> Iterator[dict[str, Any]]:
        for batch in self.batches():
            yield from batch.to_pylist()

    def batches(
        self, columns: Sequence[str] | None = None, *, start: int = 0, most: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        names = self._chosen(columns)
        step = max(1, _BATCH_BYTES // max(1, sum(_row_bytes(self._arrays[name]) for name in names)))
        step = min(step, most or step)
        for i in range(start, self.n_rows, step):
            block = [to_arrow(self._arrays[name][i : i + step]) for name in names]
            yield pa.RecordBatch.from_arrays(block, names=names)

    @functools.cached_property
    def _row_digests(self) -> U64:
        def digest(rows: slice) -> U64:
            found = {name: _digest(array[rows]) for name, array in self._arrays.items()}
            return combine(rows.stop - rows.start, found)

        return scan_blocks(self.n_rows, digest)


def columns_of(array: AnyArray, name: str) -> dict[str, AnyArray]:
    """Return an array as columns: the fields of a structured one, or a single column by what is in it."""
    if array.dtype.names is not None:
        return {key: array[key] for key in array.dtype.names}
    if array.ndim == 0:
        raise DataError(f"{name} has no rows: it is a single value")
    if array.ndim == 1:
        return {"text" if array.dtype.kind in "OUST" else "value": array}
    return {"features" if array.ndim == 2 else "image": array}


def _main(name: str, arrays: Mapping[str, Matrix]) -> str:
    tables = [key for key, array in arrays.items() if array.ndim >= 2]
    if "X" not in arrays and len(tables) > 1:
        found = f"{len(tables)} of its arrays could be them: {', '.join(tables)}"
        raise DataError(f"{name} must have its features in an array named X, as {found}")
    return "X" if "X" in arrays else next(iter(tables), next(iter(arrays)))


def _checked(array: Matrix, where: str) -> Matrix:
    if isinstance(array, SourceRows):
        return array
    if sparse.issparse(array):
        array = sparse.csr_array(array)
    if array.dtype.kind == "c":
        raise DataError(f"{where} holds complex numbers: take their real or absolute values")
    if array.ndim > 4:
        raise DataError(f"{where} has {array.ndim} dimensions where images have at most four")
    if array.ndim > 1 and array.dtype.kind not in "biuf":
        found = f"{where} holds values of the type {array.dtype} in {array.ndim} dimensions"
        raise DataError(f"{found} where numbers are needed: give texts as a table with named columns")
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize and not _is_text(array):
        raise DataError(f"{where} holds characters that there are not: it may be damaged")
    if array.ndim > 1 and 0 in array.shape[1:]:
        raise DataError(f"{where} has the shape {array.shape}: there are no values in its rows")
    return array


def _is_text(array: AnyArray) -> bool:
    """Whether all numbers in an array of texts stand for characters; in a damaged file they need not."""
    codes = np.ascontiguousarray(array).view(array.dtype.byteorder.replace("|", "=") + "u4")
    return bool(codes.max() <= 0x10FFFF and not ((codes >= 0xD800) & (codes <= 0xDFFF)).any())


def _row_bytes(array: Matrix) -> int:
    n_sparse = array.nnz * (array.dtype.itemsize + 4) if sparse.issparse(array) else None
    return int(array[:1].nbytes if n_sparse is None else n_sparse // max(1, array.shape[0]) + 1)


def _digest(array: Matrix) -> U64:
    if sparse.issparse(array):
        return digest_sparse(array)
    return digest_dense(array) if array.dtype.kind in "biuf" else digest_array(to_arrow(array))


def to_arrow(array: Matrix) -> pa.Array:
    """Return rows as Arrow lists of fixed sizes; sparse ones as places and values."""
    if sparse.issparse(array):
        starts = pa.array(array.indptr.astype(np.int64))
        places = pa.LargeListArray.from_arrays(starts, pa.array(array.indices.astype(np.int64)))
        values = pa.LargeListArray.from_arrays(starts, pa.array(array.data))
        return pa.StructArray.from_arrays([places, values], names=["indices", "values"])
    if array.dtype.kind not in "biuf":
        return pa.array(np.asarray(array).tolist(), pa.large_string()) if array.dtype.kind in "UT" else pa.array(array)
    native = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="), copy=False)
    flat = pa.array(native.reshape(-1))
    for size in reversed(array.shape[1:]):
        flat = pa.FixedSizeListArray.from_arrays(flat, size)
    return flat
