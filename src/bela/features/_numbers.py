"""Rows of numbers that belong together: embeddings in a column, matrices, what a function or a model returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bela.errors import DataError
from bela.features._images import ImageFeatures, fit_image_features
from bela.features._matrix import MatrixFeatures, Size
from bela.features._parse import Doubles, list_lengths
from bela.features._part import Piece
from bela.features._scaling import TREE_COLUMNS, Prepared, fit_rows

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingFeatures:
    """A column of lists of numbers, all of one length; a missing list is like the mean of all."""

    name: str
    matrix: MatrixFeatures
    share: float = 1.0

    @property
    def linear_norm(self) -> float:
        """The root of the mean squared norm that rows have in the form for linear models."""
        return self.matrix.linear_norm

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of rows into features; `rows` are their numbers."""
        width = len(self.matrix.middle)
        return _piece(self.matrix, list_matrix(self.name, block.column(self.name), rows.start, width))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayFeatures:
    """The rows of a matrix that is all there, in memory or mapped into it."""

    array: Any
    matrix: MatrixFeatures
    name: str
    share: float = 1.0

    @property
    def linear_norm(self) -> float:
        """The root of the mean squared norm that rows have in the form for linear models."""
        return self.matrix.linear_norm

    @classmethod
    def fit(cls, array: Any, *, name: str, seed: int, size: Size | None = None) -> ArrayFeatures:
        """Learn scales from a sample of the rows."""
        sample = _finite(name, np.asarray(array[fit_rows(len(array), seed, array.shape[1])], np.float64), None)
        return cls(array=array, matrix=MatrixFeatures.fit(sample, size=size), name=name)

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of rows into features; `rows` are their numbers."""
        X = np.asarray(self.array[rows.start : rows.stop], np.float64)
        return _piece(self.matrix, _finite(self.name, X, rows.start))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPictures:
    """Images of one size that are an array."""

    array: Any
    features: ImageFeatures
    name: str
    share: float = 1.0
    linear_norm: float = 1.0

    @classmethod
    def fit(cls, array: Any, *, name: str, seed: int) -> ArrayPictures:
        """Learn components from a sample of the images."""
        return cls(array=array, features=fit_image_features(array, seed=seed), name=name)

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of rows into features; `rows` are their numbers."""
        return Piece(dense=_finite(self.name, self.features.transform(self.array[rows.start : rows.stop]), rows.start))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyFeatures:
    """Features that were computed all at once, from a sparse matrix in memory."""

    prepared: Prepared
    share: float = 1.0
    linear_norm: float = 1.0

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of rows into features; `rows` are their numbers."""
        forms = (self.prepared.dense, self.prepared.linear, self.prepared.columns)
        dense, linear, columns = (None if form is None else form[rows.start : rows.stop] for form in forms)
        return Piece(dense=np.asarray(dense), linear=linear, columns=columns)


def list_matrix(name: str, lists: pa.Array, start: int | None = None, width: int | None = None) -> Doubles:
    """Return lists of numbers as the rows of a matrix, NaN for a missing list.

    Parameters
    ----------
    name
        The column.
    lists
        Its values.
    start
        The number of the first row, for errors; None in a sample.
    width
        How many numbers each list must have; None for as many as the first.
    """
    import pyarrow as pa

    there = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    lengths = list_lengths(lists)
    if width is None:
        width = int(lengths[there][0]) if there.any() else 1
    odd = there & (lengths != width)
    if odd.any():
        row = int(odd.argmax())
        where = "a row" if start is None else f"row {start + row}"
        raise DataError(
            f"column {name!r} has {int(lengths[row])} numbers in {where} where others have {width}: "
            "embeddings must be of one length"
        )
    numbers = np.asarray(lists.flatten().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    X = np.full((len(lists), width), np.nan)
    X[there] = _finite(f"column {name!r}", numbers.reshape(-1, width), None if not there.all() else start)
    return X


def _piece(matrix: MatrixFeatures, X: Doubles) -> Piece:
    dense, linear = matrix.transform(X)
    return Piece(dense=dense, linear=linear, columns=X.astype(np.float32) if X.shape[1] <= TREE_COLUMNS else None)


def _finite(name: str, X: Any, start: int | None) -> Any:
    """Refuse NaN and infinities: in an embedding, each is a fault of what made it."""
    if np.isfinite(X.sum(dtype=np.float64)) or np.isfinite(X).all():
        return X
    bad = ~np.isfinite(X).all(axis=1)
    where = "" if start is None else f", the first is row {start + int(bad.argmax())}"
    raise DataError(f"{name} has NaN or infinite values in {int(bad.sum())} row(s){where}: fill or leave them out")
