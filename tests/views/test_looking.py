"""What people look at among very many rows is what sorting all of them would show."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bela.views._find import _one_of
from bela.views._labels import Labels, lowest

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=40).map(lambda values: np.array(values, np.float32))


@given(VALUES, st.integers(1, 50))
def test_the_lowest_are_those_that_come_first_when_all_are_sorted(values: np.ndarray, n: int) -> None:
    """Ties are in the order of the rows."""
    assert lowest(values, n).tolist() == np.argsort(values, kind="stable")[:n].tolist()


@given(st.lists(st.integers(-1, 12), max_size=40), st.lists(st.integers(0, 15), max_size=10))
def test_codes_that_are_wanted_are_found_however_many(codes: list[int], wanted: list[int]) -> None:
    """The same as one by one; a row without a label, -1, is never wanted."""
    assert _one_of(np.array(codes, np.int32), wanted).tolist() == [code in wanted for code in codes]


@pytest.mark.parametrize("n_leaves", [3, 5_000])
def test_leaves_are_those_that_counting_finds(n_leaves: int) -> None:
    """Sizes, the label of most rows, and the gallery: in doubt first, known rows last, those that wait not at all."""
    rng = np.random.default_rng(n_leaves)
    leaf, codes, known = rng.integers(n_leaves, size=900), rng.integers(4, size=900), rng.random(900) < 0.1
    chance = np.where(known, 1.0, rng.integers(8, size=900) / 8)
    names = np.array(list("wxyz"))
    result = SimpleNamespace(
        labels=names[codes], known=known, leaf=leaf, probability=chance, leaf_lower=np.zeros(n_leaves)
    )
    labels = Labels(seq=1, result=result, point=None)
    for view in labels.leaves:
        rows = np.flatnonzero(leaf == view.leaf)
        assert (view.size, view.known) == (len(rows), known[rows].sum())
        assert (labels.result.labels[rows] == view.label).sum() == np.bincount(codes[rows]).max()
        waits = rows[:2].tolist()
        order = sorted(set(rows.tolist()) - set(waits), key=lambda row: (known[row], chance[row], row))
        assert labels.rows(view.leaf, 1, 5, without=waits).tolist() == order[1:6]
    assert sum(view.size for view in labels.leaves) == 900
