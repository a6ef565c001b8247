"""What the methods of cluster trees steer by, on counts alone: HSAL and PLAL.

Of HSAL (hierarchical sampling, Dasgupta and Hsu 2008) nothing is a guarantee at a stated level: see each section
Guarantee. PLAL (Urner, Wulff and Ben-David 2013) says how many answers must agree before a cell is labelled.
"""

import math

import numpy as np

from bela.bounds._registry import BOUNDS, Counts, check_inside
from bela.errors import ParameterError
from bela.records import BoolArray, FloatArray, IntArray


def label_interval(n_label: Counts, n_drawn: Counts, size: Counts, *, z: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Say between which limits the share of a label in a cluster lies, from a random sample of the cluster.

    With p = n_label / n_drawn and f = 1 - n_drawn / size, the limits are p ∓ (z² f / n_drawn + z √(f p (1-p) /
    n_drawn)), cut back to what the sample rules out for certain; without a sample 0 and 1. The authors have z = 1.

    >>> lower, upper = label_interval([10, 0, 100], [10, 0, 100], [1000, 1000, 100])
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.901, 0.0, 1.0], [1.0, 1.0, 1.0])

    Guarantee
    ---------
    For one cluster, one label and one look, P(lower <= share) and P(share <= upper) over the random draw both
    tend to the normal probability Φ(z) as n_drawn and size - n_drawn grow and the share stays inside (0, 1). For
    small samples, and when few rows are left, it is less: counted out exactly for 60 rows of which 10 to 30 are drawn,
    at least 0.66 for z = 1 and 0.88 for z = 1.645. Nothing is said about several clusters, labels or looks at once.

    Assumes
    -------
    n_drawn rows were drawn uniformly without replacement from the `size` rows of a cluster that was fixed before
    any answer; the label and the moment were fixed before, too.
    """
    k, n, total = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (n_label, n_drawn, size)))
    if z < 0 or not np.all((k >= 0) & (k <= n) & (n <= total) & (total > 0)):
        raise ParameterError("counts must satisfy 0 <= n_label <= n_drawn <= size, size > 0, and z >= 0")
    some = np.maximum(n, 1.0)
    share, rest = k / some, 1.0 - n / total
    delta = z * z * rest / some + z * np.sqrt(rest * share * (1.0 - share) / some)
    lower = np.maximum(share - delta, k / total)
    upper = np.minimum(share + delta, 1.0 - (n - k) / total)
    return np.where(n > 0, lower, 0.0), np.where(n > 0, upper, 1.0)


def admissible_labels(n_label: Counts, n_drawn: Counts, size: Counts, *, beta: float = 2.0) -> BoolArray:
    """Say which labels a cluster may be given: those not clearly worse than `beta` times the best one's errors.

    Label l is admissible if 1 - lower(l) < beta (1 - upper(l')) for every other label l', one that nobody has met yet
    always among them, since the classes are not known beforehand.

    `n_label` has one row a cluster and one column a label; `n_drawn` may exceed a row's sum by rows without a label.

    >>> admissible_labels([[1, 0], [2, 0], [3, 3], [9, 1]], [1, 2, 10, 10], [100] * 4).tolist()
    [[False, False], [True, False], [True, True], [True, False]]

    Guarantee
    ---------
    Wherever the limits of `label_interval` hold for all labels of a cluster at once, giving it an admissible label
    makes less than `beta` times the errors of any other label. How often they hold: see `label_interval`.

    Assumes
    -------
    What `label_interval` assumes.
    """
    k = np.pad(np.asarray(n_label, dtype=np.float64), ((0, 0), (0, 1)))
    n, total = (np.asarray(a, dtype=np.float64)[:, None] for a in (n_drawn, size))
    lower, upper = label_interval(k, n, total)
    # The largest upper limit of the *other* labels: the largest of all, but for the label that has it itself.
    at, top = np.arange(len(k)), np.argmax(upper, axis=1)
    rival = np.repeat(upper[at, top][:, None], k.shape[1], axis=1)
    upper[at, top] = -1.0
    rival[at, top] = upper.max(axis=1)
    return (1.0 - lower < beta * (1.0 - rival))[:, :-1]


@BOUNDS.register("hsal")
class HSALBound:
    """Lower bound on how many rows of each cluster are right, once those that nobody has answered get its label.

    At least size * lower rows of a cluster carry its label, of which n_known_label are known; the others must be among
    the size - n_known rows that are left. `z` is that of `label_interval`.

    >>> HSALBound().rows_right([110, 50], [10, 50], [10, 50], [10, 50], [10, 50]).round(2).tolist()
    [100.0, 50.0]

    Guarantee
    ---------
    At least `rows_right` rows of a cluster are right whenever the share of its label is at least the lower limit of
    `label_interval`; so for one cluster, a label fixed beforehand and one look, with the probability stated there.

    Assumes
    -------
    What `label_interval` assumes of the drawn rows. The known rows may be any rows, the drawn ones among them.
    """

    def __init__(self, z: float = 1.0) -> None:
        self.z = z

    def rows_right(
        self, size: Counts, n_known: Counts, n_label: Counts, n_drawn: Counts, n_known_label: Counts
    ) -> FloatArray:
        """Return the bound of each cluster, in rows."""
        total, known, same = (np.asarray(a, dtype=np.float64) for a in (size, n_known, n_known_label))
        lower, _ = label_interval(n_label, n_drawn, size, z=self.z)
        return known + np.clip(total * lower - same, 0.0, total - known)


@BOUNDS.register("plal")
class PLALBound:
    """Lower bound on how many rows of each cell are right, once those that nobody has answered get its label.

    The label of a cell is that of its trial: the first q_k of its rows, at level k below the root, which all agree.
    q_k = ⌈(2 k ln 2 + ln(2/alpha)) / epsilon⌉, and never less than 1 + 2/epsilon (which matters for alpha above 0.09
    only). Then at most ⌊epsilon * size⌋ rows of the cell have another label; those of them that are known are not
    among the unanswered. A cell that did not pass its trial is worth its known rows.

    >>> bound = PLALBound(epsilon=0.1, alpha=0.05)
    >>> bound.trial_size([0, 1, 10]).tolist()
    [37, 51, 176]
    >>> bound.rows_right([1000, 1000, 40], [51, 51, 40], [51, 50, 37], [51, 51, 37], [51, 50, 40]).tolist()
    [900.0, 51.0, 40.0]

    Guarantee
    ---------
    With probability at least 1 - alpha over the random order of the rows, at all times and for all cells of the tree
    at once: if the first q_k rows of a cell at level k have one label, at most epsilon times the cell's rows have
    another, and so at least `rows_right` rows of it are right.

    *Why.* Call a cell bad if no label has a share above 1 - epsilon. Given the first row, the other q - 1 agree with
    it with probability at most (1 - epsilon)^(q-1), drawn without replacement; and for q >= 1 + 2/epsilon this
    is at most e^(-epsilon q), as -ln(1 - epsilon) >= epsilon + epsilon²/2. With q_k that is 4^-k alpha/2, level k has
    at most 2^k cells, and the sum over levels of 2^-k alpha/2 is at most alpha. Whether a cell misleads
    depends on the order of its rows alone, not on which cells are looked at or when.

    Assumes
    -------
    A binary tree, epsilon and alpha that were fixed before any answer; one uniformly random order of the rows, drawn
    apart from tree and labels, in which every cell's rows are taken. The known rows may be any rows, chosen in any way.
    """

    def __init__(self, *, epsilon: float = 0.1, alpha: float = 0.05) -> None:
        check_inside("epsilon", epsilon)
        check_inside("alpha", alpha)
        self.epsilon, self.alpha = epsilon, alpha

    def trial_size(self, level: Counts) -> IntArray:
        """Say how many rows of a cell, so many steps below the root, must agree before the rest is labelled alike."""
        k = np.asarray(level)
        if np.any(k < 0):
            raise ParameterError("levels count from 0, the root")
        needed = (2.0 * math.log(2.0) * k + math.log(2.0 / self.alpha)) / self.epsilon
        return np.ceil(np.maximum(needed, 1.0 + 2.0 / self.epsilon)).astype(np.int64)

    def rows_right(
        self, size: Counts, n_known: Counts, n_label: Counts, n_drawn: Counts, n_known_label: Counts
    ) -> FloatArray:
        """Return the bound of each cell, in rows; n_drawn is its trial, 0 where it had none, n_label what agreed."""
        total, known, same = (np.asarray(a, dtype=np.float64) for a in (size, n_known, n_known_label))
        drawn, agreed = np.asarray(n_drawn), np.asarray(n_label)
        wrong = np.maximum(np.floor(self.epsilon * total) - (known - same), 0.0)
        return known + np.where((drawn > 0) & (agreed == drawn), np.maximum(total - known - wrong, 0.0), 0.0)
