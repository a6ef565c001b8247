"""A classifier and a hold-out: what practitioners do, whichever way they choose what to train on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bela.bounds import share_lower
from bela.errors import ParameterError
from bela.features import image_shape, learner_features
from bela.methods._replaying import PlainReplay
from bela.protocols import Cut, Source
from bela.records import UNKNOWN, Certificate, IntArray, Labelling, Proposal, Role
from bela.sources import ArraySource
from bela.splitters import fit_best_classifier
from bela.tree import draw_order


class HoldoutMethod(PlainReplay):
    """Train a classifier on some answers and certify it on others, held out.

    Every `1 / holdout`-th question is held out, a uniform draw. The classifier is chosen by cross-validation and fitted
    anew when the training answers have grown by a factor.

    With a budget and no target, the hold-out is looked at once, when the budget is used up, by Clopper and Pearson with
    the whole of alpha. With a target it is looked at after each fit, and look j may fail with probability
    alpha / (j (j + 1)), which sums to alpha over all looks; so the certificate holds however many looks it took.

    Parameters
    ----------
    source
        The features of the rows.
    target, budget
        As in the campaign; they say how often the hold-out is looked at.
    confidence
        1 - alpha.
    seed
        All that is random.
    holdout
        Share of the questions that are held out.
    growth
        Factor between two fits.
    """

    name: str
    batch = 1
    n_revisions = 0

    def __init__(
        self,
        source: Source,
        *,
        confidence: float = 0.95,
        seed: int = 0,
        target: float | None = None,
        budget: int | None = None,
        holdout: float = 1 / 3,
        growth: float = 1.5,
    ) -> None:
        if not 0 < holdout < 1:
            raise ParameterError(f"holdout lies strictly between 0 and 1, not {holdout}")
        self.source, self.confidence, self.seed, self.growth = source, confidence, seed, growth
        self.target, self.budget = target, budget
        self._features: Source = source
        self._period = max(2, round(1 / holdout))
        self._order = draw_order(np.arange(source.n_rows), seed, stream=2)
        self._cursor = 0
        self._n_proposed = 0
        self._known = np.full(source.n_rows, UNKNOWN, dtype=np.int32)
        self._roles: dict[int, Role] = {}  # answered or skipped: a skipped row stays UNKNOWN
        self._brought: set[int] = set()
        self._open: set[int] = set()
        self._n_roles = {Role.TRAINING: 0, Role.BOUNDS: 0}
        self._n_known = 0
        self._n_looks = 0
        self._look: _Look | None = None
        self._n_fitted = 0
        self._predicted: IntArray | None = None

    def know(self, rows: IntArray, codes: IntArray) -> None:
        self._known[rows] = codes
        self._brought.update(int(row) for row in rows)
        self._n_known = int((self._known != UNKNOWN).sum())

    def propose(self, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < n:
            held_out = (self._n_proposed + 1) % self._period == 0
            row = self._next_uniform() if held_out else self._next_training()
            if row is None:
                break
            self._n_proposed += 1
            self._open.add(row)
            proposals.append(Proposal(row=row, role=Role.BOUNDS if held_out else Role.TRAINING))
        return proposals

    def _next_uniform(self) -> int | None:
        """Return the next row in random order that was not asked before."""
        while self._cursor < len(self._order):
            row = int(self._order[self._cursor])
            self._cursor += 1
            if self._free(row):
                return row
        return None

    def _next_training(self) -> int | None:
        """Return the next row to train on."""
        raise NotImplementedError

    def _fitted(self, model: Cut) -> None:
        """Take note of a new classifier."""

    def _free(self, row: int) -> bool:
        return bool(self._known[row] == UNKNOWN) and row not in self._roles and row not in self._open

    def observe(self, row: int, role: Role, code: int) -> None:
        self._open.discard(row)
        self._known[row] = code
        self._roles[row] = role
        self._n_roles[role] += 1
        self._n_known += 1
        self._refit_if_due()

    def skip(self, row: int, role: Role) -> None:
        self._open.discard(row)
        self._roles[row] = role

    def retract(self, row: int, role: Role) -> None:
        del self._roles[row]
        if self._known[row] != UNKNOWN:
            self._known[row] = UNKNOWN
            self._n_roles[role] -= 1
            self._n_known -= 1
        self._open.add(row)

    def revise(self, row: int, role: Role, code: int) -> None:
        self._known[row] = code

    def labelling(self) -> Labelling:
        guess = self._guesses()
        codes = np.where(self._known == UNKNOWN, guess, self._known).astype(np.int32)
        # one leaf for each class that the classifier predicts
        predicted, leaf = np.unique(guess, return_inverse=True)
        return Labelling(codes=codes, leaf=leaf.astype(np.int32), n_leaves=len(predicted))

    def forecast(self) -> None:
        return None

    def certificate(self) -> Certificate:
        n, n_known = self.source.n_rows, self._n_known
        return Certificate(
            lower=max(n_known, self._rows_right()) / n,
            confidence=self.confidence,
            kind="one-look" if self.target is None else "looks",
            n_training=self._n_roles[Role.TRAINING],
            n_bounds=self._n_roles[Role.BOUNDS],
        )

    def _guesses(self) -> IntArray:
        """Return the classifier's own label of each row, whether or not the answer is known."""
        if self._predicted is not None:
            return self._predicted
        answers = self._known[self._known != UNKNOWN]
        guess = int(np.bincount(answers).argmax()) if len(answers) else UNKNOWN
        return np.full(self.source.n_rows, guess, dtype=np.int32)

    def _refit_if_due(self) -> None:
        n_answers = len(self._roles)
        last = self.budget is not None and n_answers >= self.budget
        training = self._n_roles[Role.TRAINING] + len(self._brought)
        if not last and (training < 20 or training < self.growth * self._n_fitted):
            return
        self._n_fitted = training
        if self._features is self.source and image_shape(self.source) is not None:
            self._features = ArraySource(learner_features(self.source, self.seed))  # as any practitioner would
        rows = [row for row, role in self._roles.items() if role is Role.TRAINING and self._known[row] != UNKNOWN]
        fitted_on = np.array(sorted([*rows, *self._brought]), dtype=np.intp)
        model = fit_best_classifier(self._features.take(fitted_on), self._known[fitted_on], self.seed)
        if model is not None:
            self._predicted = self._features.scan(model.predict).astype(np.int32)
            self._fitted(model)
        self._look = None
        if (self.target is not None or last) and self._predicted is not None:
            alpha = 1 - self.confidence
            if self.target is not None:
                self._n_looks += 1
                alpha /= self._n_looks * (self._n_looks + 1)
            held_out = [row for row, role in self._roles.items() if role is Role.BOUNDS]
            self._look = _Look(np.array(held_out, dtype=np.intp), len(fitted_on), alpha)

    def _rows_right(self) -> float:
        """Bound the number of right labels from below, by the last look at the hold-out."""
        look = self._look
        if look is None or self._predicted is None or not len(look.held_out):
            return 0.0
        # A skipped row has the label UNKNOWN, which no prediction matches: it counts as wrong.
        answers = self._known[look.held_out]
        n_right = int((self._predicted[look.held_out] == answers).sum())
        share = float(share_lower(n_right, len(look.held_out), look.alpha))
        # The rows that the classifier learnt from never were candidates for the hold-out: it speaks for the others.
        # Of its mistakes among those, the ones found by the hold-out are corrected.
        corrected = int((answers != UNKNOWN).sum()) - n_right
        return look.n_training + share * (self.source.n_rows - look.n_training) + corrected


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at the hold-out: which rows it rests on, and with what probability it may fail."""

    held_out: IntArray
    n_training: int
    alpha: float
