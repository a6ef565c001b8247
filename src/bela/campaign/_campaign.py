"""The labelling of one dataset, from the first question to the result: ask, tell, skip, undo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bela._labels import LabelCodes, is_missing
from bela.campaign._chronicle import Chronicle
from bela.campaign._deeds import Answered, Skipped
from bela.campaign._leaf_shares import leaf_shares
from bela.campaign._state import State, as_plain, is_revising
from bela.errors import LabelError, OracleError, ParameterError, QuestionError
from bela.methods import DEFAULT_METHOD, make_method
from bela.oracles import answers_of, make_oracle
from bela.protocols import Journal, Oracle, Source
from bela.records import (
    UNKNOWN,
    Certificate,
    Forecast,
    Label,
    Question,
    Result,
    StopReason,
)
from bela.sources import ArraySource


class Closeable(Protocol):
    """What a campaign that was opened holds on to."""

    def close(self) -> None:
        """Let go of it."""


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
    journal
        Where everything that happens is written down before it takes effect. One that has events in it already is
        replayed: the campaign goes on where it stood.
    progress
        Called with the number of each event that is replayed.
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
        journal: Journal | None = None,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> None:
        self.source: Source = X if isinstance(X, Source) else ArraySource(X)
        n_rows = self.source.n_rows
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence lies strictly between 0 and 1, not {confidence}")
        if int(seed) != seed or seed < 0:
            raise ParameterError(f"seed is a whole number from 0 on, not {seed}")
        self.confidence, self.seed = confidence, int(seed)
        self._check_aims(target, budget)
        codes = LabelCodes(classes)
        self.method = make_method(
            method,
            self.source,
            target=target,
            budget=budget,
            confidence=confidence,
            seed=self.seed,
            **options,
        )
        self._state = State(self.method, codes, n_rows, target=target, budget=budget)
        self._take_in(labels)
        self._folder: Closeable | None = None
        self._chronicle = Chronicle(self._state)
        if journal is not None:
            about = {
                "method": self.method.name, "n_rows": n_rows, "confidence": confidence, "seed": self.seed,
                "classes": list(codes.names) if codes.closed else None, "n_given": len(self._state.given),
            }  # fmt: skip
            self._chronicle.replay(journal, about, progress)

    @classmethod
    def open(cls, path: str | Path) -> Campaign:
        """Go on with a campaign that lives in a folder, as `bela label` makes them; `close` it in the end."""
        from bela.campaign._stored import open_campaign  # which needs this class

        stored = open_campaign(Path(path))
        stored.campaign._folder = stored
        return stored.campaign

    def close(self) -> None:
        """Let others write to the folder of a campaign that was opened; everything is on disk already."""
        if self._folder is not None:
            self._folder.close()

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------- ask and tell

    def ask(self, n: int = 1, *, wait: bool = True) -> list[Question]:
        """Return up to n open questions, the oldest first; asking again before telling gives the same ones.

        Where there is nothing to ask until a revision is made in the background, that is waited for, unless `wait` is
        False; then there are no questions for now.
        """
        if n < 1:
            raise ParameterError(f"ask for at least one question, not {n}")
        self._chronicle.catch_up()
        while True:
            wanted = n - len(self._state.open)
            if self._state.budget is not None:
                wanted = min(wanted, self._state.budget - len(self._state.answers) - len(self._state.open))
            if wanted <= 0:
                break
            if not self._propose(wanted):
                if not (wait and not self._state.open and is_revising(self.method)):
                    break
                self.method.wait()
        if len(self._state.open) == 1:
            return list(self._state.open.values())
        return sorted(self._state.open.values(), key=lambda question: question.id)[:n]

    def _propose(self, wanted: int) -> bool:
        """Open further questions; whether there is a reason to try for more at once."""
        before = self.method.n_revisions, is_revising(self.method)
        with self._chronicle.whole():
            proposals = self.method.propose(wanted)
            now = self.method.n_revisions, is_revising(self.method)
            exhausted = not proposals and not self._state.open and not now[1]
            if proposals or now != before or exhausted != self._state.exhausted:
                asked = [as_plain(proposal) for proposal in proposals]
                self._chronicle.owe("asked", {"n": wanted, "questions": asked, "revisions": now[0]})
            self._state.exhausted = exhausted
            opened = self._state.open_questions(proposals)
        self._chronicle.catch_up()
        corrected = [question for question in opened if question.row in self._state.volunteered]
        for question in corrected:  # somebody has said it already
            self.tell(question.id, self._state.codes.classes[self._state.volunteered[question.row]])
        return bool(corrected)

    def tell(self, question_id: int, label: Label, *, by: str | None = None, cost: float = 0.0) -> None:
        """Give the answer to a question. Giving it twice is harmless; another answer is an error: see `relabel`.

        `by` says who answered, for the record, and `cost` what that cost.
        """
        question = self._question(question_id)
        label = self._state.codes.check(label)
        if question_id in self._state.answers:
            known = self._state.codes.classes[self._state.answers[question_id]]
            if label != known:
                raise QuestionError(
                    f"question {question_id} was answered with {known!r}: to change that, relabel row {question.row}"
                )
            return
        if question_id not in self._state.open:
            raise QuestionError(f"question {question_id} was skipped: undo that first, or relabel row {question.row}")
        self._do("answered", question=question.id, label=label, **_noted(by, cost))

    def skip(self, question_id: int, *, by: str | None = None, cost: float = 0.0) -> None:
        """Leave a question unanswered; its row is labelled like the others of its leaf."""
        question = self._question(question_id)
        if question_id in self._state.answers:
            raise QuestionError(f"question {question_id} is answered already: undo that first")
        if question_id in self._state.open:
            self._do("skipped", question=question.id, **_noted(by, cost))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write down several answers, skips and opinions at once: when the block ends, all are on disk, or none.

        They must be about different questions and name classes that there are, as each is checked against how things
        stood before the block, and happens after it.
        """
        with self._chronicle.together():
            yield

    def undo(self, *, by: str | None = None) -> Question | None:
        """Take back the last answer, skip or change; the question that is open again, if it was about one.

        With `by`, the last answer, skip, opinion, flag or relabelling of that person, whatever others did since. What
        others have said about the same row since is not undone by that, so then it is an error.
        """
        deed = self._state.history[self._state.deed_to_undo(by)]
        self._do("undone", **_noted(by))
        return self._state.questions[deed.question] if isinstance(deed, (Answered, Skipped)) else None

    def relabel(self, row: int, label: Label, *, by: str | None = None) -> None:
        """Say what a row is: an answer or a label that the data brought is changed, as if it had been given at first.

        A row that was never asked is corrected in the result. That trains nothing and bounds nothing, as nobody knows
        what it was chosen by; should it be asked later, it is answered already.
        """
        self._check_row(row)
        label = self._state.codes.check(label)
        self._do("relabelled", row=int(row), label=label, **_noted(by))

    def opine(self, question_id: int, label: Label, *, by: str) -> None:
        """Say what somebody else thinks of a question that is answered; saying the same twice is harmless.

        Opinions tell how far people agree. Nothing else rests on them: labels and certificate rest on the answer, until
        somebody settles the matter with `relabel`.
        """
        question = self._question(question_id)
        label = self._state.codes.check(label)
        if question_id not in self._state.answers:
            raise QuestionError(f"question {question_id} is not answered: there is nothing to give an opinion on")
        said = self._state.said[question_id].get(by)
        if said is None:
            self._do("opinion", question=question.id, label=label, by=by)
        elif self._state.now(said) != self._state.codes.find(label):
            known = self._state.codes.classes[self._state.now(said)]
            raise QuestionError(
                f"{by} has answered question {question_id} with {known!r}: undo that, or relabel row {question.row}"
            )

    def flag(self, row: int, comment: str = "", *, by: str | None = None) -> None:
        """Mark a row for later, with a comment."""
        self._check_row(row)
        self._do("flagged", row=int(row), comment=comment, **_noted(by))

    # ---------------------------------------------------------------------------------------------- classes

    def add_class(self, label: Label, *, by: str | None = None) -> None:
        """Allow one more class."""
        if self._state.codes.find(label) is None:
            self._do("class added", label=self._state.codes.normal(label), **_noted(by))

    def rename_class(self, old: Label, new: Label, *, by: str | None = None) -> None:
        """Call a class by another name."""
        self._state.code_of(old)
        if self._state.codes.find(new) is not None:
            raise LabelError(f"there is a class {new!r} already: merge {old!r} into it if they are the same")
        old, new = self._state.codes.normal(old), self._state.codes.normal(new)
        self._do("class renamed", old=old, new=new, **_noted(by))

    def merge_class(self, old: Label, into: Label, *, by: str | None = None) -> None:
        """Take two classes for one: all labels and answers of the first become the second."""
        if self._state.code_of(old) == self._state.code_of(into):
            raise LabelError(f"a class cannot be merged into itself: {old!r}")
        old, into = self._state.codes.normal(old), self._state.codes.normal(into)
        self._do("class merged", old=old, into=into, **_noted(by))

    def aim(self, *, target: float | None, budget: int | None) -> None:
        """Change when to stop."""
        self._check_aims(target, budget)
        target, budget = None if target is None else float(target), None if budget is None else int(budget)
        if (target, budget) != (self._state.target, self._state.budget):
            self._do("aimed", target=target, budget=budget)

    # ------------------------------------------------------------------------------------------ where it stands

    @property
    def target(self) -> float | None:
        """The share of labels to certify, if there is one."""
        return self._state.target

    @property
    def budget(self) -> int | None:
        """The most answers to ask for, if there is a limit."""
        return self._state.budget

    @property
    def certificate(self) -> Certificate:
        """The lower bound on the share of right labels, as things stand."""
        return self.method.certificate()

    @property
    def forecast(self) -> Forecast | None:
        """How many more answers the target is expected to take; None where the method cannot tell."""
        if self.target is not None and self.certificate.lower >= self.target:
            return Forecast(answers=0, low=0, high=0)
        return self.method.forecast()

    @property
    def n_asked(self) -> int:
        """How many answers the oracle has given."""
        return len(self._state.answers)

    @property
    def n_skipped(self) -> int:
        """How many questions were left unanswered."""
        return len(self._state.questions) - len(self._state.answers) - len(self._state.open)

    @property
    def n_rows(self) -> int:
        """How many rows there are to label."""
        return len(self._state.known)

    @property
    def given(self) -> frozenset[int]:
        """The rows that the data brought a label for."""
        return frozenset(self._state.given)

    @property
    def open_questions(self) -> tuple[Question, ...]:
        """Questions that wait for an answer, the oldest first."""
        return tuple(sorted(self._state.open.values(), key=lambda question: question.id))

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes declared or seen so far."""
        return self._state.codes.names

    @property
    def stop_reason(self) -> StopReason | None:
        """Why there is no need to go on, or None while there is."""
        if self._state.target is not None and self.certificate.lower >= self._state.target:
            return StopReason.TARGET
        if self._state.exhausted:
            return StopReason.EXHAUSTED
        if self._state.budget is not None and len(self._state.answers) >= self._state.budget:
            return StopReason.BUDGET
        return None

    def answer(self, row: int) -> Label | None:
        """What was said about a row: an answer, a label that the data brought, or a correction; None if nothing."""
        code = self._state.volunteered.get(row, int(self._state.known[row]))
        return None if code == UNKNOWN else self._state.codes.classes[code]

    def result(self) -> Result:
        """Label every row as things stand."""
        labelling = self.method.labelling()
        codes, known = labelling.codes, self._state.known != UNKNOWN
        if self._state.volunteered:
            codes, known = codes.copy(), known.copy()
            rows = np.array(list(self._state.volunteered))
            codes[rows], known[rows] = list(self._state.volunteered.values()), True
        if (codes == UNKNOWN).any():
            raise LabelError("no label is known yet: answer at least one question first")
        agreement, share_known = leaf_shares(labelling, self._state.known)
        return Result(
            labels=self._state.codes.decode(codes),
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

    def step(
        self,
        oracle: Oracle,
        n: int,
        *,
        by: str | None = None,
        progress: Callable[[Campaign], object] | None = None,
    ) -> None:
        """Put up to n questions to the oracle and take in its answers; None for an answer skips the question.

        Each answer is taken in as soon as it is given, so that none is lost when the oracle fails half-way; `progress`
        is called after each. What they cost is written down if the oracle says so.
        """
        questions = {question.row: question for question in self.ask(n)}
        if not questions:
            return
        before = getattr(oracle, "cost", 0.0)
        with closing(answers_of(oracle, np.array(list(questions)))) as answers:
            for row, answer in answers:
                if row not in questions:
                    raise OracleError(f"the oracle answered for row {row}, which it was not asked about")
                after = getattr(oracle, "cost", 0.0)
                if is_missing(answer):
                    self.skip(questions[row].id, by=by, cost=after - before)
                else:
                    self.tell(questions[row].id, answer, by=by, cost=after - before)
                before = after
                if progress is not None:
                    progress(self)

    # ---------------------------------------------------------------------------------------------- inside

    def _do(self, kind: str, **data: Any) -> None:
        self._chronicle.do(kind, data)

    def _check_aims(self, target: float | None, budget: int | None) -> None:
        n_rows = self.source.n_rows
        if target is not None and not 0 < target <= 1:
            raise ParameterError(f"target is a share above 0 and at most 1, not {target}")
        if budget is not None and not (0 <= budget <= n_rows and int(budget) == budget):
            raise ParameterError(f"budget is a whole number from 0 to the number of rows, {n_rows}, not {budget}")

    def _check_row(self, row: int) -> None:
        if not (isinstance(row, (int, np.integer)) and 0 <= row < len(self._state.known)):
            raise QuestionError(f"there is no row {row}: rows go from 0 to {len(self._state.known) - 1}")

    def _question(self, question_id: int) -> Question:
        if not (isinstance(question_id, (int, np.integer)) and 0 <= question_id < len(self._state.questions)):
            raise QuestionError(f"there is no question {question_id}: ask first")
        return self._state.questions[question_id]

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
        known = [(row, self._state.codes.encode(label)) for row, label in pairs if not is_missing(label)]
        if not known:
            return
        rows = np.array([row for row, _ in known])
        if rows.min() < 0 or rows.max() >= n_rows:
            raise QuestionError(f"labels name a row outside 0 to {n_rows - 1}")
        codes = np.array([code for _, code in known], dtype=np.int32)
        self._state.know(rows, codes)


def _noted(by: str | None, cost: float = 0.0) -> dict[str, Any]:
    """Return what is written down about an answer if there is anything to say."""
    return ({} if by is None else {"by": by}) | ({"cost": float(cost)} if cost > 0 else {})
