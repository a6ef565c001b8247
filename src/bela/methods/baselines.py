"""What practitioners do, to compare with: a classifier and a hold-out, and probably approximately correct labels."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from bela.book import Book, RowChanged
from bela.bounds import draw_order, errors_upper_one_look
from bela.data import ArraySource
from bela.errors import ParameterError
from bela.features import image_shape, learner_features
from bela.learning import Fit, TransductiveLearner, fit_best_classifier
from bela.learning._questions import margins
from bela.methods import METHODS
from bela.methods._deciding import codes_now, guess_all, label_by_class
from bela.methods._hold_out import HoldOut, LookingMethod
from bela.protocols import Cut, Setup, Source
from bela.records import UNKNOWN, Assessment, BoolArray, Guarantee, IntArray, Labelling, Proposal, Role
from bela.shares import allowed_errors

_FIRST_FIT = 20
_TARGET = 0.95  # PAC labels cannot do without one
_DOUBTS = 21  # the stream that breaks ties between doubtful rows
_LOOKS = 100  # the stream of the first look's draws


class HoldoutMethod(LookingMethod):
    """Train a classifier on some answers, then certify it on others, drawn after it was fitted.

    The classifier is chosen by cross-validation and fitted anew, to all that is known, when that has grown by the
    factor `growth`. A look draws rows uniformly from those that nobody was asked about, so many that they are the share
    `holdout` of all answers.

    With a budget and no target there is one look, with the last questions of the budget and the whole of alpha; after
    that nothing is fitted any more. With a target there is one after each fit that a clean sample would certify, and
    look j may fail with probability alpha / (j (j + 1)), which sums to alpha however many looks it takes; what was
    drawn for one look is learnt from before the next. The labels are those of the look with the highest bound.
    """

    def __init__(self, setup: Setup, *, holdout: float = 1 / 3, growth: float = 1.5) -> None:
        if not 0 < holdout < 1:
            raise ParameterError(f"holdout lies strictly between 0 and 1, not {holdout}")
        super().__init__(setup)
        self.holdout, self.growth = holdout, growth
        self._features: Source = setup.source
        self._order: Iterator[int] = iter(draw_order(np.arange(setup.source.n_rows), setup.key, stream=2).tolist())
        self._draws: list[int] = []  # to be asked for the present look, the next one last
        self._alpha = 1 - setup.confidence  # that no look has spent
        self._n_looks = self._n_fitted = 0
        self._looked_at_end_of: int | None = None  # a budget
        self._predicted: IntArray | None = None

    def _choose(self, book: Book, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        left, n_open = self._left(book), self._n_open(book)
        while len(proposals) < n:
            role = Role.BOUNDS if self._draws else Role.TRAINING
            if role is Role.TRAINING and n_open and self._is_last(book, n_open):
                break  # the others of the budget are for the look
            row = self._draws.pop() if self._draws else self._next_training(left)
            if row is None:
                break
            n_open += 1
            self._taken[row], left[row] = True, False
            proposals.append(Proposal(row=row, role=role))
        return proposals

    def _next_uniform(self, left: BoolArray) -> int | None:
        return next((row for row in self._order if left[row]), None)

    def _next_training(self, left: BoolArray) -> int | None:
        """Return the next row to train on; any, unless a subclass knows better."""
        return self._next_uniform(left)

    def _fitted(self, model: Cut, left: BoolArray) -> None:
        """Take note of a new classifier."""

    def _changed(self, book: Book, change: RowChanged) -> None:
        if change.before == UNKNOWN and change.code != UNKNOWN and not self._draws and self._alpha > 0:
            self._fit_if_due(book)

    def _assess(self, book: Book) -> Assessment:
        look = self._best_look(book)
        n_right = book.n_known if look is None else max(book.n_known, look.rows_right(book))
        whole = self._alpha == 0 if self._n_looks else book.target is None
        guarantee = Guarantee.ONE_LOOK if whole and self._n_looks <= 1 else Guarantee.LOOKS
        predicted = self._predicted if look is None else look.labels
        return Assessment(
            certificate=self._certificate(book, n_right / book.n_rows, guarantee),
            label=lambda: label_by_class(book.known, codes_now(book, guess_all(book.known, predicted))),
        )

    def _best_look(self, book: Book) -> HoldOut | None:
        return max(
            (look for look in self._looks if not look.void), key=lambda look: look.rows_right(book), default=None
        )

    def _n_open(self, book: Book) -> int:
        return int((self._taken & (book.known == UNKNOWN) & ~book.declined).sum())

    def _is_last(self, book: Book, n_more: int = 0) -> bool:
        """Whether only the questions of the look are left of the budget, after so many more answers."""
        if book.budget is None or self._looked_at_end_of == book.budget or self._alpha == 0:
            return False
        return book.n_asked + n_more >= book.budget - round(self.holdout * book.budget)

    def _fit_if_due(self, book: Book) -> None:
        last, n_known = self._is_last(book), book.n_known
        if last or n_known >= max(_FIRST_FIT, self.growth * self._n_fitted):
            self._n_fitted = n_known
            self._predicted = self._fit(book)
            if book.budget is not None and last:
                self._looked_at_end_of = book.budget
                self._look(book, book.budget - book.n_asked - self._n_open(book), even_if_in_vain=True)
            elif book.target is not None:
                self._look(book, round(n_known * self.holdout / (1 - self.holdout)))

    def _fit(self, book: Book) -> IntArray:
        """Fit a classifier to all that is known, and return what it says of all rows."""
        if self._features is self.source and image_shape(self.source) is not None:
            self._features = ArraySource(learner_features(self.source, self.setup.seed))  # as any practitioner would
        rows = np.flatnonzero(book.known != UNKNOWN)
        model = fit_best_classifier(self._features.take(rows), book.known[rows], self.setup.seed)
        if model is None:
            return guess_all(book.known, None)
        self._fitted(model, self._left(book))
        return self._features.scan(model.predict).astype(np.int32)

    def _look(self, book: Book, n_draws: int, *, even_if_in_vain: bool = False) -> None:
        """Draw a sample of what is left; not where even a clean one would leave the target unreached."""
        left = self._left(book)
        rows = np.flatnonzero(left)
        n_draws = min(n_draws, len(rows))
        if n_draws < 1 or self._predicted is None:
            return
        alpha = self._alpha if book.target is None else self._alpha / (self._n_looks + 2)
        if book.target is not None and not even_if_in_vain:
            upper = int(errors_upper_one_look(n_draws, 0, population=len(rows), alpha=alpha))
            if (book.n_known + len(rows) - upper) / book.n_rows < book.target:
                return
        best = self._best_look(book)
        # Draws of an earlier look say nothing new about rows that it has left: each look has an order of its own.
        sample = draw_order(rows, self.setup.key, stream=_LOOKS + self._n_looks)[:n_draws]
        self._looks = [*([] if best is None else [best]), HoldOut(book, self._predicted, left, sample, alpha)]
        self._draws = sample[::-1].tolist()
        self._alpha, self._n_looks = self._alpha - alpha, self._n_looks + 1


@METHODS.register("random")
class RandomSampling(HoldoutMethod):
    """Ask rows in random order, as a practitioner does; parameters and certificate are those of `HoldoutMethod`."""


@METHODS.register("margin")
class MarginSampling(HoldoutMethod):
    """Train on the rows whose two likeliest labels are closest; parameters are those of `HoldoutMethod`.

    The factor between two fits is larger, as half of what a fit adds are the draws of the last look.
    """

    _queue: Iterator[int] = iter(())  # the row with the smallest margin first

    def __init__(self, setup: Setup, *, holdout: float = 1 / 3, growth: float = 2.0) -> None:
        super().__init__(setup, holdout=holdout, growth=growth)

    def _next_training(self, left: BoolArray) -> int | None:
        row = next((row for row in self._queue if left[row]), None)
        return self._next_uniform(left) if row is None else row  # before the first fit

    def _fitted(self, model: Cut, left: BoolArray) -> None:
        rows, score = np.flatnonzero(left), "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        doubts = self._features.scan(lambda X: margins(getattr(model, score)(X)))[rows]
        closest = np.argsort(doubts, kind="stable")[: int(self.growth * self._n_fitted) + 100]
        self._queue = iter(rows[closest].tolist())


@METHODS.register("pac")
class PacLabels(LookingMethod):
    """Probably approximately correct labels (Candès, Ilyas and Zrnic 2025), on the predictions of our learner.

    Ask about the uncertain rows until the others are certainly good enough: one look at a fixed sample.

    Three phases, each of a size that is fixed beforehand or follows from the one before: train on `n_training` answers
    (the questions and the learner are those of `bela`); ask `n_calibration` rows drawn uniformly; find the largest set
    of most certain rows whose errors, by the exact one-look bound on the sample, stay within what the target allowed
    before the sample was drawn (0.95 if there was none); ask all the others. The errors grow with the set, so the sets
    can be tried in order with the whole of alpha each. The first two phases have by default 5 and 3 % of the rows, at
    most 500 each; `growth` is the factor between two fits.
    """

    def __init__(
        self, setup: Setup, *, n_training: int | None = None, n_calibration: int | None = None, growth: float = 1.5
    ) -> None:
        super().__init__(setup)
        n = self.source.n_rows
        self.growth = growth
        self.n_training = min(500, max(1, n // 20)) if n_training is None else n_training
        self.n_calibration = min(500, max(1, n // 33)) if n_calibration is None else n_calibration
        if self.n_training < 1 or self.n_calibration < 1:
            raise ParameterError("n_training and n_calibration are at least 1")
        self._order = draw_order(np.arange(n), setup.key, stream=3)
        self._queue: list[int] = []  # of the present phase, the next row last
        self._training: list[int] = []
        self._calibration: IntArray | None = None
        self._allowed = 0  # errors among the sure rows
        self._codes: IntArray | None = None
        self._certainty = np.zeros(n)
        self._sure: IntArray | None = None

    @cached_property
    def _learner(self) -> TransductiveLearner:
        return TransductiveLearner(learner_features(self.source, self.setup.seed), seed=self.setup.seed)

    def _begin(self, book: Book) -> None:
        self._training += book.given

    def _choose(self, book: Book, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        left = self._left(book)
        while len(proposals) < n:
            if not self._queue:
                if (self._taken & (book.known == UNKNOWN) & ~book.declined).any():
                    break  # a question is open
                self._next_phase(book)
            elif left[row := self._queue.pop()]:
                self._taken[row] = True
                role = Role.BOUNDS if self._calibration is not None and self._sure is None else Role.TRAINING
                proposals.append(Proposal(row=row, role=role))
        return proposals

    def _assess(self, book: Book) -> Assessment:
        lower = book.n_known
        if self._sure is not None and not self._looks[0].void:
            # all but the sure rows have to be answered; of the sure ones, as many may be wrong as the target allowed
            unknown = book.known == UNKNOWN
            lower = max(lower, book.n_rows - self._allowed - int(unknown.sum()) + int(unknown[self._sure].sum()))
        return Assessment(
            certificate=self._certificate(book, lower / book.n_rows, Guarantee.ONE_LOOK),
            label=lambda: self._labelling(book),
            batch=max(1, min(256, len(self._queue))),  # all questions of a phase can be asked at once
        )

    def _labelling(self, book: Book) -> Labelling:
        known, guess = book.known, codes_now(book, guess_all(book.known, self._codes))
        return label_by_class(known, np.where(known == UNKNOWN, guess, known))

    def _next_phase(self, book: Book) -> None:
        """Fill the queue with what is to be asked next; in the end with all rows."""
        if self._calibration is None:
            if len(self._training) < self.n_training and self._train_more(book.known):
                return
            self._fit(book.known)
            self._calibration = sample = self._order[: self.n_calibration]
            self._allowed = allowed_errors(book.n_rows, _TARGET if book.target is None else book.target)
            if self._codes is not None:
                everywhere = np.ones(book.n_rows, dtype=bool)
                self._looks = [HoldOut(book, self._codes, everywhere, sample, 1 - self.setup.confidence)]
            self._fill(sample)
        elif self._sure is None and self._looks and not self._looks[0].void:
            self._sure = self._sure_rows(self._looks[0])
            unsure = np.setdiff1d(np.arange(book.n_rows), self._sure)
            self._fill(unsure[np.argsort(self._certainty[unsure], kind="stable")])
        else:
            self._fill(self._order)

    def _fill(self, rows: Iterable[int]) -> None:
        self._queue = [int(row) for row in rows][::-1]

    def _train_more(self, known: IntArray) -> bool:
        """Queue further rows to train on, where the learner has any."""
        n_answers, n = int((known[self._training] != UNKNOWN).sum()), self.n_training - len(self._training)
        if n_answers == 0:
            picks = self._learner.first_questions()
            picks = picks[~np.isin(picks, self._training)]
        else:
            fit = self._fit(known)
            if fit is None:
                return False
            asked = np.zeros(len(known), dtype=bool)
            asked[self._training] = True
            rng = self.setup.rng(_DOUBTS, len(self._training))
            n_next = min(n, max(4, int((self.growth - 1) * n_answers)))
            picks = self._learner.next_questions(fit, asked, n_next, uniform_share=0.0, rng=rng).rows
        self._training += picks[:n].tolist()
        self._fill(picks[:n])
        return bool(self._queue)

    def _fit(self, known: IntArray) -> Fit | None:
        answered = np.array(sorted(row for row in self._training if known[row] != UNKNOWN), dtype=np.intp)
        if not len(answered):
            return None
        fit = self._learner.fit(answered, known[answered])
        self._codes = fit.labels.astype(np.int32)
        self._certainty = fit.proba.max(axis=1).astype(float)
        self._certainty[answered] = np.inf  # they are right
        return fit

    def _sure_rows(self, look: HoldOut) -> IntArray:
        """Return as many of the most certain rows as the sample says are good enough."""
        n, sample = look.population, look.sample
        order: IntArray = np.argsort(-self._certainty, kind="stable")
        places = np.sort(np.argsort(order)[sample[look.wrong[sample]]])

        def upper(n_wrong: int) -> int:
            """Bound the errors of the surest rows, where sampled rows outside of them count as right."""
            return int(errors_upper_one_look(len(sample), n_wrong, population=n, alpha=look.alpha))

        n_fine = bisect_right(range(len(places) + 1), self._allowed, key=upper)
        return order[: int([0, *places, n][n_fine])]
