"""PAC labels by its published rule: it keeps its promise, and its bound is a bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from bela.bench._pac import errors_upper_pac, pac_for_budget, pac_labels
from bela.records import BoolArray, FloatArray

ALPHA, RUNS = 0.1, 300


def failures(upper: object) -> int:
    """Count how often what should be above the mean is below it."""
    rng = np.random.default_rng(5)
    assert callable(upper)
    return sum(upper(rng.random(80) < 0.3) < 0.3 for _ in range(RUNS))


def test_the_betting_bound_holds() -> None:
    """It fails no more often than it may."""
    n = failures(lambda errors: errors_upper_pac(errors, ALPHA, betting=True))
    assert binom.sf(n - 1, RUNS, ALPHA) > 1e-3


def test_a_bound_that_is_none_is_found_out() -> None:
    """The twin that takes the mean for a bound fails."""
    n = failures(lambda errors: float(errors.mean()))
    assert binom.sf(n - 1, RUNS, ALPHA) < 1e-9


def predictions(seed: int) -> tuple[BoolArray, FloatArray]:
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.random(2000), 1)  # many are equally sure
    return rng.random(2000) > 0.5 + confidence / 2, confidence


@pytest.mark.parametrize("betting", [False, True])
def test_the_rule_leaves_no_more_wrong_than_it_may(betting: bool) -> None:
    """What is asked is some of the rows, the same ones by the same seed; what is right is what was promised."""
    wrong, confidence = predictions(0)
    asked, right = pac_labels(wrong, confidence, target=0.9, seed=1, betting=betting)
    assert 200 < asked < 2000
    assert right >= 0.9
    assert (asked, right) == pac_labels(wrong, confidence, target=0.9, seed=1, betting=betting)
    more, _ = pac_labels(wrong, confidence, target=0.97, seed=1, betting=betting)
    assert more > asked


def test_a_budget_is_spent_to_the_answer() -> None:
    """With more answers more is right; with every row answered nothing is wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 400)
    X = np.eye(3, dtype=np.float32)[truth] + rng.normal(scale=0.5, size=(400, 3)).astype(np.float32)
    points = pac_for_budget(X, truth, (40, 200), seed=0)
    assert points[40][0] < points[200][0]
    assert all(0 <= lower <= 1 for _, lower in points.values())
