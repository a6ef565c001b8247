"""The learner of the certified method: it knows all rows from the start, and labels them all from few answers.

Members: kernel ridge on the features as they are, smoothed over the neighbour graph a little, and a lot; label
propagation on the graph; a linear model and boosted trees for data that want them; what others have predicted of a row
and of those around it, as far as it is believed, and kernel ridge that sees where it errs. A stack of these, weighed by
how well each predicted answers that it had not seen.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Protocol

import numpy as np

from bela.errors import DataError, ParameterError
from bela.features._scaling import Components, Prepared
from bela.learning._around import predicted_around
from bela.learning._belief import Belief, Ranks, fit_belief
from bela.learning._fit import Fit
from bela.learning._graph import MOST_ROWS, Floats, Graph, Rows, build_graph, deal_folds, propagate
from bela.learning._helped import Answers, helper_scores
from bela.learning._kernel_ridge import fit_kernel_ridge, fit_linear_ridge
from bela.learning._predicted import fit_beliefs
from bela.learning._questions import Picks, choose_questions, cold_start, one_thread
from bela.learning._stack import Stack, fit_stack, sharpen, vanishing
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray

LITTLE = 2  # steps of smoothing
LOTS = 24
_VIEWS = ("features", "smoothed", "clusters")
CLUSTER_COMPONENTS = 64  # after a lot of smoothing little else is left
SAMPLE = 20_000  # rows that the first questions come from where a graph of all rows would take long
TREE_ANSWERS = 100  # at least, for boosted trees to have a chance
TREE_ANSWERS_OF_CLASS = 4
TREE_CLASSES = 30  # at most: a tree for each class and round
TREE_FOLDS = 3
MOST_INDICATORS = 64  # columns that a predicted class becomes, one for each or else at random
HOW_SURE = 0.5  # the length of a usual difference in scores, beside features of length 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A fitted model of the stack: what it says of each answer unseen, how sharp it usually is, and of all rows."""

    name: str
    left_out: Floats
    usual: float
    score: Callable[[], Floats]
    voice: tuple[int, Belief] | None = None  # which prediction it is, if it speaks of each row by that row's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A fit, and what it is made of: what is said by where a row lies, and what by the row's own predictions.

    `by_place` is the chance of each class by the former alone. A voice is the number of a prediction, how far it is
    believed, and its weight.
    """

    fit: Fit
    by_place: Callable[[], Floats]
    voices: Sequence[tuple[int, Belief, float]]


def _widen(member: _Member, seen: Rows, n_classes: int) -> _Member:
    """Return a member that says nothing of classes that were predicted and never seen: none is likelier."""

    def widen(scores: Floats) -> Floats:
        wide = np.repeat(scores.max(axis=1, keepdims=True), n_classes, axis=1)
        wide[:, seen] = scores
        return wide

    return replace(member, left_out=widen(member.left_out), score=lambda: widen(member.score()))


class TransductiveLearner:
    """Labels all rows of a dataset, as prepared, from a few answers; the same seed and answers give the same fit.

    `scores` say how sure each of those who have predicted the classes of all rows is of each, None where nothing does.
    For rows that others `lean` on, no member may be about where a row lies and what was predicted of it at once.
    """

    def __init__(
        self, features: Prepared | Floats, *, seed: int = 0, scores: Sequence[FloatArray | None] = (),
        lean: bool = False,
    ) -> None:  # fmt: skip
        if not isinstance(features, Prepared):
            features = Prepared(dense=np.asarray(features, np.float32))
        if features.dense.ndim != 2 or len(features.dense) == 0:
            raise DataError(f"features are a matrix with at least one row, not {features.dense.shape}")
        self._features, self._seed, self._scores, self._lean = features, seed, tuple(scores), lean
        self._preparing = threading.Lock()
        self._graph: Graph | None = None
        self._views: dict[str, Floats] = {"features": features.dense}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._features.dense)

    @property
    def dense(self) -> Floats:
        """What the rows are compared by."""
        return self._features.dense

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

    def with_rows(
        self, more: Prepared, on: Rows, weight: Floats, scores: Sequence[FloatArray | None] = ()
    ) -> "TransductiveLearner":
        """Return a learner of these rows and more, which are not linked, but lean on those that are."""
        self.prepare()
        features = Prepared.stack([self._features, more])
        both = [None if a is None or b is None else np.concatenate([a, b])
                for a, b in zip(self._scores, scores, strict=True)]  # fmt: skip
        learner = TransductiveLearner(features, seed=self._seed, scores=both, lean=self._lean)
        learner._graph = self.graph.with_rows(on, weight)
        smoothed = {name: view for name, view in self._views.items() if name != "features"}
        for name, view in smoothed.items():
            learner._views[name] = np.concatenate([view, np.einsum("ij,ijk->ik", weight, view[on])])
        return learner

    def first_questions(self) -> IntArray:
        """Rows to ask before anything is known: they cover the data."""
        import_module("sklearn.cluster")  # takes as long as the graph, which another thread may be making meanwhile
        if self.n_rows <= MOST_ROWS:
            return cold_start(self.smoothed, seed=self._seed)
        # A sample covers them as well, and nobody waits for the graph of all rows.
        rng = np.random.default_rng([self._seed, self.n_rows])
        rows = np.sort(rng.choice(self.n_rows, SAMPLE, replace=False))
        X = np.asarray(self._features.dense[rows])
        return rows[cold_start(build_graph(X, seed=self._seed).smooth(X, n_steps=LITTLE), seed=self._seed)]

    def next_questions(
        self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        """Rows to ask after a fit: where it is in doubt, and a share at random."""
        return choose_questions(fit.proba, asked, self.graph, n, X=self.smoothed, uniform_share=uniform_share, rng=rng)

    def fit(
        self, rows: IntArray, codes: IntArray, predicted: Sequence[IntArray] = (), *, helped: Answers | None = None
    ) -> Fit:
        """Label every row from answers: rows, each once, and the class code of each.

        And from what was predicted, a class code for each row, and what a helper says, as far as answers bear it out.
        """
        return self.weigh(rows, codes, predicted, helped=helped).fit

    def weigh(
        self, rows: IntArray, codes: IntArray, predicted: Sequence[IntArray] = (), *, helped: Answers | None = None
    ) -> Weighed:
        """Return the same fit, and what it is made of."""
        places: Rows = np.asarray(rows, np.intp)
        if (len(rows) == 0 and not predicted) or len(rows) != len(codes):
            raise ParameterError(f"a fit needs answers, a code for each row: got {len(rows)} rows, {len(codes)} codes")
        self.prepare()
        classes = np.unique(np.concatenate([codes, *(some[some != UNKNOWN] for some in predicted)]))
        if not len(classes):  # nothing is known of any of these rows, and of others something may be
            classes = np.zeros(1, np.intp)
        y, k = np.searchsorted(classes, codes), len(classes)
        if k == 1:
            proba, out_of_fold = np.ones((self.n_rows, 1), np.float32), np.ones((len(places), 1), np.float32)
            one = Fit(rows=places, classes=classes, proba=proba, out_of_fold=out_of_fold, loss=0.0, weights={})
            return Weighed(fit=one, by_place=lambda: proba, voices=self._voices_of_one_class(predicted, places, y))
        rng = np.random.default_rng([self._seed, len(places)])
        seen, of_seen = np.unique(y, return_inverse=True)
        members = list(self._fit_members(places, of_seen, len(seen), rng)) if len(seen) > 1 else []
        if predicted:
            members = [_widen(member, seen, k) for member in members] if len(seen) < k else members
            said = [np.where(some == UNKNOWN, UNKNOWN, np.searchsorted(classes, some)) for some in predicted]
            members += self._predicted_members(said, places, y, k, rng)
        members += [] if helped is None else self._helper_members(Answers(rows=places, codes=y), helped, classes)
        left_out = [member.left_out for member in members]
        stack = fit_stack(left_out, y, rng, usual=[member.usual for member in members])
        weights = dict(zip((member.name for member in members), stack.weights.tolist(), strict=True))
        silent = not any(weights.values())  # then the shape of the scores is all that counts
        scores = [member.score() if silent or weights[member.name] > 0 else None for member in members]
        proba, out_of_fold = stack.combine(scores), stack.combine(left_out)
        fit = Fit(rows=places, classes=classes, proba=proba, out_of_fold=out_of_fold, loss=stack.loss, weights=weights)
        voices = [(*member.voice, weights[member.name]) for member in members if member.voice is not None]
        elsewhere = [None if member.voice is not None else score for member, score in zip(members, scores, strict=True)]
        by_place = partial(self._by_place, stack, elsewhere, k) if voices else lambda: proba
        return Weighed(fit=fit, by_place=by_place, voices=[voice for voice in voices if voice[2] > 0])

    def _voices_of_one_class(
        self, predicted: Sequence[IntArray], rows: Rows, classes: Rows
    ) -> list[tuple[int, Belief, float]]:
        """Return predictions as alike, where these rows give no reason to weigh them: rows that lean may be others."""
        if not self._lean or not predicted:
            return []
        said = [np.where(some == UNKNOWN, UNKNOWN, 0) for some in predicted]
        beliefs = fit_beliefs(said, self._scores, rows, classes, 1)
        return [(i, belief, 1 / len(beliefs)) for i, belief in enumerate(beliefs)]

    def _by_place(self, stack: Stack, scores: Sequence[Floats | None], n_classes: int) -> Floats:
        if all(score is None for score in scores):
            return np.full((self.n_rows, n_classes), 1 / n_classes, np.float32)
        return stack.combine(scores)

    def _predicted_members(
        self, predicted: Sequence[IntArray], rows: Rows, classes: Rows, n_classes: int, rng: np.random.Generator
    ) -> Iterator[_Member]:
        """Each prediction as far as it is believed: of the row or of those around it, whichever says more.

        One witness has one voice. And all of them beside the features, which learns from answers where they err: that
        takes many, so it counts once it knows more than they.
        """
        judged = ~vanishing(classes)

        def loss(left_out: Floats) -> float:
            return sharpen(left_out[judged], classes[judged])[1]

        voices = list[_Member]()
        for i, belief in enumerate(fit_beliefs(predicted, self._scores, rows, classes, n_classes)):
            codes, sure = predicted_around(self.graph, predicted[i], n_classes)
            near = fit_belief(codes, sure, rows, classes, n_classes)
            both = [
                _Member(name=name, left_out=one.log_chances_left_out(), usual=1.0, score=one.log_chances, voice=voice)
                for name, one, voice in (
                    (f"prediction {i}", belief, (i, belief)),
                    (f"around prediction {i}", near, None),
                )
            ]
            choose = judged.any() and not self._lean
            voices += [min(both, key=lambda member: loss(member.left_out))] if choose else both
        yield from voices
        if self._lean or not judged.any():
            return
        beside = [self._features.dense, *(self._beside(codes, i, n_classes) for i, codes in enumerate(predicted))]
        X = np.concatenate(beside, axis=1)
        ridge = fit_kernel_ridge(X[rows], classes, n_classes, rng)
        if loss(ridge.left_out) < min(loss(member.left_out) for member in voices):
            yield _Member(name="together", left_out=ridge.left_out, usual=4.0, score=partial(ridge.score, X))

    def _beside(self, codes: IntArray, number: int, n_classes: int) -> Floats:
        """Return a prediction as features: its class, of length 1 as the other features are, and how sure it is."""
        width = min(n_classes, MOST_INDICATORS)
        places = np.eye(n_classes, dtype=np.float32) if width == n_classes else np.random.default_rng(
            [self._seed, n_classes, number]
        ).normal(0, 1 / np.sqrt(width), (n_classes, width)).astype(np.float32)  # fmt: skip
        said = codes != UNKNOWN
        found: Floats = np.zeros((len(codes), width + 1), np.float32)
        found[said, :width] = places[codes[said]]
        scores = self._scores[number]
        sure = Ranks.of(scores, said)(scores, said)
        if sure is not None:
            found[:, width] = HOW_SURE * sure
        return found

    def _fit_members(self, rows: Rows, classes: Rows, n_classes: int, rng: np.random.Generator) -> Iterator[_Member]:
        for name in _VIEWS:
            X = self._views[name]
            ridge = fit_kernel_ridge(X[rows], classes, n_classes, rng)
            yield _Member(name=name, left_out=ridge.left_out, usual=4.0, score=partial(ridge.score, X))
        for i, view in enumerate(self._features.views):
            ridge = fit_kernel_ridge(view[rows], classes, n_classes, rng)
            yield _Member(name=f"view {i + 1}", left_out=ridge.left_out, usual=4.0, score=partial(ridge.score, view))
        linear, columns = self._features.linear, self._features.columns
        if linear is not None:
            ridge = fit_linear_ridge(linear[rows], classes, n_classes, rng)
            yield _Member(name="linear", left_out=ridge.left_out, usual=4.0, score=partial(ridge.score, linear))
        everywhere, left_out = propagate(self.graph, rows, classes, n_classes, rng)
        yield _Member(name="graph", left_out=left_out, usual=1.0, score=lambda: everywhere)
        if columns is not None and trees_apply(classes):
            left_out, score = fit_trees(columns[rows], classes, rng)
            yield _Member(name="trees", left_out=left_out, usual=1.0, score=partial(score, columns))

    def _helper_members(self, answers: Answers, helped: Answers, classes: IntArray) -> Iterator[_Member]:
        inside = np.isin(helped.codes, classes)
        taught = Answers(rows=helped.rows[inside], codes=np.searchsorted(classes, helped.codes[inside]))
        found = helper_scores(taught, answers, self._views, self.graph, n_classes=len(classes), seed=self._seed)
        for name, scores, left_out in found:
            usual = 4.0 if name == "helper" else 1.0
            yield _Member(name=name, left_out=left_out, usual=usual, score=partial(np.asarray, scores))


class _Model(Protocol):
    def fit(self, X: Floats, y: Rows) -> "_Model": ...

    def predict_proba(self, X: Floats) -> FloatArray: ...


def trees_apply(classes: Rows) -> bool:
    """Whether there are answers enough for trees to have a chance."""
    counts = np.bincount(classes)
    return len(classes) >= TREE_ANSWERS and min(counts) >= TREE_ANSWERS_OF_CLASS and len(counts) <= TREE_CLASSES


def fit_trees(columns: Floats, classes: Rows, rng: np.random.Generator) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Fit to answers that `trees_apply` to: log-probabilities of each by a fit without its fold, and of any rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model: Callable[[], _Model] = partial(
        HistGradientBoostingClassifier, max_iter=50, learning_rate=0.12, max_leaf_nodes=8, min_samples_leaf=5,
        early_stopping=False, random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    fold = deal_folds(classes, TREE_FOLDS, rng)
    left_out = np.empty((len(classes), int(classes.max()) + 1), np.float32)
    with one_thread():
        for f in range(TREE_FOLDS):
            inside = fold == f
            left_out[inside] = _log_proba(model().fit(columns[~inside], classes[~inside]), columns[inside])
        return left_out, partial(_log_proba, model().fit(columns, classes))


def _log_proba(model: _Model, columns: Floats) -> Floats:
    with one_thread():
        return np.log(np.maximum(np.asarray(model.predict_proba(columns), np.float32), np.float32(1e-4)))
