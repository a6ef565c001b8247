"""The labelling of one dataset, from the first question to the result: ask, tell, skip, undo."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bela.book import Asked, Began, Book, events
from bela.campaign import _inputs as inputs
from bela.campaign._classes import ClassEditing
from bela.campaign._helping import Helping
from bela.campaign._limits import all_reached, check_limits
from bela.campaign._predict import predict_new
from bela.campaign._progress import Watching, watching
from bela.campaign._recorder import Progress, Recorder, Revising, Witness
from bela.campaign._result import make_result
from bela.campaign._showing import WIDGETS, as_a_card, in_a_line
from bela.errors import ParameterError, QuestionError
from bela.features import Embed
from bela.methods import DEFAULT_METHOD, make_method
from bela.oracles import make_oracle
from bela.protocols import ArrayStore, Journal, Setup
from bela.storage import MemoryArrays

from bela.records import (  # isort: skip
    UNKNOWN, Assessment, Certificate, ClassBound, Forecast, Label, Question, Result, Rung, StopReason, SurePart,
)  # fmt: skip


class Campaign(ClassEditing, AbstractContextManager["Campaign", None]):
    """Ask about a few rows, label them all, and know how good the labels are.

    Parameters
    ----------
    data, features, embed
        The rows, what they are compared by, and which models read their texts and images: see `bela.features.prepare`;
        or data that were prepared before.
    method, seed
        How questions are chosen and rows labelled, by name, and all that is random.
    target, class_target, confidence, budget
        Stop when at least this share of the labels is certified right, and this share of those of each class, with this
        confidence (None to go on), or after this many answers (None for as many as there are rows).
    classes
        The only labels allowed; None where they become known as they are answered.
    labels
        Labels that the data bring with them, free of charge: by row, or one entry a row with None or NaN for no label.
    predictions
        Labels that something has given to all rows or to some (None) before, by name: the labels, or a pair of labels
        and scores, the higher the surer. With these, `data` may be None: then nothing else is known of the rows.
    helper : what answers too but is not believed, as for `use_helper`.
    fingerprint, journal, arrays
        A digest of the data, if any; where what happens is written before it takes effect, and arrays of revisions are
        kept. A journal that has events in it is folded: the campaign goes on where it was.
    background
        Make revisions in a thread of their own, and go on asking meanwhile.
    progress, witness
        Called for each event of the journal: with its number, and before it is folded with book, method and event.
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
        self, data: object, *, features: str = "auto", embed: Embed = None, method: str = DEFAULT_METHOD,
        target: float | None = None, class_target: float | None = None, budget: int | None = None,
        confidence: float = 0.95, classes: Iterable[Label] | None = None, helper: object = None, seed: int = 0,
        labels: Mapping[int, Label] | Sequence[Label | None] | None = None,
        predictions: Mapping[str, Any] | None = None,
        fingerprint: str | None = None, journal: Journal | None = None, arrays: ArrayStore | None = None,
        background: bool = False, progress: Progress | None = None, witness: Witness | None = None, **options: object,
    ) -> None:  # fmt: skip
        inputs.check_seed(seed)
        prepared = inputs.prepare_rows(data, predictions, features=features, embed=embed, seed=int(seed))
        self.prepared, self.source, n_rows = prepared, prepared.source, prepared.source.n_rows
        limits = check_limits(target, budget, n_rows, class_target=class_target, method=method)
        self.confidence, self.seed, self.method_name = float(confidence), int(seed), method
        given, said = inputs.given_labels(labels, n_rows), inputs.split_predictions(predictions, n_rows)
        self.book = Book(n_rows, classes=classes, given=given, set_aside=prepared.unreadable)
        codes, self.predictions = self.book.codes, inputs.encode_predictions(said, self.book.codes)
        key = inputs.draw_key(self.source, self.seed, given, said, fingerprint)
        arrays = MemoryArrays() if arrays is None else arrays
        setup = Setup(
            source=self.source, confidence=self.confidence, seed=self.seed, key=int(key, 16), arrays=arrays,
            predictions=self.predictions,
        )  # fmt: skip
        self.method = make_method(method, setup, **options)
        self._let_go: Callable[[], None] | None = None  # of the folder that it was opened from
        self.unseen: tuple[str, ...] = ()  # columns that whoever answers must not see
        self._recorder = Recorder(self.book, self.method)
        self._revising = Revising(self.method, self.book, arrays, self._recorder.record, background=background)
        self._helping = Helping(self.method, self.book, self._recorder.make, background=background)
        self.use_helper(helper)
        began = Began(
            method=method, n_rows=n_rows, confidence=self.confidence, seed=self.seed, key=key,
            classes=codes.names if codes.closed else None, n_given=len(given), **limits,
            set_aside=tuple(self.book.set_aside),
        )  # fmt: skip
        self._recorder.begin(began, journal, progress, witness)

    @classmethod
    def open(cls, path: str | Path, *, allow_code: bool = False) -> "Campaign":
        """Go on with a campaign that lives in a folder, by `open_campaign`; `close` it in the end."""
        from bela.campaign._folder import open_campaign  # which needs this class

        stored = open_campaign(Path(path), allow_code=allow_code)
        stored.campaign._let_go = stored.close
        stored.campaign.unseen = (*stored.hidden, *filter(None, [stored.settings.prediction]))
        return stored.campaign

    def close(self) -> None:
        """Let others write to the folder of a campaign that was opened; everything is on disk already."""
        if self._let_go is not None:
            self._let_go()

    def __exit__(self, *error: object) -> None:
        self.close()

    def use_helper(self, helper: object) -> None:
        """Have labels, a function from rows or an oracle teach without being believed, and get no draws; or nobody."""
        self._helping.helper = None if helper is None else make_oracle(helper, self.n_rows)

    # ---------------------------------------------------------------------------------------- ask and tell

    def ask(self, n: int = 1, *, wait: bool = True) -> list[Question]:
        """Return up to n open questions, the oldest first; asking again before telling gives the same ones.

        Where there is nothing to ask until a revision is made in the background, that is waited for, unless `wait` is
        False; then there are no questions for now.
        """
        if n < 1:
            raise ParameterError(f"ask for at least one question, not {n}")
        book = self.book
        self._recorder.catch_up()
        while True:
            wanted = n - len(book.open)
            if book.budget is not None:
                wanted = min(wanted, book.budget - book.n_asked - len(book.open))
            if wanted <= 0:
                break
            self._helping.advance()
            self._revising.advance()
            if not self._propose(wanted):
                if not (wait and not book.open and (self._revising.under_way or self._helping.under_way)):
                    break
                self._helping.wait()
                self._revising.wait()
        return list(self.open_questions[:n])

    def _propose(self, wanted: int) -> bool:
        """Open further questions; whether there is a reason to try for more at once."""
        book = self.book
        proposals = tuple(self.method.propose(book, wanted))
        exhausted = not (proposals or book.open or self._revising.under_way or self._helping.under_way)
        if proposals or exhausted != book.exhausted:
            self._recorder.ask(Asked(version=book.version, n=wanted, questions=proposals, exhausted=exhausted))
        corrected = [question for question in book.open.values() if question.row in book.corrections]
        for question in corrected:  # somebody has said it already, with its label in sight
            self.tell(question.id, book.codes.classes[book.corrections[question.row]], suggested=True)
        return bool(corrected)

    def tell(
        self, question_id: int, label: object, *, by: str | None = None, cost: float = 0.0, suggested: bool = False
    ) -> None:
        """Give the answer to a question. Giving it twice is harmless; another answer is an error: see `relabel`.

        For the record, `by` says who answered, `cost` what that cost, and `suggested` that a label was in sight.
        """
        question, book = self.question(question_id), self.book
        said = book.codes.check(label)
        if question.id in book.open:
            values = {"question": question.id, "label": said, "by": by, "cost": float(cost), "suggested": suggested}
            self._recorder.make(events.Answered, **values)
            return
        known = book.answer_to(question.id)
        if known is None:
            raise QuestionError(f"question {question_id} was skipped: undo that first, or relabel row {question.row}")
        if said != known:
            what = f"to change that, relabel row {question.row}"
            raise QuestionError(f"question {question_id} was answered with {known!r}: {what}")

    def skip(self, question_id: int, *, by: str | None = None, cost: float = 0.0) -> None:
        """Leave a question unanswered; its row is labelled like the others of its leaf."""
        question = self.question(question_id)
        if question.row in self.book.answered:
            raise QuestionError(f"question {question_id} is answered already: undo that first")
        if question.id in self.book.open:
            self._recorder.make(events.Skipped, question=question.id, by=by, cost=float(cost))

    def reject(self, question_id: int, *, by: str | None = None, cost: float = 0.0, suggested: bool = False) -> None:
        """Say that the label under audit is wrong, without saying what is right."""
        question, book = self.question(question_id), self.book
        if question.id in book.open:
            self._recorder.make(events.Rejected, question=question.id, by=by, cost=float(cost), suggested=suggested)
        elif question.row not in book.rejected:
            raise QuestionError(f"question {question_id} is answered or skipped already: undo that first")

    def together(self) -> AbstractContextManager[None]:
        """Write several answers, skips, opinions or new classes at once: when the block ends, all are on disk, or none.

        They must be about different questions and name classes that there are, as each is checked against how things
        were before the block, and takes effect after it.
        """
        return self._recorder.together()

    def undo(self, *, by: str | None = None) -> Question | None:
        """Take back the last answer, skip or change; the question that is open again, if it was about one.

        With `by`, the last answer, skip, opinion, flag or relabelling of that person, whatever others did since. What
        others have said about the same row since is not undone by that, so then it is an error.
        """
        event = self.book.steps[self.book.step_to_undo(by)].event
        self._recorder.make(events.Undone, by=by)
        if isinstance(event, (events.Answered, events.Skipped, events.Rejected)):
            return self.book.questions[event.question]
        return None

    def relabel(self, row: int, label: Label, *, by: str | None = None) -> None:
        """Say what a row is: an answer or a given label is changed, as if it had been given at first.

        A row that was never asked is corrected in the result. That trains nothing and bounds nothing, as nobody knows
        what it was chosen by; should it be asked later, it is answered already.
        """
        self._check_row(row)
        self._recorder.make(events.Relabelled, row=int(row), label=self.book.codes.check(label), by=by)

    def opine(self, question_id: int, label: Label, *, by: str) -> None:
        """Say what somebody else thinks of a question that is answered; saying the same twice is harmless.

        Opinions tell how far people agree. Nothing else rests on them: labels and certificate rest on the answer, until
        somebody settles the matter with `relabel`.
        """
        question, book = self.question(question_id), self.book
        label = book.codes.check(label)
        if question.row not in book.answered:
            raise QuestionError(f"question {question_id} is not answered: there is nothing to give an opinion on")
        said = book.said[question_id].get(by)
        if said is None:
            self._recorder.make(events.SecondOpinion, question=question.id, label=label, by=by)
        elif book.code_now(said) != book.codes.find(label):
            known = book.codes.classes[book.code_now(said)]
            what = f"undo that, or relabel row {question.row}"
            raise QuestionError(f"{by} has answered question {question_id} with {known!r}: {what}")

    def tell_again(self, question_id: int, label: Label | None, *, by: str | None = None) -> None:
        """Answer a draw a second time, or skip it; this only tells how far people agree with themselves."""
        question, book = self.question(question_id), self.book
        said = None if label is None else book.codes.check(label)
        before, code = book.again.get(question.id), UNKNOWN if said is None else book.codes.find(said)
        if before is None or book.code_now(before[1]) != code:  # the same twice is harmless
            book.said_at_first(question.id, by)  # or it is an error
            self._recorder.make(events.AnsweredAgain, question=question.id, label=said, by=by)

    def flag(self, row: int, comment: str = "", *, by: str | None = None) -> None:
        """Mark a row for later, with a comment."""
        self._check_row(row)
        self._recorder.make(events.Flagged, row=int(row), comment=comment, by=by)

    def set_target(self, *, target: float | None, budget: int | None, class_target: float | None = None) -> None:
        """Change when to stop."""
        limits = check_limits(target, budget, self.n_rows, class_target=class_target, method=self.method_name)
        if limits != {name: getattr(self.book, name) for name in limits}:
            self._recorder.make(events.TargetSet, **limits)

    # ----------------------------------------------------------------------------------------- what it says now

    @property
    def assessment(self) -> Assessment:
        """What the method makes of all that is known."""
        return self.method.assess(self.book)

    @property
    def certificate(self) -> Certificate:
        """The lower bound on the share of right labels, as things are."""
        return self.assessment.certificate

    def by_class(self) -> tuple[ClassBound, ...] | None:
        """Bound the share of right labels in each class, all at once; None where the method does not say."""
        return None if (parts := self.assessment.parts) is None else parts.by_class

    def sure(self, share: float) -> SurePart | None:
        """Return the rows of which at least 0.9, 0.95 or 0.99 are right; None where the method does not say."""
        return None if (parts := self.assessment.parts) is None else parts.at(share)

    @property
    def forecast(self) -> Forecast | None:
        """How many more answers the target is expected to take; None where the method cannot tell."""
        reached = all_reached(self.book, self.assessment)
        return Forecast(answers=0, low=0, high=0) if reached else self.assessment.forecast

    @property
    def ladder(self) -> tuple[Rung, ...]:
        """What 70, 80, 90, 95 and 99 % are expected to take; empty where the method cannot tell."""
        return self.assessment.ladder

    @property
    def stop_reason(self) -> StopReason | None:
        """Why there is no need to go on, or None while there is."""
        if self.assessment.refuted:
            return StopReason.REFUTED
        if all_reached(self.book, self.assessment):
            return StopReason.TARGET
        if self.book.exhausted:
            return StopReason.EXHAUSTED
        if self.book.budget is not None and self.book.n_asked >= self.book.budget:
            return StopReason.BUDGET
        return None

    @property
    def target(self) -> float | None:
        """The share of labels to certify, if there is one."""
        return self.book.target

    @property
    def class_target(self) -> float | None:
        """The share of the labels of each class to certify, if there is one."""
        return self.book.class_target

    @property
    def budget(self) -> int | None:
        """The most answers to ask for, if there is a limit."""
        return self.book.budget

    @property
    def n_asked(self) -> int:
        """How many answers the oracle has given."""
        return self.book.n_asked

    @property
    def n_rows(self) -> int:
        """How many rows there are to label."""
        return self.book.n_rows

    @property
    def open_questions(self) -> tuple[Question, ...]:
        """Questions that wait for an answer, the oldest first."""
        return tuple(self.book.open[question] for question in sorted(self.book.open))

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes declared or seen so far."""
        return self.book.codes.names

    @property
    def revising(self) -> bool:
        """Whether a revision is being made just now, in the background."""
        return self._revising.under_way and self._revising.busy

    def question(self, question_id: int) -> Question:
        """Return a question that was asked at some time."""
        if not (isinstance(question_id, (int, np.integer)) and 0 <= question_id < len(self.book.questions)):
            raise QuestionError(f"there is no question {question_id}: ask first")
        return self.book.questions[question_id]

    def result(self) -> Result:
        """Label every row as the method does, with what people said in its place."""
        reason, new = self.stop_reason or StopReason.STOPPED, partial(predict_new, self)
        return make_result(self.book, self.assessment, reason, method=self.method_name, seed=self.seed, predictor=new)

    def run(self, oracle: object, *, progress: Watching = None) -> Result:
        """Ask and tell until there is a reason to stop.

        What takes more than two seconds shows how far it has come, unless `progress` is False; True shows it at once.
        A function is called after each answer instead.
        """
        from bela.campaign._run import run_campaign  # which needs this class

        with watching(progress) as show:
            run_campaign(self, make_oracle(oracle, self.n_rows), every=None, progress=show)
        return self.result()

    def __repr__(self) -> str:
        return in_a_line(self)

    def _repr_html_(self) -> str:
        return as_a_card(self)

    def widget(self, **options: Any) -> Any:
        """Answer in a notebook, by `bela.notebook.make_widget`; that needs `pip install bela[notebook]`."""
        return WIDGETS["answering"](self, **options)

    def _check_row(self, row: int) -> None:
        if not (isinstance(row, (int, np.integer)) and 0 <= row < self.n_rows):
            raise QuestionError(f"there is no row {row}: rows go from 0 to {self.n_rows - 1}")
