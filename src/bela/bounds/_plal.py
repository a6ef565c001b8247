"""How many answers must agree before PLAL labels a cell (Urner, Wulff and Ben-David 2013), on counts alone."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bela.errors import ParameterError
from bela.records import FloatArray, IntArray


def trial_size(level: npt.ArrayLike, *, epsilon: float, alpha: float) -> IntArray:
    """Say how many rows of a cell, so many steps below the root, must agree before the rest is labelled like them.

    q_k = ⌈(2 k ln 2 + ln(2/alpha)) / epsilon⌉ at level k, and never less than 1 + 2/epsilon (which matters for
    alpha above 0.09 only).

    Guarantee
    ---------
    With probability at least 1 - alpha over the random order of the rows, at all times and for all cells of the tree
    at once: if the first q_k rows of a cell at level k have one label, at most epsilon times the cell's rows have
    another.

    *Why.* Call a cell bad if no label has a share above 1 - epsilon. Given the first row, the other q - 1 agree with
    it with probability at most (1 - epsilon)^(q-1), drawn without replacement; and for q >= 1 + 2/epsilon this
    is at most e^(-epsilon q), as -ln(1 - epsilon) >= epsilon + epsilon²/2. With q_k that is 4^-k alpha/2, level k has
    at most 2^k cells, and the sum over levels of 2^-k alpha/2 is at most alpha. Whether a cell misleads
    depends on the order of its rows alone, not on which cells are looked at or when.

    Assumes
    -------
    A binary tree, epsilon and alpha that were fixed before any answer; one uniformly random order of the rows, drawn
    apart from tree and labels, in which every cell's rows are taken.

    Examples
    --------
    >>> trial_size([0, 1, 10], epsilon=0.1, alpha=0.05).tolist()
    [37, 51, 176]
    """
    if not 0.0 < epsilon < 1.0:
        raise ParameterError(f"epsilon lies strictly between 0 and 1, not {epsilon}")
    if not 0.0 < alpha < 1.0:
        raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
    k = np.asarray(level)
    if np.any(k < 0):
        raise ParameterError("levels count from 0, the root")
    needed = np.maximum((2.0 * math.log(2.0) * k + math.log(2.0 / alpha)) / epsilon, 1.0 + 2.0 / epsilon)
    result: IntArray = np.ceil(needed).astype(np.int64)
    return result


def cell_right_lower(
    size: npt.ArrayLike, n_known: npt.ArrayLike, n_known_other: npt.ArrayLike, *, epsilon: float
) -> FloatArray:
    """Bound from below how many unanswered rows of a cell that passed its trial carry the trial's label.

    At most ⌊epsilon * size⌋ rows of the cell have another label; those of them that are known are not among the
    unanswered.

    Guarantee
    ---------
    With probability at least 1 - alpha over the random order of the rows, at all times and for all cells that passed
    at once: the number of unanswered rows with the label is at least the returned one.

    Assumes
    -------
    The trial had the size that `trial_size` gives for the same epsilon, and what that assumes. The known rows may be
    any rows, chosen in any way.

    Examples
    --------
    >>> cell_right_lower([1000, 1000, 40], [51, 960, 40], [0, 30, 0], epsilon=0.1).tolist()
    [849.0, 0.0, 0.0]
    """
    if not 0.0 < epsilon < 1.0:
        raise ParameterError(f"epsilon lies strictly between 0 and 1, not {epsilon}")
    total, known, other = (np.asarray(a, dtype=np.float64) for a in (size, n_known, n_known_other))
    rest = total - known
    wrong = np.maximum(np.floor(epsilon * total) - other, 0.0)
    result: FloatArray = np.maximum(rest - wrong, 0.0)
    return result
