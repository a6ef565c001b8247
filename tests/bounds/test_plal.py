"""The trials of PLAL: how rarely a bad cell passes, counted out exactly."""

import numpy as np
import pytest
from scipy.special import gammaln

from bela.bounds._leaves import PLALBound
from bela.errors import ParameterError


def passes(counts: list[int], q: int) -> float:
    """P(the first q rows of a cell with so many rows a label all agree), exactly."""
    size = sum(counts)
    q = min(q, size)

    def choose(n: int) -> float:
        return float(gammaln(n + 1) - gammaln(q + 1) - gammaln(n - q + 1)) if n >= q else -np.inf

    return float(sum(np.exp(choose(c) - choose(size)) for c in counts))


def bad_cells(epsilon: float) -> list[list[int]]:
    """Cells of two, three and many labels in which more than a share epsilon differs from every label."""
    cells = []
    for size in (10, 25, 60, 200, 1000, 5000):
        wrong = int(np.floor(epsilon * size)) + 1
        major = size - wrong
        cells += [[major, wrong], [major, wrong // 2, wrong - wrong // 2], [major, *[1] * wrong]]
        cells += [[size // 2, size - size // 2], [size // 3, size // 3, size - 2 * (size // 3)]]
    return cells


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5])
def test_a_bad_cell_hardly_ever_passes(epsilon: float, alpha: float) -> None:
    """At every level a bad cell passes with probability at most 4^-k alpha / 2; with half the trial it does not."""
    broken = False
    for level in range(8):
        q = int(PLALBound(epsilon=epsilon, alpha=alpha).trial_size(level))
        allowed = 4.0**-level * alpha / 2
        for cell in bad_cells(epsilon):
            if sum(cell) - max(cell) <= epsilon * sum(cell):
                continue
            assert passes(cell, q) <= allowed * (1 + 1e-9)
            broken |= passes(cell, q // 2) > allowed
    assert broken


def test_the_levels_share_alpha() -> None:
    """2^k cells at level k, each with 4^-k alpha / 2, come to at most alpha."""
    level = np.arange(200)
    assert np.sum(2.0**level * 4.0**-level * 0.05 / 2) <= 0.05 * (1 + 1e-12)
    assert np.sum(2.0**level * 2.0**-level * 0.05 / 2) > 0.05  # the twin: one factor less would not do


def test_cell_promise_is_exact_arithmetic() -> None:
    """At most floor(epsilon size) rows are wrong, less those known to be; never more than the rows left."""
    for size in (5, 20, 73):
        for wrong in range(int(0.1 * size) + 1):
            for known_wrong in range(wrong + 1):
                for known_right in range(size - wrong + 1):
                    left_right = size - wrong - known_right
                    known = known_right + known_wrong
                    promise = PLALBound(epsilon=0.1).rows_right(size, known, 1, 1, known_right) - known
                    assert 0 <= promise <= left_right
    assert PLALBound(epsilon=0.1).rows_right(40, 40, 1, 1, 37) == 40
    # The twin: epsilon of the rows left, rather than of the cell, would promise too much.
    assert (1 - 0.1) * (20 - 17) > 20 - 2 - 17


def test_parameters_are_checked() -> None:
    """Shares outside (0, 1) and levels below the root are refused."""
    for bad in ({"epsilon": 0.0, "alpha": 0.1}, {"epsilon": 0.1, "alpha": 1.0}):
        with pytest.raises(ParameterError):
            PLALBound(**bad)
    with pytest.raises(ParameterError):
        PLALBound().trial_size(-1)
