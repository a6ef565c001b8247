"""The audit of one labelling: ask, tell, skip, undo, and a verdict that holds whenever one stops."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from bela._labels import LabelCodes, is_missing
from bela.audit._evidence import Draw, Evidence, UniformPlan, make_plan
from bela.errors import DataError, ParameterError, QuestionError
from bela.oracles import make_oracle
from bela.records import Certificate, FloatArray, Label, Question, Role


class Verdict(StrEnum):
    """What an audit has shown."""

    CERTIFIED = "certified"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A label that was found to be wrong; `answer` is the right one, None if nobody said."""

    row: int
    label: Label
    answer: Label | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What an audit came to.

    `certificate` is about the labels as they are, `corrected` about the same labels once the mistakes found with their
    right label are put right. `upper` bounds the share of right labels as they are from above: lower and upper bound
    each hold with the stated confidence on their own.
    """

    verdict: Verdict
    target: float
    certificate: Certificate
    corrected: Certificate
    upper: float
    mistakes: tuple[Mistake, ...]
    n_rows: int
    n_asked: int
    n_skipped: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    right: bool | None  # None: skipped
    answer: Label | None = None


class Audit:
    """Find out whether enough of given labels are right, by asking about as few of them as possible.

    Parameters
    ----------
    labels
        The labels to audit, one a row, whoever or whatever made them.
    target
        The share of right labels that is to be certified or refuted.
    confidence
        That of the certificate, and on its own that of the refutation. As the labels meet the target or do not, only
        one of the two can be false: the verdict is wrong with probability 1 - confidence at most.
    scores
        How sure whoever made the labels was of each; only the order counts. Doubtful rows are then drawn more often,
        which takes fewer answers if the order is any good, and is as valid if it is not. None to draw uniformly.
    budget
        The most answers to ask for; None for as many as there are rows.
    seed
        All that is random.
    tuned_to
        The target that draws and bounds are shaped for, by default `target`. An audit that goes on with another target
        keeps the first one here, as its answers are known by then; bounds hold for all shares at once.

    Guarantee
    ---------
    ``Pr[at some time, certificate.lower > share right] <= 1 - confidence`` and, on its own, ``Pr[at some time, upper <
    share right] <= 1 - confidence``, over the draws; any time, any stopping rule.

    Assumes
    -------
    Labels and scores were fixed before the seed was chosen or any answer known. A skipped row counts as wrong for the
    certificate and as right for the refutation. An answer taken back was a slip: its change does not depend on what
    was drawn after it.

    Examples
    --------
    >>> labels = ["cat"] * 990 + ["dog"] * 10
    >>> audit = Audit(labels, target=0.95)
    >>> while not audit.finished:
    ...     [question] = audit.ask()
    ...     audit.tell(question.id, "cat")
    >>> str(audit.verdict), audit.certificate.lower >= 0.95, audit.n_asked < 150
    ('certified', True, True)
    """

    def __init__(
        self,
        labels: Any,
        *,
        target: float = 0.95,
        confidence: float = 0.95,
        scores: Any = None,
        budget: int | None = None,
        seed: int = 0,
        tuned_to: float | None = None,
    ) -> None:
        self.labels = _check_labels(labels)
        n_rows = len(self.labels)
        for share in (target, target if tuned_to is None else tuned_to):
            if not 0 < share <= 1:
                raise ParameterError(f"target is a share above 0 and at most 1, not {share}")
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence lies strictly between 0 and 1, not {confidence}")
        if budget is not None and not (0 <= budget <= n_rows and int(budget) == budget):
            raise ParameterError(f"budget is a whole number from 0 to the number of rows, {n_rows}, not {budget}")
        if int(seed) != seed or seed < 0:
            raise ParameterError(f"seed is a whole number from 0 on, not {seed}")
        self.n_rows, self.target, self.confidence = n_rows, float(target), float(confidence)
        self.budget, self.seed = budget, int(seed)
        self.n_allowed = _allowed(n_rows, target)
        self._plan = make_plan(
            n_rows,
            None if scores is None else _check_scores(scores, n_rows),
            alpha=1.0 - self.confidence,
            allowed=self.n_allowed,
            tuned_to=_allowed(n_rows, target if tuned_to is None else tuned_to),
            seed=_seed_of_draws(self.seed, self.labels),
        )
        self._codes = LabelCodes()
        self._draws: list[Draw] = []
        self._open: set[int] = set()
        self._outcomes: dict[int, _Outcome] = {}
        self._history: list[tuple[int, _Outcome | None]] = []  # the question, and its outcome before
        self._n_answers, self._n_skipped = 0, 0
        self._start_over()

    # ---------------------------------------------------------------------------------------- ask and tell

    def ask(self, n: int = 1) -> list[Question]:
        """Return up to n open questions, the oldest first; asking again before telling gives the same ones."""
        if n < 1:
            raise ParameterError(f"ask for at least one question, not {n}")
        wanted = min(n - len(self._open), self.n_rows - len(self._draws))
        if self.budget is not None:
            wanted = min(wanted, self.budget - self.n_asked - len(self._open))
        for _ in range(wanted):
            self._open.add(len(self._draws))
            self._draws.append(self._plan.draw(len(self._draws), self._evidence.weights()))
        return [self._question(i) for i in sorted(self._open)[:n]]

    def tell(self, question_id: int, answer: Label) -> None:
        """Give the right label of a row, also of one skipped before. Twice is harmless; another answer is an error."""
        label = self.labels[self._row(question_id)]
        right = self._codes.encode(label) == self._codes.encode(answer)
        self._settle(question_id, _Outcome(right, answer))

    def confirm(self, question_id: int) -> None:
        """Say that the label of a row is right."""
        self.tell(question_id, self.labels[self._row(question_id)])

    def reject(self, question_id: int) -> None:
        """Say that the label of a row is wrong, without saying what is right."""
        self._row(question_id)
        self._settle(question_id, _Outcome(False))

    def skip(self, question_id: int) -> None:
        """Leave a question unanswered: its row counts as wrong for the certificate until it is answered."""
        self._row(question_id)
        outcome = self._outcomes.get(question_id)
        if outcome is not None and outcome.right is None:
            return
        self._settle(question_id, _Outcome(None))

    def undo(self) -> Question:
        """Take back the last answer or skip; its question is open again, or skipped if it was before."""
        if not self._history:
            raise QuestionError("there is nothing to undo")
        question_id, before = self._history.pop()
        self._count(self._outcomes.pop(question_id), -1)
        if before is None:
            self._open.add(question_id)
        else:
            self._outcomes[question_id] = before
            self._count(before, 1)
        self._start_over()
        return self._question(question_id)

    def restore(self, draw: Draw) -> Question:
        """Ask the question of a recorded draw: the draws of an audit that goes on, in their order."""
        index = len(self._draws)
        if index == self.n_rows:
            raise QuestionError(f"all {self.n_rows} rows have been drawn")
        self._plan.restore(index, draw)
        self._draws.append(draw)
        self._open.add(index)
        return self._question(index)

    # ------------------------------------------------------------------------------------------ where it stands

    @property
    def draws(self) -> Sequence[Draw]:
        """All draws, the question's number being its place: what has to be recorded besides the answers."""
        return self._draws

    @property
    def uniform(self) -> bool:
        """Whether all rows are drawn with the same chance, so that the seed alone says in what order."""
        return isinstance(self._plan, UniformPlan)

    @property
    def skipped(self) -> list[Question]:
        """The questions that were skipped and may still be answered."""
        return [self._question(i) for i, outcome in sorted(self._outcomes.items()) if outcome.right is None]

    @property
    def n_asked(self) -> int:
        """How many answers were given."""
        return self._n_answers

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """The wrong labels found, in the order of the draws."""
        return tuple(
            Mistake(row=self._draws[i].row, label=_plain(self.labels[self._draws[i].row]), answer=_plain(o.answer))
            for i, o in sorted(self._outcomes.items())
            if o.right is False
        )

    @property
    def n_mistakes(self) -> int:
        """How many wrong labels were found."""
        return sum(outcome.right is False for outcome in self._outcomes.values())

    @property
    def certificate(self) -> Certificate:
        """At least this share of the labels, as they are, is right."""
        return self._certificate(self._evidence.errors_upper)

    @property
    def corrected(self) -> Certificate:
        """At least this share is right once the mistakes whose right label was told are corrected."""
        put_right = sum(o.right is False and o.answer is not None for o in self._outcomes.values())
        return self._certificate(self._evidence.errors_upper - put_right)

    @property
    def upper(self) -> float:
        """At most this share of the labels, as they are, is right."""
        return (self.n_rows - self._evidence.errors_lower) / self.n_rows

    @property
    def verdict(self) -> Verdict:
        """Whether the target is certified or refuted: whichever came first."""
        return self._verdict

    @property
    def finished(self) -> bool:
        """Whether there is a verdict, or nothing left to ask."""
        if self._verdict is not Verdict.UNDECIDED or (self.budget is not None and self.n_asked >= self.budget):
            return True
        return len(self._draws) == self.n_rows and not self._open

    def result(self) -> AuditResult:
        """Return what is known as things stand."""
        return AuditResult(
            verdict=self.verdict,
            target=self.target,
            certificate=self.certificate,
            corrected=self.corrected,
            upper=self.upper,
            mistakes=self.mistakes,
            n_rows=self.n_rows,
            n_asked=self.n_asked,
            n_skipped=self._n_skipped,
            seed=self.seed,
        )

    # ---------------------------------------------------------------------------------------------- inside

    def _question(self, question_id: int) -> Question:
        return Question(id=question_id, row=self._draws[question_id].row, role=Role.BOUNDS)

    def _row(self, question_id: int) -> int:
        if not (isinstance(question_id, (int, np.integer)) and 0 <= question_id < len(self._draws)):
            raise QuestionError(f"there is no question {question_id}: ask first")
        return self._draws[question_id].row

    def _certificate(self, n_wrong: int) -> Certificate:
        lower = (self.n_rows - n_wrong) / self.n_rows
        return Certificate(
            lower=lower, confidence=self.confidence, kind="anytime", n_training=0, n_bounds=self.n_asked
        )  # fmt: skip

    def _settle(self, question_id: int, outcome: _Outcome) -> None:
        before = self._outcomes.get(question_id)
        if before is not None and before.right is not None:
            if before.right is outcome.right and before.answer == outcome.answer:
                return
            raise QuestionError(f"question {question_id} is answered already: undo that first")
        self._open.discard(question_id)
        if before is not None:
            self._count(before, -1)
        self._count(outcome, 1)
        self._outcomes[question_id] = outcome
        self._history.append((question_id, before))
        if question_id < self._n_used:  # a row that was skipped, and counted so
            self._start_over()
        else:
            self._advance()

    def _count(self, outcome: _Outcome, step: int) -> None:
        if outcome.right is None:
            self._n_skipped += step
        else:
            self._n_answers += step

    def _start_over(self) -> None:
        """Judge all draws anew."""
        self._evidence: Evidence = self._plan.open()
        self._n_used = 0
        self._verdict = Verdict.UNDECIDED
        self._advance()

    def _advance(self) -> None:
        """Take in draws in their order, as far as there is an outcome for each."""
        while (outcome := self._outcomes.get(self._n_used)) is not None:
            self._evidence.observe(self._draws[self._n_used], None if outcome.right is None else not outcome.right)
            self._n_used += 1
            if self._verdict is Verdict.UNDECIDED:
                if self._evidence.certifies():
                    self._verdict = Verdict.CERTIFIED
                elif self._evidence.refutes():
                    self._verdict = Verdict.REFUTED


def certify(
    labels: Any,
    oracle: Any,
    *,
    target: float = 0.95,
    confidence: float = 0.95,
    scores: Any = None,
    budget: int | None = None,
    seed: int = 0,
    batch: int = 1,
    progress: Callable[[Audit], object] | None = None,
) -> AuditResult:
    """Certify or refute that enough of given labels are right, by asking the oracle about a few of them.

    Parameters are those of `Audit`; `oracle` is an array of true labels, or a callable from an array of rows to
    labels (None for a row that it will not answer), which is asked for `batch` rows at a time. `progress` is called
    after each batch.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.arange(10_000) % 7
    >>> labels = np.where(np.arange(10_000) % 100 == 0, 8, truth)  # 1 % are wrong
    >>> result = certify(labels, truth, target=0.95)
    >>> str(result.verdict), result.certificate.lower >= 0.95, result.n_asked < 400
    ('certified', True, True)
    """
    audit = Audit(labels, target=target, confidence=confidence, scores=scores, budget=budget, seed=seed)
    answer = make_oracle(oracle, audit.n_rows)
    while not audit.finished:
        questions = audit.ask(batch)
        answers = answer(np.array([question.row for question in questions]))
        for question, told in zip(questions, answers, strict=True):
            if is_missing(told):
                audit.skip(question.id)
            else:
                audit.tell(question.id, told)
        if progress is not None:
            progress(audit)
    return audit.result()


def _allowed(n_rows: int, target: float) -> int:
    """How many labels may be wrong; 0.95 means 95 in a hundred, whatever its binary digits say."""
    return math.floor((1 - Fraction(str(float(target)))) * n_rows)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _seed_of_draws(seed: int, labels: npt.NDArray[Any]) -> int:
    """Return a seed of these labels' own: labels mended after an audit must not meet the same draws again.

    Nor should labels that were made by a method with the same seed meet the rows that it had asked about.
    """
    digest = hashlib.blake2b(f"audit {seed}\n".encode(), digest_size=8)
    for label in labels.tolist():
        digest.update(f"{label}\n".encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "little") >> 1


def _check_labels(labels: Any) -> Any:
    if not isinstance(labels, np.ndarray):
        values = list(labels)
        labels = np.empty(len(values), dtype=object)
        labels[:] = values
    if labels.ndim != 1:
        raise DataError(f"labels must be one a row, not an array of shape {labels.shape}")
    if not len(labels):
        raise DataError("there are no rows to audit")
    if labels.dtype.kind in "Of":
        missing = sum(map(is_missing, labels.tolist()))
        if missing:
            raise DataError(f"{missing} row(s) have no label to audit: leave them out, or label them first")
    return labels


def _check_scores(scores: Any, n_rows: int) -> FloatArray:
    try:
        values = np.asarray(scores, dtype=float)
    except (TypeError, ValueError):
        raise DataError("scores must be numbers, one a row") from None
    if values.shape != (n_rows,):
        raise DataError(f"scores must be one for each of the {n_rows} rows, not an array of shape {values.shape}")
    if np.isnan(values).any():
        raise DataError(f"{int(np.isnan(values).sum())} row(s) have no score: fill them, or audit without scores")
    return values
