"""PAC labels (Candès, Ilyas and Zrnic 2025) by its own rule, on predictions as they are: for comparison only.

A sample of a tenth of the rows, drawn with replacement, is answered. Every row that is at least as uncertain as a
threshold is answered as well; the threshold is the largest at which an upper bound on the mean error of the others,
from the sample, stays within what is allowed: the normal approximation, or a bound by betting (Waudby-Smith and Ramdas
2024) that holds for finite samples.
"""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
_HALVINGS = 40


def pac_labels(
    wrong: npt.NDArray[np.bool_], confidence: Floats, *, target: float, seed: int, betting: bool, alpha: float = 0.05
) -> tuple[int, float]:
    """Return how many rows are answered, and the share of right labels in the end."""
    rng = np.random.default_rng(seed)
    n = len(wrong)
    uncertainty = 1.0 - confidence
    sample = rng.integers(0, n, n // 10)
    thresholds = np.sort(uncertainty)
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        bounded = wrong[sample] * (uncertainty[sample] < thresholds[middle])
        low, high = (middle + 1, high) if _upper(bounded, alpha, betting) <= 1.0 - target else (low, middle)
    asked = uncertainty >= (thresholds[low - 1] if low else -math.inf)
    asked[sample] = True
    return int(asked.sum()), 1.0 - float((wrong & ~asked).mean())


def _upper(errors: Floats, alpha: float, betting: bool) -> float:
    errors = np.asarray(errors, dtype=float)
    n, mean = len(errors), float(errors.mean())
    if not betting:
        return mean + NormalDist().inv_cdf(1.0 - alpha) * float(errors.std()) / math.sqrt(n)
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(errors)) / (counts + 1)
    variances = (0.25 + np.cumsum((errors - means) ** 2)) / (counts + 1)
    stakes = np.sqrt(2.0 * math.log(1.0 / alpha) / (n * np.concatenate([[0.25], variances[:-1]])))
    low, high = mean, 1.0
    for _ in range(_HALVINGS):
        trial = 0.5 * (low + high)
        won = np.cumsum(np.log1p(-np.minimum(stakes, 0.5 / max(1.0 - trial, 1e-12)) * (errors - trial)))
        low, high = (low, trial) if won.max() >= math.log(1.0 / alpha) else (trial, high)
    return high
