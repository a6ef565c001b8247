"""PLAL: its laws, on small data, and its guarantee over the whole loop."""

import numpy as np
import pytest
from scipy.stats import binom

import bela.methods._plal as module
from bela.errors import BelaError
from bela.methods._plal import PLAL
from bela.protocols import Method
from bela.records import UNKNOWN, Role
from bela.sources import ArraySource
from bela.tree._pca_kmeans import split_points

Data = tuple[np.ndarray, np.ndarray]


def answer(method: Method, y: np.ndarray, n: int) -> list[int]:
    """Answer up to n questions in the batches that the method likes, and return their rows."""
    rows: list[int] = []
    while len(rows) < n and (proposals := method.propose(min(method.batch, n - len(rows)))):
        for p in proposals:
            method.observe(p.row, p.role, int(y[p.row]))
            rows.append(p.row)
    return rows


@pytest.mark.parametrize("tree", ["pca-kmeans", "ward"])
def test_full_budget_asks_every_row_once_and_is_exact(digits: Data, tree: str) -> None:
    """All rows asked: every row once, all labels right, and the bound exactly 1."""
    X, y = digits[0][:400], digits[1][:400]
    method = PLAL(ArraySource(X), tree=tree, seed=1)
    assert isinstance(method, Method)
    assert sorted(answer(method, y, 10**6)) == list(range(400))
    assert np.array_equal(method.labelling().codes, y)
    assert method.certificate().lower == 1.0


def test_clear_clusters_pass_their_trials(blobs: Data) -> None:
    """Where the clusters are the classes, a few trials label nearly everything and vouch for 1 - epsilon of it."""
    X, y = np.repeat(blobs[0], 5, axis=0), np.repeat(blobs[1], 5)
    method = PLAL(ArraySource(X), epsilon=0.1, seed=0)
    answer(method, y, 400)
    assert np.mean(method.labelling().codes == y) > 0.99
    assert method.certificate().lower >= 0.9


def test_one_class_needs_one_trial() -> None:
    """With one class the root passes after its trial, and the rest is asked in random order only if one goes on."""
    y = np.zeros(500, int)
    method = PLAL(ArraySource(np.random.default_rng(0).normal(size=(500, 2))), epsilon=0.1, confidence=0.95)
    rows = answer(method, y, 37)
    assert method.certificate().lower == pytest.approx(1 - 0.1)
    assert method.labelling().n_leaves == 1
    assert len(rows) + len(answer(method, y, 1000)) == 500


def test_state_is_a_function_of_the_answers(digits: Data) -> None:
    """Answers kept up as they come, worked out afresh, or retracted and given again: always the same state."""
    X, y = digits[0][:600], digits[1][:600]
    method = PLAL(ArraySource(X), epsilon=0.3, seed=4)
    rows = answer(method, y, 350)
    codes, lower = method.labelling(), method.certificate()
    for row in rows[::7]:
        method.retract(row, Role.BOUNDS)
    assert method.certificate().lower < lower.lower
    for row in reversed(rows[::7]):
        method.observe(row, Role.BOUNDS, int(y[row]))
    again = method.labelling()
    assert np.array_equal(again.codes, codes.codes)
    assert np.array_equal(again.leaf, codes.leaf)
    assert method.certificate() == lower
    assert not set(rows) & {p.row for p in method.propose(50)}


def test_known_labels_cost_nothing(digits: Data) -> None:
    """Labels that the data brought are kept, never asked, and used in trials; a revised one is used as revised."""
    X, y = digits[0][:200], digits[1][:200]
    method = PLAL(ArraySource(X), seed=0)
    brought = np.arange(0, 200, 2)
    method.know(brought, y[brought])
    assert np.array_equal(method.labelling().codes[brought], y[brought])
    assert sorted(answer(method, y, 10**6)) == list(range(1, 200, 2))
    assert method.certificate().lower == 1.0
    method.revise(0, Role.BOUNDS, 3)
    assert method.labelling().codes[0] == 3


def test_skipped_rows_fail_the_trial_and_count_as_wrong() -> None:
    """A skipped row is a label of its own: its cell cannot pass, it is not asked again, and it is not right."""
    y = np.zeros(100, dtype=int)
    method = PLAL(ArraySource(np.arange(100.0)[:, None]), epsilon=0.3, seed=0)
    first = method.propose(1)[0]
    method.skip(first.row, first.role)
    answer(method, y, 12)
    assert method.labelling().n_leaves > 1
    assert len(answer(method, y, 1000)) == 100 - 1 - 12
    assert method.certificate().lower == pytest.approx(0.99)


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.array([[0.0], [1.0]]), np.ones((90, 2))])
@pytest.mark.parametrize("tree", ["pca-kmeans", "ward"])
def test_odd_data(X: np.ndarray, tree: str) -> None:
    """One row, two rows and rows that are all the same are labelled to the end, with one class and with two."""
    for y in (np.zeros(len(X), int), np.arange(len(X)) % 2):
        method = PLAL(ArraySource(X), tree=tree)
        assert np.all(method.labelling().codes == UNKNOWN)
        assert method.certificate().lower == 0.0
        assert len(answer(method, y, 100)) == len(X)
        assert method.certificate().lower == 1.0


def n_violations(n_seeds: int = 120) -> int:
    """How many runs, on cells that are just bad enough, ever promise more than is right."""
    rng = np.random.default_rng(0)
    tree = split_points(rng.normal(size=(600, 2)).astype(np.float32))
    y = (rng.random(600) < 0.25).astype(int)
    source = ArraySource(np.zeros((600, 1)))
    count = 0
    for seed in range(n_seeds):
        method = PLAL(source, tree=tree, epsilon=0.2, confidence=0.8, seed=seed)
        broken = False
        for _ in range(8):
            answer(method, y, 25)
            broken |= method.certificate().lower > np.mean(method.labelling().codes == y) + 1e-12
        count += broken
    return count


def test_guarantee_over_the_whole_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most alpha of the runs ever promise too much; with trials of a sixth of the size more do."""
    allowed = int(binom.ppf(0.999, 120, 0.2))
    assert n_violations() <= allowed
    honest = module.trial_size
    monkeypatch.setattr(module, "trial_size", lambda level, **kw: np.maximum(honest(level, **kw) // 6, 1))
    assert n_violations() > allowed


def test_wrong_calls_are_refused() -> None:
    """Answers to rows never proposed and bad parameters raise errors of the project."""
    source = ArraySource(np.arange(6.0)[:, None])
    method = PLAL(source)
    for call in (
        lambda: method.observe(0, Role.BOUNDS, 0),
        lambda: method.skip(0, Role.BOUNDS),
        lambda: PLAL(source, epsilon=1.5),
        lambda: PLAL(source, confidence=0.0),
    ):
        with pytest.raises(BelaError):
            call()
