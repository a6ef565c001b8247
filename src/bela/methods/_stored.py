"""What a fit came to, kept for the next time the same fit is wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.protocols import ArrayStore

Arrays = list[npt.NDArray[Any]]


def stored(store: ArrayStore | None, name: str, make: Callable[[], Arrays]) -> Arrays:
    """Return arrays by name, made and kept where there are none yet."""
    arrays = None if store is None else store.load(name)
    if arrays is None:
        arrays = make()
        if store is not None:
            store.save(name, arrays)
    return arrays


def digest(*arrays: npt.NDArray[Any]) -> str:
    """Return a name for the content of some arrays.

    >>> digest(np.arange(3)) == digest(np.arange(3)) != digest(np.arange(4))
    True
    """
    result = hashlib.blake2b(digest_size=12)
    for array in arrays:
        result.update(f"{array.dtype.str}{array.shape}".encode())
        result.update(np.ascontiguousarray(array).tobytes())
    return result.hexdigest()
