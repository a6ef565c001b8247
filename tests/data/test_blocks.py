"""All rows in blocks: always the same blocks, joined in the order of the rows, whoever is quicker."""

from __future__ import annotations

import hashlib
import time

import numpy as np
import pytest

from bela.data import ArraySource, _blocks, _watching, open_table, scan_blocks, watching_scans
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


def test_whoever_waits_is_told_how_far_a_scan_is(monkeypatch):
    """Shares that grow to the end, now and then; of what is over at once, nothing."""
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 8)
    told: list[float] = []
    with watching_scans(told.append):
        scan_blocks(1000, lambda rows: np.zeros(rows.stop - rows.start))
        assert told == []
        monkeypatch.setattr(_watching, "PATIENCE", -1.0)
        monkeypatch.setattr(_watching, "OFTEN", -1.0)
        scan_blocks(1000, lambda rows: np.zeros(rows.stop - rows.start))
    assert told == [min(n, 1000) / 1000 for n in range(8, 1008, 8)]
    told.clear()
    scan_blocks(1000, lambda rows: np.zeros(rows.stop - rows.start))
    assert told == []  # nobody waits any more


def test_whoever_waits_is_told_at_the_end(monkeypatch):
    """Who has been told of a beginning is told of the end, however soon it comes."""
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 8)
    monkeypatch.setattr(_watching, "PATIENCE", -1.0)
    monkeypatch.setattr(_watching, "OFTEN", 3600.0)
    told: list[float] = []
    with watching_scans(told.append):
        scan_blocks(1000, lambda rows: np.zeros(rows.stop - rows.start))
    assert told == [0.008, 1.0]


def test_files_are_checked_with_a_bar_that_moves(tmp_path, monkeypatch):
    """A single large file is one that somebody waits for as well."""
    monkeypatch.setattr("bela.data._files._DIGESTED", 1000)
    np.save(tmp_path / "x.npy", np.zeros((100, 8), np.float32))
    told: list[tuple[str, float]] = []
    table = open_table(tmp_path / "x.npy", progress=lambda *one: told.append(one))
    assert table.fingerprint == hashlib.sha256((tmp_path / "x.npy").read_bytes()).hexdigest()
    shares = [share for what, share in told if what == "checking the files"]
    assert shares == sorted(shares)
    assert len(shares) == 4
    assert shares[-1] == 1.0
