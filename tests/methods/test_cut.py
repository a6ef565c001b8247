"""Rows cut into bins by counting: as if they had been sorted."""

from __future__ import annotations

import numpy as np
import pytest

from bela.methods._deciding import N_BINS, bin_edges
from bela.methods.bela import _cut
from bela.methods.bela._cut import _cut_by_steps
from bela.methods.bela._population import AllBut


@pytest.mark.parametrize("n_steps", [1, 3, 50, 60_000])
@pytest.mark.parametrize("n_rows", [1, 30, 2000])
def test_counting_gives_what_sorting_gives(n_rows, n_steps, monkeypatch):
    """Bins, their sizes, what they expect, and how sure their last row is; rows of one step are in their own order."""
    monkeypatch.setattr(_cut, "_ROWS", 128)
    rng = np.random.default_rng(n_rows + n_steps)
    said = np.zeros(n_rows, np.dtype([("code", np.int16), ("sure", "<u2"), ("chance", "<f2")]))
    said["sure"], said["chance"] = rng.integers(0, n_steps, n_rows), rng.random(n_rows)
    population = AllBut.of(n_rows, rng.choice(n_rows, n_rows // 10, replace=False))
    cut = _cut_by_steps(said, population)
    rows = np.flatnonzero(population.mask())
    order, edges = rows[np.argsort(said["sure"][rows], kind="stable")], bin_edges(len(rows))
    expected = np.full(n_rows, -1)
    expected[order] = np.repeat(np.arange(N_BINS), np.diff(edges))
    np.testing.assert_array_equal(cut.bin, expected)
    np.testing.assert_array_equal(cut.sizes, np.bincount(expected + 1, minlength=N_BINS + 1)[1:])
    for i in range(N_BINS):
        inside = expected == i
        if inside.any():
            error = np.clip(1 - said["chance"][inside].astype(float), 1e-6, 1)
            assert cut.guess[i] == pytest.approx(error.mean())
            assert cut.upper[i] == said["sure"][inside].max()
