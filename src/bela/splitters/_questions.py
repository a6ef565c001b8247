"""Which rows to ask for training: first to see all of the data, then where the labels are in doubt.

Nothing here knows which rows the certificate will draw, or has drawn: docs/guarantees.md says why that matters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bela.records import BoolArray, IntArray
from bela.splitters._graph import Graph
from bela.splitters._neighbours import Floats, Rows, closest
from bela.splitters._threads import one_thread

COLD_START = 50
SAMPLE = 6_000  # rows that the clusters are found on
SKIPPED = 5  # neighbours of a question that the same batch leaves out: they would be answered alike
UNIFORM_SHARE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """Rows to ask, in order, and which of them were drawn uniformly from the rows not yet asked."""

    rows: IntArray
    uniform: BoolArray


def cold_start(X: Floats, *, n: int | None = None, seed: int = 0) -> Rows:
    """Rows that cover the data before anything is known: one for each of n clusters.

    Any beginning of the list covers the data as well as it can: big clusters first, those like earlier ones last.

    Parameters
    ----------
    X
        Features smoothed over the graph, so that a cluster's middle is a typical row.
    n
        How many; by default 50, or the square root of the number of rows if that is smaller.
    seed
        Chooses a sample, and where the clusters start.
    """
    from sklearn.cluster import KMeans

    n_rows = len(X)
    n = min(n if n is not None else min(COLD_START, int(np.ceil(np.sqrt(n_rows)))), n_rows)
    rng = np.random.default_rng(seed)
    sample = X if n_rows <= SAMPLE else X[np.sort(rng.choice(n_rows, SAMPLE, replace=False))]
    distinct = np.unique(sample, axis=0)
    if len(distinct) <= n:
        centres = distinct
    else:
        with one_thread():
            centres = KMeans(n, n_init=3, random_state=seed).fit(sample).cluster_centers_.astype(np.float32)
    label, distance = closest(X, centres)
    order = np.lexsort((np.arange(n_rows), distance, label))
    first = np.flatnonzero(np.diff(label[order], prepend=-1))
    middle = order[first]
    size = np.bincount(label)[label[middle]]
    chosen = middle[_spread(X[middle], size)]
    if len(chosen) < n:  # fewer clusters than wanted, because many rows are the same
        chosen = np.concatenate([chosen, np.setdiff1d(rng.permutation(n_rows)[: 2 * n], chosen)])[:n]
    return chosen


def choose_questions(
    proba: Floats,
    asked: BoolArray,
    graph: Graph,
    n: int,
    *,
    uniform_share: float = UNIFORM_SHARE,
    rng: np.random.Generator,
) -> Picks:
    """The next batch: rows whose two likeliest labels are closest, no two of them neighbours, and a share at random.

    Parameters
    ----------
    proba
        Probabilities of the labels of every row.
    asked
        Rows that were asked for training, or that may not be asked.
    graph
        Says which rows are neighbours.
    n
        How many; fewer are returned when there are no more.
    uniform_share
        Share of the batch that is drawn uniformly, at the batch's end.
    rng
        Draws it, and breaks ties.
    """
    open_rows = np.flatnonzero(~asked)
    n = min(n, len(open_rows))
    n_uniform = round(uniform_share * n)
    doubt = _margin(proba[open_rows]) + rng.random(len(open_rows), np.float32) * np.float32(1e-6)
    active = _pick_apart(open_rows[np.argsort(doubt, kind="stable")], graph, n - n_uniform)
    left = np.setdiff1d(open_rows, active, assume_unique=True)
    drawn = rng.choice(left, n_uniform, replace=False) if n_uniform else left[:0]
    rows = np.concatenate([active, drawn])
    return Picks(rows=rows, uniform=np.arange(len(rows)) >= len(active))


def _margin(proba: Floats) -> Floats:
    if proba.shape[1] < 2:  # one class so far: any row is as doubtful as any other
        return np.zeros(len(proba), np.float32)
    two = np.partition(proba, proba.shape[1] - 2, axis=1)[:, -2:]
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
            passed[place] = True
            passed[graph.neighbours[place, :skipped]] = True
    if len(picked) < n:
        picked += _first_others(ranked, picked, n - len(picked))
    return np.array(picked, np.intp)


def _first_others(ranked: Rows, picked: Iterable[int], n: int) -> list[int]:
    taken = set(picked)
    others = [int(row) for row in ranked if int(row) not in taken]
    return others[:n]


def _spread(X: Floats, size: IntArray) -> Rows:
    """An order in which each row is far from all earlier ones, more so if it stands for many."""
    weight = np.sqrt(size)
    order = [int(np.argmax(size))]
    away = np.full(len(X), np.inf)
    for _ in range(len(X) - 1):
        away = np.minimum(away, np.linalg.norm(X - X[order[-1]], axis=1))
        value = away * weight
        value[order] = -1
        order.append(int(np.argmax(value)))
    return np.array(order, np.intp)
