"""What every kind of column turns its rows into, and what it takes to be put beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bela.features._components import Floats
from bela.features._scaling import TREE_COLUMNS
from bela.records import Matrix

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The features of a block of rows, in the forms of `Prepared`; `dense` has a mean squared norm of about 1."""

    dense: Floats
    linear: Matrix | None = None
    columns: Floats | None = None


class Part(Protocol):
    """Features of one or several columns, fitted and ready for all rows."""

    @property
    def share(self) -> float:
        """How much of the distance between two rows this part should make up, 1 for a part of full weight."""

    @property
    def linear_norm(self) -> float:
        """The root of the mean squared norm that rows have in the form for linear models."""

    def transform(self, block: pa.RecordBatch, rows: range) -> Piece:
        """Turn a block of rows into features; `rows` are their numbers."""


def join_pieces(parts: Sequence[Part], pieces: Sequence[Piece]) -> Piece:
    """Put the features of several parts side by side, each with its share of the squared distances.

    A part without a form for linear models stands in with its dense form where others have one, so that a linear model
    sees all that is known.
    """
    if len(pieces) == 1:
        return pieces[0]
    from scipy import sparse

    whole = sum(part.share for part in parts)
    dense, linear = [], []
    for part, piece in zip(parts, pieces, strict=True):
        weight = np.float32(np.sqrt(part.share / whole))
        dense.append(piece.dense * weight)
        linear.append(dense[-1] if piece.linear is None else piece.linear * np.float32(weight / part.linear_norm))
    together = None
    if any(sparse.issparse(piece.linear) for piece in pieces):
        together = sparse.csr_array(sparse.hstack([sparse.csr_array(form) for form in linear], format="csr"))
    elif any(piece.linear is not None for piece in pieces):
        together = np.concatenate(linear, axis=1)
    columns: list[Floats] = []
    n_columns = 0
    for piece in pieces:  # tables come first; embeddings beside them only as far as trees can take it
        if piece.columns is not None and n_columns + piece.columns.shape[1] <= TREE_COLUMNS:
            columns.append(piece.columns)
            n_columns += piece.columns.shape[1]
    return Piece(
        dense=np.concatenate(dense, axis=1),
        linear=together,
        columns=np.concatenate(columns, axis=1) if columns else None,
    )
