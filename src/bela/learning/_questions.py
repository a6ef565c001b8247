"""Which rows to ask for training: first to see all of the data, then where the labels are in doubt.

Nothing here knows which rows the certificate will draw, or has drawn: docs/guarantees.md says why that matters.
"""

import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from bela.learning._graph import Floats, Graph, Rows, closest
from bela.records import BoolArray, IntArray

COLD_START = 50
SAMPLE = 6_000  # rows that the clusters are found on
ENOUGH = 8  # answers a class, after which doubt alone becomes the better guide
MOST_SPREAD = 300  # clusters of doubtful rows: more would take long, and matter little by then
SKIPPED = 5  # neighbours of a question that the same batch leaves out: they would be answered alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """Rows to ask, in order, and which of them were drawn uniformly from the rows not yet asked."""

    rows: IntArray
    uniform: BoolArray


def cold_start(X: Floats, *, n: int | None = None, seed: int = 0) -> Rows:
    """Rows that cover the data before anything is known: one for each of n clusters.

    Any beginning of the list covers the data as well as it can: big clusters first, those like earlier ones last. `X`
    is smoothed over the graph, so that a cluster's middle is a typical row; n is by default 50, or the square root of
    the number of rows if that is smaller.
    """
    n_rows = len(X)
    n = min(n if n is not None else min(COLD_START, int(np.ceil(np.sqrt(n_rows)))), n_rows)
    rng = np.random.default_rng(seed)
    sample = X if n_rows <= SAMPLE else X[np.sort(rng.choice(n_rows, SAMPLE, replace=False))]
    distinct = np.unique(sample, axis=0)
    centres = distinct if len(distinct) <= n else _centres(sample, n, n_init=3, random_state=seed)
    label, distance = closest(X, centres)
    order = np.lexsort((np.arange(n_rows), distance, label))
    middle = order[np.flatnonzero(np.diff(label[order], prepend=-1))]
    chosen = middle[_spread(X[middle], np.bincount(label)[label[middle]])]
    if len(chosen) < n:  # fewer clusters than wanted, because many rows are the same
        chosen = np.concatenate([chosen, np.setdiff1d(rng.permutation(n_rows)[: 2 * n], chosen)])[:n]
    return chosen


def choose_questions(
    proba: Floats, asked: BoolArray, graph: Graph, n: int, *, X: Floats | None = None, uniform_share: float = 0.2,
    rng: np.random.Generator,
) -> Picks:  # fmt: skip
    """The next batch of open rows: in doubt and spread over the data, in doubt alone, and some at random.

    With few answers a class, rows that stand for many doubtful ones teach most; later those do whose two likeliest
    labels are closest, no near neighbours among them. `X` is what rows are spread over, if
    they are.
    """
    open_rows = np.flatnonzero(~asked)
    n = min(n, len(open_rows))
    n_uniform = round(uniform_share * n)
    margin = margins(proba[open_rows])
    doubt = margin + rng.random(len(open_rows), np.float32) * np.float32(1e-6)
    share = min(1.0, ENOUGH * proba.shape[1] / max(int(asked.sum()), 1))
    n_spread = min(round(share * (n - n_uniform)), MOST_SPREAD)
    spread = open_rows[:0] if X is None else _pick_spread(X, open_rows, 1.0 - margin, n_spread, rng)
    ranked = open_rows[np.argsort(doubt, kind="stable")]
    apart = _pick_apart(ranked[np.isin(ranked, spread, invert=True)], graph, n - n_uniform - len(spread))
    active = np.concatenate([spread, apart])
    left = np.setdiff1d(open_rows, active, assume_unique=True)
    rows = np.concatenate([active, rng.choice(left, n_uniform, replace=False) if n_uniform else left[:0]])
    return Picks(rows=rows, uniform=np.arange(len(rows)) >= len(active))


def _pick_spread(X: Floats, rows: Rows, doubt: Floats, n: int, rng: np.random.Generator) -> Rows:
    """The middles of n clusters of rows, each row as heavy as it is doubtful."""
    place = np.sort(rng.choice(len(rows), SAMPLE, replace=False)) if len(rows) > SAMPLE else np.arange(len(rows))
    sample = np.asarray(X[rows[place]])
    if not n or len(np.unique(sample, axis=0)) <= n:
        return rows[:0]
    weight, seed = doubt[place] + 1e-3, int(rng.integers(2**31))
    centres = _centres(sample, n, weight=weight, n_init=1, max_iter=15, random_state=seed)
    label, distance = closest(sample, centres)
    order = np.lexsort((distance, label))
    return np.asarray(rows[place[order[np.flatnonzero(np.diff(label[order], prepend=-1))]]])


def _centres(sample: Floats, n: int, *, weight: Floats | None = None, **options: int) -> Floats:
    """The centres of n clusters, or of fewer where rows are nearly the same, without a warning about that."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        centres: Floats = KMeans(n, **options).fit(sample, sample_weight=weight).cluster_centers_.astype(np.float32)
    return centres


def margins(scores: Floats) -> Floats:
    """How far apart the two likeliest labels of each row are, in the unit of the scores."""
    if scores.ndim == 1:  # one score for two classes
        return np.asarray(np.abs(scores))
    if scores.shape[1] < 2:  # one class so far: any row is as doubtful as any other
        return np.zeros(len(scores), np.float32)
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def _pick_apart(ranked: Rows, graph: Graph, n: int) -> Rows:
    """The first n rows of a ranking that are no near neighbours; the passed-over ones if there are too few."""
    passed = np.zeros(graph.n_places, np.bool_)
    skipped = SKIPPED * graph.n_places // graph.n_rows  # a landmark stands for many rows: skip no others for it
    picked: list[int] = []
    for row, place in zip(ranked, graph.places(ranked), strict=True):
        if len(picked) == n:
            break
        if not passed[place]:
            picked.append(int(row))
            passed[[place, *graph.neighbours[place, :skipped]]] = True
    others = ranked[np.isin(ranked, picked, invert=True)][: n - len(picked)]
    return np.concatenate([np.array(picked, np.intp), others])


def _spread(X: Floats, size: IntArray) -> Rows:
    """An order in which each row is far from all earlier ones, more so if it stands for many."""
    order = [int(np.argmax(size))]
    away = np.full(len(X), np.inf)
    for _ in range(len(X) - 1):
        away = np.minimum(away, np.linalg.norm(X - X[order[-1]], axis=1))
        value = away * np.sqrt(size)
        value[order] = -1
        order.append(int(np.argmax(value)))
    return np.array(order, np.intp)


def one_thread() -> AbstractContextManager[object]:
    """Keep OpenMP to one thread: on a busy machine threads that share milliseconds of work wait for seconds."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="openmp")
    return limits
