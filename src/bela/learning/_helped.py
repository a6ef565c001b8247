"""What a helper teaches: models of its own, of which the stack takes as much as people's answers bear out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bela.learning._graph import Floats, Graph, Rows, propagate
from bela.learning._kernel_ridge import fit_kernel_ridge
from bela.records import IntArray

_VIEW = "clusters"  # in which single errors of a helper are outvoted by the rows around them
_LEAST = 20  # rows that it must have spoken about


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Rows, and what each of them teaches: class codes."""

    rows: IntArray
    codes: IntArray


def helper_scores(
    helped: Answers, views: Mapping[str, Floats], graph: Graph, n_classes: int, seed: int
) -> Iterator[tuple[str, Floats]]:
    """Yield scores of all rows by models that have learnt from a helper alone, each with its name.

    A row that the helper has spoken about is scored by a model that has not heard that: so rows that people have
    answered, by which the model is judged, are like all others.
    """
    rows: Rows = np.asarray(helped.rows, np.intp)
    codes: Rows = np.asarray(helped.codes, np.intp)
    if len(rows) < _LEAST or len(np.unique(codes)) < 2:
        return
    rng = np.random.default_rng([seed, len(rows), n_classes])
    ridge = fit_kernel_ridge(views[_VIEW][rows], codes, n_classes, rng)
    scores = ridge.score(views[_VIEW])
    scores[rows] = ridge.left_out
    yield "helper", scores
    everywhere, left_out = propagate(graph, rows, codes, n_classes, rng)
    spread = everywhere.copy()
    spread[rows] = left_out
    yield "helper's graph", spread
