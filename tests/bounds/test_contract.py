"""The laws of every bound in the registry, by its shape: a new bound needs no test file to be held to them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.bounds import BOUNDS
from bela.errors import ParameterError
from bela.protocols import LeafBound, SequentialBound

FUNCTIONS = [name for name in BOUNDS if inspect.isfunction(BOUNDS[name])]
ON_ERRORS = [name for name in FUNCTIONS if "population" in inspect.signature(BOUNDS[name]).parameters]
ON_SHARES = [name for name in FUNCTIONS if name not in ON_ERRORS]
LEAVES = [name for name in BOUNDS if name not in FUNCTIONS and hasattr(BOUNDS[name], "rows_right")]
SEQUENTIAL = [name for name in BOUNDS if name not in FUNCTIONS and name not in LEAVES]


def test_every_bound_has_a_shape() -> None:
    """Each is a function of counts, a sequence of draws, or a bound of leaves."""
    assert {*FUNCTIONS, *LEAVES, *SEQUENTIAL} == set(BOUNDS.names)
    assert all(isinstance(BOUNDS[name](10, alpha=0.1), SequentialBound) for name in SEQUENTIAL)
    assert all(isinstance(BOUNDS[name](), LeafBound) for name in LEAVES)
    for name in FUNCTIONS:
        assert list(inspect.signature(BOUNDS[name]).parameters)[:2] == ["n_drawn", "n_wrong"]


# -------------------------------------------------------------------------------------------------- a sequence of draws


def limits(bound: SequentialBound) -> tuple[int, int]:
    """Return between which numbers a bound says that the errors lie."""
    lower, upper = getattr(bound, "errors_lower", 0), getattr(bound, "errors_upper", bound.population)
    return int(lower), int(upper)


@pytest.mark.parametrize("name", SEQUENTIAL)
@given(sizes=st.lists(st.integers(0, 25), min_size=1, max_size=4).filter(any), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_a_sequence_only_narrows_and_ends_exact(name: str, sizes: list[int], seed: int) -> None:
    """What was ruled out stays so, what was found counts, and when all rows are drawn the number is known."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    wrong = rng.random(len(rows)) < rng.random()
    bound = BOUNDS[name](sizes, alpha=0.1)
    assert isinstance(bound, SequentialBound)
    assert (bound.population, bound.n_left, bound.found, bound.alpha) == (len(rows), len(rows), 0, 0.1)
    low, high = limits(bound)
    assert (low, high) == (0, len(rows))
    for cell, is_wrong in zip(rows.tolist(), wrong.tolist(), strict=True):
        bound.observe(cell, wrong=is_wrong, weights=np.ones(len(sizes)))
        lower, upper = limits(bound)
        most = bound.found + bound.n_left  # a bound that has failed gives way to what is seen
        assert min(low, most) <= lower <= most
        assert bound.found <= upper <= max(high, bound.found)
        low, high = lower, upper
    assert (bound.n_left, bound.found) == (0, int(wrong.sum()))
    assert bound.found in limits(bound)
    with pytest.raises(ParameterError):
        bound.observe(int(rows[0]), wrong=True, weights=np.ones(len(sizes)))


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_a_sequence_refuses_what_cannot_be(name: str) -> None:
    """No alpha, no cell, no weight, half a row."""
    for sizes, alpha in (([3, 3], 0.0), ([3, 3], 1.0), ([3, -1], 0.1), ([1.5], 0.1), ([[3]], 0.1)):
        with pytest.raises(ParameterError):
            BOUNDS[name](sizes, alpha=alpha)
    for cell, weights in ((2, [1, 1]), (-1, [1, 1]), (0, [1]), (0, [0, 1]), (0, [np.nan, 1]), (1, [1, np.inf])):
        with pytest.raises(ParameterError):
            BOUNDS[name]([3, 3], alpha=0.1).observe(cell, wrong=True, weights=weights)


# ------------------------------------------------------------------------------------------------ a function of counts


@st.composite
def draws(draw: st.DrawFn) -> tuple[int, int, int]:
    """Return a population, the number of draws from it, and how many of them were wrong."""
    population = draw(st.integers(1, 400))
    n_drawn = draw(st.integers(0, population))
    return population, n_drawn, draw(st.integers(0, n_drawn))


@pytest.mark.parametrize("name", ON_ERRORS)
@given(case=draws(), alpha=st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=50, deadline=None)
def test_bounds_on_errors(name: str, case: tuple[int, int, int], alpha: float) -> None:
    """Between what was found and what is possible, exact when all is known, and monotone in the errors and alpha."""
    population, n_drawn, n_wrong = case

    def upper(n: int, wrong: int, at: float = alpha) -> int:
        return int(BOUNDS[name](n, wrong, population=population, alpha=at))

    now = upper(n_drawn, n_wrong)
    assert n_wrong <= now <= population - (n_drawn - n_wrong)
    assert upper(population, min(n_wrong, population)) == n_wrong
    assert upper(n_drawn, n_wrong, at=alpha / 2) >= now
    if n_wrong < n_drawn:
        assert upper(n_drawn, n_wrong + 1) >= now


@pytest.mark.parametrize("name", FUNCTIONS)
def test_counts_may_be_arrays(name: str) -> None:
    """Each pair of counts for itself, in the shape that they come in; impossible ones are refused."""
    options = {"alpha": 0.05, **({"population": 300} if name in ON_ERRORS else {})}
    n_drawn, n_wrong = np.array([[0, 10, 50], [300, 300, 7]]), np.array([[0, 3, 50], [0, 20, 7]])
    found = BOUNDS[name](n_drawn, n_wrong, **options)
    each = [float(BOUNDS[name](int(n), int(w), **options)) for n, w in zip(n_drawn.flat, n_wrong.flat, strict=True)]
    assert found.shape == n_drawn.shape
    assert found.ravel().tolist() == each
    for n, w, alpha in ((3, 4, 0.1), (3, -1, 0.1), (3, 1, 0.0), (3, 1, 1.0)):
        with pytest.raises(ParameterError):
            BOUNDS[name](n, w, **{**options, "alpha": alpha})


@pytest.mark.parametrize("name", ON_SHARES)
@given(case=draws(), alpha=st.sampled_from([0.01, 0.05, 0.3]))
def test_bounds_on_shares(name: str, case: tuple[int, int, int], alpha: float) -> None:
    """A lower bound is below the observed share, and monotone in the errors and alpha."""
    _, n_drawn, n_wrong = case
    lower = float(BOUNDS[name](n_drawn, n_wrong, alpha=alpha))
    assert 0.0 <= lower <= 1.0 - n_wrong / max(n_drawn, 1)
    assert float(BOUNDS[name](n_drawn, n_wrong, alpha=alpha / 2)) <= lower
    if n_wrong < n_drawn:
        assert float(BOUNDS[name](n_drawn, n_wrong + 1, alpha=alpha)) <= lower


# -------------------------------------------------------------------------------------------------------------- leaves


@pytest.mark.parametrize("name", LEAVES)
@given(st.data())
@settings(deadline=None)
def test_bounds_of_leaves(name: str, data: st.DataObject) -> None:
    """Between the known rows and all of them, exact when all is known, and only those where nothing was drawn."""
    size = data.draw(st.integers(1, 500))
    known = data.draw(st.integers(0, size))
    drawn = data.draw(st.integers(0, known))
    label = data.draw(st.integers(0, drawn))
    same = data.draw(st.integers(label, known - (drawn - label)))
    bound = BOUNDS[name]()
    right = float(bound.rows_right(size, known, label, drawn, same))
    assert known <= right <= size
    assert float(bound.rows_right(size, size, label, drawn, same)) == size
    assert float(bound.rows_right(size, known, 0, 0, same)) == known
    if label < drawn and same < known:
        assert float(bound.rows_right(size, known, label + 1, drawn, same + 1)) >= right - 1 - 1e-9
    many = bound.rows_right(*(np.full(3, count) for count in (size, known, label, drawn, same)))
    assert many.tolist() == pytest.approx([right] * 3)
