"""A learner that knows nothing of the rows but what others have predicted: who is right, and what else may it be."""

from collections.abc import Sequence

import numpy as np

from bela.learning._belief import Belief, fit_belief
from bela.learning._fit import CandidateFit, Fit, candidate_of
from bela.learning._graph import Doubles, Floats, Rows
from bela.learning._helped import Answers
from bela.learning._questions import Picks
from bela.learning._stack import Stack, fit_stack
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray

FIRST = 50  # questions before anything is known
_NEVER = -30.0  # the log of the chance of a candidate that is none


class PredictionLearner:
    """Labels all rows by predictions alone, from no answers on; nothing that it holds has a column for each class."""

    def __init__(self, scores: Sequence[FloatArray | None], *, n_rows: int, seed: int = 0) -> None:
        self._scores, self.n_rows, self._seed = tuple(scores), n_rows, seed

    def prepare(self) -> None:
        """Nothing needs to be made beforehand."""

    def first_questions(self) -> IntArray:
        """Rows to ask before anything is known: there is no better way than chance."""
        return np.random.default_rng([self._seed, self.n_rows]).permutation(self.n_rows)[:FIRST]

    def fit(
        self, rows: IntArray, codes: IntArray, predicted: Sequence[IntArray] = (), *, helped: Answers | None = None
    ) -> CandidateFit:
        """Label every row from answers, if there are any, and from what was predicted: a class code for each row.

        What a helper says is one prediction more, of some rows.
        """
        n_classes = count_classes(codes, predicted, helped)
        return self.fit_beliefs(rows, codes, predicted, helped=helped, n_classes=n_classes)[0]

    def fit_beliefs(
        self, rows: IntArray, codes: IntArray, predicted: Sequence[IntArray], *, helped: Answers | None, n_classes: int
    ) -> tuple[CandidateFit, list[Belief], Stack]:
        """Return the same fit, and what it is made of: how far each prediction is believed, and the weights of all."""
        places: Rows = np.asarray(rows, np.intp)
        scores = list(self._scores)
        if helped is not None:
            said = np.full(self.n_rows, UNKNOWN, dtype=np.int32)
            said[helped.rows] = helped.codes
            predicted, scores = [*predicted, said], [*scores, None]
        beliefs = fit_beliefs(predicted, scores, places, np.asarray(codes, np.intp), n_classes)
        candidates = find_candidates(beliefs, predicted)
        everywhere = score_candidates(beliefs, candidates, predicted, [belief.right for belief in beliefs])
        left_out = score_candidates(
            beliefs, candidates[places], [some[places] for some in predicted], [belief.left_out for belief in beliefs]
        )
        column = candidate_of(candidates[places], codes)
        rng = np.random.default_rng([self._seed, len(places)])
        stack = fit_stack(left_out, column, rng, usual=[1.0] * len(beliefs))
        proba, out_of_fold = stack.combine(everywhere), stack.combine(left_out)
        weights = {str(i): weight for i, weight in enumerate(stack.weights.tolist())}
        fit = CandidateFit(
            rows=places, classes=np.arange(n_classes), proba=proba, out_of_fold=out_of_fold, loss=stack.loss,
            weights=weights, candidates=candidates,
        )  # fmt: skip
        return fit, beliefs, stack

    def next_questions(
        self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        """Rows to ask after a fit: those whose label is least likely, and a share at random."""
        left = np.flatnonzero(~asked)
        n = min(n, len(left))
        n_uniform = round(uniform_share * n)
        doubt = fit.sure[left] + rng.random(len(left)) * 1e-6
        chosen = left[np.argsort(doubt, kind="stable")[: n - n_uniform]]
        others = np.setdiff1d(left, chosen, assume_unique=True)
        rows = np.concatenate([chosen, rng.choice(others, n_uniform, replace=False) if n_uniform else others[:0]])
        return Picks(rows=rows, uniform=np.arange(n) >= len(chosen))


def count_classes(codes: IntArray, predicted: Sequence[IntArray], helped: Answers | None) -> int:
    """Return how many classes there are, by the largest code: one at least."""
    found = [codes, *predicted, *([] if helped is None else [helped.codes])]
    return 1 + max(int(np.max(some, initial=0)) for some in found)


def fit_beliefs(
    predicted: Sequence[IntArray], scores: Sequence[FloatArray | None], rows: Rows, classes: Rows, n_classes: int
) -> list[Belief]:
    """Learn how far to believe each of several predictions."""
    return [fit_belief(codes, score, rows, classes, n_classes) for codes, score in zip(predicted, scores, strict=True)]


def find_candidates(beliefs: Sequence[Belief], said: Sequence[IntArray]) -> IntArray:
    """Return the classes that rows may be: what each prediction says of them, and what it is taken for otherwise."""
    otherwise = [belief.confusions()[0][codes] for belief, codes in zip(beliefs, said, strict=True)]
    candidates = np.stack([*said, *otherwise], axis=1).astype(np.int32)
    for j in range(1, candidates.shape[1]):
        repeated = (candidates[:, :j] == candidates[:, j : j + 1]).any(axis=1)
        candidates[repeated, j] = UNKNOWN
    empty = (candidates == UNKNOWN).all(axis=1)  # nobody says anything of the row: what is most common
    if empty.any():
        candidates[empty, 0] = int(beliefs[0].usual.argmax())
    return candidates


def score_candidates(
    beliefs: Sequence[Belief], candidates: IntArray, said: Sequence[IntArray], right: Sequence[Doubles]
) -> list[Floats]:
    """Return the log of the chance of each candidate, and of anything else, by each prediction.

    That is by what it has `said` of each row, and the chance that this is `right`.
    """
    return [_scores_of(*one, candidates) for one in zip(beliefs, said, right, strict=True)]


def _scores_of(belief: Belief, codes: IntArray, right: Doubles, candidates: IntArray) -> Floats:
    likely, share = (table[codes] for table in belief.confusions())
    n_classes, said = len(belief.usual), codes != UNKNOWN
    chances: Doubles = np.empty((len(codes), candidates.shape[1] + 1))
    for j in range(candidates.shape[1]):
        here = candidates[:, j]
        other = np.where(here == likely, share, (1 - share) * belief.usual[here])
        chances[:, j] = np.where(said, np.where(here == codes, right, (1 - right) * other), belief.usual[here])
        chances[here == UNKNOWN, j] = 0.0
    chances[:, -1] = np.maximum(1.0 - chances[:, :-1].sum(axis=1), 1e-3 / n_classes)
    scores = np.log(np.maximum(chances, 1e-6))
    scores[:, :-1][candidates == UNKNOWN] = _NEVER
    return scores.astype(np.float32)
