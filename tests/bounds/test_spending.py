"""Alpha over revisions: never more than there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bela.bounds import AlphaBudget
from bela.errors import ParameterError


@given(st.floats(1e-6, 0.999), st.lists(st.floats(0.01, 0.99), max_size=30))
def test_no_more_is_spent_than_there_is(alpha: float, parts: list[float]) -> None:
    """The sum of all parts is at most alpha, and something is always left."""
    budget = AlphaBudget(alpha)
    spent = [budget.spend(part) for part in parts]
    assert sum(spent) <= alpha * (1 + 1e-12)
    assert all(part > 0 for part in spent)
    assert budget.left == pytest.approx(alpha - sum(spent))


def test_half_of_what_is_left_each_time() -> None:
    """By default each revision gets half of what the one before it got."""
    budget = AlphaBudget(0.05)
    assert [budget.spend() for _ in range(20)] == pytest.approx([0.05 * 0.5 ** (j + 1) for j in range(20)])


def test_an_equal_share_for_each_would_be_seen() -> None:
    """The law is not kept by a schedule that gives every revision the same."""
    assert sum(0.05 / 8 for _ in range(9)) > 0.05


def test_bad_parameters_are_refused() -> None:
    """Parts and probabilities outside (0, 1), and more than is left."""
    for mistake in (
        lambda: AlphaBudget(0.0),
        lambda: AlphaBudget(1.0),
        lambda: AlphaBudget(0.1).spend(1.0),
        lambda: AlphaBudget(0.1).take(0.2),
    ):
        with pytest.raises(ParameterError):
            mistake()
