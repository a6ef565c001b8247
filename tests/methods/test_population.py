"""Sets of nearly all rows, and drawing from them, against what takes a number for each row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bela.methods._deciding import choose_bin
from bela.methods.bela import _population
from bela.methods.bela._population import AllBut, Pool


@given(n=st.integers(1, 60), data=st.data())
def test_all_but_some_is_what_a_mask_is(n, data):
    """Size, membership, counting and finding agree with those of an array of bools."""
    others = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    rows, mask = AllBut.of(n, others), np.ones(n, dtype=bool)
    mask[others] = False
    np.testing.assert_array_equal(rows.mask(), mask)
    np.testing.assert_array_equal(rows.inside(np.arange(n)), mask)
    assert [row in rows for row in range(n)] == mask.tolist()
    assert -1 not in rows
    assert n not in rows
    assert len(rows) == mask.sum()
    assert [rows.first(row) for row in range(n + 1)] == [0, *np.cumsum(mask).tolist()]
    assert [rows.at(place) for place in range(len(rows))] == np.flatnonzero(mask).tolist()
    assert rows.but([0]) == AllBut.of(n, [*others, 0])


class PlainPool:
    """The rows of each bin in a list: one that is removed leaves its place to the last."""

    def __init__(self, rows: AllBut, bins: np.ndarray, n_bins: int) -> None:
        inside = [row for row in range(rows.n_rows) if row in rows and bins[row] >= 0]
        self.lines = [[row for row in inside if bins[row] == b] for b in range(n_bins)]

    def draw(self, weights: np.ndarray, rng: np.random.Generator) -> int:
        line = self.lines[choose_bin(weights, np.array([len(line) for line in self.lines]), rng.random())]
        return line[rng.integers(len(line))]

    def remove(self, row: int) -> None:
        for line in self.lines:
            if row in line:
                line[line.index(row)] = line[-1]
                line.pop()


@pytest.mark.parametrize("block", [5, 64, 1 << 14])
@pytest.mark.parametrize("n_bins", [1, 4])
def test_a_pool_draws_as_lists_would(n_bins, block, monkeypatch):
    """Whatever is drawn and removed, in whichever order, the next draw is that from a list for each bin."""
    monkeypatch.setattr(_population, "_BLOCK", block)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 200))
        rows, weights = AllBut.of(n, rng.choice(n, n // 5, replace=False)), rng.random(n_bins) + 0.1
        bins = np.zeros(n, np.int8) if n_bins == 1 else rng.integers(-1, n_bins, n).astype(np.int8)
        pool, plain = Pool(rows, None if n_bins == 1 else bins, n_bins), PlainPool(rows, bins, n_bins)
        same, other = np.random.default_rng(seed), np.random.default_rng(seed)
        while pool.left.any():
            assert pool.left.tolist() == [len(line) for line in plain.lines]
            row = pool.draw(weights, same)
            assert row == plain.draw(weights, other)
            gone = row if rng.random() < 0.7 else int(rng.integers(n))
            assert pool.holds(gone) == any(gone in line for line in plain.lines)
            pool.remove(gone)
            plain.remove(gone)
            assert not pool.holds(gone)
        assert not any(plain.lines)


def test_a_pool_of_a_billion_rows_takes_no_room():
    """Drawing without replacement from more rows than fit into memory is drawing all the same."""
    pool, rng = Pool(AllBut.of(10**9, range(0, 10**6, 7))), np.random.default_rng(0)
    drawn = []
    for _ in range(500):
        drawn.append(pool.draw(np.ones(1), rng))
        pool.remove(drawn[-1])
    assert len(set(drawn)) == 500
    assert 0.4 < np.mean(drawn) / 10**9 < 0.6
