"""The labelling of one dataset, from the first question to the result: ask, tell, skip, undo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bela._labels import LabelCodes, is_missing
from bela.errors import LabelError, ParameterError, QuestionError
from bela.methods import DEFAULT_METHOD, make_method
from bela.oracles import make_oracle
from bela.protocols import Oracle, Source
from bela.records import (
    UNKNOWN,
    Certificate,
    FloatArray,
    Forecast,
    IntArray,
    Label,
    Labelling,
    Question,
    Result,
    StopReason,
)
from bela.sources import ArraySource


class Campaign:
    """Ask about a few rows, label them all, and know how good the labels are.

    Parameters
    ----------
    X
        The features: rows and columns of numbers, dense or sparse, or a source.
    method
        How questions are chosen and leaves are cut, by name.
    target
        Stop when at least this share of the labels is certified right; None to go on.
    budget
        The most answers to ask for; None for as many as there are rows.
    confidence
        The confidence of the certificate.
    classes
        The only labels allowed; None where they become known as they are answered.
    labels
        Labels that the data bring with them, free of charge: row to label, or one entry for each row with None or NaN
        where there is none.
    seed
        All that is random.
    options
        What the method understands besides, such as `splitter`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(9, 1, (100, 2))])
    >>> campaign = Campaign(X, budget=60)
    >>> while campaign.stop_reason is None:
    ...     for question in campaign.ask():
    ...         campaign.tell(question.id, "left" if question.row < 100 else "right")
    >>> result = campaign.result()
    >>> result.n_asked, int((result.labels == "left").sum())
    (60, 100)
    """

    def __init__(
        self,
        X: Any,
        *,
        method: str = DEFAULT_METHOD,
        target: float | None = None,
        budget: int | None = None,
        confidence: float = 0.95,
        classes: Iterable[Label] | None = None,
        labels: Mapping[int, Label] | Sequence[Any] | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self.source: Source = X if isinstance(X, Source) else ArraySource(X)
        n_rows = self.source.n_rows
        if target is not None and not 0 < target <= 1:
            raise ParameterError(f"target is a share above 0 and at most 1, not {target}")
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence lies strictly between 0 and 1, not {confidence}")
        if budget is not None and not (0 <= budget <= n_rows and int(budget) == budget):
            raise ParameterError(f"budget is a whole number from 0 to the number of rows, {n_rows}, not {budget}")
        if int(seed) != seed or seed < 0:
            raise ParameterError(f"seed is a whole number from 0 on, not {seed}")
        self.target, self.budget, self.confidence, self.seed = target, budget, confidence, int(seed)
        self._codes = LabelCodes(classes)
        self.method = make_method(
            method,
            self.source,
            target=target,
            budget=budget,
            confidence=confidence,
            seed=self.seed,
            **options,
        )
        self._known = np.full(n_rows, UNKNOWN, dtype=np.int32)
        self._questions: list[Question] = []
        self._open: dict[int, Question] = {}
        self._answers: dict[int, int] = {}  # question to class code
        self._asked: dict[int, int] = {}  # row to question, answered ones only
        self._history: list[int] = []  # questions in the order in which they were answered or skipped
        self._exhausted = False
        self._take_in(labels)

    # ---------------------------------------------------------------------------------------- ask and tell

    def ask(self, n: int = 1) -> list[Question]:
        """Return up to n open questions, the oldest first; asking again before telling gives the same ones."""
        if n < 1:
            raise ParameterError(f"ask for at least one question, not {n}")
        wanted = n - len(self._open)
        if self.budget is not None:
            wanted = min(wanted, self.budget - len(self._answers) - len(self._open))
        if wanted > 0:
            proposals = self.method.propose(wanted)
            self._exhausted = not proposals and not self._open
            for proposal in proposals:
                question = Question(id=len(self._questions), row=proposal.row, role=proposal.role)
                self._questions.append(question)
                self._open[question.id] = question
        if len(self._open) == 1:
            return list(self._open.values())
        return sorted(self._open.values(), key=lambda question: question.id)[:n]

    def tell(self, question_id: int, label: Label) -> None:
        """Give the answer to a question. Giving it twice is harmless; another answer is an error: see `relabel`."""
        question = self._question(question_id)
        if question_id in self._answers:
            if self._codes.encode(label) != self._answers[question_id]:
                known = self._codes.classes[self._answers[question_id]]
                raise QuestionError(
                    f"question {question_id} was answered with {known!r}: to change that, relabel row {question.row}"
                )
            return
        if question_id not in self._open:
            raise QuestionError(f"question {question_id} was skipped: undo that first, or relabel row {question.row}")
        code = self._codes.encode(label)
        del self._open[question_id]
        self._answers[question_id] = code
        self._asked[question.row] = question_id
        self._known[question.row] = code
        self._history.append(question_id)
        self.method.observe(question.row, question.role, code)

    def skip(self, question_id: int) -> None:
        """Leave a question unanswered; its row is labelled like the others of its leaf."""
        question = self._question(question_id)
        if question_id in self._answers:
            raise QuestionError(f"question {question_id} is answered already: undo that first")
        if question_id not in self._open:
            return
        del self._open[question_id]
        self._history.append(question_id)
        self.method.skip(question.row, question.role)

    def undo(self) -> Question:
        """Take back the last answer or skip; its question is open again."""
        if not self._history:
            raise QuestionError("there is nothing to undo")
        question = self._questions[self._history.pop()]
        if self._answers.pop(question.id, None) is not None:
            del self._asked[question.row]
            self._known[question.row] = UNKNOWN
        self._open[question.id] = question
        self._exhausted = False
        self.method.retract(question.row, question.role)
        return question

    def relabel(self, row: int, label: Label) -> None:
        """Change the answer of a row, as if it had been given so at first."""
        if not (isinstance(row, (int, np.integer)) and 0 <= row < len(self._known)):
            raise QuestionError(f"there is no row {row}: rows go from 0 to {len(self._known) - 1}")
        row = int(row)
        if row not in self._asked:
            raise QuestionError(f"row {row} was not asked and answered: only an answer can be changed")
        question = self._questions[self._asked[row]]
        code = self._codes.encode(label)
        self._answers[question.id] = code
        self._known[row] = code
        self.method.revise(row, question.role, code)

    # ------------------------------------------------------------------------------------------ where it stands

    @property
    def certificate(self) -> Certificate:
        """The lower bound on the share of right labels, as things stand."""
        return self.method.certificate()

    @property
    def forecast(self) -> Forecast | None:
        """How many more answers the target is expected to take; None where the method cannot tell."""
        return self.method.forecast()

    @property
    def n_asked(self) -> int:
        """How many answers the oracle has given."""
        return len(self._answers)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes declared or seen so far."""
        return self._codes.classes

    @property
    def stop_reason(self) -> StopReason | None:
        """Why there is no need to go on, or None while there is."""
        if self.target is not None and self.certificate.lower >= self.target:
            return StopReason.TARGET
        if self._exhausted:
            return StopReason.EXHAUSTED
        if self.budget is not None and len(self._answers) >= self.budget:
            return StopReason.BUDGET
        return None

    def result(self) -> Result:
        """Label every row as things stand."""
        labelling = self.method.labelling()
        if (labelling.codes == UNKNOWN).any():
            raise LabelError("no label is known yet: answer at least one question first")
        known = self._known != UNKNOWN
        agreement, share_known = _leaf_shares(labelling, self._known)
        return Result(
            labels=self._codes.decode(labelling.codes),
            known=known,
            leaf=labelling.leaf,
            probability=np.where(
                known, 1.0, agreement[labelling.leaf] if labelling.probability is None else labelling.probability
            ),
            leaf_lower=share_known if labelling.leaf_lower is None else labelling.leaf_lower,
            classes=self.classes,
            n_asked=self.n_asked,
            stop_reason=self.stop_reason or StopReason.STOPPED,
            certificate=self.certificate,
            method=self.method.name,
            seed=self.seed,
        )

    def run(self, oracle: Any, *, progress: Callable[[Campaign], object] | None = None) -> Result:
        """Ask and tell until there is a reason to stop; `progress` is called after each round of answers."""
        oracle = make_oracle(oracle, self.source.n_rows)
        while self.stop_reason is None:
            self.step(oracle, self.method.batch)
            if progress is not None:
                progress(self)
        return self.result()

    def step(self, oracle: Oracle, n: int) -> None:
        """Put up to n questions to the oracle and take in its answers; None for an answer skips the question."""
        questions = self.ask(n)
        if not questions:
            return
        answers = oracle(np.array([question.row for question in questions]))
        for question, answer in zip(questions, answers, strict=True):
            if is_missing(answer):
                self.skip(question.id)
            else:
                self.tell(question.id, answer)

    # ---------------------------------------------------------------------------------------------- inside

    def _question(self, question_id: int) -> Question:
        if not (isinstance(question_id, (int, np.integer)) and 0 <= question_id < len(self._questions)):
            raise QuestionError(f"there is no question {question_id}: ask first")
        return self._questions[question_id]

    def _take_in(self, labels: Mapping[int, Label] | Sequence[Any] | None) -> None:
        """Hand the labels that the data bring to the method."""
        if labels is None:
            return
        n_rows = self.source.n_rows
        if isinstance(labels, Mapping):
            pairs = list(labels.items())
        else:
            if len(labels) != n_rows:
                raise LabelError(f"labels must have one entry for each of the {n_rows} rows, not {len(labels)}")
            pairs = list(enumerate(labels))
        known = [(row, self._codes.encode(label)) for row, label in pairs if not is_missing(label)]
        if not known:
            return
        rows = np.array([row for row, _ in known])
        if rows.min() < 0 or rows.max() >= n_rows:
            raise QuestionError(f"labels name a row outside 0 to {n_rows - 1}")
        codes = np.array([code for _, code in known], dtype=np.int32)
        self._known[rows] = codes
        self.method.know(rows, codes)


def _leaf_shares(labelling: Labelling, known: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each leaf, the share of answers that agree with its label (one added each way), and of known rows."""
    n = labelling.n_leaves
    rows = np.flatnonzero(known != UNKNOWN)
    leaf_label = np.full(n, UNKNOWN)
    unknown = np.flatnonzero(known == UNKNOWN)
    leaf_label[labelling.leaf[unknown]] = labelling.codes[unknown]
    answers = np.bincount(labelling.leaf[rows], minlength=n)
    agree = np.bincount(labelling.leaf[rows], weights=known[rows] == leaf_label[labelling.leaf[rows]], minlength=n)
    size = np.maximum(np.bincount(labelling.leaf, minlength=n), 1)
    return (agree + 1) / (answers + 2), answers / size


def label(
    X: Any,
    oracle: Any,
    *,
    target: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    method: str = DEFAULT_METHOD,
    seed: int = 0,
    **options: Any,
) -> Result:
    """Label every row of X by asking the oracle about a few of them.

    Parameters are those of `Campaign`; `oracle` is an array of true labels, or a callable from an array of rows to
    labels (None for a row that it will not answer).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(600, centers=3, cluster_std=0.5, random_state=0)
    >>> result = label(X, y, target=0.9)
    >>> bool((result.labels == y).mean() >= result.certificate.lower >= 0.9)
    True
    """
    return Campaign(X, method=method, target=target, budget=budget, confidence=confidence, seed=seed, **options).run(
        oracle
    )
