"""One random order of the rows that needs no memory: a keyed hash of the row number.

To sample uniformly without replacement from any set of rows, take them in order of priority. The order depends
on the seed and the row alone, so it is the same for every layout of the data, and a subset keeps it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bela.records import IntArray

_MASK = (1 << 64) - 1


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble 64-bit words (the finaliser of splitmix64, a bijection)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def priorities(rows: IntArray, seed: int, stream: int = 0) -> npt.NDArray[np.uint64]:
    """Give each row its random priority; another stream is another, independent order.

    Examples
    --------
    >>> import numpy as np
    >>> p = priorities(np.arange(1000), seed=0)
    >>> len(np.unique(p)), bool((p[:10] == priorities(np.arange(10), seed=0)).all())
    (1000, True)
    """
    key = np.array([seed & _MASK, (stream + 1) & _MASK], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = _mix(_mix(key[:1]) + key[1:])
    return _mix(_mix(np.asarray(rows).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + mixed) ^ mixed)


def draw_order(rows: IntArray, seed: int, stream: int = 0) -> IntArray:
    """Sort rows into a uniformly random order, the same whatever order they came in."""
    # The keyed hash is a bijection of the row number, so priorities never tie.
    result: IntArray = np.asarray(rows)[np.argsort(priorities(rows, seed, stream))]
    return result
