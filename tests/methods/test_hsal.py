"""HSAL: its laws, on small data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bela.errors import ParameterError
from bela.records import UNKNOWN

Data = tuple[np.ndarray, np.ndarray]
Begin = Callable[..., Any]


@pytest.fixture(scope="session")
def hsal(play: Any) -> Begin:
    """Whatever begins a game of HSAL."""
    return lambda X, y, **options: play("hsal", X, y, **options)


def first(digits: Data, n: int) -> Data:
    """The first n digits."""
    return digits[0][:n], digits[1][:n]


@pytest.mark.parametrize("tree", ["pca-kmeans", "ward"])
def test_full_budget_asks_every_row_once_and_is_exact(digits: Data, tree: str, hsal: Begin) -> None:
    """All rows asked: every row once, all labels right, and the bound exactly 1."""
    game = hsal(*first(digits, 400), tree=tree, seed=1)
    assert sorted(game.answer(10**6, batch=None)) == list(range(400))
    assert game.accuracy == game.lower == 1.0


def test_the_papers_own_scores_run_to_the_end(digits: Data, hsal: Begin) -> None:
    """As printed, too, all rows asked are all rows right; on the way the questions are others."""
    printed, ours = (hsal(*first(digits, 300), as_printed=flag) for flag in (True, False))
    assert printed.answer(150, batch=None) != ours.answer(150, batch=None)
    printed.answer(10**6, batch=None)
    assert printed.accuracy == printed.lower == 1.0


def test_few_answers_label_clear_clusters(blobs: Data, hsal: Begin) -> None:
    """Where the clusters are the classes, 5 % of the answers have nearly all rows right."""
    game = hsal(*blobs)
    game.answer(20, batch=None)
    assert game.accuracy > 0.95


def test_pruning_only_refines(digits: Data, hsal: Begin) -> None:
    """A leaf of the labelling never mixes rows that an earlier pruning kept apart."""
    game = hsal(*first(digits, 500), tree="ward")
    before = game.assessment.labelling
    for _ in range(8):
        game.answer(40, batch=None)
        game.ask()  # commits what the labelling shows
        now = game.assessment.labelling
        assert now.n_leaves >= before.n_leaves
        pairs = np.unique(np.column_stack([now.leaf, before.leaf]), axis=0)
        assert len(pairs) == now.n_leaves
        before = now


def test_known_labels_cost_nothing(digits: Data, hsal: Begin) -> None:
    """Labels that the data brought are kept, never asked, and drawn for free until all is known."""
    X, y = first(digits, 200)
    game = hsal(X, y, given={row: y[row] for row in range(0, 200, 2)})
    assert np.array_equal(game.codes[::2], y[::2])
    assert sorted(game.answer(10**6, batch=None)) == list(range(1, 200, 2))
    assert game.lower == 1.0
    game.relabel(0, 3)
    assert game.codes[0] == 3


def test_undo_and_relabel_restore_the_counts(digits: Data, hsal: Begin) -> None:
    """Taking answers back and giving them again leaves labels and bound as they were."""
    game = hsal(*first(digits, 300), seed=2)
    game.answer(90, batch=None)
    codes, lower = game.codes, game.lower
    for _ in range(5):
        game.undo()
    opened = list(game.book.open.values())
    assert len(opened) == 5
    for question in opened:
        game.tell(question, 9)
        game.relabel(question.row, int(game.y[question.row]))
    assert np.array_equal(game.codes, codes)
    assert game.lower == pytest.approx(lower)


def test_skipped_rows_count_as_wrong(hsal: Begin) -> None:
    """A row that nobody would label is not asked again and is no part of the bound."""
    game = hsal(np.arange(20.0)[:, None], np.zeros(20, dtype=int))
    assert len(game.answer(19, batch=None)) == 19
    [last] = game.ask()
    game.skip(last)
    assert not game.ask()
    assert game.lower == pytest.approx(19 / 20)
    game.undo()
    game.tell(last)
    assert game.lower == 1.0


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.array([[0.0], [1.0]]), np.ones((30, 2))])
@pytest.mark.parametrize("tree", ["pca-kmeans", "ward"])
def test_odd_data(X: np.ndarray, tree: str, hsal: Begin) -> None:
    """One row, two rows and rows that are all the same are labelled to the end, with one class and with two."""
    for y in (np.zeros(len(X), int), np.arange(len(X)) % 2):
        game = hsal(X, y, tree=tree)
        assert np.all(game.codes == UNKNOWN)
        assert game.lower == 0.0
        assert len(game.answer(100, batch=None)) == len(X)
        assert game.lower == 1.0


def bound_fails(hsal: Begin, z: float | None, n_seeds: int = 150) -> int:
    """How often the bound is above the truth after 15 answers on one cluster with noisy labels."""
    fails = 0
    for seed in range(n_seeds):
        y = (np.random.default_rng([seed, 1]).random(60) < 0.2).astype(int)
        game = hsal(np.zeros((60, 1)), y, tree="ward", seed=seed)
        if z is not None:
            game.method._z = z
        game.answer(15)
        fails += game.lower > game.accuracy
    return fails


def test_bound_holds_on_one_cluster_about_as_often_as_it_says(hsal: Begin) -> None:
    """With the pruning forced to one cluster the bound fails rarely; a bound of zero width fails often."""
    assert bound_fails(hsal, None) <= 0.10 * 150
    assert bound_fails(hsal, 0.0) > 0.25 * 150


def test_wrong_parameters_are_refused(hsal: Begin) -> None:
    """A tree that there is not, and one over other rows, are refused."""
    X, y = np.arange(6.0)[:, None], np.zeros(6, dtype=int)
    tree = hsal(X, y).method.tree
    with pytest.raises(ParameterError, match="'ward'"):
        hsal(X, y, tree="oak")
    with pytest.raises(ParameterError, match="6 rows"):
        hsal(X[:3], y[:3], tree=tree)
