"""A method against a truth, with nothing but a book and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from bela.book import (
    Answered,
    Asked,
    Began,
    Book,
    ClassDeleted,
    ClassMerged,
    Event,
    Rejected,
    Relabelled,
    Skipped,
    TargetSet,
    Undone,
)
from bela.data import ArraySource
from bela.methods import make_method
from bela.protocols import Method, Setup
from bela.records import UNKNOWN, Assessment, Prediction, Question, Role
from bela.storage import MemoryArrays

CLASSES = range(128)  # so that the code of a label is the label


class Game:
    """Ask what a method proposes, answer it from the truth, and keep the events, which make the game again."""

    def __init__(
        self,
        method: str,
        X: Any,
        y: np.ndarray,
        *,
        seed: int = 0,
        confidence: float = 0.95,
        target: float | None = None,
        budget: int | None = None,
        given: Mapping[int, int] | None = None,
        labels: Sequence[int] | None = None,
        scores: Sequence[float] | None = None,
        **options: Any,
    ) -> None:
        self.name, self.y, self.options, self.source = method, np.asarray(y), options, ArraySource(X)
        n_rows = self.source.n_rows
        self.given = {int(row): int(label) for row, label in (given or {}).items()}
        predictions = {}
        if method == "audit":
            codes = np.asarray(self.y if labels is None else labels)
            predictions["audited"] = Prediction(codes=codes, scores=None if scores is None else np.asarray(scores))
        self.setup = Setup(
            source=self.source, confidence=confidence, seed=seed, key=seed, arrays=MemoryArrays(),
            predictions=predictions,
        )  # fmt: skip
        self.events: list[Event] = []
        self.book, self.method = self.fresh()
        self.record(
            Began(
                method=method, n_rows=n_rows, confidence=confidence, seed=seed, key=str(seed),
                n_given=len(self.given), target=target, budget=budget,
            )
        )  # fmt: skip

    def fresh(self) -> tuple[Book, Method]:
        """An empty book, and a method that has seen nothing."""
        book = Book(self.source.n_rows, classes=CLASSES, given=self.given)
        return book, make_method(self.name, self.setup, **self.options)

    def again(self) -> Game:
        """The same game, made from its events by a method that has seen nothing."""
        other = object.__new__(Game)
        other.__dict__.update(self.__dict__)
        other.book, other.method = self.fresh()
        other.events = []
        for event in self.events:
            other.record(event)
        return other

    def record(self, event: Event) -> None:
        """Let an event happen."""
        change = self.book.apply(event)
        self.events.append(event)
        if change is not None:
            self.method.follow(self.book, change)

    # ---------------------------------------------------------------------------------------------- events

    def ask(self, n: int = 1) -> list[Question]:
        """Open up to n further questions."""
        self.revise()
        first, proposals = len(self.book.questions), tuple(self.method.propose(self.book, n))
        exhausted = not proposals and not self.book.open
        if proposals or exhausted != self.book.exhausted:
            self.record(Asked(version=self.book.version, n=n, questions=proposals, exhausted=exhausted))
        return self.book.questions[first:]

    def revise(self) -> None:
        """Make the revisions that are due."""
        while (job := self.method.revise(self.book)) is not None:
            if not job.optional:
                arrays = job.compute()
                event = job.decide(self.book, arrays)
                if event is not None:
                    self.setup.arrays.save(event.arrays, arrays)
                    self.record(event)

    def tell(self, question: Question, label: int | None = None) -> None:
        """Answer, truly unless a label says otherwise."""
        self.record(Answered(question=question.id, label=int(self.y[question.row] if label is None else label)))

    def skip(self, question: Question) -> None:
        self.record(Skipped(question=question.id))

    def reject(self, question: Question) -> None:
        self.record(Rejected(question=question.id))

    def undo(self) -> None:
        self.record(Undone())

    def relabel(self, row: int, label: int) -> None:
        self.record(Relabelled(row=int(row), label=int(label)))

    def merge(self, old: int, into: int) -> None:
        self.record(ClassMerged(old=old, into=into))

    def delete(self, label: int) -> None:
        self.record(ClassDeleted(label=label))

    def set_target(self, target: float | None, budget: int | None = None) -> None:
        self.record(TargetSet(target=target, budget=budget))

    def answer(self, n: int, batch: int | None = 1, skip: int = 0) -> list[int]:
        """Ask and answer n questions, skipping every skip-th one; return the rows in order.

        Without a batch, as many at a time as the method likes.
        """
        rows: list[int] = []
        while len(rows) < n:
            questions = self.ask(min(batch or self.assessment.batch, n - len(rows)))
            if not questions:
                break
            for question in questions:
                rows.append(question.row)
                if skip and len(rows) % skip == 0:
                    self.skip(question)
                else:
                    self.tell(question)
        return rows

    # --------------------------------------------------------------------------------------- what it says

    @property
    def assessment(self) -> Assessment:
        return self.method.assess(self.book)

    @property
    def lower(self) -> float:
        return self.assessment.certificate.lower

    @property
    def codes(self) -> np.ndarray:
        return self.assessment.labelling.codes

    @property
    def n_leaves(self) -> int:
        return self.assessment.labelling.n_leaves

    @property
    def accuracy(self) -> float:
        """The share of labels that are right."""
        return float((self.codes == self.y).mean())

    @property
    def state(self) -> tuple[Any, ...]:
        """All that the method says, to compare."""
        now = self.assessment
        labelling = now.labelling
        rest = (now.forecast, now.batch, now.reached, now.refuted, now.upper, now.as_given)
        return labelling.codes.tolist(), labelling.leaf.tolist(), labelling.n_leaves, now.certificate, rest

    def count_roles(self) -> dict[Role, int]:
        """How many answers there are for each role, counted anew."""
        counts = dict.fromkeys(Role, 0)
        for question in self.book.questions:
            counts[question.role] += bool(self.book.known[question.row] != UNKNOWN)
        return counts


@pytest.fixture(scope="session")
def play() -> type[Game]:
    """Whatever begins a game."""
    return Game
