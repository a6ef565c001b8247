"""Records that are arrays of numbers: features, embeddings, images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.errors import DataError, ParameterError, QuestionError
from bela.sources._digests import combine, digest_array, digest_dense, digest_sparse
from bela.sources._names import check_names
from bela.sources._table import fingerprint_of_rows, no_such_column

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_BYTES = 16 << 20


class ArrayRecords:
    """Rows of an array, with or without further columns.

    The rows of an array with two dimensions are vectors, those of one with three or four are images. As tables they
    have one column, of lists. `array` is the array itself, so that features need not go through lists.

    Parameters
    ----------
    arrays
        The columns, all of the same length. Those with two dimensions may be sparse.
    main
        The name of the column that `array` stands for.
    name, root, fingerprint
        As for a table.
    """

    def __init__(
        self,
        arrays: Mapping[str, Any],
        *,
        main: str,
        name: str,
        root: Path | None = None,
        fingerprint: Callable[[], str] | None = None,
    ) -> None:
        check_names(name, list(arrays))
        lengths = {key: int(array.shape[0]) for key, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{key} {n:,}" for key, n in lengths.items())
            raise DataError(f"{name} has arrays with different numbers of rows ({found}): keep those of one dataset")
        self._arrays = {key: _checked(array, f"{name} ({key})") for key, array in arrays.items()}
        self.n_rows = lengths[main]
        if not self.n_rows:
            raise DataError(f"{name} has no rows: there is nothing to label")
        self.array: Any = self._arrays[main]
        self.main, self.name, self.root, self.typed = main, name, root, True
        self.columns: tuple[str, ...] = tuple(self._arrays)
        self._find_fingerprint = fingerprint
        self._fingerprint: str | None = None
        self._digests: npt.NDArray[np.uint64] | None = None

    @property
    def fingerprint(self) -> str:
        if self._fingerprint is None:
            if self._find_fingerprint is not None:
                self._fingerprint = self._find_fingerprint()
            else:
                self._fingerprint = fingerprint_of_rows(self.columns, self.row_digests())
        return self._fingerprint

    def record(self, row: int) -> dict[str, Any]:
        """Return one row: a vector as a list, an image as lists of lists, a sparse vector as what is not zero in it."""
        if not 0 <= row < self.n_rows:
            raise QuestionError(f"{self.name} has no row {row}: its {self.n_rows:,} rows are counted from 0")
        return {key: _to_arrow(array[row : row + 1])[0].as_py() for key, array in self._arrays.items()}

    def iter_records(self) -> Iterator[dict[str, Any]]:
        """Go through all rows in order, each as `record` returns it."""
        for batch in self.batches():
            yield from batch.to_pylist()

    def column(self, name: str) -> pa.ChunkedArray:
        import pyarrow as pa

        return pa.chunked_array([batch.column(0) for batch in self.batches([name])])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = self.columns if columns is None else tuple(columns)
        for name in names:
            if name not in self._arrays:
                raise ParameterError(no_such_column(self.name, name, self.columns))
        row_bytes = sum(_row_bytes(self._arrays[name]) for name in names)
        step = max(1, _BLOCK_BYTES // max(1, row_bytes))
        for i in range(0, self.n_rows, step):
            block = [_to_arrow(self._arrays[name][i : i + step]) for name in names]
            yield pa.RecordBatch.from_arrays(block, names=list(names))

    def row_digests(self) -> npt.NDArray[np.uint64]:
        if self._digests is None:
            self._digests = combine(self.n_rows, {name: _digest(array) for name, array in self._arrays.items()})
        return self._digests


def column_name(array: Any) -> str:
    """Return what to call the column of an array that has no name."""
    if array.ndim == 1:
        return "text" if getattr(array.dtype, "kind", "") in "OUST" else "value"
    return "features" if array.ndim == 2 else "image"


def _checked(array: Any, where: str) -> Any:
    if sparse.issparse(array):
        rows = sparse.csr_array(array)
        if rows.dtype.kind not in "biuf":
            raise DataError(f"{where} holds values of the type {rows.dtype} where real numbers are needed")
        return rows
    if array.dtype.kind == "c":
        raise DataError(f"{where} holds complex numbers: take their real or absolute values")
    if array.ndim > 4:
        raise DataError(f"{where} has {array.ndim} dimensions where images have at most four")
    if array.ndim > 1 and array.dtype.kind not in "biuf":
        raise DataError(
            f"{where} holds values of the type {array.dtype} in {array.ndim} dimensions where numbers are needed: give "
            f"texts as a table with named columns"
        )
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize and not _is_text(array):
        raise DataError(f"{where} holds characters that there are not: it may be damaged")
    if array.ndim > 1 and 0 in array.shape[1:]:
        raise DataError(f"{where} has the shape {array.shape}: there are no values in its rows")
    return array


def _is_text(array: npt.NDArray[Any]) -> bool:
    """Whether all numbers in an array of texts stand for characters; in a damaged file they need not."""
    codes = np.ascontiguousarray(array).view(array.dtype.byteorder.replace("|", "=") + "u4")
    return bool(codes.max() <= 0x10FFFF and not ((codes >= 0xD800) & (codes <= 0xDFFF)).any())


def _row_bytes(array: Any) -> int:
    if sparse.issparse(array):
        return int(array.nnz * (array.dtype.itemsize + 4) // max(1, array.shape[0])) + 1
    return int(array[:1].nbytes)


def _digest(array: Any) -> npt.NDArray[np.uint64]:
    if sparse.issparse(array):
        return digest_sparse(array)
    return digest_dense(array) if array.dtype.kind in "biuf" else digest_array(_to_arrow(array))


def _to_arrow(array: Any) -> pa.Array:
    """Return rows as Arrow lists of fixed sizes; sparse ones as places and values."""
    import pyarrow as pa

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
