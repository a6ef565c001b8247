"""Features that are ready: rows in the form that every method takes, mapped from files."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.features._scaling import Prepared
from bela.records import IntArray, Matrix

_BLOCK_BYTES = 64 << 20


class FeatureSource:
    """The rows of a dataset as features, computed by `compute_features`.

    Parameters
    ----------
    prepared
        The features in all their forms.
    temporary
        A folder that goes when this goes, where the features are not kept in a cache.
    """

    def __init__(self, prepared: Prepared, *, temporary: Path | None = None) -> None:
        self.prepared = prepared
        if temporary is not None:
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)

    @property
    def n_rows(self) -> int:
        return len(self.prepared.dense)

    @property
    def n_features(self) -> int:
        return int(self.prepared.dense.shape[1])

    def take(self, rows: IntArray) -> Matrix:
        return self.prepared.dense[rows]

    def scan(self, function: Callable[[Matrix], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        step = max(1, _BLOCK_BYTES // (4 * self.n_features))
        return np.concatenate([function(self.prepared.dense[i : i + step]) for i in range(0, self.n_rows, step)])
