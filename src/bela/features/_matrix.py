"""Rows of numbers to features, block by block: what `prepare_features` does to a matrix that is all there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.features._components import Components, Floats
from bela.features._parse import Doubles
from bela.features._scaling import CLIP, COMPONENTS, MOST_COLUMNS, column_scales, shares_unit

LARGEST_SHARED = 1e15  # columns with larger numbers are not compared by their units


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Up to so many columns are kept as they are; more are reduced to so many components."""

    n_components: int = COMPONENTS
    most_columns: int = MOST_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixFeatures:
    """Scales for the columns of a matrix, fitted to a sample of its rows.

    Missing values count as the middle of their column, infinities as its largest or smallest number. `scale` is None
    where the columns share a unit; otherwise each column, or group of columns that belong together, gets the total
    variance that it is given.
    """

    middle: Doubles
    low: Doubles
    high: Doubles
    centre: Doubles
    scale: Doubles | None
    mean: Doubles
    norm: float
    linear_norm: float
    components: Components | None

    @property
    def shared(self) -> bool:
        """Whether the columns share a unit, so that linear models and trees have nothing to add."""
        return self.scale is None

    @property
    def n_dense(self) -> int:
        """How many features a row gets."""
        return len(self.middle) if self.components is None else self.components.n_components

    @classmethod
    def fit(
        cls,
        sample: Doubles,
        *,
        shared: bool | None = None,
        groups: npt.NDArray[np.intp] | None = None,
        variance: Doubles | None = None,
        size: Size | None = None,
    ) -> MatrixFeatures:
        """Learn the scales.

        Parameters
        ----------
        sample
            Rows, with NaN for missing values; infinities are allowed.
        shared
            Whether the columns share a unit; None to judge by the numbers.
        groups
            The group of each column, numbered from 0; None for each its own.
        variance
            The total variance of each group, 1 unless told.
        size
            How many features there may be.
        """
        size = size or Size()
        seen: npt.NDArray[Any]
        middle, low, high = _order(sample)
        sample = _complete(sample, middle, low, high)
        if shared is None:
            shared = _one_unit(sample)
        if shared:
            centre, scale, seen = np.zeros(sample.shape[1]), None, sample
            reach = 9 * (high - low)
            low, high = low - reach, high + reach
        else:
            centre, spread = column_scales(sample)
            if groups is not None:
                total = np.bincount(groups, np.where(np.isinf(spread), 0, spread) ** 2)
                total = np.where(total > 0, total / (1 if variance is None else variance), np.inf)
                spread = np.where(np.isinf(spread), np.inf, np.sqrt(total)[groups])
            scale = 1 / spread
            seen = _standard(sample, centre, scale)
        mean = np.asarray(seen.mean(axis=0), np.float64)
        components, norm = None, 1.0
        if sample.shape[1] > size.most_columns:
            components = Components.fit(np.asarray(seen, np.float32), size.n_components)
        else:
            centred = (seen - mean).astype(np.float32)
            norm = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred)))) or 1.0
        return cls(
            middle=middle,
            low=low,
            high=high,
            centre=centre,
            scale=scale,
            mean=mean,
            norm=norm,
            linear_norm=float(np.sqrt(np.mean(np.einsum("ij,ij->i", seen, seen)))) or 1.0,
            components=components,
        )

    def transform(self, X: Doubles) -> tuple[Floats, Floats | None]:
        """Return the features for distances, and those for linear models where they say more."""
        X = _complete(X, self.middle, self.low, self.high)
        standard = None if self.scale is None else _standard(X, self.centre, self.scale)
        seen: npt.NDArray[Any] = np.clip(X, self.low, self.high) if standard is None else standard
        if self.components is not None:
            return self.components.transform(np.asarray(seen, np.float32)), standard
        dense: Floats = (seen - self.mean).astype(np.float32)
        dense /= np.float32(self.norm)
        return dense, standard


def share_unit(sample: Doubles) -> bool:
    """Whether the columns are of one kind, judged by the values that are there."""
    return _one_unit(_complete(sample, *_order(sample)))


def _one_unit(sample: Doubles) -> bool:
    return float(np.abs(sample).max(initial=0)) < LARGEST_SHARED and shares_unit(sample)


def _standard(X: Doubles, centre: Doubles, scale: Doubles) -> Floats:
    out = (X - centre) * scale
    return np.clip(out, -CLIP, CLIP, out=out).astype(np.float32)


def _order(sample: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """The middle, smallest and largest finite number of each column, 0 for a column without any."""
    finite = np.isfinite(sample)
    low = np.where(finite, sample, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, sample, -np.inf).max(axis=0, initial=-np.inf)
    some = finite.any(axis=0)
    middle = np.zeros(sample.shape[1])
    if finite.all() and len(sample):
        middle = np.median(sample, axis=0)
    elif some.any():
        middle[some] = np.nanmedian(np.where(finite, sample, np.nan)[:, some], axis=0)
    return middle, np.where(some, low, 0.0), np.where(some, high, 0.0)


def _complete(X: Doubles, middle: Doubles, low: Doubles, high: Doubles) -> Doubles:
    """Put numbers where there are none."""
    finite = np.isfinite(X)
    if finite.all():
        return X
    return np.where(finite, X, np.where(np.isnan(X), middle, np.where(X > 0, high, low)))
