"""Rows that are in memory: a NumPy array or a SciPy sparse matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.errors import DataError
from bela.records import IntArray, Matrix

_BLOCK_BYTES = 64 << 20


class ArraySource:
    """The rows of a two-dimensional array, dense or sparse, as 32-bit floats.

    An array with more dimensions holds images: each becomes a row, and `image_shape` remembers height, width and
    channels.

    Examples
    --------
    >>> source = ArraySource([[1, 2], [3, 4], [5, 6]])
    >>> source.n_rows, source.n_features
    (3, 2)
    >>> source.scan(lambda block: block.sum(axis=1))
    array([ 3.,  7., 11.], dtype=float32)
    """

    def __init__(self, X: Any) -> None:
        shape = np.shape(X) if isinstance(X, np.ndarray) else ()
        self.image_shape: tuple[int, ...] | None = tuple(shape[1:]) if len(shape) in (3, 4) else None
        self.X: Matrix = _checked(X)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def take(self, rows: IntArray) -> Matrix:
        return self.X[rows]

    def scan(self, function: Callable[[Matrix], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        step = max(1, _BLOCK_BYTES // (4 * max(1, self.n_features)))
        return np.concatenate([function(self.X[i : i + step]) for i in range(0, self.n_rows, step)])


def _checked(X: Any) -> Matrix:
    if sparse.issparse(X):
        matrix = sparse.csr_array(X).astype(np.float32)
        if matrix.nnz < 2**31:  # scikit-learn's solvers take no wider indices
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        values = matrix.data
    else:
        if hasattr(X, "to_numpy"):  # pandas and polars frames
            X = X.to_numpy()
        try:
            array = np.asarray(X)
            if np.iscomplexobj(array):
                raise DataError("Complex data not supported: the features hold complex numbers")
            array = array.astype(np.float32, copy=False)
        except (TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"the features must be numbers in rows and columns of equal length: {error}") from None
        if array.ndim < 2:
            raise DataError(
                f"the features must have rows and columns, not {array.ndim} dimension(s). Reshape your data, "
                "for a single feature with X.reshape(-1, 1)"
            )
        matrix = np.ascontiguousarray(array.reshape(len(array), -1) if array.size else array)
        values = matrix
    n_rows, n_features = matrix.shape[0], matrix.shape[1]
    if n_rows == 0:
        raise DataError("there are no rows: found 0 sample(s) where a minimum of 1 is required.")
    if n_features == 0:
        raise DataError(f"there are no columns: 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    if not np.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise DataError(f"the features hold NaN or infinity in {bad} place(s): fill or drop them first")
    return matrix
