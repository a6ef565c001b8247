"""PAC labels (Candès, Ilyas and Zrnic 2025) by its published rule: for comparison only.

A sample of the rows, drawn with replacement, is answered. Every row that is at least as uncertain as a threshold is
answered as well; the threshold is the largest at which an upper bound on the mean error of the others, from the sample,
stays within what is allowed: the normal approximation, or a bound by betting (Waudby-Smith and Ramdas 2024) that holds
for finite samples. As in its authors' notebook, the sample is a tenth of the rows, rows that are equally uncertain are
told apart by a little noise, and bets are made at 2 / alpha, with at most three quarters of what is there.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from bela.records import BoolArray, FloatArray, IntArray

_HALVINGS = 40
_TIES = 1e-5  # spread of the noise that tells equally uncertain rows apart
_MOST = 0.75  # of what is there, for a bet


def pac_labels(
    wrong: BoolArray, confidence: FloatArray, *, target: float, seed: int, betting: bool, alpha: float = 0.05
) -> tuple[int, float]:
    """Return how many rows are answered, and the share of right labels in the end."""
    rng = np.random.default_rng(seed)
    n = len(wrong)
    uncertainty = 1.0 - confidence + _TIES * rng.normal(size=n)
    sample = rng.integers(0, n, n // 10)
    thresholds = np.sort(uncertainty)
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        bounded = wrong[sample] * (uncertainty[sample] < thresholds[middle])
        within = errors_upper_pac(bounded, alpha, betting=betting) <= 1.0 - target
        low, high = (middle + 1, high) if within else (low, middle)
    asked = uncertainty >= (thresholds[low - 1] if low else -math.inf)
    asked[sample] = True
    return int(asked.sum()), 1.0 - float((wrong & ~asked).mean())


def pac_for_budget(
    X: FloatArray, truth: IntArray, marks: Sequence[int], *, seed: int, alpha: float = 0.05
) -> dict[int, tuple[float, float]]:
    """Return the share right and the share certified where a budget is to be spent, for each of these budgets.

    The rule wants predictions: a logistic regression gives them, from half of the answers, drawn at random. A quarter
    are its sample, and the rest are for the rows of which the model is least sure. Its betting bound is computed at the
    threshold that comes of it, which no answer of the sample has a say in.
    """
    from sklearn.linear_model import LogisticRegression

    points = {}
    for budget in marks:
        rng = np.random.default_rng((seed, budget))
        order = rng.permutation(len(truth))
        training, rest = order[: budget // 2], order[budget // 2 :]
        if len(set(truth[training].tolist())) < 2:
            continue
        model = LogisticRegression(C=10.0, max_iter=200).fit(X[training], truth[training])
        found = model.predict_proba(X[rest])
        wrong, confidence = model.classes_[found.argmax(axis=1)] != truth[rest], found.max(axis=1)
        sample = rng.integers(0, len(rest), budget // 4)
        asked = np.zeros(len(rest), bool)
        asked[sample] = True
        left = np.flatnonzero(~asked)
        doubtful = left[np.argsort(confidence[left], kind="stable")[: budget - len(training) - int(asked.sum())]]
        threshold = confidence[doubtful].max(initial=0.0)
        upper = errors_upper_pac(wrong[sample] * (confidence[sample] > threshold), alpha, betting=True)
        asked[doubtful] = True
        right = 1.0 - float((wrong & ~asked).sum()) / len(truth)
        points[budget] = right, max(0.0, 1.0 - upper * len(rest) / len(truth))
    return points


def errors_upper_pac(errors: BoolArray, alpha: float, *, betting: bool) -> float:
    """Return an upper bound on the mean of errors, as the rule computes it."""
    losses = np.asarray(errors, dtype=float)
    n, mean = len(losses), float(losses.mean())
    if not betting:
        return mean + NormalDist().inv_cdf(1.0 - alpha) * float(losses.std()) / math.sqrt(n)
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(losses)) / (counts + 1)
    variances = (0.25 + np.cumsum((losses - means) ** 2)) / (counts + 1)
    stakes = np.sqrt(2.0 * math.log(2.0 / alpha) / (n * np.concatenate([[0.25], variances[:-1]])))
    low, high = mean, 1.0
    for _ in range(_HALVINGS):
        trial = 0.5 * (low + high)
        won = np.cumsum(np.log1p(-np.minimum(stakes, _MOST / max(1.0 - trial, 1e-12)) * (losses - trial)))
        low, high = (low, trial) if won.max() >= math.log(1.0 / alpha) else (trial, high)
    return high
