"""Matrices of any kind to features in which distances mean something.

What a matrix is, is read off its numbers: sparse rows are texts or the like, columns that share a unit are pixels or an
embedding, anything else is a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from bela.errors import DataError
from bela.protocols import BLOCK_ROWS, Source
from bela.records import AnyArray, IntArray, Matrix

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

COMPONENTS = 128
MOST_COLUMNS = 256  # more are reduced to components
FIT_ROWS, WIDE_COLUMNS = 10_000, 2_048
WIDE_FIT_ROWS = 4_096  # of a wide matrix: components take time cubic in the rows if there are fewer of them
SHARED_COLUMNS = 16  # fewer columns are a table, whatever their units
CLIP = 4.0  # standard deviations: beyond, an outlier would be alone in the world
WILD = 20.0  # a deviation of so many times the middle half of the values is the work of a few
DENSE_COLUMNS = 64  # a sparse matrix with fewer is a table
LARGEST = float(np.finfo(np.float32).max)
TREE_COLUMNS = 48  # trees take long for more, and pixels or embeddings are nothing for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """A projection onto principal components after which rows have mean zero and mean squared norm `weight`^2."""

    mean: Floats
    basis: Floats

    @property
    def n_components(self) -> int:
        """How many there are."""
        return int(self.basis.shape[1])

    @classmethod
    def fit(cls, X: Floats, n_components: int, *, weight: float = 1.0, metric: Floats | None = None) -> Self:
        """Find the leading components of a sample of rows; components without any spread are left out.

        With a `metric`, they are those of the rows times this matrix.
        """
        mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
        centred = X - mean
        centred = centred if metric is None else centred @ metric
        n_rows, n_columns = X.shape
        wide = n_rows < n_columns  # the smaller of the two products has the same spectrum
        gram = centred @ centred.T if wide else centred.T @ centred
        kept = (len(gram) - min(n_components, len(gram)), len(gram) - 1)
        spread, vectors = linalg.eigh(gram, subset_by_index=kept, check_finite=True)
        spread, vectors = spread[::-1], vectors[:, ::-1]  # largest first
        if wide:
            vectors = centred.T @ (vectors / np.sqrt(np.maximum(spread, 1e-30)))
        some = spread > max(1e-6 * float(spread.max(initial=0.0)), 1e-30)
        if not some.any():  # constant features: one column of zeros says so
            return cls(mean=mean, basis=np.zeros((n_columns, 1), np.float32))
        spread, vectors = spread[some], vectors[:, some]
        # a fixed sign, as solvers differ
        vectors = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(spread))])
        scale = weight / np.sqrt(float(spread.sum()) / n_rows)
        basis = np.asarray(vectors * scale, np.float32)
        return cls(mean=mean, basis=np.ascontiguousarray(basis if metric is None else metric @ basis))

    def transform(self, X: Floats, *, out: Floats | None = None) -> Floats:
        """Project rows."""
        projected: Floats = np.subtract(X @ self.basis, self.mean @ self.basis, out=out, dtype=np.float32)
        return projected


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Features for the learner: for distances, and where they say more in other forms, for other models.

    `dense` has mean squared norm 1. `linear` is what a linear model should see, `columns` what trees should see;
    None where they have no chance to add anything. Each of the `views` is for distances as well, of a part of what the
    rows are compared by, such as what a model reads in a text, or its words.
    """

    dense: Floats
    linear: Matrix | None = None
    columns: Floats | None = None
    views: tuple[Floats, ...] = ()

    @property
    def forms(self) -> tuple[Floats, Matrix | None, Floats | None]:
        """All of them, in this order."""
        return self.dense, self.linear, self.columns

    def take(self, rows: IntArray | slice) -> Prepared:
        """Return some rows in all forms."""
        linear, columns = (None if form is None else form[rows] for form in (self.linear, self.columns))
        views = tuple(view[rows] for view in self.views)
        return Prepared(dense=self.dense[rows], linear=linear, columns=columns, views=views)

    @classmethod
    def stack(cls, parts: Sequence[Prepared]) -> Prepared:
        """Put rows that are all in the same forms on top of each other."""
        first, linear = parts[0], None
        if first.linear is not None:
            forms: list[Matrix] = [part.linear for part in parts]
            linear = sparse.vstack(forms, "csr") if sparse.issparse(first.linear) else np.concatenate(forms)
        return cls(
            dense=np.concatenate([part.dense for part in parts]), linear=linear,
            columns=None if first.columns is None else np.concatenate([np.asarray(part.columns) for part in parts]),
            views=tuple(np.concatenate(views) for views in zip(*(part.views for part in parts), strict=True)),
        )  # fmt: skip

    @classmethod
    def join(cls, blocks: Iterable[Prepared], n_rows: int) -> Prepared:
        """Put blocks of rows on top of each other, with no more than one in memory beside the whole."""
        whole: list[AnyArray | None] = []
        start = 0
        for block in blocks:
            stop = start + block.dense.shape[0]
            if stop - start == n_rows:
                return block
            shapes = [None if form is None else (n_rows, form.shape[1]) for form in block.forms]
            whole = whole or [None if shape is None else np.empty(shape, np.float32) for shape in shapes]
            for out, form in zip(whole, block.forms, strict=True):
                if out is not None:
                    out[start:stop] = form
            start = stop
        return cls(dense=np.asarray(whole[0]), linear=whole[1], columns=whole[2])


def prepare_features(X: Matrix, *, seed: int = 0) -> Prepared:
    """Bring a dense or sparse matrix of finite numbers into the forms that the learner wants.

    >>> table = np.random.default_rng(0).normal(size=(100, 3)) * [1, 100, 10_000]
    >>> prepare_features(table).dense.std(axis=0).round(2)
    array([0.58, 0.58, 0.58], dtype=float32)
    """
    return Prepared.join(prepare_blocks(X, seed), X.shape[0])


def prepare_blocks(X: Matrix, seed: int) -> Iterator[Prepared]:
    """Yield what `prepare_features` returns block by block."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if X.shape[1] > DENSE_COLUMNS:
            yield _prepare_sparse(X, seed)
            return
        X = X.toarray()
    X = np.asarray(X)
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"features are a matrix with a row and a column at least, not of shape {X.shape}")
    if X.dtype.kind not in "buif":
        raise DataError(f"features are numbers, not {X.dtype}: encode other columns first")
    if not np.isfinite(X.sum(dtype=np.float64)) and not np.isfinite(X).all():
        raise DataError("features have NaN or infinite values: fill or leave out those rows")
    yield from _scaled_blocks(X, seed)


def _scaled_blocks(X: AnyArray, seed: int) -> Iterator[Prepared]:
    """Scale the rows of a dense matrix by a sample of them, and by all where it is about their norm."""
    scaling = _scaling_of(as_floats(X[fit_rows(len(X), seed, X.shape[1])]))
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(X), BLOCK_ROWS)]
    if scaling.components is None:
        scaling = replace(scaling, norm=mean_norm(scaling(X[rows]).dense for rows in blocks))
    for rows in blocks:
        yield scaling(X[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """What a matrix of one kind becomes for the learner, block by block."""

    scales: tuple[Doubles, Doubles] | None  # of each column, if they are of different units
    mean: AnyArray
    components: Components | None
    norm: float = 1.0

    def __call__(self, X: AnyArray) -> Prepared:
        """Turn some rows into features."""
        floats = as_floats(X)
        standard = None if self.scales is None else clipped((floats - self.scales[0]) / self.scales[1])
        seen = floats if standard is None else standard
        dense = reduced(seen, self.components, self.mean, self.norm, direction=standard is not None)
        return Prepared(dense=dense, linear=standard, columns=floats if X.shape[1] <= TREE_COLUMNS else None)


def fit_scaling(source: Source, seed: int) -> Scaling:
    """Learn to scale the rows of a source from a sample of them, which tells their norm as well as all would."""
    sample = as_floats(np.asarray(source.take(fit_rows(source.n_rows, seed, source.n_features))))
    scaling = _scaling_of(sample)
    return scaling if scaling.components is not None else replace(scaling, norm=mean_norm([scaling(sample).dense]))


def _scaling_of(floats: Floats) -> Scaling:
    sample = floats.astype(np.float64)
    scales = None if shares_unit(sample) else column_scales(sample)
    seen: AnyArray = sample if scales is None else clipped((floats - scales[0]) / scales[1])
    components = None
    if floats.shape[1] > MOST_COLUMNS:
        components = Components.fit(np.asarray(seen, np.float32), COMPONENTS)
    return Scaling(scales=scales, mean=seen.mean(axis=0), components=components)


def reduced(
    seen: AnyArray, components: Components | None, mean: AnyArray, norm: float, *, direction: bool = False
) -> Floats:
    """Return rows as components where there are any, or else centred, with mean squared norm 1.

    Of components only the `direction` may count: where a row is long as it has much of everything, as bright pictures
    do for a network, the short ones would be neighbours of all.
    """
    if components is not None:
        found = components.transform(np.asarray(seen, np.float32))
        return unit_directions(found) if direction else found
    return np.asarray((seen - mean).astype(np.float32) / np.float32(norm))


def mean_norm(blocks: Iterable[AnyArray]) -> float:
    """Return the root of the mean squared norm of the rows of some blocks, 1 where all are zero."""
    squares = [np.einsum("ij,ij->i", X, X) for X in blocks]
    return float(np.sqrt(np.mean(np.concatenate(squares)))) or 1.0


def fit_rows(n_rows: int, seed: int, n_columns: int = 1) -> npt.NDArray[np.intp]:
    """Return the rows, in order, whose numbers decide on scales and components."""
    limit = FIT_ROWS if n_columns <= WIDE_COLUMNS else WIDE_FIT_ROWS
    if n_rows <= limit:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, limit, replace=False))


def shares_unit(sample: Doubles) -> bool:
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


def as_floats(X: AnyArray) -> Floats:
    """Return numbers in single precision, its largest for those beyond."""
    wide = X.dtype.kind == "f" and X.dtype.itemsize > 4
    return np.asarray(np.clip(X, -LARGEST, LARGEST) if wide else X, np.float32)


def clipped(X: Doubles) -> Floats:
    """Return standardised values without outliers; they are clipped in place."""
    return np.clip(X, -CLIP, CLIP, out=X).astype(np.float32)


def column_scales(sample: Doubles) -> tuple[Doubles, Doubles]:
    """Return the centre and the spread of each column, an infinite spread for a constant.

    They are mean and standard deviation, unless a few huge values have made the deviation what it is, beside which all
    others would look the same: then both are taken from what lies between the 5th and the 95th percentile.
    """
    centre, spread = sample.mean(axis=0), sample.std(axis=0)
    low, first, third, high = np.quantile(sample, [0.05, 0.25, 0.75, 0.95], axis=0)
    wild = (spread > WILD * (third - first)) & (third > first)
    if wild.any():
        tame = np.clip(sample[:, wild], low[wild], high[wild])
        centre[wild], spread[wild] = tame.mean(axis=0), tame.std(axis=0)
    spread[spread <= 1e-9 * np.maximum(np.abs(centre), 1e-300)] = np.inf  # a constant says nothing
    return centre, spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Up to so many columns are kept as they are; more are reduced to so many components."""

    n_components: int = COMPONENTS
    most_columns: int = MOST_COLUMNS


def _prepare_sparse(X: sparse.csr_array, seed: int) -> Prepared:
    """Weigh columns by rarity, bring rows to length 1, and find the leading directions (latent semantic analysis)."""
    from sklearn.utils.extmath import randomized_svd

    if not np.isfinite(X.data).all():
        raise DataError("features have NaN or infinite values: fill or leave out those rows")
    X = X.astype(np.float32)
    counts = X.nnz and X.data.min() >= 0 and np.all(X.data == np.round(X.data))  # not yet weighted by anybody
    X = weighed(X, rarity(X)) if counts else unit_rows(X)
    n = min(COMPONENTS, min(X.shape) - 1)
    if n < 1 or X.nnz == 0:
        return Prepared(dense=np.asarray(X.toarray()[:, :COMPONENTS], np.float32), linear=X)
    left, values, _ = randomized_svd(X, n, random_state=seed, n_iter=4)
    return Prepared(dense=unit_directions(np.asarray(left * values, np.float32)), linear=X)


def unit_directions(dense: Floats) -> Floats:
    """Bring rows to length 1: short texts have little mass in the leading directions, which says nothing about them."""
    norm = np.sqrt(np.einsum("ij,ij->i", dense, dense))
    return np.asarray(dense / np.maximum(norm, 1e-6)[:, None], np.float32)


def rarity(counts: sparse.csr_array) -> Floats:
    """Return a weight for each column, by how few of the rows have anything in it."""
    n_with = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.asarray(np.log((1 + counts.shape[0]) / (1 + n_with)), np.float32)


def weighed(counts: sparse.csr_array, weights: Floats) -> sparse.csr_array:
    """Weigh counts, which change in place, and bring rows to length 1."""
    counts.data = np.log1p(counts.data) * weights[counts.indices]
    return unit_rows(counts)


def unit_rows(X: sparse.csr_array) -> sparse.csr_array:
    """Bring the rows of a sparse matrix to length 1, rows of zeros aside."""
    norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    inverse = np.divide(1, norm, out=np.zeros_like(norm), where=norm > 0)
    return sparse.csr_array(sparse.dia_array((inverse[None], [0]), shape=(len(norm),) * 2) @ X)
