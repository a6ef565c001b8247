"""The learner of the certified method: it knows all rows from the start, and labels them all from few answers.

Members: kernel ridge on the features as they are, smoothed over the neighbour graph a little, and a lot; label
propagation on the graph; a linear model and boosted trees for data that want them. A stack of these, weighed by how
well each foretold answers that it had not seen.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from bela.errors import DataError, ParameterError
from bela.features._components import Components
from bela.features._scaling import Prepared
from bela.records import BoolArray, IntArray
from bela.splitters._boosting import fit_trees, trees_apply
from bela.splitters._graph import MOST_ROWS, Graph, build_graph
from bela.splitters._kernel_ridge import fit_kernel_ridge, fit_linear_ridge
from bela.splitters._neighbours import Floats, Rows
from bela.splitters._propagation import propagate
from bela.splitters._questions import Picks, choose_questions, cold_start
from bela.splitters._stack import fit_stack

LITTLE = 2  # steps of smoothing
LOTS = 24
_VIEWS = ("features", "smoothed", "clusters")
CLUSTER_COMPONENTS = 64  # after a lot of smoothing little else is left
SAMPLE = 20_000  # rows that the first questions come from where a graph of all rows would take long


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What the answers say about every row.

    `proba` and `out_of_fold` have a column for each of `classes`; `out_of_fold` is about the answered rows, each as
    foretold by models that had not seen it. `loss` is their mean log-loss; `weights` says which member has how much
    say.
    """

    rows: IntArray
    classes: IntArray
    proba: Floats
    out_of_fold: Floats
    loss: float
    weights: dict[str, float]


class TransductiveLearner:
    """Labels all rows of a dataset from the answers to a few.

    Parameters
    ----------
    features
        The rows, as `prepare_features` or `image_features` return them.
    seed
        The same seed and answers give the same probabilities.
    """

    def __init__(self, features: Prepared | Floats, *, seed: int = 0) -> None:
        if not isinstance(features, Prepared):
            features = Prepared(dense=np.asarray(features, np.float32))
        self._features = features
        if self._features.dense.ndim != 2 or len(self._features.dense) == 0:
            raise DataError(f"features are a matrix with at least one row, not {self._features.dense.shape}")
        self._seed = seed
        self._preparing = threading.Lock()
        self._graph: Graph | None = None
        self._views: dict[str, Floats] = {"features": features.dense}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._features.dense)

    @property
    def graph(self) -> Graph:
        """The neighbour graph, built when first wanted, by whoever wants it first."""
        with self._preparing:
            if self._graph is None:
                self._graph = build_graph(self._features.dense, seed=self._seed)
            return self._graph

    @property
    def smoothed(self) -> Floats:
        """The features smoothed a little over the graph: where clusters are easiest to see."""
        graph = self.graph
        with self._preparing:
            if "smoothed" not in self._views:
                self._views["smoothed"] = graph.smooth(self._features.dense, n_steps=LITTLE)
            return self._views["smoothed"]

    def prepare(self) -> None:
        """Make what every fit needs, if it is not there: the graph, and the features smoothed over it."""
        graph, smoothed = self.graph, self.smoothed
        with self._preparing:
            if "clusters" not in self._views:
                basis = Components.fit(smoothed[:: max(1, len(smoothed) // 10_000)], CLUSTER_COMPONENTS)
                self._views["clusters"] = graph.smooth(basis.transform(smoothed), n_steps=LOTS - LITTLE)

    def first_questions(self) -> IntArray:
        """Rows to ask before anything is known: they cover the data."""
        if self.n_rows <= MOST_ROWS:
            return cold_start(self.smoothed, seed=self._seed)
        # A sample covers them as well, and nobody waits for the graph of all rows.
        rng = np.random.default_rng([self._seed, self.n_rows])
        rows = np.sort(rng.choice(self.n_rows, SAMPLE, replace=False))
        X = np.asarray(self._features.dense[rows])
        chosen: IntArray = rows[cold_start(build_graph(X, seed=self._seed).smooth(X, n_steps=LITTLE), seed=self._seed)]
        return chosen

    def next_questions(
        self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        """Rows to ask after a fit: where it is in doubt, and a share at random."""
        return choose_questions(fit.proba, asked, self.graph, n, uniform_share=uniform_share, rng=rng)

    def fit(self, rows: IntArray, codes: IntArray) -> Fit:
        """Label every row from these answers.

        Parameters
        ----------
        rows
            The answered rows, each once.
        codes
            The class code of each.
        """
        places: Rows = np.asarray(rows, np.intp)
        if len(rows) == 0 or len(rows) != len(codes):
            raise ParameterError(f"a fit needs answers, a code for each row: got {len(rows)} rows, {len(codes)} codes")
        self.prepare()
        classes, y = np.unique(codes, return_inverse=True)
        k = len(classes)
        if k == 1:
            return Fit(
                rows=places,
                classes=classes,
                proba=np.ones((self.n_rows, 1), np.float32),
                out_of_fold=np.ones((len(places), 1), np.float32),
                loss=0.0,
                weights={},
            )
        rng = np.random.default_rng([self._seed, len(places)])
        inputs = {name: self._views[name] for name in _VIEWS}
        ridges = {name: fit_kernel_ridge(X[places], y, k, rng) for name, X in inputs.items()}
        if self._features.linear is not None:
            inputs["linear"] = self._features.linear
            ridges["linear"] = fit_linear_ridge(inputs["linear"][places], y, k, rng)
        left_out = {name: ridge.left_out for name, ridge in ridges.items()}
        usual = dict.fromkeys(ridges, 4.0)
        everywhere, left_out["graph"] = propagate(self.graph, places, y, k, rng)
        usual["graph"] = 1.0
        trees = None
        columns = self._features.columns
        if columns is not None and trees_apply(y):
            trees = fit_trees(columns[places], y, rng)
            left_out["trees"], usual["trees"] = trees.left_out, 1.0
        stack = fit_stack(list(left_out.values()), y, rng, usual=list(usual.values()))
        weights = dict(zip(left_out, stack.weights.tolist(), strict=True))
        scores: list[Floats | None] = [
            ridge.score(inputs[name]) if weights[name] > 0 else None for name, ridge in ridges.items()
        ]
        scores.append(everywhere)
        if trees is not None and columns is not None:
            scores.append(trees.score(columns) if weights["trees"] > 0 else None)
        return Fit(
            rows=places,
            classes=classes,
            proba=stack.combine(scores),
            out_of_fold=stack.combine(list(left_out.values())),
            loss=stack.loss,
            weights=weights,
        )
