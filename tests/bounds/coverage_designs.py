"""Whole adaptive loops with the bounds inside: each design returns whether the bound was ever below the truth.

The small version runs in test_betting.py, the full one with `python benchmarks/coverage_bounds.py`. A design's
`broken` switch breaks one rule on purpose; the failures must then show.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from bela.bounds._betting import ErrorBets

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def draw(rng: np.random.Generator, chances: npt.NDArray[np.float64]) -> int:
    """Draw an index with probability proportional to its chance."""
    total = np.cumsum(chances)
    return int(np.searchsorted(total, rng.random() * total[-1], side="right"))


def misled(bets: ErrorBets, errors: int) -> bool:
    """Say whether the bound is below the truth."""
    return bets.errors_upper < errors


def one_revision(
    rng: np.random.Generator, alpha: float, broken: str | None = None, n_draws: int = 80, n_bins: int = 5
) -> bool:
    """Adaptive weights, a prior that may be wrong, a row known now and then, a look after every draw.

    broken: "found" (errors found are not taken off the hypothesis).
    """
    sizes = rng.integers(10, 60, n_bins)
    population = int(sizes.sum())
    bin_of = np.repeat(np.arange(n_bins), sizes)
    chance = np.sort(rng.beta(0.5, 2.0, n_bins))[::-1]
    wrong = rng.random(population) < chance[bin_of]
    errors = int(wrong.sum())
    seen = rng.integers(0, 20, n_bins)
    bets = ErrorBets(sizes, alpha=alpha, seen=seen, wrong=rng.binomial(seen, chance), aim=errors)
    left = np.ones(population, dtype=bool)
    for t in range(n_draws):
        if not left.any():
            break
        weights = bets.weights()
        row = draw(rng, weights[bin_of] * left)
        left[row] = False
        bets.observe(int(bin_of[row]), wrong=bool(wrong[row]), weights=weights)
        if broken == "found":
            bets.found = 0
        if misled(bets, errors):
            return True
        if t % 25 == 20 and left.any():  # somebody volunteers an answer, the worst that can be chosen
            row = int(np.flatnonzero(left)[np.argmax(wrong[left])])
            left[row] = False
            bets.know(int(bin_of[row]), wrong=bool(wrong[row]))
            if broken == "found":
                bets.found = 0
    return False


def on_the_grid(rng: np.random.Generator, alpha: float, broken: str | None = None, n_bins: int = 5) -> bool:
    """All of alpha on one revision, and as many errors as one of the numbers that are bet against: nothing is slack.

    Errors are about where they are expected, and rows are drawn until none is left: what is allowed to fail does, or
    the bets are wasteful.
    """
    bin_of = np.repeat(np.arange(n_bins), 60)
    chance = np.array([0.3, 0.15, 0.08, 0.04, 0.02])
    wrong = np.zeros(len(bin_of), dtype=bool)
    errors = 30
    keys = rng.random(len(bin_of)) ** (1.0 / chance[bin_of])
    wrong[np.argsort(-keys)[:errors]] = True
    bets = ErrorBets(np.full(n_bins, 60), alpha=alpha, seen=np.full(n_bins, 20), wrong=20 * chance, aim=errors - 1)
    left = np.ones(len(bin_of), dtype=bool)
    while left.any():
        weights = bets.weights()
        row = draw(rng, weights[bin_of] * left)
        left[row] = False
        bets.observe(int(bin_of[row]), wrong=bool(wrong[row]), weights=weights)
        if misled(bets, errors):
            return True
    return False


def overconfident(rng: np.random.Generator, alpha: float, broken: str | None = None) -> bool:
    """The errors are where the model is surest, and these rows are drawn least; broken: "weights" ignores that."""
    n_bins, size = 4, 40
    wrong = rng.random(n_bins * size) < np.repeat([0.02, 0.02, 0.2, 0.6], size)
    bin_of, left = np.repeat(np.arange(n_bins), size), np.ones(n_bins * size, dtype=bool)
    errors = int(wrong.sum())
    bets = ErrorBets(np.full(n_bins, size), alpha=alpha, aim=errors)
    weights = np.array([4.0, 4.0, 1.0, 0.3])
    for _ in range(60):
        row = draw(rng, weights[bin_of] * left)
        left[row] = False
        known = np.ones(n_bins) if broken == "weights" else weights
        bets.observe(int(bin_of[row]), wrong=bool(wrong[row]), weights=known)
        if misled(bets, errors):
            return True
    return False


def skipping(rng: np.random.Generator, alpha: float, broken: str | None = None) -> bool:
    """Most wrong rows are skipped, and skipped rows count as wrong; broken: "skips" leaves them out."""
    n_bins, size = 4, 40
    wrong = rng.random(n_bins * size) < np.repeat([0.5, 0.3, 0.2, 0.1], size)
    bin_of, left = np.repeat(np.arange(n_bins), size), np.ones(n_bins * size, dtype=bool)
    errors = int(wrong.sum())
    bets = ErrorBets(np.full(n_bins, size), alpha=alpha)
    for _ in range(60):
        weights = bets.weights()
        row = draw(rng, weights[bin_of] * left)
        left[row] = False
        skipped = rng.random() < (0.9 if wrong[row] else 0.02)
        if skipped and broken == "skips":
            bets.know(int(bin_of[row]), wrong=False)
        else:
            bets.observe(int(bin_of[row]), wrong=bool(wrong[row]) or skipped, weights=weights)
        if misled(bets, errors):
            return True
    return False


class Log:
    """The draws so far: row, the weights of the bins at the time, and the bins."""

    def __init__(self) -> None:
        self.events: list[tuple[int, npt.NDArray[np.float64], Ints]] = []

    def replay(self, bets: ErrorBets, bins: Ints, outside: Bools, wrong: Bools, broken: str | None = None) -> Bools:
        """Observe all draws on the rows outside a new training set; return which rows are left."""
        left = outside.copy()
        n_bins = int(bins.max()) + 1
        for row, weights, old in self.events:
            if not outside[row]:
                if broken != "unskipped" or not left.any():
                    continue
                row = int(np.flatnonzero(left)[0])  # noqa: PLW2901 - a training row is right: count it as a draw
                wrong = wrong & (np.arange(len(wrong)) != row)
            elif not left[row]:
                continue  # happens in the broken version alone
            left[row] = False
            w = np.ones_like(weights) if broken == "weights" else weights
            self._observe(bets, row, w, old, bins=bins, left=left, n_bins=n_bins, wrong_row=bool(wrong[row]))
        bets.regroup(np.bincount(bins[left], minlength=n_bins))
        return left

    @staticmethod
    def _observe(
        bets: ErrorBets,
        row: int,
        weights: npt.NDArray[np.float64],
        old: Ints,
        *,
        bins: Ints,
        left: Bools,
        n_bins: int,
        wrong_row: bool,
    ) -> None:
        before = left.copy()
        before[row] = True
        n_old = len(weights)
        cells = np.bincount(old[before] * n_bins + bins[before], minlength=n_old * n_bins)
        bets.regroup(cells, np.tile(np.arange(n_bins), n_old))
        bets.observe(int(old[row] * n_bins + bins[row]), wrong=wrong_row, weights=np.repeat(weights, n_bins))


def revisions(
    rng: np.random.Generator, alpha: float, broken: str | None = None, n_revisions: int = 4, n_draws: int = 15
) -> bool:
    """Several labellings of one dataset, each with its replay of all older draws; a look after every draw.

    The labelling of a revision and its training rows are functions of a stream of their own. How many draws a
    revision gets depends on the answers. The first revision draws the rows most that it is surest of; the
    confidence of the later ones says nothing.

    broken: "weights" (recorded weights ignored in the replay).
    """
    n, n_bins = 120, 4
    log, training = Log(), np.zeros(n, dtype=bool)
    hard = rng.random(n)
    for j in range(n_revisions):
        # What is wrong changes from revision to revision: models trained on other rows err elsewhere.
        wrong = rng.random(n) < np.where(hard > 0.7, 0.6, 0.06)
        picks = np.argsort(-np.where(training, -9.0, hard + 0.5 * rng.standard_normal(n)))[:8]
        training[picks] = True
        outside = ~training
        score = hard if j == 0 else rng.random(n)
        bins = (np.argsort(np.argsort(-score)) * n_bins) // n
        errors = int((wrong & outside).sum())
        bets = ErrorBets(np.bincount(bins[outside], minlength=n_bins), alpha=alpha * 0.5 ** (j + 1), aim=errors)
        left = log.replay(bets, bins, outside, wrong, broken)
        if misled(bets, errors):
            return True
        for _ in range(n_draws if j else 2 * n_draws):
            if not left.any():
                break
            weights = bets.weights() if j else np.array([0.1, 1.0, 3.0, 4.0])
            row = draw(rng, weights[bins] * left)
            left[row] = False
            log.events.append((row, weights, bins))
            bets.observe(int(bins[row]), wrong=bool(wrong[row]), weights=weights)
            if misled(bets, errors):
                return True
            if bets.found > 8 and rng.random() < 0.1:
                break
    return False


def more_training(rng: np.random.Generator, alpha: float, broken: str | None = None) -> bool:
    """Draws are made, then a third of the rows becomes training, and the same labels are judged on the rest.

    broken: "unskipped" (drawn rows that are training rows by now count as right draws), "peeked" (training takes the
    rows that were drawn and found wrong).
    """
    n, n_bins = 120, 4
    hard = rng.random(n)
    wrong = rng.random(n) < np.where(hard > 0.6, 0.5, 0.1)
    picks = np.argsort(-(hard + 0.5 * rng.standard_normal(n)))[: n // 3]
    bins, old = rng.integers(0, n_bins, (2, n))
    log, left, weights = Log(), np.ones(n, dtype=bool), np.linspace(0.5, 1.5, n_bins)
    for _ in range(50):
        row = draw(rng, weights[old] * left)
        left[row] = False
        log.events.append((row, weights, old))
    outside = np.ones(n, dtype=bool)
    outside[np.flatnonzero(~left & wrong) if broken == "peeked" else picks] = False
    errors = int((wrong & outside).sum())
    bets = ErrorBets(np.bincount(bins[outside], minlength=n_bins), alpha=alpha, aim=errors)
    log.replay(bets, bins, outside, wrong, broken)
    return misled(bets, errors)


def many_labellings(rng: np.random.Generator, alpha: float, broken: str | None = None) -> bool:
    """One sequence of draws judges seven labellings; broken: "union" gives all of alpha to each."""
    n, n_bins, n_labellings, n_draws = 60, 2, 7, 30
    rows, bins = rng.permutation(n)[:n_draws], rng.integers(0, n_bins, n)
    for j in range(n_labellings):
        wrong = rng.random(n) < 0.3
        errors = int(wrong.sum())
        part = alpha if broken == "union" else alpha * 0.5 ** (j + 1)
        bets = ErrorBets(np.bincount(bins, minlength=n_bins), alpha=part, aim=errors)
        for row in rows:
            bets.observe(int(bins[row]), wrong=bool(wrong[row]), weights=np.ones(n_bins))
            if misled(bets, errors):
                return True
    return False


def given_up(rng: np.random.Generator, alpha: float, broken: str | None = None) -> bool:
    """One labelling after the other is bet on until luck turns; what its bets have not lost is staked on the next.

    Each has one error more than may be claimed. broken: "returned" (all comes back, lost or not).
    """
    n_bins, size, left_alpha = 3, 20, alpha
    bin_of = np.repeat(np.arange(n_bins), size)
    for _ in range(20):
        wrong = rng.random(n_bins * size) < np.array([0.5, 0.25, 0.1])[bin_of]
        errors, left = int(wrong.sum()), np.ones(n_bins * size, dtype=bool)
        part = 0.75 * left_alpha
        bets = ErrorBets(
            np.full(n_bins, size), alpha=part, seen=np.full(n_bins, 10), wrong=[5, 2, 1], aim=errors - 1, least=errors
        )
        for t in range(20):
            weights = bets.weights()
            row = draw(rng, weights[bin_of] * left)
            left[row] = False
            bets.observe(int(bin_of[row]), wrong=bool(wrong[row]), weights=weights)
            if misled(bets, errors):
                return True
            if t >= 5 and bets.nats_won(errors) < 0.0:
                break
        left_alpha += part * (0.0 if broken == "returned" else bets.worth - 1.0)
    return False


TIGHT: dict[str, Callable[..., bool]] = {"on the grid": on_the_grid}
"""Designs in which a bound that wastes nothing fails about as often as it may."""

DESIGNS: dict[str, tuple[Callable[..., bool], tuple[str, ...]]] = {
    "one revision": (one_revision, ("found",)),
    "overconfident": (overconfident, ("weights",)),
    "skipping": (skipping, ("skips",)),
    "more training": (more_training, ("unskipped", "peeked")),
    "revisions": (revisions, ("weights",)),
    "many labellings": (many_labellings, ("union",)),
    "given up": (given_up, ("returned",)),
}


def failures(design: Callable[..., bool], alpha: float, n_runs: int, seed: int, broken: str | None = None) -> int:
    """Count the runs in which the bound was ever below the truth."""
    return sum(design(np.random.default_rng([seed, run]), alpha, broken) for run in range(n_runs))


def wasteful(n_failures: int, n_runs: int, alpha: float) -> bool:
    """Say whether less than half of what is allowed to fail does: one in a thousand by chance."""
    return float(binomtest(n_failures, n_runs, alpha / 2.0, alternative="less").pvalue) < 1e-3


def refuted(n_failures: int, n_runs: int, alpha: float) -> bool:
    """Say whether so many failures are too many for a failure probability of alpha: one in a thousand by chance."""
    return float(binomtest(n_failures, n_runs, alpha, alternative="greater").pvalue) < 1e-3
