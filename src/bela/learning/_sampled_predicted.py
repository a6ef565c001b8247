"""A learner that knows nothing of very many rows but what others have predicted: who is right is learnt on a sample.

What a prediction is worth for a row follows from the class that it names and from its score, so that a few tables say
it for all rows, and no row has more than a label in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bela.data import scan_blocks
from bela.learning._belief import Belief
from bela.learning._fit import CandidateFit, Fit
from bela.learning._graph import Floats
from bela.learning._helped import Answers
from bela.learning._predicted import FIRST, PredictionLearner, count_classes, find_candidates, score_candidates
from bela.learning._questions import Picks
from bela.learning._sampled import SampledRows, take_scores
from bela.learning._scanned import ScannedFit, in_steps, said_of
from bela.learning._stack import Stack
from bela.records import UNKNOWN, AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCandidateFit(ScannedFit, CandidateFit):
    """A fit whose candidates and probabilities are about some rows, `local`; all others are judged as they go by."""

    n_all: int
    local: IntArray
    of_local: CandidateFit  # the same fit of these rows alone
    predicted: Sequence[IntArray]
    scores: Sequence[FloatArray | None]
    beliefs: Sequence[Belief]  # one more than predictions where there is a helper, all of whose rows are local
    stack: Stack

    @property
    def n_rows(self) -> int:
        """How many rows it is about."""
        return self.n_all

    @property
    def left_out_labels(self) -> IntArray:
        """The likeliest candidate of each answer, by models that had not seen it."""
        return self.of_local.left_out_labels

    @property
    def left_out_sure(self) -> Floats:
        """How sure each answer is, by models that had not seen it, in the same steps as `sure`."""
        return np.asarray(in_steps(self.of_local.left_out_sure), np.float32)

    def columns_of(self, codes: IntArray) -> IntArray:
        """Return the candidate that each answer turned out to be, or the last column."""
        return self.of_local.columns_of(codes)

    def scan(self, power: float) -> AnyArray:
        """Return the code of the likeliest class of every row, how sure it is in steps, and its chance."""
        largest = len(self.classes)

        def say(candidates: IntArray, proba: Floats) -> AnyArray:
            some, best = np.arange(len(proba)), proba[:, :-1].argmax(axis=1)
            powers = np.power(np.maximum(proba, 1e-9), np.float32(power))
            chances = powers[some, best] / powers.sum(axis=1)
            return said_of(candidates[some, best], proba[some, best], chances, largest)

        def judge(rows: slice) -> AnyArray:
            said = [np.asarray(codes[rows]) for codes in self.predicted]
            scores = [None if some is None else some[rows] for some in self.scores]
            for _ in self.beliefs[len(said) :]:
                said.append(np.full(len(said[0]), UNKNOWN, np.int32))
                scores.append(None)
            right = [one.judge(codes, some) for one, codes, some in zip(self.beliefs, said, scores, strict=True)]
            candidates = find_candidates(self.beliefs, said)
            return say(candidates, self.stack.combine(score_candidates(self.beliefs, candidates, said, right)))

        found = scan_blocks(self.n_rows, judge)
        found[self.local] = say(self.candidates, self.proba)
        return found


class SampledPredictionLearner:
    """Labels all rows by predictions alone, as `PredictionLearner` does, by way of a sample of them."""

    def __init__(self, scores: Sequence[FloatArray | None], *, n_rows: int, seed: int = 0) -> None:
        self._scores, self.n_rows, self._seed = tuple(scores), n_rows, seed
        self._sample = SampledRows(n_rows, seed)

    def prepare(self) -> None:
        """Nothing needs to be made beforehand."""

    def first_questions(self) -> IntArray:
        """Rows to ask before anything is known: there is no better way than chance."""
        return np.random.default_rng([self._seed, self.n_rows]).permutation(self._sample.rows)[:FIRST]

    def fit(
        self, rows: IntArray, codes: IntArray, predicted: Sequence[IntArray] = (), *, helped: Answers | None = None
    ) -> SampledCandidateFit:
        """Label every row from answers, if there are any, and from what was predicted: a class code for each row."""
        more = self._sample.others(rows, helped)
        local, places = np.concatenate([self._sample.rows, more]), self._sample.place(rows, more)
        here, scores = [np.asarray(some[local]) for some in predicted], take_scores(self._scores, local)
        if helped is not None:
            helped = Answers(rows=self._sample.place(helped.rows, more), codes=helped.codes)
        n_classes = count_classes(codes, predicted, helped)
        learner = PredictionLearner(scores, n_rows=len(local), seed=self._seed)
        fit, beliefs, stack = learner.fit_beliefs(places, codes, here, helped=helped, n_classes=n_classes)
        return SampledCandidateFit(
            rows=np.asarray(rows, np.intp), classes=fit.classes, proba=fit.proba, out_of_fold=fit.out_of_fold,
            loss=fit.loss, weights=fit.weights, candidates=fit.candidates, n_all=self.n_rows, local=local,
            of_local=fit, predicted=predicted, scores=self._scores, beliefs=beliefs, stack=stack,
        )  # fmt: skip

    def next_questions(
        self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        """Rows of the sample to ask after a fit: those whose label is least likely, and a share at random."""
        sample = self._sample.rows
        inside = CandidateFit(
            rows=fit.rows, classes=fit.classes, proba=fit.proba[: len(sample)], out_of_fold=fit.out_of_fold,
            loss=fit.loss, weights=fit.weights, candidates=np.zeros((len(sample), 0), np.int32),
        )  # fmt: skip
        learner = PredictionLearner(self._scores, n_rows=len(sample), seed=self._seed)
        picks = learner.next_questions(inside, asked[sample], n, uniform_share=uniform_share, rng=rng)
        return Picks(rows=sample[picks.rows], uniform=picks.uniform)
