"""All rows in blocks: always the same blocks, joined in the order of the rows, whoever is quicker."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bela.data import ArraySource, _blocks, scan_blocks
from bela.errors import DataError


@pytest.mark.parametrize("n_rows", [1, 7, 64, 65, 1000])
def test_blocks_are_joined_in_the_order_of_the_rows(n_rows, monkeypatch):
    """Blocks that take longer than those after them change nothing, and every row is looked at once."""
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 8)
    seen = []

    def late(rows: slice) -> np.ndarray:
        seen.append((rows.start, rows.stop))
        time.sleep(0.002 * (rows.start % 3))
        return np.arange(rows.start, rows.stop)[:, None] * np.array([1, 10])

    found = scan_blocks(n_rows, late)
    np.testing.assert_array_equal(found, np.arange(n_rows)[:, None] * np.array([1, 10]))
    assert sorted(seen) == [(start, min(start + 8, n_rows)) for start in range(0, n_rows, 8)]


def test_what_a_function_raises_is_raised(monkeypatch):
    """An error in a block is that of the scan, not a row that is missing."""
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 8)

    def fail(rows: slice) -> np.ndarray:
        if rows.start == 400:
            raise ArithmeticError("no")
        return np.zeros(rows.stop - rows.start)

    with pytest.raises(ArithmeticError, match="no"):
        scan_blocks(1000, fail)


def test_not_a_number_is_found_among_very_many_rows(tmp_path, monkeypatch):
    """Where rows are looked through in blocks, the error names the first bad row as ever."""
    monkeypatch.setattr("bela.data._arrays._AT_ONCE", 100)
    X = np.zeros((1000, 3), np.float32)
    ArraySource(X)
    X[700, 1] = np.inf
    X[800] = np.nan
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(DataError, match=r"4 place\(s\), the first in row 700"):
        ArraySource(np.load(tmp_path / "x.npy", mmap_mode="r"))
