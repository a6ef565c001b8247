"""The certificate of `bela`: exact enumeration, laws, whole loops with a look after every draw, and broken twins."""

from __future__ import annotations

import itertools
import math
import runpy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.bounds._betting import ErrorBets, error_grid
from bela.bounds._planning import likely_shares
from bela.bounds._projection import bend, bet, even_weights, tilt
from bela.errors import ParameterError

SIMULATIONS: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("coverage_designs.py")))
DESIGNS, failures, refuted = (SIMULATIONS[name] for name in ("DESIGNS", "failures", "refuted"))

# ------------------------------------------------------------------------------------- one bet, by enumeration


@st.composite
def one_bets(draw: st.DrawFn) -> dict[str, Any]:
    """A population of at most 8 rows in cells, with any weights, any guess, any nu, right or not."""
    sizes = np.array(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    n = int(sizes.sum())
    chances = st.floats(1e-6, 1 - 1e-6)
    return {
        "sizes": sizes,
        "weight": np.array([draw(st.floats(0.01, 100)) for _ in sizes]),
        "guess": np.array([[draw(chances) for _ in sizes]]),
        "errors": draw(st.integers(1, max(n - 1, 1))),
        "nu": draw(st.one_of(st.just(-1.0), st.floats(1e-6, 1e6))),
    }


def expected_payments(
    *,
    sizes: Any,
    weight: Any,
    guess: Any,
    errors: int,
    nu: float,
    drawn_by: Any = None,
    actual: int | None = None,
) -> Iterator[float]:
    """Expected payment of the bet against `errors`, for each way to place the actual number over the cells."""
    n = int(sizes.sum())
    share = sizes / n
    weight = weight / (weight @ share)
    level = np.array([errors / n])
    tilts = tilt(share, weight, guess, level, np.zeros(1), steps=5) if nu < 0 else np.array([nu])
    chance = weight * share if drawn_by is None else drawn_by * share / (drawn_by @ share)
    pays = [
        [float(bet(share, weight, guess, level, tilts, cell=cell, wrong=wrong)[0][0]) for wrong in (False, True)]
        for cell in range(len(sizes))
    ]
    for placed in itertools.product(*(range(int(size) + 1) for size in sizes)):
        if sum(placed) == (errors if actual is None else actual):
            rates = np.array(placed) / sizes
            yield float(sum(q * ((1 - e) * p[0] + e * p[1]) for q, e, p in zip(chance, rates, pays, strict=True)))


@given(one_bets(), st.integers(0, 8))
@settings(max_examples=300, deadline=None)
def test_no_bet_is_expected_to_win_against_a_true_hypothesis(case: dict[str, Any], more: int) -> None:
    """However wrong the guess, however inaccurate nu, wherever the errors sit, however many more there are."""
    n = int(case["sizes"].sum())
    if n < 2:
        return
    for value in expected_payments(**case, actual=min(case["errors"] + more, n)):
        assert value <= 1 + 1e-9


@given(one_bets())
@settings(max_examples=100, deadline=None)
def test_a_bet_is_fair_at_its_hypothesis(case: dict[str, Any]) -> None:
    """With the right nu, the expected payment at exactly the hypothesis is 1 for every placement: nothing is wasted."""
    n = int(case["sizes"].sum())
    share = case["sizes"] / n
    if n < 2 or float(case["guess"][0] @ share) > 0.97 * case["errors"] / n:
        return
    for value in expected_payments(**{**case, "nu": -1.0}):
        assert value == pytest.approx(1.0, abs=1e-9) or value < 1


def test_broken_bets_are_seen() -> None:
    """Weights ignored, or a hypothesis of more errors than are left: the enumeration finds an expected win."""
    case: dict[str, Any] = {
        "sizes": np.array([3, 3]),
        "weight": np.array([1.0, 1.0]),
        "guess": np.array([[0.2, 0.05]]),
        "errors": 3,
        "nu": -1.0,
    }
    assert max(expected_payments(**case)) <= 1 + 1e-9
    assert max(expected_payments(**case, drawn_by=np.array([0.1, 5.0]))) > 1.2
    assert max(expected_payments(**case, actual=2)) > 1.1


def test_tilt_reaches_the_level() -> None:
    """The bent guess adds up to the errors of the hypothesis, from one row in a thousand million to nearly all."""
    share, weight = np.array([0.01, 0.19, 0.8]), np.array([5.0, 2.0, 0.7])
    weight = weight / (weight @ share)
    level = np.array([1e-9, 1e-6, 1e-3, 0.05, 0.5, 0.99, 1 - 1e-6])
    guess = np.minimum(0.9 * level[:, None] * np.array([[20.0, 2.0, 0.5]]), 0.4)
    nu = tilt(share, weight, guess, level, np.zeros(len(level)), steps=60)
    assert bend(share, weight, guess, nu)[0] == pytest.approx(level, rel=1e-6)


def test_even_weights_equalise_what_each_row_tells() -> None:
    """At the saddle point the divergence of guess and bent guess is the same in every cell."""
    share, guess, level = np.array([0.1, 0.3, 0.6]), np.array([0.3, 0.05, 0.004]), 0.1
    weight = even_weights(share, guess, level, steps=30)
    nu = tilt(share, weight, guess[None], np.array([level]), np.zeros(1), steps=60)
    s = np.sqrt((weight - nu) ** 2 + 4 * nu * weight * guess)
    p = 1 - 2 * weight * (1 - guess) / (s + weight + nu)
    divergence = guess * np.log(guess / p) + (1 - guess) * np.log((1 - guess) / (1 - p))
    assert divergence == pytest.approx(np.full(3, divergence[0]), rel=1e-6)
    assert weight @ share == pytest.approx(1)


# ------------------------------------------------------------------------------ whole sequences, by enumeration


def enumerate_draws(
    bets: ErrorBets, wrong: tuple[int, ...], *, honest: bool = True
) -> tuple[float, np.ndarray[Any, Any]]:
    """Return the exact chance that the bound ever falls below the truth, and each product's final expectation."""
    errors, grid = sum(wrong), bets._grid
    sizes = bets.left

    def follow(bets: ErrorBets, left: tuple[int, ...], bad: tuple[int, ...], dead: bool) -> tuple[float, Any]:
        dead = dead or bets.errors_upper < errors
        if not sum(left):
            return float(dead), np.exp(bets._log_m)
        weights = bets.weights() if honest else np.linspace(0.2, 3.0, len(left))
        told = weights if honest else np.ones(len(left))
        chance = weights * np.array(left)
        chance = chance / chance.sum()
        failed, mean = 0.0, np.zeros(len(grid))
        for cell, size in enumerate(left):
            for is_wrong, count in ((True, bad[cell]), (False, size - bad[cell])):
                if not count:
                    continue
                twin = bets.copy()
                twin.observe(cell, wrong=is_wrong, weights=told)
                rest = tuple(n - (i == cell) for i, n in enumerate(left))
                rest_bad = tuple(n - (i == cell and is_wrong) for i, n in enumerate(bad))
                f, m = follow(twin, rest, rest_bad, dead)
                failed += chance[cell] * count / size * f
                mean += chance[cell] * count / size * m
        return failed, mean

    return follow(bets, tuple(int(n) for n in sizes), wrong, False)


def placements(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All ways to spread errors over cells."""
    return itertools.product(*(range(size + 1) for size in sizes))


@pytest.mark.parametrize("sizes", [(3, 2), (1, 2, 2), (6,), (1, 5)])
def test_exact_failure_probability_of_small_populations(sizes: tuple[int, ...]) -> None:
    """Over all draws and for all errors: ever too low with probability at most alpha, and M expected to stay <= 1."""
    alpha, worst = 0.5, 0.0
    for wrong in placements(sizes):
        bets = ErrorBets(sizes, alpha=alpha, seen=[4] * len(sizes), wrong=[1] + [0] * (len(sizes) - 1))
        failed, mean = enumerate_draws(bets, wrong)
        worst = max(worst, failed)
        assert failed <= alpha + 1e-12
        assert np.all(mean[error_grid(sum(sizes)) <= sum(wrong)] <= 1 + 1e-9)
    assert worst > 0.05  # the law is not kept by never claiming anything


@pytest.mark.parametrize("sizes", [(3, 2), (6,)])
def test_bets_that_claim_no_less_are_worth_no_more_than_their_true_product(sizes: tuple[int, ...]) -> None:
    """With all numbers of errors from `least` on, `worth` is below the product against each, so against the true one.

    The bound never falls below `least` - 1; without that, the product against the aim says nothing of smaller numbers.
    """
    rng, too_much = np.random.default_rng(0), 0
    for _ in range(30):
        aim = int(rng.integers(1, sum(sizes) - 1))
        bets, all_of_them = (ErrorBets(sizes, alpha=0.1, aim=aim, least=least) for least in (aim + 1, 1))
        for cell in rng.permutation(np.repeat(np.arange(len(sizes)), sizes)):
            wrong = bool(rng.random() < 0.3)
            for one in (bets, all_of_them):
                one.observe(int(cell), wrong=wrong, weights=np.ones(len(sizes)))
            products = np.exp(bets._log_m)
            assert bets.worth <= min(float(products.min(initial=1.0)), 1.0) + 1e-12
            assert bets.errors_upper >= min(aim, bets.found + bets.n_left)
            too_much += math.exp(all_of_them.nats_won(aim + 1)) > math.exp(all_of_them.nats_won(1)) + 1e-9
    assert too_much


def test_exact_failure_probability_sees_ignored_weights() -> None:
    """The same enumeration, with rows drawn by weights that the bets are not told."""
    bets = ErrorBets((4, 2), alpha=0.5)
    failed, mean = enumerate_draws(bets, (3, 0), honest=False)
    assert max(failed - 0.5, float(mean[2]) - 1) > 0.1


def replayed_expectation(*, recorded: bool) -> float:
    """Largest expected product over the errors of 5 rows, replayed after 3 of 6 rows were drawn by adaptive weights.

    Row 5 becomes training after the draws, so its draw is skipped. `recorded`: the replay knows the weights.
    """
    old, new, outside = np.array([0, 0, 0, 1, 1, 0]), np.array([0, 1, 1, 0, 1, 0]), np.arange(6) < 5
    start = ErrorBets(np.bincount(new[outside], minlength=2), alpha=0.1)

    def follow(bets: ErrorBets, bad: Any, left: Any, n_wrong: int, n_draws: int) -> float:
        if not n_draws:
            return math.exp(float(bets._log_m[bad[:5].sum() - 1]))
        weights = np.array([3.0, 0.5]) if n_wrong else np.array([0.3, 2.0])  # they depend on the answers, row 5's too
        cells = np.bincount((old * 2 + new)[left & outside], minlength=4)
        chances = weights[old] * left / float((weights[old] * left).sum())
        mean = 0.0
        for row in np.flatnonzero(left):
            twin = bets.copy()
            if outside[row]:
                twin.regroup(cells, [0, 1, 0, 1])
                told = np.repeat(weights if recorded else np.ones(2), 2)
                twin.observe(int(old[row] * 2 + new[row]), wrong=bool(bad[row]), weights=told)
            rest = left & (np.arange(6) != row)
            mean += chances[row] * follow(twin, bad, rest, n_wrong + int(bad[row]), n_draws - 1)
        return float(mean)

    errors = [np.array([*wrong, True]) for wrong in itertools.product((False, True), repeat=5) if 0 < sum(wrong) < 4]
    return max(follow(start, bad, np.ones(6, dtype=bool), 0, 3) for bad in errors)


def test_replay_after_a_revision_is_exact() -> None:
    """Skipping rows that became training and renormalising the recorded weights leaves every product fair."""
    assert 0.9 < replayed_expectation(recorded=True) <= 1 + 1e-9


def test_replay_without_the_recorded_weights_is_seen() -> None:
    """If the replay takes the draws for uniform ones, some product is expected to grow."""
    assert replayed_expectation(recorded=False) > 1.05


# -------------------------------------------------------------------------------------------------------- laws

populations = st.lists(st.integers(0, 12), min_size=1, max_size=4).filter(lambda sizes: sum(sizes) > 0)


@given(populations, st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.floats(0.01, 0.9))
@settings(max_examples=40, deadline=None)
def test_laws_of_a_sequence(sizes: list[int], seed: int, rate: float, alpha: float) -> None:
    """Never below what was found, never above what is possible, never rising but by finds, exact at the end."""
    rng = np.random.default_rng(seed)
    bin_of = np.repeat(np.arange(len(sizes)), sizes)
    wrong = rng.random(len(bin_of)) < rate
    bets = ErrorBets(sizes, alpha=alpha)
    assert bets.errors_upper == len(bin_of)
    last = bets.errors_upper
    for n, row in enumerate(rng.permutation(len(bin_of))):
        if rng.random() < 0.1:
            bets.know(int(bin_of[row]), wrong=bool(wrong[row]))
        else:
            bets.observe(int(bin_of[row]), wrong=bool(wrong[row]), weights=bets.weights())
        assert bets.found <= bets.errors_upper <= bets.found + bets.n_left
        assert bets.errors_upper <= max(last, bets.found)
        assert bets.n_left == len(bin_of) - n - 1
        last = bets.errors_upper
    assert bets.errors_upper == wrong.sum() == bets.found


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_cells_may_be_split_scaled_and_put_in_any_order(seed: int) -> None:
    """Only weights up to a constant matter, and neither the order of the cells nor cuts within them."""
    rng = np.random.default_rng(seed)
    sizes = np.array([20, 30, 50])
    one, two = ErrorBets(sizes, alpha=0.1), ErrorBets(sizes, alpha=0.1)
    halves = np.array([2, 0, 1, 0, 2, 1])
    left = np.array([25, 12, 10, 8, 25, 20])
    two.regroup(left, halves)
    for _ in range(20):
        weights = one.weights()
        half = int(rng.choice(6, p=left / left.sum()))
        left[half] -= 1
        is_wrong = bool(rng.random() < 0.1)
        one.observe(int(halves[half]), wrong=is_wrong, weights=weights)
        two.observe(half, wrong=is_wrong, weights=7.5 * weights[halves])
        assert one._log_m == pytest.approx(two._log_m, abs=1e-8)
    two.regroup(np.bincount(halves, weights=two.left).astype(int))
    assert two.left.tolist() == one.left.tolist()
    assert two.weights() == pytest.approx(one.weights())


def test_a_copy_goes_its_own_way() -> None:
    """Looking ahead on a copy leaves the original as it was."""
    bets = ErrorBets([50, 50], alpha=0.1)
    bets.observe(0, wrong=True, weights=[1, 1])
    before = bets._log_m.tolist(), bets.weights().tolist(), bets.left.tolist()
    bets.copy().observe(1, wrong=False, weights=[1, 1])
    assert before == (bets._log_m.tolist(), bets.weights().tolist(), bets.left.tolist())


def test_more_right_draws_bound_more() -> None:
    """Without errors the bound falls from draw to draw, and a smaller alpha bounds less."""
    strict, loose = ErrorBets([500, 500], alpha=0.01), ErrorBets([500, 500], alpha=0.2)
    bounds = []
    for n in range(100):
        for bets in (strict, loose):
            bets.observe(n % 2, wrong=False, weights=[1, 1])
        assert loose.errors_upper <= strict.errors_upper
        bounds.append(strict.errors_upper)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 60


def test_unanswered_rows_are_not_corrected() -> None:
    """What nobody answered counts as found wrong in the bets, and as still wrong in the output."""
    bets = ErrorBets([10, 10], alpha=0.1)
    bets.observe(0, wrong=True, weights=[1, 1])
    assert bets.remaining_upper() == 19
    assert bets.remaining_upper(n_unanswered=1) == 20


def test_a_step_costs_the_same_at_a_thousand_million_rows() -> None:
    """No loop over the population: milliseconds at most, with room for a busy machine."""
    bets = ErrorBets([10**8, 4 * 10**8, 5 * 10**8], alpha=0.05, aim=2 * 10**7)
    assert len(bets._grid) < 400
    seconds = []
    for n in range(40):
        start = time.perf_counter()
        bets.observe(n % 3, wrong=False, weights=bets.weights())
        seconds.append(time.perf_counter() - start)
    assert sorted(seconds)[20] < 0.02
    assert bets.errors_upper < 2 * 10**8


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: ErrorBets([1, 2], alpha=0.0),
        lambda: ErrorBets([1, -2], alpha=0.1),
        lambda: ErrorBets([1.5], alpha=0.1),
        lambda: ErrorBets([3, 3], alpha=0.1, seen=[1, 1], wrong=[2, 0]),
        lambda: ErrorBets([3, 3], alpha=0.1).observe(0, wrong=True, weights=[1]),
        lambda: ErrorBets([3, 3], alpha=0.1).observe(0, wrong=True, weights=[1, 0]),
        lambda: ErrorBets([3, 3], alpha=0.1).observe(2, wrong=True, weights=[1, 1]),
        lambda: ErrorBets([3, 0], alpha=0.1).know(1, wrong=True),
        lambda: ErrorBets([3, 3], alpha=0.1).regroup([3, 2], [0, 1]),
        lambda: ErrorBets([3, 3], alpha=0.1).regroup([3, 3], [0, 2]),
    ],
)
def test_what_makes_no_sense_is_refused(mistake: Any) -> None:
    """A draw that cannot have happened is an error, not a bound."""
    with pytest.raises(ParameterError):
        mistake()


# ------------------------------------------------------------------------- whole loops, a look after every draw


@pytest.mark.parametrize("design", DESIGNS)
def test_the_bound_is_rarely_ever_too_low(design: str) -> None:
    """At most alpha of the runs, by a one-sided binomial test."""
    n_runs = 80
    assert not refuted(failures(DESIGNS[design][0], 0.2, n_runs, seed=1), n_runs, 0.2)


@pytest.mark.parametrize(("design", "broken"), [(name, b) for name, (_, breaks) in DESIGNS.items() for b in breaks])
def test_broken_rules_are_seen(design: str, broken: str) -> None:
    """The same runs with one rule broken fail far too often."""
    n_runs = 60
    assert refuted(failures(DESIGNS[design][0], 0.2, n_runs, 2, broken), n_runs, 0.2)


# ------------------------------------------------------------------------------------------------------ for planning


@pytest.mark.parametrize("share", [0.07, 0.08, 0.09, 0.1, 0.12])
def test_likely_shares_are_not_those_of_a_few_levels(share: float) -> None:
    """The guess of the errors follows what was seen, also between the levels that it is made of."""
    bets = ErrorBets([60_000], alpha=0.05, seen=[2000], wrong=[2000 * share])
    low, middle, high = likely_shares(bets, np.array([0.1, 0.5, 0.9]))[:, 0]
    assert low < middle < high
    assert 0.85 * share < middle < 1.18 * share


def gain_by_late_skips(seed: int, *, learning: bool) -> float:
    """How much better a product against a true number of errors gets, in nats, if right rows count as wrong."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 40, size=4)
    chance = np.sort(rng.random(4))[::-1] * rng.choice([0.2, 0.6, 1.0])
    wrong = [rng.random(size) < p for size, p in zip(sizes, chance, strict=True)]
    n_errors, prior, n_draws = sum(int(some.sum()) for some in wrong), rng.random(4), min(30, int(sizes.sum()))
    rows = rng.permutation([(cell, i) for cell in range(4) for i in range(sizes[cell])])[:n_draws].tolist()

    def products(skipped: set[int]) -> np.ndarray:
        aim = int(0.1 * sizes.sum())
        bets = ErrorBets(sizes, alpha=1e-9, seen=0.1 * sizes, wrong=0.1 * sizes * prior, aim=aim)
        found = []
        for number, (cell, i) in enumerate(rows):
            counted = bool(wrong[cell][i]) or number in skipped
            bets.observe(cell, wrong=counted, weights=np.ones(4), learning=learning)
            open_ = (bets._grid > bets.found) & (bets._grid <= n_errors)  # against others nothing is bet any more
            found.append(np.where(open_, bets._log_m, np.nan))
        return np.array(found)

    honest = products(set())
    skips = [set(rng.choice(n_draws, n, replace=False).tolist()) for n in range(1, 6)]
    return max(float(np.max(np.nan_to_num(products(some) - honest), initial=0.0)) for some in skips)


def test_what_is_skipped_by_somebody_who_knows_later_draws_never_helps():
    """Where bets rest on nothing that was said after their draws were made, a skip lowers all products, at all times.

    The twin: where bets rest on the skips, products against true numbers get better by them.
    """
    assert max(gain_by_late_skips(seed, learning=False) for seed in range(12)) <= 1e-9
    assert max(gain_by_late_skips(seed, learning=True) for seed in range(12)) > 0.1
