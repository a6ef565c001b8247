"""Draws that were answered again, and answers with a suggestion in sight: counted, written, taken back, never used."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from bela.book import (
    Answered,
    AnsweredAgain,
    Asked,
    Began,
    Book,
    ClassMerged,
    Event,
    Rejected,
    Relabelled,
    Undone,
    again,
    describe_undo,
    read_event,
    undo_step,
)
from bela.errors import QuestionError
from bela.records import Proposal, Role


def make_book() -> Book:
    """Return a book with two draws (0 and 1) and a training question (2), all answered."""
    book = Book(5)
    book.apply(Began(method="bela", n_rows=5, confidence=0.95, seed=0, key="k"))
    roles = (Role.BOUNDS, Role.BOUNDS, Role.TRAINING)
    plan = tuple(Proposal(row=row, role=role) for row, role in enumerate(roles))
    book.apply(Asked(version=1, n=3, questions=plan))
    for question, (label, by) in enumerate((("a", "Ann"), ("b", None), ("a", "Ann"))):
        book.apply(Answered(question=question, label=label, by=by, suggested=question != 1))
    return book


def counts(book: Book) -> tuple[int, int]:
    """How many were asked again, and how many agreed."""
    return again(book).asked, again(book).agreed


def test_an_answer_again_changes_nothing_else() -> None:
    """No label, no count of answers, nothing for a method to follow."""
    book = make_book()
    before = (book.known.tolist(), dict(book.answered), dict(book.n_answers), dict(book.said), book.n_asked, book.cost)
    assert book.apply(AnsweredAgain(question=0, label="b", by="Ann")) is None
    assert book.apply(AnsweredAgain(question=1, label="b", by="Ann")) is None
    after = (book.known.tolist(), dict(book.answered), dict(book.n_answers), dict(book.said), book.n_asked, book.cost)
    assert after == before
    assert counts(book) == (2, 1)


def test_it_is_undone_like_anything_else() -> None:
    """By the last step or by whoever did it; the first answer stays until the second is taken back."""
    book = make_book()
    book.apply(AnsweredAgain(question=0, label="a", by="Ann"))
    assert describe_undo(book) == "row 0 was answered a second time"
    assert asdict(undo_step(book, "Ann")) == {"kind": "again", "question": 0, "row": 0}
    book.apply(Undone(by="Ann"))
    assert counts(book) == (0, 0)
    book.apply(AnsweredAgain(question=0, label="b"))  # by nobody knows whom
    book.apply(Undone(by="Ann"))  # her training answer
    with pytest.raises(QuestionError, match="has said something about row 0 since"):
        book.apply(Undone(by="Ann"))
    book.apply(Undone())
    book.apply(Undone(by="Ann"))
    assert book.label(0) is None


def test_what_was_said_at_first_is_compared() -> None:
    """Not what the row was relabelled to; classes that are merged since are one; left open, it counts for nothing."""
    book = make_book()
    book.apply(Relabelled(row=0, label="b", by="Bob"))
    book.apply(AnsweredAgain(question=0, label="b", by="Ann"))
    book.apply(AnsweredAgain(question=1))
    assert counts(book) == (1, 0)
    book.apply(ClassMerged(old="b", into="a"))
    assert counts(book) == (1, 1)
    book.apply(Undone())
    assert counts(book) == (1, 0)


@pytest.mark.parametrize("question", [0, 2])
def test_only_draws_that_are_answered_and_only_once(question: int) -> None:
    """A training question, one that is open, and one that was answered again before are refused."""
    book = make_book()
    if question == 0:
        book.apply(AnsweredAgain(question=0, label="a", by="Ann"))
    with pytest.raises(QuestionError, match="no draw that can be answered again"):
        book.apply(AnsweredAgain(question=question, label="a", by="Ann"))
    book.apply(Undone())
    book.apply(Undone())
    with pytest.raises(QuestionError):
        book.apply(AnsweredAgain(question=2, label="a", by="Ann"))


def test_what_was_in_sight_is_counted_by_role_and_taken_back() -> None:
    """Answers and rejections alike."""
    book = make_book()
    assert book.n_suggested == {Role.TRAINING: 1, Role.BOUNDS: 1}
    book.apply(Asked(version=book.version, n=1, questions=(Proposal(row=3, role=Role.BOUNDS),)))
    book.apply(Rejected(question=3, suggested=True))
    assert book.n_suggested == {Role.TRAINING: 1, Role.BOUNDS: 2}
    for left in ((1, 1), (0, 1), (0, 1), (0, 0)):
        book.apply(Undone())
        assert (book.n_suggested[Role.TRAINING], book.n_suggested[Role.BOUNDS]) == left


def test_journals_from_before_are_read() -> None:
    """An answer that says nothing about a suggestion had none in sight, and writes nothing about it."""
    old = read_event(3, "answered", {"question": 0, "label": "a", "by": "Ann"})
    assert isinstance(old, Answered)
    assert not old.suggested
    assert old.model_dump(mode="json", exclude_defaults=True) == {"question": 0, "label": "a", "by": "Ann"}


def test_replay_is_the_same() -> None:
    """From what is written the same book comes about."""
    book = make_book()
    events: list[Event] = [AnsweredAgain(question=0, label="b", by="Ann"), AnsweredAgain(question=1), Undone()]
    twin = make_book()
    for event in events:
        book.apply(event)
        data = event.model_dump(mode="json", exclude_defaults=True)
        twin.replay(twin.version + 1, read_event(twin.version + 1, event.kind, data))
    assert (twin.again, twin.n_suggested, counts(twin)) == (book.again, book.n_suggested, counts(book))
