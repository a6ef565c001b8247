"""Records around an array: a matrix, dense or sparse, or images, in memory or mapped into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bela.errors import DataError, ParameterError
from bela.features._kinds import Verdict
from bela.protocols import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayColumn:
    """The array of records that have one, as if it were a column."""

    name: str
    array: Any

    @property
    def sparse(self) -> bool:
        """Whether the array is a sparse matrix."""
        return not isinstance(self.array, np.ndarray)

    def verdict(self, kind: str | None) -> Verdict:
        """Say what kind of column the array is; a kind that somebody has chosen must be that or "ignored"."""
        shape = tuple(self.array.shape)
        found = "embedding" if len(shape) == 2 else "image"
        if not (len(shape) == 2 or (len(shape) in (3, 4) and not self.sparse)) or 0 in shape:
            raise DataError(f"an array of shape {shape} holds neither rows of numbers nor images: reshape it")
        if np.dtype(self.array.dtype).kind not in "buif":
            raise DataError(f"an array of {self.array.dtype} holds no numbers: encode it first")
        if kind not in (None, found, "ignored"):
            raise ParameterError(f"an array of shape {shape} is of kind {found}, not {kind}")
        size = " x ".join(map(str, shape[1:]))
        reason = f"{size} pixels" if found == "image" else f"{size} numbers each{', sparse' if self.sparse else ''}"
        return Verdict(kind=kind or found, reason=reason if kind is None else "as told")


def array_of(records: Records) -> ArrayColumn | None:
    """Return the array that the records are made of, None where they are a table.

    Such records have the array as `array`, and in `main` the name of its column; they may have other columns besides.
    """
    array = getattr(records, "array", None)
    if array is None or len(getattr(array, "shape", ())) < 2:
        return None
    return ArrayColumn(name=getattr(records, "main", records.columns[0]), array=array)
