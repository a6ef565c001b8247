"""What was predicted of the rows around each: single errors are outvoted there, wherever like rows are of one class."""

import numpy as np

from bela.learning._graph import Floats, Graph
from bela.records import UNKNOWN, FloatArray, IntArray

STEPS = 7  # of smoothing: between the little and the lot that features are smoothed by
_BLOCK = 64  # classes at a time: there may be thousands


def predicted_around(graph: Graph, codes: IntArray, n_classes: int) -> tuple[IntArray, FloatArray]:
    """Return the class that most of the rows around each were predicted to be, and how far it is ahead of the next.

    Nothing is learnt from answers here, so that these can judge it like any other prediction. UNKNOWN where nothing was
    predicted near by.
    """
    n_rows = len(codes)
    best, first, second = np.full(n_rows, UNKNOWN, np.int32), np.zeros(n_rows, np.float32), np.zeros(n_rows, np.float32)
    for start in range(0, n_classes, _BLOCK):
        some = np.arange(start, min(start + _BLOCK, n_classes))
        shares: Floats = graph.smooth((codes[:, None] == some).astype(np.float32), n_steps=STEPS)
        for code, share in zip(some.tolist(), shares.T, strict=True):
            ahead = share > first
            second = np.where(ahead, first, np.maximum(second, share))
            best[ahead], first = code, np.maximum(first, share)
    return best, np.asarray(first - second, dtype=float)
