"""The paper's bound: adaptive Hoeffding (Zhao et al. 2016), turned into an expected number of correct labels."""

import math

import numpy as np
from scipy.special import zeta

from bela.bounds._registry import BOUNDS, Counts
from bela.errors import ParameterError
from bela.records import FloatArray

_STEPS = 30  # halvings: q to 1e-9, and so its value, which is flat there, to the precision of a double
_BLOCK = 64


@BOUNDS.register("adaptive-hoeffding")
class AdaptiveHoeffding:
    """Lower bound on the expected number of rows that carry their leaf's majority label.

    For a leaf of |V| rows, |L| of them known, with n_maj of |B| bounds answers for the majority label, the bound in
    rows is ``|L| + (|V| - |L|) h`` with ``h = max over q in [0, p] of (1 - delta(q)) (p - q)``, ``p = n_maj / |B|``,
    ``delta(q) = zeta(2a/c) exp(-(2/c) (q^2 t - a log(log_c t + 1)))`` and t = |B|. `h` depends on the two counts
    alone, so it is computed once for each pair that occurs. The constants satisfy c > 1 and a > c / 2.

    With `as_printed`, t = |V| - |L| and zeta(a/c), as theorem 1 of the paper is printed. This is *not* a bound, it
    ignores how little was sampled; it is here to draw the errata figure. It needs a > c for zeta to be finite.

    >>> bound = AdaptiveHoeffding()
    >>> round(bound.rows(size=1000, known=100, n_majority=50, n_bounds=50), 1)
    683.3

    Guarantee
    ---------
    For a label fixed before B was drawn and a fixed q: ``Pr[exists t: p_t - share >= q] <= delta(q)``, any time, over
    the draw of B, hence ``E[correct rows] >= bound``. BELA chooses the label and the best q on the same B; with
    that choice the inequality is a heuristic, which the paper reports as "rarely violated". It is never
    reported as `Guarantee.ANYTIME`.

    Assumes
    -------
    B is a uniform sample of the leaf, with or without replacement; the leaf was cut without looking at B.
    """

    def __init__(self, a: float = 0.6, c: float = 1.1, *, as_printed: bool = False) -> None:
        if not 1 < c < math.inf:
            raise ParameterError(f"c of the adaptive Hoeffding bound is a finite number above 1, not {c}")
        least = c if as_printed else c / 2
        if not least < a < math.inf:
            raise ParameterError(f"a of that bound is a finite number above {least:g} for c = {c:g}, not {a}")
        self.a, self.c, self.as_printed = a, c, as_printed
        self._log_zeta = math.log(float(zeta((1 if as_printed else 2) * a / c)))
        self._table: dict[tuple[int, int], list[float]] = {}

    def _log_scale(self, t: FloatArray) -> FloatArray:
        """Return the logarithm of delta(0) for t >= 1."""
        return self._log_zeta + (2 * self.a / self.c) * np.log(np.log(t) / math.log(self.c) + 1)

    def delta(self, q: Counts, t: Counts) -> FloatArray:
        """Probability that the observed share is ever q too high, after t >= 1 draws; may exceed 1."""
        times = np.asarray(t, dtype=float)
        return np.exp(self._log_scale(times) - (2 / self.c) * times * np.square(q))

    def shares(self, n_majority: Counts, n_bounds: Counts, t: Counts | None = None) -> FloatArray:
        """Maximise ``(1 - delta(q)) (p - q)`` over q, for arrays of counts; 0 where nothing can be said.

        Where delta < 1 the objective is log-concave in q: its logarithmic derivative falls from plus to minus
        infinity, and its one zero is found by bisection.
        """
        m, n = np.asarray(n_majority, dtype=float), np.asarray(n_bounds, dtype=float)
        if np.any(m > n) or np.any(m < 0):
            raise ParameterError("a majority count lies between 0 and the number of bounds answers")
        times = np.maximum(n if t is None else np.asarray(t, dtype=float), 1.0)
        p, times = np.broadcast_arrays(m / np.maximum(n, 1.0), times)
        log_scale = self._log_scale(times)
        rate = (2 / self.c) * times
        low = np.sqrt(np.maximum(log_scale, 0.0) / rate)  # below it delta >= 1 and the objective is not positive
        useful = low < p
        low, high = np.where(useful, low, 0.0), np.where(useful, p, 0.0)
        for _ in range(_STEPS + 1):
            q = 0.5 * (low + high)
            delta = np.exp(np.minimum(log_scale - rate * q * q, 0.0))
            rising = 2 * rate * q * delta * (p - q) > 1 - delta
            low, high = np.where(rising, q, low), np.where(rising, high, q)
        return np.where(useful, (1 - delta) * (p - q), 0.0)

    def share(self, n_majority: int, n_bounds: int) -> float:
        """Return `shares` for one leaf with t = |B|, from a table that fills itself in blocks."""
        missing, block = n_bounds - n_majority, n_bounds // _BLOCK
        row = self._table.get((missing, block))
        if row is None:
            n = np.arange(block * _BLOCK, (block + 1) * _BLOCK)
            row = self._table[missing, block] = self.shares(np.maximum(n - missing, 0), n).tolist()
        return row[n_bounds % _BLOCK]

    def rows(self, size: int, known: int, n_majority: int, n_bounds: int) -> float:
        """Return the bound of one leaf, in rows."""
        unknown = size - known
        if self.as_printed:
            return known + unknown * float(self.shares(n_majority, n_bounds, unknown))
        return known + unknown * self.share(n_majority, n_bounds)

    def rows_right(
        self, size: Counts, n_known: Counts, n_label: Counts, n_drawn: Counts, n_known_label: Counts | None = None
    ) -> FloatArray:
        """Return the bound of each leaf, in rows; its sum over the leaves bounds the whole dataset."""
        known = np.asarray(n_known)
        unknown = np.asarray(size) - known
        return np.asarray(known + unknown * self.shares(n_label, n_drawn, unknown if self.as_printed else None))

    def rows_if_labelled(self, size: int, known: int, n_majority: int, n_bounds: int) -> float:
        """Return the bound of a leaf after one more bounds answer, if it agrees with the majority."""
        return self.rows(size, known + 1, n_majority + 1, n_bounds + 1)
