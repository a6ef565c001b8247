"""HSAL: its laws, on small data."""

import numpy as np
import pytest

from bela.errors import BelaError
from bela.methods._hsal import HSAL
from bela.protocols import Method
from bela.records import UNKNOWN, Role
from bela.sources import ArraySource

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
    method = HSAL(ArraySource(X), tree=tree, seed=1)
    assert isinstance(method, Method)
    rows = answer(method, y, 10**6)
    assert sorted(rows) == list(range(400))
    assert np.array_equal(method.labelling().codes, y)
    assert method.certificate().lower == 1.0


def test_the_papers_own_scores_run_to_the_end(digits: Data) -> None:
    """As printed, too, all rows asked are all rows right; on the way the questions are others."""
    X, y = digits[0][:300], digits[1][:300]
    printed, ours = (HSAL(ArraySource(X), as_printed=flag, seed=0) for flag in (True, False))
    assert answer(printed, y, 150) != answer(ours, y, 150)
    answer(printed, y, 10**6)
    assert np.array_equal(printed.labelling().codes, y)
    assert printed.certificate().lower == 1.0


def test_few_answers_label_clear_clusters(blobs: Data) -> None:
    """Where the clusters are the classes, 5 % of the answers have nearly all rows right."""
    X, y = blobs
    method = HSAL(ArraySource(X), seed=0)
    answer(method, y, 20)
    assert np.mean(method.labelling().codes == y) > 0.95


def test_pruning_only_refines(digits: Data) -> None:
    """A leaf of the labelling never mixes rows that an earlier pruning kept apart."""
    X, y = digits[0][:500], digits[1][:500]
    method = HSAL(ArraySource(X), tree="ward", seed=0)
    before = method.labelling()
    for _ in range(8):
        answer(method, y, 40)
        method.propose(0)  # commits what the labelling shows
        now = method.labelling()
        assert now.n_leaves >= before.n_leaves
        pairs = np.unique(np.column_stack([now.leaf, before.leaf]), axis=0)
        assert len(pairs) == now.n_leaves
        before = now


def test_looking_changes_nothing(digits: Data) -> None:
    """The questions are the same whether or not labelling and certificate are read in between."""
    X, y = digits[0][:300], digits[1][:300]
    quiet, watched = (HSAL(ArraySource(X), seed=5) for _ in range(2))
    for _ in range(60):
        a, b = quiet.propose(3), watched.propose(3)
        assert a == b
        for p in a:
            quiet.observe(p.row, p.role, int(y[p.row]))
            watched.observe(p.row, p.role, int(y[p.row]))
            watched.labelling()
            watched.certificate()
    assert np.array_equal(quiet.labelling().codes, watched.labelling().codes)


def test_known_labels_cost_nothing(digits: Data) -> None:
    """Labels that the data brought are kept, never asked, and drawn for free until all is known."""
    X, y = digits[0][:200], digits[1][:200]
    method = HSAL(ArraySource(X), seed=0)
    brought = np.arange(0, 200, 2)
    method.know(brought, y[brought])
    assert np.array_equal(method.labelling().codes[brought], y[brought])
    rows = answer(method, y, 10**6)
    assert sorted(rows) == list(range(1, 200, 2))
    assert method.certificate().lower == 1.0
    method.revise(0, Role.BOUNDS, 3)
    assert method.labelling().codes[0] == 3


def test_retract_and_revise_restore_the_counts(digits: Data) -> None:
    """Taking an answer back and giving it again leaves labelling and bound as they were."""
    X, y = digits[0][:300], digits[1][:300]
    method = HSAL(ArraySource(X), seed=2)
    rows = answer(method, y, 90)
    codes, lower = method.labelling().codes, method.certificate().lower
    for row in rows[-5:]:
        method.retract(row, Role.BOUNDS)
    assert rows[-1] not in {p.row for p in HSAL.propose(method, 4)}
    for row in rows[-5:]:
        method.observe(row, Role.BOUNDS, 9)
        method.revise(row, Role.BOUNDS, int(y[row]))
    assert np.array_equal(method.labelling().codes, codes)
    assert method.certificate().lower == pytest.approx(lower)


def test_skipped_rows_count_as_wrong() -> None:
    """A row that nobody would label is not asked again and is no part of the bound."""
    y = np.zeros(20, dtype=int)
    method = HSAL(ArraySource(np.arange(20.0)[:, None]), seed=0)
    (first,) = method.propose(1)
    method.skip(first.row, first.role)
    assert len(answer(method, y, 100)) == 19
    assert method.certificate().lower == pytest.approx(19 / 20)
    method.retract(first.row, first.role)
    method.observe(first.row, first.role, 0)
    assert method.certificate().lower == 1.0


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.array([[0.0], [1.0]]), np.ones((30, 2))])
@pytest.mark.parametrize("tree", ["pca-kmeans", "ward"])
def test_odd_data(X: np.ndarray, tree: str) -> None:
    """One row, two rows and rows that are all the same are labelled to the end, with one class and with two."""
    for y in (np.zeros(len(X), int), np.arange(len(X)) % 2):
        method = HSAL(ArraySource(X), tree=tree)
        assert np.all(method.labelling().codes == UNKNOWN)
        assert method.certificate().lower == 0.0
        assert len(answer(method, y, 100)) == len(X)
        assert method.certificate().lower == 1.0


def bound_fails(z: float | None, n_seeds: int = 150) -> int:
    """How often the bound is above the truth after 15 answers on one cluster with noisy labels."""
    fails = 0
    for seed in range(n_seeds):
        y = (np.random.default_rng([seed, 1]).random(60) < 0.2).astype(int)
        method = HSAL(ArraySource(np.zeros((60, 1))), tree="ward", seed=seed)
        if z is not None:
            method._z = z
        answer(method, y, 15)
        fails += method.certificate().lower > np.mean(method.labelling().codes == y)
    return fails


def test_bound_holds_on_one_cluster_about_as_often_as_it_says() -> None:
    """With the pruning forced to one cluster the bound fails rarely; a bound of zero width fails often."""
    assert bound_fails(None) <= 0.10 * 150
    assert bound_fails(0.0) > 0.25 * 150


def test_wrong_calls_are_refused() -> None:
    """Answers to rows never proposed, unknown rows and bad parameters raise errors of the project."""
    source = ArraySource(np.arange(6.0)[:, None])
    method = HSAL(source)
    for call in (
        lambda: method.observe(0, Role.BOUNDS, 0),
        lambda: method.observe(99, Role.BOUNDS, 0),
        lambda: method.retract(0, Role.BOUNDS),
        lambda: method.revise(0, Role.BOUNDS, 1),
        lambda: method.know(np.array([9]), np.array([0])),
        lambda: HSAL(source, tree="oak"),
        lambda: HSAL(source, confidence=1.0),
        lambda: HSAL(ArraySource(np.zeros((3, 1))), tree=method.tree),
    ):
        with pytest.raises(BelaError):
            call()
