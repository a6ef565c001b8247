"""The learner of very many rows: what it says by way of a sample, wherever the rows lie, and what that takes."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from bela.data import ArraySource, _blocks
from bela.features import Prepared, learner_features, learner_rows
from bela.features._rows import KeptRows
from bela.learning import Answers, SampledLearner, TransductiveLearner, _sampled
from bela.learning._leaning import Marks
from bela.learning._questions import margins
from bela.learning._sampled import in_steps
from bela.protocols import BLOCK_ROWS
from bela.records import AnyArray, IntArray, Matrix


def clusters(n_rows: int, n_clusters: int = 12, width: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around points, and which of six classes each is of."""
    rng = np.random.default_rng(0)
    label = rng.integers(n_clusters, size=n_rows)
    X = width * rng.normal(size=(n_clusters, 6))[label] + rng.normal(size=(n_rows, 6))
    return X.astype(np.float32), label % 6


@pytest.fixture
def few(monkeypatch):
    """A sample of 1,500 rows."""
    monkeypatch.setattr(_sampled, "SAMPLE_ROWS", 1_500)


class InPieces:
    """Rows that are kept in pieces of odd sizes: each block is put together from those that it lies in."""

    def __init__(self, X: np.ndarray) -> None:
        self.pieces = np.array_split(X, [11, 5_000, 5_001, 9_000])
        self.n_rows, self.n_features = X.shape

    def take(self, rows: IntArray) -> Matrix:
        ends = np.cumsum([len(piece) for piece in self.pieces])
        place = np.searchsorted(ends, rows, side="right")
        return np.stack([self.pieces[p][row - ends[p]] for p, row in zip(place, rows, strict=True)])

    def scan(self, function: Callable[[Matrix], AnyArray]) -> AnyArray:
        function = pickle.loads(pickle.dumps(function))  # noqa: S301 - as it would go to another machine
        whole = np.concatenate(self.pieces)
        found = [function(whole[i : i + BLOCK_ROWS]) for i in reversed(range(0, self.n_rows, BLOCK_ROWS))]
        return np.concatenate(found[::-1])


def test_it_says_of_all_rows_nearly_what_the_whole_would(few):
    """From the same answers, a sample of a tenth of the rows gives labels that are about as often right."""
    X, y = clusters(15_000)
    rows = np.random.default_rng(1).choice(15_000, 150, replace=False)
    whole = TransductiveLearner(learner_features(ArraySource(X))).fit(rows, y[rows])
    fit = SampledLearner(learner_rows(ArraySource(X))).fit(rows, y[rows])
    right, expected = float((fit.labels == y).mean()), float((whole.labels == y).mean())
    assert expected > 0.9
    assert right > expected - 0.02
    chances = fit.chances(1.0)
    assert fit.n_rows == len(chances) == 15_000
    assert abs(float(chances.mean()) - right) < 0.06
    doubtful = np.argsort(fit.sure)[:3_000]
    assert (fit.labels != y)[doubtful].sum() > 0.5 * (fit.labels != y).sum()


def test_answers_outside_of_the_sample_are_learnt_from(few):
    """A class that only rows outside of the sample have told of is given to its cluster, sample or not."""
    X, _ = clusters(15_000, n_clusters=2, width=12.0)
    label = (X[:, 0] > X[:, 0].mean()).astype(int)
    learner = SampledLearner(learner_rows(ArraySource(X)))
    rows = np.setdiff1d(np.arange(400), learner.sample)[:60]
    fit = learner.fit(rows, label[rows])
    assert (fit.labels == label).mean() > 0.97
    helped = learner.fit(rows[:6], label[rows[:6]], helped=Answers(rows=rows[6:], codes=label[rows[6:]]))
    assert (helped.labels == label).mean() > 0.95


def test_where_rows_lie_makes_no_difference(few, tmp_path):
    """In memory, mapped from a file, or in pieces of any size elsewhere: the same to the last bit."""
    X, y = clusters(20_000)
    np.save(tmp_path / "x.npy", X)
    rows, found = np.arange(0, 2_000, 17), []
    for source in (ArraySource(X), ArraySource(np.load(tmp_path / "x.npy", mmap_mode="r")), InPieces(X)):
        learner = SampledLearner(learner_rows(source, 3), seed=3)
        fit = learner.fit(rows, y[rows])
        asked = np.zeros(20_000, dtype=bool)
        picks = learner.next_questions(fit, asked, 30, uniform_share=0.2, rng=np.random.default_rng(0))
        found.append([learner.first_questions(), learner.lean, fit.scan(1.3), picks.rows])
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(a, b)


def test_questions_come_from_the_sample_and_are_open(few):
    """What was asked is not asked again, whether it is in the sample or not."""
    X, y = clusters(15_000)
    learner = SampledLearner(learner_rows(ArraySource(X)))
    asked = np.zeros(15_000, dtype=bool)
    asked[learner.sample[:1_400]] = True
    fit = learner.fit(np.arange(100), y[:100])
    picks = learner.next_questions(fit, asked, 60, uniform_share=0.5, rng=np.random.default_rng(0))
    assert len(picks.rows) == 60
    assert not asked[picks.rows].any()
    assert np.isin(picks.rows, learner.sample).all()


def test_rows_lean_on_those_that_are_nearest():
    """Nearly always on the nearest of all, and most on that; a row of the sample on itself."""
    X, _ = clusters(6_000)
    marks = Marks.of(X[:3_000], 0)
    on, weight = marks.lean(X[3_000:])
    away = np.square(X[3_000:, None] - X[None, :3_000]).sum(axis=2)
    assert np.mean(on[:, 0] == away.argmin(axis=1)) > 0.95
    np.testing.assert_allclose(weight.sum(axis=1), 1, rtol=1e-5)
    assert (np.diff(weight, axis=1) <= 0).all()
    assert np.mean(marks.lean(X[:3_000])[0][:, 0] == np.arange(3_000)) > 0.99
    few = Marks.of(X[:2], 0)(Prepared(dense=X[:5]))  # fewer than there are to lean on
    assert few["weight"][:, 2:].max() == 0


def test_all_forms_of_the_features_are_learnt_from(few):
    """Views, columns for trees and sparse words go with the rows that join the sample."""
    X, y = clusters(4_000)
    words = sparse.csr_array(np.eye(6, dtype=np.float32)[y])
    rows = KeptRows(Prepared(dense=X, linear=words, columns=X, views=(X[:, :3],)))
    learner = SampledLearner(rows)
    answered = np.arange(0, 4_000, 25)
    assert len(np.setdiff1d(answered, learner.sample))
    fit = learner.fit(answered, y[answered])
    assert {"linear", "view 1", "trees"} <= set(fit.weights)
    assert (fit.labels == y).mean() > 0.9


def test_steps_keep_the_order():
    """How sure a row is in steps: never the other way round, and fine where labels are nearly certain."""
    sure = np.sort(np.concatenate([np.random.default_rng(0).random(1000), 1 - 10.0 ** -np.arange(1, 7)]))
    steps = in_steps(sure.astype(np.float32)).astype(int)
    assert (np.diff(steps) >= 0).all()
    assert len(np.unique(in_steps((1 - 10.0 ** -np.arange(1, 7)).astype(np.float32)))) == 6
    assert in_steps(np.array([0.0, 1.0], np.float32)).tolist() == [2**16 - 1 - (0x3F800000 >> 15), 2**16 - 1]


def test_whoever_comes_first_prepares_for_all(few):
    """Several threads that want to know what rows lean on get one answer, and nobody waits for it who need not."""
    learner = SampledLearner(learner_rows(ArraySource(clusters(9_000)[0])))
    with ThreadPoolExecutor(4) as pool:
        assert len({id(lean) for lean in pool.map(lambda _: learner.lean, range(4))}) == 1


def test_it_takes_a_few_bytes_a_row(few, tmp_path, monkeypatch):
    """With many more rows, a fit takes no more memory than some bytes for each row that came in addition."""
    monkeypatch.setattr(_blocks, "count_threads", lambda: 1)  # how many blocks are under way at once is luck
    peaks, sizes = [], (40_000, 200_000)
    for n_rows in sizes:
        X = np.lib.format.open_memmap(tmp_path / f"{n_rows}.npy", "w+", np.float32, (n_rows, 40))
        X[:] = np.random.default_rng(0).normal(size=(n_rows, 40))
        X[:, 0] += 6 * (np.arange(n_rows) % 3)
        X.flush()
        learner = SampledLearner(learner_rows(ArraySource(np.load(tmp_path / f"{n_rows}.npy", mmap_mode="r"))))
        rows = np.arange(90)
        tracemalloc.start()
        learner.fit(rows, rows % 3).scan(1.0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 60 * (sizes[1] - sizes[0])  # the features alone would be 160


def test_margins_of_answers_are_in_the_same_steps(few):
    """What was left out is compared with all rows, so it is measured alike."""
    X, y = clusters(5_000)
    fit = SampledLearner(learner_rows(ArraySource(X))).fit(np.arange(80), y[:80])
    np.testing.assert_array_equal(fit.left_out_sure, in_steps(margins(fit.out_of_fold)))
