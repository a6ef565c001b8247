"""The confidence limits of hierarchical sampling (Dasgupta and Hsu 2008), on counts alone.

They are what the method of that name steers by. None is a guarantee at a stated level: see each section Guarantee.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bela.errors import ParameterError
from bela.records import BoolArray, FloatArray

Counts = npt.ArrayLike


def label_interval(n_label: Counts, n_drawn: Counts, size: Counts, *, z: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Say between which limits the share of a label in a cluster lies, from a random sample of the cluster.

    With p = n_label / n_drawn and f = 1 - n_drawn / size, the limits are p ∓ (z² f / n_drawn + z √(f p (1-p) /
    n_drawn)), cut back to what the sample rules out for certain. The authors' experiments have z = 1. The factor
    f is zero when the whole cluster was drawn. Without a sample the limits are 0 and 1.

    Guarantee
    ---------
    For one cluster, one label and one look, P(lower <= share) and P(share <= upper) over the random draw both
    tend to the normal probability Φ(z) as n_drawn and size - n_drawn grow and the share stays inside (0, 1). For
    small samples, and when few rows are left, the coverage is less: counted out exactly for 60 rows of which 10
    to 30 are drawn, it is at least 0.66 for z = 1 and 0.88 for z = 1.645. Nothing is said about several clusters,
    labels or looks at once, though the method takes all of these.

    Assumes
    -------
    n_drawn rows were drawn uniformly without replacement from the `size` rows of a cluster that was fixed before
    any answer; the label and the moment were fixed before, too.

    Examples
    --------
    >>> lower, upper = label_interval([10, 0, 100], [10, 0, 100], [1000, 1000, 100])
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.901, 0.0, 1.0], [1.0, 1.0, 1.0])
    """
    k, n, total = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (n_label, n_drawn, size)))
    if z < 0 or not np.all((k >= 0) & (k <= n) & (n <= total) & (total > 0)):
        raise ParameterError("counts must satisfy 0 <= n_label <= n_drawn <= size, size > 0, and z >= 0")
    return _interval(k, n, total, z)


def _interval(
    k: npt.NDArray[Any], n: npt.NDArray[Any], total: npt.NDArray[Any], z: float
) -> tuple[FloatArray, FloatArray]:
    some = np.maximum(n, 1.0)
    share = k / some
    rest = 1.0 - n / total
    delta = z * z * rest / some + z * np.sqrt(rest * share * (1.0 - share) / some)
    lower = np.maximum(share - delta, k / total)
    upper = np.minimum(share + delta, 1.0 - (n - k) / total)
    return np.where(n > 0, lower, 0.0), np.where(n > 0, upper, 1.0)


def admissible_labels(n_label: Counts, n_drawn: Counts, size: Counts, *, beta: float = 2.0) -> BoolArray:
    """Say which labels a cluster may be given: those not clearly worse than `beta` times the best one's errors.

    Label l is admissible if 1 - lower(l) < beta (1 - upper(l')) for every other label l'; with beta = 2 that is
    lower(l) > 2 upper(l') - 1. A label that nobody has met yet is always among the l', since the classes are
    not known beforehand.

    Parameters
    ----------
    n_label
        One row a cluster, one column a label.
    n_drawn, size
        One entry a cluster; n_drawn may exceed the row's sum by rows that got no label.

    Guarantee
    ---------
    Wherever the limits of `label_interval` hold for all labels of a cluster at once, giving it an admissible label
    makes less than `beta` times the errors of any other label. How often they hold: see `label_interval`.

    Assumes
    -------
    What `label_interval` assumes.

    Examples
    --------
    >>> admissible_labels([[1, 0], [2, 0], [3, 3], [9, 1]], [1, 2, 10, 10], [100] * 4).tolist()
    [[False, False], [True, False], [True, True], [True, False]]
    """
    k = np.asarray(n_label, dtype=np.float64)
    n, total = (np.asarray(a, dtype=np.float64)[:, None] for a in (n_drawn, size))
    k = np.concatenate([k, np.zeros((len(k), 1))], axis=1)
    lower, upper = _interval(k, n, total, 1.0)
    # The largest upper limit of the *other* labels: the largest of all, but for the label that has it itself.
    top = np.argmax(upper, axis=1)
    at = np.arange(len(k))
    first = upper[at, top]
    upper[at, top] = -1.0
    second = upper.max(axis=1)
    rival = np.repeat(first[:, None], k.shape[1], axis=1)
    rival[at, top] = second
    result: BoolArray = (1.0 - lower < beta * (1.0 - rival))[:, :-1]
    return result


def rest_right_lower(
    n_label: Counts,
    n_drawn: Counts,
    size: Counts,
    n_known: Counts,
    n_known_label: Counts,
    *,
    z: float = 1.0,
) -> FloatArray:
    """Bound from below how many rows of a cluster that nobody has answered for carry the cluster's label.

    At least size * lower rows of the cluster carry the label, of which n_known_label are known; the others must be
    among the size - n_known rows that are left.

    Guarantee
    ---------
    The number of unanswered rows with the label is at least the returned one whenever the share of the label is
    at least the lower limit of `label_interval`; so for one cluster, a label fixed beforehand and one look, with
    the probability stated there.

    Assumes
    -------
    What `label_interval` assumes of the drawn rows. The known rows may be any rows, the drawn ones among them.

    Examples
    --------
    >>> rest_right_lower([10, 50], [10, 50], [110, 50], [10, 50], [10, 50]).round(2).tolist()
    [90.0, 0.0]
    """
    total, known, same = (np.asarray(a, dtype=np.float64) for a in (size, n_known, n_known_label))
    lower, _ = label_interval(n_label, n_drawn, size, z=z)
    result: FloatArray = np.clip(total * lower - same, 0.0, total - known)
    return result
