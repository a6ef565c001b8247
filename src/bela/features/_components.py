"""Principal components, centred and scaled, so that blocks of features can be put side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """A projection onto principal components after which rows have mean zero and mean squared norm `weight`^2."""

    mean: Floats
    basis: Floats

    @property
    def n_components(self) -> int:
        """How many components are kept."""
        return int(self.basis.shape[1])

    @classmethod
    def fit(cls, X: Floats, n_components: int, *, weight: float = 1.0) -> Components:
        """Find the leading components of a sample of rows; components without any spread are left out."""
        mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
        centred = X - mean
        n_rows, n_columns = X.shape
        if n_rows < n_columns:  # the smaller of the two products has the same spectrum
            spread, vectors = _largest(centred @ centred.T, n_components)
            vectors = centred.T @ (vectors / np.sqrt(np.maximum(spread, 1e-30)))
        else:
            spread, vectors = _largest(centred.T @ centred, n_components)
        kept = spread > max(1e-6 * float(spread.max(initial=0.0)), 1e-30)
        if not kept.any():  # constant features: one column of zeros says so
            return cls(mean=mean, basis=np.zeros((n_columns, 1), np.float32))
        spread, vectors = spread[kept], vectors[:, kept]
        # a fixed sign, as solvers differ
        vectors = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(spread))])
        scale = weight / np.sqrt(float(spread.sum()) / n_rows)
        return cls(mean=mean, basis=np.ascontiguousarray(vectors * scale, np.float32))

    def transform(self, X: Floats, *, out: Floats | None = None) -> Floats:
        """Project rows."""
        offset = self.mean @ self.basis
        if out is None:
            out = np.empty((len(X), self.n_components), np.float32)
        np.subtract(X @ self.basis, offset, out=out)
        return out


def _largest(gram: Floats, n: int) -> tuple[Floats, Floats]:
    """The n largest eigenvalues of a symmetric matrix, largest first, with their vectors."""
    size = len(gram)
    n = min(n, size)
    values, vectors = linalg.eigh(gram, subset_by_index=(size - n, size - 1), check_finite=True)
    return values[::-1], vectors[:, ::-1]
