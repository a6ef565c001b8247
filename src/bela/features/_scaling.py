"""Matrices of any kind to features in which distances mean something.

What a matrix is, is read off its numbers: sparse rows are texts or the like, columns that share a unit are pixels or an
embedding, anything else is a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.errors import DataError
from bela.features._components import Components, Floats
from bela.records import Matrix

COMPONENTS = 128
MOST_COLUMNS = 256  # more are reduced to components
FIT_ROWS = 10_000
WIDE_COLUMNS = 2_048
WIDE_FIT_ROWS = 4_096  # of a wide matrix: components take time cubic in the rows if there are fewer of them
SHARED_COLUMNS = 16  # fewer columns are a table, whatever their units
CLIP = 4.0  # standard deviations: beyond, an outlier would be alone in the world
WILD = 20.0  # a deviation of so many times the middle half of the values is the work of a few
DENSE_COLUMNS = 64  # a sparse matrix with fewer is a table
TREE_COLUMNS = 48  # trees take long for more, and pixels or embeddings are nothing for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Features for the learner: for distances, and where they say more in other forms, for other models.

    `dense` has mean squared norm 1. `linear` is what a linear model should see, `columns` what trees should see;
    None where they have no chance to add anything.
    """

    dense: Floats
    linear: Matrix | None = None
    columns: Floats | None = None


def prepare_features(X: Matrix, *, seed: int = 0) -> Prepared:
    """Bring a dense or sparse matrix into the forms that the learner wants.

    Parameters
    ----------
    X
        Rows of finite numbers.
    seed
        Chooses samples.

    >>> table = np.random.default_rng(0).normal(size=(100, 3)) * [1, 100, 10_000]
    >>> prepare_features(table).dense.std(axis=0).round(2)
    array([0.58, 0.58, 0.58], dtype=float32)
    """
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if X.shape[1] > DENSE_COLUMNS:
            return _prepare_sparse(X, seed)
        X = X.toarray()
    X = np.asarray(X)
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"features are a matrix with a row and a column at least, not of shape {X.shape}")
    if X.dtype.kind not in "buif":
        raise DataError(f"features are numbers, not {X.dtype}: encode other columns first")
    if not np.isfinite(X.sum(dtype=np.float64)) and not np.isfinite(X).all():
        raise DataError("features have NaN or infinite values: fill or leave out those rows")
    rows = fit_rows(len(X), seed, X.shape[1])
    sample = X[rows].astype(np.float64)
    columns = X.astype(np.float32) if X.shape[1] <= TREE_COLUMNS else None
    if shares_unit(sample):
        return Prepared(dense=_reduce(X, sample), columns=columns)
    standard = _standardise(X, sample)
    return Prepared(dense=_reduce(standard, standard[rows]), linear=standard, columns=columns)


def fit_rows(n_rows: int, seed: int, n_columns: int = 1) -> npt.NDArray[np.intp]:
    """Return the rows, in order, whose numbers decide on scales and components."""
    limit = FIT_ROWS if n_columns <= WIDE_COLUMNS else WIDE_FIT_ROWS
    if n_rows <= limit:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, limit, replace=False))


def shares_unit(sample: npt.NDArray[np.float64]) -> bool:
    """Whether the columns are of one kind, as pixels and embeddings are, so that their scales mean something.

    They are if most have the same range, or similar spreads around similar middles; and if all of them are centred,
    because whoever did that (principal components, a scaler) has chosen the scales as well.
    """
    spread = sample.std(axis=0)
    used = spread > 1e-9 * max(float(np.abs(sample).max()), 1e-300)
    if used.sum() < SHARED_COLUMNS:
        return False
    low, high = sample[:, used].min(axis=0), sample[:, used].max(axis=0)
    full = float(high.max() - low.min())
    same_range = float(np.mean(high - low > 0.8 * full)) > 0.5
    few, many = np.quantile(spread[used], [0.1, 0.9])
    middle = float(np.std(np.median(sample[:, used], axis=0)))
    similar = bool(many < 3 * few and middle < 2 * many)
    centred = float(np.mean(np.abs(sample[:, used].mean(axis=0)) < 0.05 * spread[used])) > 0.9
    return same_range or similar or centred


def _reduce(X: npt.NDArray[Any], sample: npt.NDArray[Any]) -> Floats:
    """Centre, scale as a whole, and keep the leading components if there are many columns."""
    if X.shape[1] > MOST_COLUMNS:
        components = Components.fit(np.asarray(sample, np.float32), COMPONENTS)
        blocks = [
            components.transform(np.asarray(X[start : start + 8192], np.float32)) for start in range(0, len(X), 8192)
        ]
        return np.concatenate(blocks)
    centred: Floats = (X - sample.mean(axis=0)).astype(np.float32)
    norm = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred))))
    centred /= np.float32(norm if norm > 0 else 1)
    return centred


def _standardise(X: npt.NDArray[Any], sample: npt.NDArray[np.float64]) -> Floats:
    centre, spread = column_scales(sample)
    out = np.asarray((X - centre) / spread, np.float32)
    return np.clip(out, -CLIP, CLIP, out=out)


def column_scales(sample: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the centre and the spread of each column, an infinite spread for a constant.

    They are mean and standard deviation, unless a few huge values have made the deviation what it is, beside which all
    others would look the same: then both are taken from what lies between the 5th and the 95th percentile.
    """
    centre, spread = sample.mean(axis=0), sample.std(axis=0)
    low, first, third, high = np.quantile(sample, [0.05, 0.25, 0.75, 0.95], axis=0)
    wild = spread > WILD * (third - first)
    wild &= third > first
    if wild.any():
        tame = np.clip(sample[:, wild], low[wild], high[wild])
        centre[wild], spread[wild] = tame.mean(axis=0), tame.std(axis=0)
    spread[spread <= 1e-9 * np.maximum(np.abs(centre), 1e-300)] = np.inf  # a constant says nothing
    return centre, spread


def _prepare_sparse(X: sparse.csr_array, seed: int) -> Prepared:
    """Weigh columns by rarity, bring rows to length 1, and find the leading directions (latent semantic analysis)."""
    from sklearn.utils.extmath import randomized_svd

    if not np.isfinite(X.data).all():
        raise DataError("features have NaN or infinite values: fill or leave out those rows")
    X = X.astype(np.float32)
    if X.nnz and X.data.min() >= 0 and np.all(X.data == np.round(X.data)):  # counts: not yet weighted by anybody
        X.data = np.log1p(X.data)
        rarity = np.log((1 + X.shape[0]) / (1 + np.bincount(X.indices, minlength=X.shape[1])))
        X.data *= rarity.astype(np.float32)[X.indices]
    X = unit_rows(X)
    n = min(COMPONENTS, min(X.shape) - 1)
    if n < 1 or X.nnz == 0:
        return Prepared(dense=np.asarray(X.toarray()[:, :COMPONENTS], np.float32), linear=X)
    left, values, _ = randomized_svd(X, n, random_state=seed, n_iter=4)
    dense = np.asarray(left * values, np.float32)
    # short texts have little mass in the leading directions, which says nothing about what they mean
    norm = np.sqrt(np.einsum("ij,ij->i", dense, dense))
    return Prepared(dense=dense / np.maximum(norm, 1e-6)[:, None], linear=X)


def unit_rows(X: sparse.csr_array) -> sparse.csr_array:
    """Bring the rows of a sparse matrix to length 1, rows of zeros aside."""
    norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    inverse = np.divide(1, norm, out=np.zeros_like(norm), where=norm > 0)
    return sparse.csr_array(sparse.dia_array((inverse[None], [0]), shape=(len(norm),) * 2) @ X)
