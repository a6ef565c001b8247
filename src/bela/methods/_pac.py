"""Probably approximately correct labels (Candès, Ilyas and Zrnic 2025), on the predictions of our learner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bela.bounds import share_lower
from bela.errors import ParameterError
from bela.features import learner_features
from bela.methods._replaying import PlainReplay
from bela.protocols import Source
from bela.records import UNKNOWN, Certificate, IntArray, Labelling, Proposal, Role
from bela.splitters import Fit, TransductiveLearner
from bela.tree import draw_order


class PacLabels(PlainReplay):
    """Ask about the uncertain rows until the others are certainly good enough: one look at a fixed sample.

    Three phases, each of a size that is fixed beforehand or follows from the one before: train on `n_training` answers
    (the questions and the learner are those of `bela`); ask `n_calibration` rows drawn uniformly; find the largest set
    of most certain rows whose errors, by a Clopper-Pearson bound on the sample, stay within what the target allows;
    ask all the others. The errors grow with the set, so the sets can be tried in order with the whole of alpha each.

    Parameters
    ----------
    source
        The features of the rows.
    target
        The share of labels to be right; the method cannot do without.
    confidence
        1 - alpha, for the one look.
    n_training, n_calibration
        Sizes of the first two phases; by default 5 and 3 % of the rows, at most 500 each.
    """

    name = "pac"
    n_revisions = 0

    def __init__(
        self,
        source: Source,
        *,
        confidence: float = 0.95,
        seed: int = 0,
        target: float | None = None,
        budget: int | None = None,
        n_training: int | None = None,
        n_calibration: int | None = None,
        growth: float = 1.5,
    ) -> None:
        n = source.n_rows
        self.source, self.confidence, self.seed, self.growth = source, confidence, seed, growth
        self.target = 0.95 if target is None else target
        self.n_training = min(500, max(1, n // 20)) if n_training is None else n_training
        self.n_calibration = min(500, max(1, n // 33)) if n_calibration is None else n_calibration
        if self.n_training < 1 or self.n_calibration < 1:
            raise ParameterError("n_training and n_calibration are at least 1")
        self._rng = np.random.default_rng([seed, 21])
        self._order = draw_order(np.arange(n), seed, stream=3)
        self._known = np.full(n, UNKNOWN, dtype=np.int32)
        self._declined = np.zeros(n, dtype=bool)
        self._roles: dict[int, Role] = {}
        self._open: set[int] = set()
        self._learner: TransductiveLearner | None = None
        self._queue: list[int] = []  # of the present phase
        self._training: list[int] = []
        self._calibration: list[int] | None = None
        self._codes: IntArray | None = None
        self._certainty = np.zeros(n)
        self._sure: IntArray | None = None  # rows that keep the learner's label

    @property
    def batch(self) -> int:
        """All questions of a phase can be asked at once."""
        return max(1, min(256, len(self._queue)))

    def know(self, rows: IntArray, codes: IntArray) -> None:
        self._known[rows] = codes
        self._training.extend(int(row) for row in rows)

    def propose(self, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < n:
            while self._queue and not self._free(self._queue[0]):
                self._queue.pop(0)
            if not self._queue and (self._open or not self._next_phase()):
                break
            if self._queue and self._free(self._queue[0]):
                row = self._queue.pop(0)
                self._open.add(row)
                role = Role.BOUNDS if self._calibration is not None and self._sure is None else Role.TRAINING
                proposals.append(Proposal(row=row, role=role))
        return proposals

    def observe(self, row: int, role: Role, code: int) -> None:
        self._open.discard(row)
        self._known[row] = code
        self._roles[row] = role

    def skip(self, row: int, role: Role) -> None:
        self._open.discard(row)
        self._declined[row] = True

    def retract(self, row: int, role: Role) -> None:
        self._roles.pop(row, None)
        self._declined[row] = False
        self._known[row] = UNKNOWN
        self._open.add(row)

    def revise(self, row: int, role: Role, code: int) -> None:
        self._known[row] = code

    def labelling(self) -> Labelling:
        answers = self._known[self._known != UNKNOWN]
        guess = (
            self._codes if self._codes is not None else int(np.bincount(answers).argmax()) if len(answers) else UNKNOWN
        )
        codes = np.where(self._known == UNKNOWN, guess, self._known).astype(np.int32)
        leaves, leaf = np.unique(codes, return_inverse=True)
        return Labelling(codes=codes, leaf=leaf.astype(np.int32), n_leaves=len(leaves))

    def forecast(self) -> None:
        return None

    def certificate(self) -> Certificate:
        n, n_known = self.source.n_rows, int((self._known != UNKNOWN).sum())
        lower = n_known
        if self._sure is not None:
            # all but the sure rows have to be answered; of the sure ones, as many may be wrong as the target allows
            unanswered = int((self._known == UNKNOWN).sum()) - int((self._known[self._sure] == UNKNOWN).sum())
            lower = max(lower, n - self._allowed - unanswered)
        counts = list(self._roles.values())
        return Certificate(
            lower=lower / n,
            confidence=self.confidence,
            kind="one-look",
            n_training=counts.count(Role.TRAINING),
            n_bounds=counts.count(Role.BOUNDS),
        )

    @property
    def _allowed(self) -> int:
        return int((1 - self.target) * self.source.n_rows + 1e-9)

    def _free(self, row: int) -> bool:
        return bool(self._known[row] == UNKNOWN and not self._declined[row] and row not in self._open)

    def _next_phase(self) -> bool:
        """Fill the queue with what is to be asked next; False when nothing is left."""
        if self._calibration is None:
            if len(self._training) < self.n_training and self._train_more():
                return True
            self._fit()
            self._calibration = [int(row) for row in self._order[: self.n_calibration]]
            self._queue = list(self._calibration)
            return True
        if self._sure is None and self._codes is not None:
            self._sure = self._sure_rows(self._codes, np.array(self._calibration))
            unsure = np.setdiff1d(np.arange(self.source.n_rows), self._sure)
            self._queue = [int(row) for row in unsure[np.argsort(self._certainty[unsure], kind="stable")]]
            return True
        self._queue = [int(row) for row in self._order if self._free(int(row))]
        return bool(self._queue)

    def _train_more(self) -> bool:
        if self._learner is None:
            self._learner = TransductiveLearner(learner_features(self.source, self.seed), seed=self.seed)
        known = np.array([row for row in self._training if self._known[row] != UNKNOWN], dtype=np.intp)
        if len(known) == 0:
            picks = [int(row) for row in self._learner.first_questions()]
            picks = [row for row in picks if row not in set(self._training)]
        else:
            fit = self._fit()
            if fit is None:
                return False
            asked = np.zeros(self.source.n_rows, dtype=bool)
            asked[self._training] = True
            n = min(self.n_training - len(self._training), max(4, int((self.growth - 1) * len(known))))
            picks = self._learner.next_questions(fit, asked, n, uniform_share=0.0, rng=self._rng).rows.tolist()
        picks = picks[: self.n_training - len(self._training)]
        self._training.extend(picks)
        self._queue = list(picks)
        return bool(picks)

    def _fit(self) -> Fit | None:
        known = np.array(sorted(row for row in self._training if self._known[row] != UNKNOWN), dtype=np.intp)
        if self._learner is None or not len(known):
            return None
        fit = self._learner.fit(known, self._known[known])
        self._codes = np.asarray(fit.classes)[fit.proba.argmax(axis=1)].astype(np.int32)
        self._certainty = fit.proba.max(axis=1).astype(float)
        self._certainty[known] = np.inf  # they are right
        return fit

    def _sure_rows(self, codes: IntArray, sample: IntArray) -> IntArray:
        """Return as many of the most certain rows as the sample says are good enough."""
        n = self.source.n_rows
        wrong = self._known[sample] != codes[sample]  # an unanswered row is UNKNOWN, and counts as wrong
        order: IntArray = np.argsort(-self._certainty, kind="stable")
        place = np.empty(n, dtype=np.intp)
        place[order] = np.arange(n)
        places = np.sort(place[sample[wrong]])
        # The m surest rows hold at most (1 - lower) n errors, where sampled rows outside of them count as right.
        right = len(sample) - np.arange(len(places) + 1)
        errors = (1.0 - share_lower(right, len(sample), 1 - self.confidence)) * n
        fine = np.flatnonzero(errors <= self._allowed)
        if not len(fine):
            return order[:0]
        most = int(fine[-1])
        return order[: n if most == len(places) else int(places[most])]
