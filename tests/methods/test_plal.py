"""PLAL: its laws, on small data, and its guarantee over the whole loop."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from bela.bounds import PLALBound
from bela.errors import ParameterError
from bela.learning._cluster_trees import split_points
from bela.records import UNKNOWN

Data = tuple[np.ndarray, np.ndarray]
Begin = Callable[..., Any]


@pytest.fixture(scope="session")
def plal(play: Any) -> Begin:
    """Whatever begins a game of PLAL."""
    return lambda X, y, **options: play("plal", X, y, **options)


@pytest.mark.parametrize("tree", ["pca-kmeans", "ward"])
def test_full_budget_asks_every_row_once_and_is_exact(digits: Data, tree: str, plal: Begin) -> None:
    """All rows asked: every row once, all labels right, and the bound exactly 1."""
    game = plal(digits[0][:400], digits[1][:400], tree=tree, seed=1)
    assert sorted(game.answer(10**6, batch=None)) == list(range(400))
    assert game.accuracy == game.lower == 1.0


def test_clear_clusters_pass_their_trials(blobs: Data, plal: Begin) -> None:
    """Where the clusters are the classes, a few trials label nearly everything and vouch for 1 - epsilon of it."""
    game = plal(np.repeat(blobs[0], 5, axis=0), np.repeat(blobs[1], 5), epsilon=0.1)
    game.answer(400, batch=None)
    assert game.accuracy > 0.99
    assert game.lower >= 0.9


def test_one_class_needs_one_trial(plal: Begin) -> None:
    """With one class the root passes after its trial, and the rest is asked in random order only if one goes on."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    game = plal(X, np.zeros(500, int), epsilon=0.1, confidence=0.95)
    rows = game.answer(37, batch=None)
    assert game.lower == pytest.approx(1 - 0.1)
    assert game.n_leaves == 1
    assert len(rows) + len(game.answer(1000, batch=None)) == 500


def test_state_is_a_function_of_the_answers(digits: Data, plal: Begin) -> None:
    """Answers kept up as they come, worked out afresh, or taken back and given again: always the same state."""
    game = plal(digits[0][:600], digits[1][:600], epsilon=0.3, seed=4)
    rows = game.answer(350, batch=None)
    before = game.state
    lower = game.lower
    for _ in range(50):
        game.undo()
    assert game.lower < lower
    for question in reversed(list(game.book.open.values())):
        game.tell(question)
    assert game.state == before
    for row in rows[::7]:
        game.relabel(row, 11)
    assert game.lower < lower
    for row in rows[::7]:
        game.relabel(row, int(game.y[row]))
    assert game.state == before
    assert not set(rows) & {question.row for question in game.ask(50)}


def test_known_labels_cost_nothing(digits: Data, plal: Begin) -> None:
    """Labels that the data brought are kept, never asked, and used in trials; a changed one is used as changed."""
    X, y = digits[0][:200], digits[1][:200]
    game = plal(X, y, given={row: y[row] for row in range(0, 200, 2)})
    assert np.array_equal(game.codes[::2], y[::2])
    assert sorted(game.answer(10**6, batch=None)) == list(range(1, 200, 2))
    assert game.lower == 1.0
    game.relabel(0, 3)
    assert game.codes[0] == 3


def test_skipped_rows_fail_the_trial_and_count_as_wrong(plal: Begin) -> None:
    """A skipped row is a label of its own: its cell cannot pass, it is not asked again, and it is not right."""
    game = plal(np.arange(100.0)[:, None], np.zeros(100, dtype=int), epsilon=0.3)
    game.skip(game.ask()[0])
    game.answer(12, batch=None)
    assert game.n_leaves > 1
    assert len(game.answer(1000, batch=None)) == 100 - 1 - 12
    assert game.lower == pytest.approx(0.99)


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.array([[0.0], [1.0]]), np.ones((90, 2))])
@pytest.mark.parametrize("tree", ["pca-kmeans", "ward"])
def test_odd_data(X: np.ndarray, tree: str, plal: Begin) -> None:
    """One row, two rows and rows that are all the same are labelled to the end, with one class and with two."""
    for y in (np.zeros(len(X), int), np.arange(len(X)) % 2):
        game = plal(X, y, tree=tree)
        assert np.all(game.codes == UNKNOWN)
        assert game.lower == 0.0
        assert len(game.answer(100, batch=None)) == len(X)
        assert game.lower == 1.0


def n_violations(plal: Begin, n_seeds: int = 120) -> int:
    """How many runs, on cells that are just bad enough, ever promise more than is right."""
    rng = np.random.default_rng(0)
    tree = split_points(rng.normal(size=(600, 2)).astype(np.float32))
    y = (rng.random(600) < 0.25).astype(int)
    count = 0
    for seed in range(n_seeds):
        game = plal(np.zeros((600, 1)), y, tree=tree, epsilon=0.2, confidence=0.8, seed=seed)
        broken = False
        for _ in range(8):
            game.answer(25, batch=None)
            broken |= game.lower > game.accuracy + 1e-12
        count += broken
    return count


def test_guarantee_over_the_whole_loop(monkeypatch: pytest.MonkeyPatch, plal: Begin) -> None:
    """At most alpha of the runs ever promise too much; with trials of a sixth of the size more do."""
    allowed = int(binom.ppf(0.999, 120, 0.2))
    assert n_violations(plal) <= allowed
    honest = PLALBound.trial_size
    monkeypatch.setattr(PLALBound, "trial_size", lambda self, level: np.maximum(honest(self, level) // 6, 1))
    assert n_violations(plal) > allowed


def test_wrong_parameters_are_refused(plal: Begin) -> None:
    """Epsilon is a share."""
    with pytest.raises(ParameterError, match="epsilon"):
        plal(np.arange(6.0)[:, None], np.zeros(6, dtype=int), epsilon=1.5)
