"""What practitioners do, to compare with: a classifier and a hold-out, and probably approximately correct labels."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from bela.book import Book, RowChanged
from bela.bounds import draw_order, share_lower
from bela.data import ArraySource
from bela.errors import ParameterError
from bela.features import image_shape, learner_features
from bela.learning import Fit, TransductiveLearner, fit_best_classifier
from bela.learning._questions import margins
from bela.methods import METHODS
from bela.methods._deciding import DecidingMethod, guess_all, label_by_class
from bela.protocols import Cut, Setup, Source
from bela.records import UNKNOWN, Assessment, BoolArray, Guarantee, IntArray, Labelling, Proposal, Role
from bela.shares import allowed_errors

_FIRST_FIT = 20
_TARGET = 0.95  # PAC labels cannot do without one
_DOUBTS = 21  # the stream that breaks ties between doubtful rows


class HoldoutMethod(DecidingMethod):
    """Train a classifier on some answers and certify it on others, held out.

    Every `1 / holdout`-th question is held out, a uniform draw. The classifier is chosen by cross-validation and fitted
    anew when the training answers have grown by the factor `growth`.

    With a budget and no target, the hold-out is looked at once, when the budget is used up, by Clopper and Pearson with
    the whole of alpha; after that nothing is fitted any more. With a target it is looked at after each fit, and look j
    may fail with probability alpha / (j (j + 1)), which sums to alpha however many looks it takes.
    """

    def __init__(self, setup: Setup, *, holdout: float = 1 / 3, growth: float = 1.5) -> None:
        if not 0 < holdout < 1:
            raise ParameterError(f"holdout lies strictly between 0 and 1, not {holdout}")
        super().__init__(setup)
        self.growth = growth
        self._features: Source = setup.source
        self._period = max(2, round(1 / holdout))
        self._order: Iterator[int] = iter(draw_order(np.arange(setup.source.n_rows), setup.key, stream=2).tolist())
        self._n_chosen = self._n_fitted = 0
        self._n_looks = 0  # by a share of alpha each
        self._look: tuple[IntArray, int, float] | None = None  # rows held out, how many were trained on, and alpha
        self._predicted: IntArray | None = None

    def _choose(self, book: Book, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        left = self._left(book)
        while len(proposals) < n:
            held_out = (self._n_chosen + 1) % self._period == 0
            row = self._next_uniform(left) if held_out else self._next_training(left)
            if row is None:
                break
            self._n_chosen += 1
            self._taken[row], left[row] = True, False
            proposals.append(Proposal(row=row, role=Role.BOUNDS if held_out else Role.TRAINING))
        return proposals

    def _next_uniform(self, left: BoolArray) -> int | None:
        return next((row for row in self._order if left[row]), None)

    def _next_training(self, left: BoolArray) -> int | None:
        """Return the next row to train on; any, unless a subclass knows better."""
        return self._next_uniform(left)

    def _fitted(self, model: Cut, left: BoolArray) -> None:
        """Take note of a new classifier."""

    def _changed(self, book: Book, change: RowChanged) -> None:
        if change.before == UNKNOWN and change.code != UNKNOWN:
            self._fit_if_due(book)

    def _assess(self, book: Book) -> Assessment:
        lower = max(book.n_known, self._rows_right(book)) / self.source.n_rows
        divided = self._n_looks > 0 or book.target is not None
        return Assessment(
            certificate=self._certificate(book, lower, Guarantee.LOOKS if divided else Guarantee.ONE_LOOK),
            label=lambda: label_by_class(book.known, guess_all(book.known, self._predicted)),
        )

    def _fit_if_due(self, book: Book) -> None:
        if self._look is not None and self._n_looks == 0:
            return  # there has been the one look
        last = book.budget is not None and book.n_asked >= book.budget
        n_training = book.n_answers[Role.TRAINING] + len(book.given)
        if not last and (n_training < _FIRST_FIT or n_training < self.growth * self._n_fitted):
            return
        self._n_fitted = n_training
        if self._features is self.source and image_shape(self.source) is not None:
            self._features = ArraySource(learner_features(self.source, self.setup.seed))  # as any practitioner would
        rows = [row for row, number in book.answered.items() if book.questions[number].role is Role.TRAINING]
        fitted_on = np.array(sorted([*rows, *book.given]), dtype=np.intp)
        model = fit_best_classifier(self._features.take(fitted_on), book.known[fitted_on], self.setup.seed)
        if model is not None:
            self._predicted = self._features.scan(model.predict).astype(np.int32)
            self._fitted(model, self._left(book))
        self._look = None
        if (book.target is not None or last) and self._predicted is not None:
            self._look_at_holdout(book, len(fitted_on))

    def _look_at_holdout(self, book: Book, n_training: int) -> None:
        alpha = 1 - self.setup.confidence
        if book.target is not None or self._n_looks > 0:
            self._n_looks += 1
            alpha /= self._n_looks * (self._n_looks + 1)
        asked = np.array([question.row for question in book.questions if question.role is Role.BOUNDS], dtype=np.intp)
        held_out = asked[(book.known[asked] != UNKNOWN) | book.declined[asked]]
        self._look = held_out, n_training, alpha

    def _rows_right(self, book: Book) -> float:
        """Bound the number of right labels from below, by the last look at the hold-out."""
        if self._look is None or self._predicted is None or not len(self._look[0]):
            return 0.0
        held_out, n_training, alpha = self._look
        # A skipped row has the label UNKNOWN, which no prediction matches: it counts as wrong.
        answers = book.known[held_out]
        n_right = int((self._predicted[held_out] == answers).sum())
        share = float(share_lower(len(held_out), len(held_out) - n_right, alpha=alpha))
        # The rows that the classifier learnt from never were candidates for the hold-out: it speaks for the others.
        # Of its mistakes among those, the ones found by the hold-out are corrected.
        corrected = int((answers != UNKNOWN).sum()) - n_right
        others = self.source.n_rows - n_training - len(book.set_aside)
        return n_training + share * others + corrected


@METHODS.register("random")
class RandomSampling(HoldoutMethod):
    """Ask rows in random order, as a practitioner does; parameters and certificate are those of `HoldoutMethod`."""


@METHODS.register("margin")
class MarginSampling(HoldoutMethod):
    """Train on the rows whose two likeliest labels are closest; parameters are those of `HoldoutMethod`.

    The hold-out is drawn uniformly and the classifier never trains on it. As training takes doubtful rows from the
    others and never from the hold-out, the hold-out holds if anything more hard rows than what it speaks for.
    """

    _queue: Iterator[int] = iter(())  # the row with the smallest margin first

    def _next_training(self, left: BoolArray) -> int | None:
        row = next((row for row in self._queue if left[row]), None)
        return self._next_uniform(left) if row is None else row  # before the first fit

    def _fitted(self, model: Cut, left: BoolArray) -> None:
        rows, score = np.flatnonzero(left), "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        doubts = self._features.scan(lambda X: margins(getattr(model, score)(X)))[rows]
        closest = np.argsort(doubts, kind="stable")[: int(self.growth * self._n_fitted) + 100]
        self._queue = iter(rows[closest].tolist())


@METHODS.register("pac")
class PacLabels(DecidingMethod):
    """Probably approximately correct labels (Candès, Ilyas and Zrnic 2025), on the predictions of our learner.

    Ask about the uncertain rows until the others are certainly good enough: one look at a fixed sample.

    Three phases, each of a size that is fixed beforehand or follows from the one before: train on `n_training` answers
    (the questions and the learner are those of `bela`); ask `n_calibration` rows drawn uniformly; find the largest set
    of most certain rows whose errors, by a Clopper-Pearson bound on the sample, stay within what the target of that
    time allows (0.95 if there is none); ask all the others. The errors grow with the set, so the sets can be tried in
    order with the whole of alpha each. The first two phases have by default 5 and 3 % of the rows, at most 500 each;
    `growth` is the factor between two fits.
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
        self._codes: IntArray | None = None
        self._certainty = np.zeros(n)
        self._sure: tuple[IntArray, int] | None = None  # rows, and how many of them may be wrong

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
        if self._sure is not None:
            sure, allowed = self._sure
            # all but the sure rows have to be answered; of the sure ones, as many may be wrong as the target allows
            unknown = book.known == UNKNOWN
            lower = max(lower, book.n_rows - allowed - int(unknown.sum()) + int(unknown[sure].sum()))
        return Assessment(
            certificate=self._certificate(book, lower / book.n_rows, Guarantee.ONE_LOOK),
            label=lambda: self._labelling(book.known),
            batch=max(1, min(256, len(self._queue))),  # all questions of a phase can be asked at once
        )

    def _labelling(self, known: IntArray) -> Labelling:
        return label_by_class(known, np.where(known == UNKNOWN, guess_all(known, self._codes), known))

    def _next_phase(self, book: Book) -> None:
        """Fill the queue with what is to be asked next; in the end with all rows."""
        if self._calibration is None:
            if len(self._training) < self.n_training and self._train_more(book.known):
                return
            self._fit(book.known)
            self._calibration = self._order[: self.n_calibration]
            self._fill(self._calibration)
        elif self._sure is None and self._codes is not None:
            allowed = allowed_errors(book.n_rows, _TARGET if book.target is None else book.target)
            sure = self._sure_rows(book.known, self._codes, self._calibration, allowed)
            self._sure = sure, allowed
            unsure = np.setdiff1d(np.arange(book.n_rows), sure)
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
        self._codes = np.asarray(fit.classes)[fit.proba.argmax(axis=1)].astype(np.int32)
        self._certainty = fit.proba.max(axis=1).astype(float)
        self._certainty[answered] = np.inf  # they are right
        return fit

    def _sure_rows(self, known: IntArray, codes: IntArray, sample: IntArray, allowed: int) -> IntArray:
        """Return as many of the most certain rows as the sample says are good enough."""
        n = len(known)
        wrong = known[sample] != codes[sample]  # an unanswered row is UNKNOWN, and counts as wrong
        order: IntArray = np.argsort(-self._certainty, kind="stable")
        places = np.sort(np.argsort(order)[sample[wrong]])
        # The m surest rows hold at most (1 - lower) n errors, where sampled rows outside of them count as right.
        right = len(sample) - np.arange(len(places) + 1)
        errors = (1.0 - share_lower(len(sample), len(sample) - right, alpha=1 - self.setup.confidence)) * n
        fine = np.flatnonzero(errors <= allowed)
        ends = np.append(places, n)
        return order[: int(ends[fine[-1]]) if len(fine) else 0]
