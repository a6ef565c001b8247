"""The lower bound on errors from weighted draws: exact enumeration, laws, a broken twin."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bela.bounds import ErrorsLower
from bela.errors import ParameterError

WEIGHTS = np.array([10.0, 10.0, 1.0, 1.0, 1.0, 1.0])


def failure_probability(wrong: set[int], alpha: float, *, weighted: bool = True) -> float:
    """Exact chance that the bound is ever above the truth, over all orders of weighted draws from six rows."""

    def fails(bound: ErrorsLower, left: list[int]) -> float:
        if bound.errors_lower > len(wrong):
            return 1.0
        total = 0.0
        for row in left:
            chance = WEIGHTS[row] / WEIGHTS[left].sum()
            after = copy.deepcopy(bound)
            after.observe(row, wrong=row in wrong, weights=WEIGHTS if weighted else np.ones(len(WEIGHTS)))
            total += chance * fails(after, [other for other in left if other != row])
        return float(total)

    return fails(ErrorsLower([1] * len(WEIGHTS), alpha=alpha, aim=len(wrong)), list(range(len(WEIGHTS))))


@pytest.mark.parametrize("wrong", [{0}, {5}, {0, 1}, {0, 5}])
def test_exact_failure_probability(wrong: set[int]) -> None:
    """Wherever the errors sit, looking after every draw: ever above the truth with probability alpha at most."""
    assert failure_probability(wrong, alpha=0.5) <= 0.5 + 1e-12


def test_weights_ignored_are_seen() -> None:
    """If rows that are drawn more often count like any other, the bound is above the truth too often."""
    assert failure_probability({0, 1}, alpha=0.5, weighted=False) > 0.8


def test_it_never_falls_and_ends_exact() -> None:
    """What has been ruled out stays so; it is never below what was found, and exact when all rows are drawn."""
    wrong = np.random.default_rng(0).permutation(np.arange(300) < 60)
    bound, last = ErrorsLower(300, alpha=0.05, aim=20), 0
    for is_wrong in wrong:
        bound.observe(0, wrong=bool(is_wrong), weights=[1.0])
        assert bound.errors_lower >= max(last, bound.found)
        last = bound.errors_lower
    assert bound.errors_lower == bound.found == 60
    with pytest.raises(ParameterError):
        bound.observe(0, wrong=True, weights=[1.0])


def test_bad_parameters_are_refused() -> None:
    """No rows, no alpha, no chance."""
    for population, alpha in ((0, 0.1), (5, 0.0), (5, 1.0)):
        with pytest.raises(ParameterError):
            ErrorsLower(population, alpha=alpha)
    for x in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ParameterError):
            ErrorsLower(5, alpha=0.1).observe(0, wrong=True, weights=[x])
