"""The limits of HSAL: what they say, counted out exactly for small clusters."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import hypergeom

from bela.bounds._leaves import HSALBound, admissible_labels, label_interval
from bela.errors import ParameterError


def worst_coverage(lower: Callable[..., np.ndarray], z: float, size: int = 60) -> float:
    """The least P(lower <= share) over all shares and samples of 10 rows to half the cluster, exactly."""
    worst = 1.0
    for n in range(10, size // 2 + 1, 5):
        k = np.arange(n + 1)
        limit = lower(k, n, size, z)
        for n_true in range(size + 1):
            holds = limit <= n_true / size + 1e-12
            worst = min(worst, float(hypergeom.pmf(k, size, n_true, n)[holds].sum()))
    return worst


def test_lower_limit_covers_as_the_docstring_says() -> None:
    """One look at one cluster: not far below Φ(z) for moderate samples; without the first term it fails badly."""
    assert worst_coverage(lambda k, n, size, z: label_interval(k, n, size, z=z)[0], 1.0) > 0.66
    assert worst_coverage(lambda k, n, size, z: label_interval(k, n, size, z=z)[0], 1.645) > 0.88

    def loosened(k: np.ndarray, n: int, size: int, z: float) -> np.ndarray:
        return k / n - z * np.sqrt((1 - n / size) * (k / n) * (1 - k / n) / n)

    assert worst_coverage(loosened, 1.645) < 0.5


def test_interval_is_the_authors_formula_and_knows_what_is_certain() -> None:
    """p ∓ (f/n + √(f p (1-p) / n)), never outside what the sample allows, exact when all is drawn."""
    lower, upper = label_interval(30, 50, 1000)
    delta = 0.95 / 50 + np.sqrt(0.95 * 0.6 * 0.4 / 50)
    assert np.allclose([lower, upper], [0.6 - delta, 0.6 + delta])
    n = np.arange(1, 21)
    k = np.minimum(n, 7)
    lower, upper = label_interval(k, n, 20)
    assert np.all((lower >= k / 20) & (upper <= 1 - (n - k) / 20) & (lower <= upper))
    assert lower[-1] == upper[-1] == 7 / 20
    assert [float(v) for v in label_interval(0, 0, 5)] == [0.0, 1.0]
    with pytest.raises(ParameterError):
        label_interval(3, 2, 10)


def test_upper_limit_mirrors_the_lower() -> None:
    """The limits of a label and of its absence are mirror images."""
    k = np.arange(26)
    lower, upper = label_interval(k, 25, 80)
    assert np.allclose(lower, 1 - label_interval(25 - k, 25, 80)[1])
    assert np.allclose(upper, 1 - label_interval(25 - k, 25, 80)[0])


def test_admissible_is_the_definition_spelt_out() -> None:
    """The vectorised rule agrees with loops over labels, an unmet label among the rivals."""
    rng = np.random.default_rng(0)
    n_label = rng.integers(0, 8, size=(300, 3))
    n_drawn = n_label.sum(axis=1) + rng.integers(0, 2, 300)
    size = n_drawn + rng.integers(1, 40, 300)
    got = admissible_labels(n_label, n_drawn, size)
    for i in range(300):
        counts = [*n_label[i], 0]
        limits = [label_interval(c, n_drawn[i], size[i]) for c in counts]
        for a in range(3):
            want = all(limits[a][0] > 2 * limits[b][1] - 1 + 1e-12 for b in range(4) if b != a)
            near = any(abs(limits[a][0] - 2 * limits[b][1] + 1) < 1e-9 for b in range(4) if b != a)
            assert near or got[i, a] == want


def test_rest_is_exact_when_all_is_known_and_never_more_than_the_rest() -> None:
    """Nothing is promised beyond the rows that are left; with every row drawn the count is exact."""
    assert HSALBound().rows_right(10, 10, 4, 10, 4) == 10
    rng = np.random.default_rng(1)
    size = rng.integers(5, 50, 200)
    drawn = rng.integers(0, size + 1)
    label = rng.integers(0, drawn + 1)
    right = HSALBound().rows_right(size, drawn, label, drawn, label) - drawn
    assert np.all((right >= 0) & (right <= size - drawn))


def test_rest_follows_from_the_share() -> None:
    """Whenever the share is at least the lower limit, the promise about unanswered rows is kept, for every sample."""
    size, n = 30, 12
    for n_true in range(size + 1):
        for k in range(max(0, n + n_true - size), min(n, n_true) + 1):
            if label_interval(k, n, size)[0] <= n_true / size:
                assert HSALBound().rows_right(size, n, k, n, k) - n <= n_true - k + 1e-9
