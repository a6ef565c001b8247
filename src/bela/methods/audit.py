"""The audit of labels that exist already, as a method: draw rows, compare with the truth, certify or refute."""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from bela.book import Asked, Began, Book, Change, ClassChange, RowChanged, TargetSet
from bela.bounds import ErrorBets, ErrorsLower, PriorPosterior, draw_order, priorities
from bela.errors import DataError, ParameterError, ReplayError
from bela.methods import METHODS
from bela.methods._deciding import N_BINS, AssessingMethod, bin_edges, choose_bin, codes_now, label_by_class
from bela.protocols import Setup
from bela.records import UNKNOWN, Assessment, BoolArray, FloatArray, Guarantee, IntArray, Proposal, Role
from bela.shares import allowed_errors

_TARGET = 0.95  # that draws are tuned to where there is none
_DRAWS = 2  # the stream that chooses bins
_EXPECTED = 10.0  # errors that the expectation is worth
_STEEPNESS = 6.0  # with which errors are expected to fall as scores rise
_GRUENBAUM = 0.5 / math.e  # up to this alpha an informed prior is proven to be safe with skipped rows


class Bins:
    """Rows in bins by score, the least sure first and finest; in one bin without scores, or if all are the same.

    A draw takes a bin at random, by its weight and what is left of it, and then the bin's next row by priority. In one
    bin these are uniform draws without replacement. Only `rows` may be drawn. `scores` say how sure whoever made the
    labels was of each of all rows; only their order counts. The order of draws follows from the `key`.
    """

    def __init__(self, n_rows: int, rows: IntArray, scores: FloatArray | None, *, key: int) -> None:
        self.of: IntArray = np.zeros(n_rows, dtype=np.int8)  # the bin of each row
        edges = np.array([0, len(rows)])
        if scores is not None and len(np.unique(scores[rows])) > 1:
            edges = bin_edges(len(rows))
            order = np.lexsort((priorities(rows, key, stream=1), scores[rows]))  # equal scores fall into bins at random
            self.of[rows[order]] = np.repeat(np.arange(N_BINS, dtype=np.int8), np.diff(edges))
        self.sizes: IntArray = np.diff(edges)
        self.n_weights = len(self.sizes) if len(self.sizes) > 1 else 0  # of a draw: one for each bin, if there are any
        by_priority = draw_order(rows, key)
        self._rows = np.split(by_priority[np.argsort(self.of[by_priority], kind="stable")], edges[1:-1])

    def draw(self, weights: tuple[float, ...], taken: IntArray, place: float) -> int:
        """Return the row at this place between 0 and 1, and count it among those taken from its bin."""
        bin_ = choose_bin(np.asarray(weights), self.sizes - taken, place) if weights else 0
        taken[bin_] += 1
        return int(self._rows[bin_][taken[bin_] - 1])


class UniformEvidence:
    """The beta-binomial prior-posterior ratio, and its mirror image for the rows that are right.

    Of the errors that draws are tuned to, the certificate's prior expects half, the refutation's twice as many.
    """

    def __init__(self, n_rows: int, *, alpha: float, tuned_to: int) -> None:
        self._n_rows, self._n_wrong = n_rows, 0
        scale = n_rows / (tuned_to + 1)
        self.prior = (1.0, max(2.0 * scale, 1.0))
        # (a, b) of the right rows; expectations below 1 would void the proof for skipped rows.
        self.mirrored_prior = (scale, 2.0) if alpha <= _GRUENBAUM and n_rows else (1.0, 1.0)
        priors = (self.prior, self.mirrored_prior)
        self._wrong, self._right = (PriorPosterior(n_rows, alpha=alpha, a=a, b=b) for a, b in priors)

    def observe(self, row: int, weights: tuple[float, ...], wrong: bool | None) -> None:
        self._wrong.observe(wrong=wrong is not False)
        self._right.observe(wrong=wrong is not True)
        self._n_wrong += wrong is True

    def weights(self) -> tuple[float, ...]:
        return ()

    @property
    def errors_upper(self) -> int:
        return self._wrong.errors_upper

    @property
    def errors_lower(self) -> int:
        return max(self._n_rows - self._right.errors_upper, self._n_wrong)


class ScoredEvidence:
    """Projected bets on weighted draws for the upper bound, weighted bets for the lower one."""

    def __init__(self, bins: Bins, *, alpha: float, tuned_to: int) -> None:
        self._bins = bins
        seen, wrong = _expected(bins, tuned_to)
        self._bets = ErrorBets(bins.sizes, alpha=alpha, seen=seen, wrong=wrong, aim=tuned_to)
        self._lower = ErrorsLower(bins.sizes, alpha=alpha, aim=tuned_to)

    @property
    def errors_upper(self) -> int:
        return self._bets.errors_upper

    @property
    def errors_lower(self) -> int:
        return self._lower.errors_lower

    def observe(self, row: int, weights: tuple[float, ...], wrong: bool | None) -> None:
        chances, bin_ = np.array(weights), int(self._bins.of[row])
        self._lower.observe(bin_, wrong=wrong is True, weights=chances)
        self._bets.observe(bin_, wrong=wrong is not False, weights=chances)

    def weights(self) -> tuple[float, ...]:
        # Rounded, so that a record holds exactly what was used.
        return tuple(np.maximum(np.round(self._bets.weights(), 4), 0.01).tolist())


def _expected(bins: Bins, tuned_to: int) -> tuple[FloatArray, FloatArray]:
    """Return what is expected beforehand, as draws of each bin and those wrong: half the errors that are allowed.

    Measured on made-up labels at targets of 0.95 and 0.99: a fifth fewer answers than with no expectation where scores
    are good, hardly any more where they are useless.
    """
    n_rows = int(bins.sizes.sum())
    share = bins.sizes / n_rows
    middle = np.cumsum(share) - 0.5 * share
    curve = np.exp(-_STEEPNESS * np.sqrt(middle))
    level = 0.5 * (tuned_to + 1) / n_rows
    seen = _EXPECTED / level * share
    return seen, seen * np.minimum(curve * (level / float(curve @ share)), 0.9)


Evidence: TypeAlias = UniformEvidence | ScoredEvidence
"""What the draws so far say: at most, and at least, so many labels are wrong, with probability 1 - alpha each, at all
times at once. Skipped rows (`wrong` is None) count as wrong for the upper bound, and as right for the lower one."""


def make_evidence(bins: Bins, *, alpha: float, tuned_to: int) -> Evidence:
    """Start from no evidence, on draws from these bins."""
    if bins.n_weights:
        return ScoredEvidence(bins, alpha=alpha, tuned_to=tuned_to)
    return UniformEvidence(int(bins.sizes.sum()), alpha=alpha, tuned_to=tuned_to)


@METHODS.register("audit")
class Audit(AssessingMethod):
    """Find out whether enough of given labels are right, by asking about as few of them as possible.

    The labels are the only prediction of the setup. Rows are drawn uniformly, or with scores more often where these
    are low, which takes fewer answers if their order is any good, and is as valid if it is not. As the labels meet the
    target or do not, only one of certificate and refutation can be false: the verdict is wrong with probability
    1 - confidence at most. Draws and bounds are shaped by the first target; bounds hold for all shares at once.

    Certificate and labels are those of the labels under audit once they are corrected by the answers; verdict,
    `as_given` and `upper` are about the labels as they were given.

    Guarantee
    ---------
    ``Pr[at some time, as_given.lower > share right] <= 1 - confidence`` and, on its own, ``Pr[at some time, upper <
    share right] <= 1 - confidence``, over the draws; any time, any stopping rule.

    Assumes
    -------
    Labels and scores were fixed before the key was chosen or any answer known. A skipped row counts as wrong for the
    certificate and as right for the refutation; with scores, whoever skips it does not know what was drawn after it. An
    answer taken back was a slip: its change does not depend on what was drawn after it. Which classes are merged is
    decided by people who have seen the draws: the certificate goes on as if they were not, as a merge only makes wrong
    labels right, and nothing but what was seen is refuted any more.
    """

    def __init__(self, setup: Setup) -> None:
        if len(setup.predictions) != 1:
            raise ParameterError(f"an audit is of one set of labels, not of {len(setup.predictions)}")
        [prediction] = setup.predictions.values()
        if n_missing := int((prediction.codes == UNKNOWN).sum()):
            raise DataError(f"{n_missing} row(s) have no label to audit: leave them out, or label them first")
        if prediction.scores is not None and (n_missing := int(np.isnan(prediction.scores).sum())):
            raise DataError(f"{n_missing} row(s) have no score: fill them, or leave the scores out")
        super().__init__(setup)
        self._codes, self._scores = prediction.codes, prediction.scores
        self._late: dict[int, int] = {}
        self._evidence: Evidence | None = None  # None: the draws are to be judged anew
        self._n_used = 0  # draws that are judged
        self._verdict: bool | None = None  # whether the target was certified or refuted, whichever came first

    def follow(self, book: Book, change: Change) -> None:
        """Advance the memo by what has just happened."""
        match change:
            case Began():
                rows = np.setdiff1d(np.arange(book.n_rows), list(book.given))
                self._bins = Bins(book.n_rows, rows, self._scores, key=self.setup.key)
                self._taken = np.zeros_like(self._bins.sizes)
                self._tuned_to = allowed_errors(len(rows), _TARGET if book.target is None else book.target)
            case Asked():
                self._repeat(book, change)
            case RowChanged():
                if change.question is None or change.question.id < self._n_used:
                    self._evidence = None
            case ClassChange() | TargetSet():
                self._evidence = None

    def propose(self, book: Book, n: int) -> Sequence[Proposal]:
        """Draw up to n further rows."""
        weights, taken, first = self._judged(book).weights(), self._taken.copy(), len(book.questions)
        n = min(n, int((self._bins.sizes - taken).sum()))
        return [self._draw(first + i, weights, taken) for i in range(n)]

    def _draw(self, number: int, weights: tuple[float, ...], taken: IntArray) -> Proposal:
        place = float(self.setup.rng(_DRAWS, number).random()) if weights else 0.0
        return Proposal(row=self._bins.draw(weights, taken, place), role=Role.BOUNDS, weights=weights)

    def _repeat(self, book: Book, asked: Asked) -> None:
        """Make draws again with the weights that they had, and see that they are the same."""
        first, left = len(book.questions) - len(asked.questions), int((self._bins.sizes - self._taken).sum())
        drawn = [
            self._draw(first + i, recorded.weights, self._taken)
            for i, recorded in enumerate(asked.questions[:left])
            if len(recorded.weights) == self._bins.n_weights
        ]
        if tuple(drawn) != asked.questions:
            raise ReplayError(tuple(q.row for q in asked.questions), tuple(q.row for q in drawn))

    def _judged(self, book: Book) -> Evidence:
        """Judge draws in their order, as far as there is an outcome for each."""
        late = {row: code for row, code in book.corrections.items() if book.declined[row]}
        evidence = self._evidence
        if evidence is None or late != self._late:
            evidence = make_evidence(self._bins, alpha=1.0 - self.setup.confidence, tuned_to=self._tuned_to)
            self._evidence, self._late, self._n_used, self._verdict = evidence, late, 0, None
        answers = _answers_unmerged(book)
        allowed = None  # how many labels of the rows that can be drawn may be wrong
        if book.target is not None:
            allowed = allowed_errors(book.n_rows, book.target) - self._n_given_wrong(book, answers)
        if self._n_used == 0:
            self._judge(evidence, allowed)
        for question in book.questions[self._n_used :]:
            row, answer = question.row, answers[question.row]
            if answer == UNKNOWN and not book.declined[row]:
                break
            skipped = answer == UNKNOWN and row not in book.rejected
            evidence.observe(row, question.weights, None if skipped else bool(answer != self._codes[row]))
            self._n_used += 1
            self._judge(evidence, allowed)
        return evidence

    def _n_given_wrong(self, book: Book, answers: IntArray) -> int:
        rows = list(book.given)
        return int((answers[rows] != self._codes[rows]).sum())

    def _judge(self, evidence: Evidence, allowed: int | None) -> None:
        if self._verdict is None and allowed is not None:
            if evidence.errors_upper <= allowed:
                self._verdict = True
            elif evidence.errors_lower > allowed:
                self._verdict = False

    def _assess(self, book: Book) -> Assessment:
        evidence, answers, n_rows = self._judged(book), _answers_unmerged(book), book.n_rows
        n_given_wrong = self._n_given_wrong(book, answers)
        n_wrong = evidence.errors_upper + n_given_wrong
        n_put_right = int(((answers != UNKNOWN) & (answers != self._codes)).sum())
        upper = (n_rows - evidence.errors_lower - n_given_wrong) / n_rows
        refuted = self._verdict is False
        if any(book.merges()):
            upper = 1.0 - len(find_mistakes(book, self._codes)) / n_rows
            refuted = book.target is not None and upper < book.target
        return Assessment(
            certificate=self._certificate(book, (n_rows - n_wrong + n_put_right) / n_rows, Guarantee.ANYTIME),
            as_given=self._certificate(book, (n_rows - n_wrong) / n_rows, Guarantee.ANYTIME),
            label=lambda: label_by_class(book.known, codes_now(book, self._codes)),
            reached=self._verdict is True, refuted=refuted, upper=upper,
        )  # fmt: skip


def find_mistakes(book: Book, codes: IntArray) -> list[int]:
    """Return the rows whose label under audit, of all `codes`, was found wrong: given ones first, then as drawn."""
    answers, rejected = _answers(book), list(book.rejected)
    wrong: BoolArray = (answers != UNKNOWN) & (answers != codes_now(book, codes))
    wrong[rejected] |= answers[rejected] == UNKNOWN
    return [row for row in [*book.given, *(question.row for question in book.questions)] if wrong[row]]


def _answers(book: Book) -> IntArray:
    """Return the answers as class codes, with late ones to questions that were declined."""
    answers = book.known.copy()
    for row, code in book.corrections.items():
        if book.declined[row]:
            answers[row] = code
    return answers


def _answers_unmerged(book: Book) -> IntArray:
    """Return the answers as if no classes had been merged."""
    answers = _answers(book)
    for step in reversed(list(book.merges())):
        rows = np.array(step.rows, dtype=np.intp)
        answers[rows[answers[rows] == step.into]] = step.code
    return answers
