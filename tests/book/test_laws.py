"""Laws of the book, for any sensible events in any order."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.book import (
    Answered,
    Asked,
    Book,
    ClassAdded,
    ClassMerged,
    Relabelled,
    Undone,
    flags,
    n_said,
    opinions,
    read_event,
    undo_step,
)
from bela.errors import JournalError, QuestionError
from bela.records import Proposal, Role

BOOKS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("books.py"))))
FUZZ = int(os.environ.get("BELA_FUZZ_TIMES", "1"))  # so many times the usual number of examples
scripts = BOOKS.scripts
fuzz = settings(max_examples=100 * FUZZ)


@fuzz
@given(before=scripts, after=scripts)
def test_undoing_all_leads_back(before: list[Any], after: list[Any]) -> None:
    """Whatever happens, taking back all steps since leads to how things were, facts aside, and those stay."""
    book = BOOKS.new_book()
    BOOKS.live(book, before)
    was, version, n_steps = BOOKS.state(book, facts=False), book.version, len(book.steps)
    events = BOOKS.live(book, [choice for choice in after if choice[0] != "undone"])
    facts = (list(book.questions), book.asked.tolist(), list(book.revisions), book.cost)
    while book.steps and book.steps[-1].number >= version:
        book.apply(Undone())
    asked = {question.id for question in book.questions[len(book.questions) - _n_asked(events) :]}
    was["open"] |= asked
    assert BOOKS.state(book, facts=False) == was
    assert (book.questions, book.asked.tolist(), book.revisions, book.cost) == facts
    if n_steps == 0:
        assert not book.said


def _n_asked(events: list[Any]) -> int:
    return sum(len(event.questions) for event in events if isinstance(event, Asked))


@fuzz
@given(script=scripts)
def test_a_book_is_what_its_written_events_say(script: list[Any]) -> None:
    """After every event, the book folded from the events as JSON has them equals the live one."""
    book = BOOKS.new_book()
    written = [json.dumps([book.began.kind, book.began.model_dump(mode="json", exclude_defaults=True)])]
    for choice in script:
        event = BOOKS.make_event(book, choice)
        if event is None:
            continue
        book.apply(event)
        written.append(json.dumps([event.kind, event.model_dump(mode="json", exclude_defaults=True)]))
        kind, data = json.loads(written[-1])
        assert read_event(7, kind, data) == event
        again = Book(BOOKS.N_ROWS, given=BOOKS.GIVEN)
        for seq, line in enumerate(written, start=1):
            again.replay(seq, read_event(seq, *json.loads(line)))
        assert BOOKS.state(again) == BOOKS.state(book)


@fuzz
@given(script=scripts)
def test_the_slow_model_agrees(script: list[Any]) -> None:
    """Merges, corrections, relabels and undo in any order come to what is found by beginning again from the first."""
    book, slow = BOOKS.new_book(), BOOKS.Slow()
    for choice in [*script, *[BOOKS.undo()] * 80]:
        for event in BOOKS.live(book, [choice]):
            slow.apply(event)
            found, expected = BOOKS.state(book), slow.state()
            assert {name: found[name] for name in expected} == expected


@fuzz
@given(script=scripts)
def test_changes_tell_all(script: list[Any]) -> None:
    """Whoever follows the changes alone knows which rows are known, of which class, and which are declined."""
    book = BOOKS.new_book()
    follower = BOOKS.Follower(book)
    for choice in script:
        event = BOOKS.make_event(book, choice)
        if event is not None:
            follower.follow(book.apply(event))
            assert follower.known.tolist() == book.known.tolist()
            assert follower.declined.tolist() == book.declined.tolist()


@fuzz
@given(script=scripts, person=st.sampled_from(BOOKS.PEOPLE[1:]))
def test_whoever_undoes_takes_back_his_own(script: list[Any], person: str) -> None:
    """Taking back all that one person did leaves what others did; a row that others spoke about since is an error."""
    book = BOOKS.new_book()
    BOOKS.live(book, script)
    while True:
        others = [step.event for step in book.steps if step.event.by != person]
        try:
            what = undo_step(book, person)
        except QuestionError:
            with pytest.raises(QuestionError):
                book.step_to_undo(person)
            break
        mine = book.steps[book.step_to_undo(person)].event
        assert mine.by == person
        assert what.question == getattr(mine, "question", None)
        book.apply(Undone(by=person))
        assert [step.event for step in book.steps if step.event.by != person] == others


@fuzz
@given(script=scripts)
def test_what_is_read_from_a_book(script: list[Any]) -> None:
    """Opinions, counts and flags are there at any moment, and agree with each other."""
    book = BOOKS.new_book()
    BOOKS.live(book, script)
    said = opinions(book)
    assert {one.question for one in said} == {*book.answered.values()}
    assert all(one.label == book.answer_to(one.question) for one in said)
    assert sum(n_said(book).values()) >= sum(len(one.said) for one in said)
    assert all(0 <= flag.row < book.n_rows for flag in flags(book))
    assert book.n_asked + book.n_skipped + len(book.open) == len(book.questions)
    assert book.n_known == len(BOOKS.GIVEN) + len(book.answered)


def test_questions_that_are_stale() -> None:
    """Questions that were chosen from another book than this one are refused, live and from a journal."""
    book = BOOKS.new_book()
    stale = Asked(version=book.version, n=1, questions=(Proposal(row=1, role=Role.TRAINING),))
    book.apply(Relabelled(row=3, label="c"))
    before = BOOKS.state(book)
    for event in (stale, stale.model_copy(update={"version": book.version + 1})):
        with pytest.raises(QuestionError, match=r"chosen after event \d, not after 2"):
            book.apply(event)
        with pytest.raises(JournalError, match="chosen after event"):
            book.replay(3, event)
    assert BOOKS.state(book) == before
    book.apply(stale.model_copy(update={"version": book.version}))
    assert [question.row for question in book.open.values()] == [1]


def test_events_out_of_order() -> None:
    """An event that is missing, or there twice, is noticed by its number."""
    book = BOOKS.new_book()
    with pytest.raises(JournalError, match="event 3 of the journal makes no sense: relabelled, it follows event 1"):
        book.replay(3, Relabelled(row=3, label="c"))


@pytest.mark.parametrize("first", ["rename", "merge"])
def test_a_name_that_comes_back(first: str) -> None:
    """A class may get the name that another had; when that is taken back, each row is of its class again."""
    book = BOOKS.new_book()
    change = {"rename": ("class renamed", 0, "a", "z", None), "merge": ("class merged", 0, "a", "b", None)}[first]
    BOOKS.live(book, [change])
    book.apply(Asked(version=book.version, n=1, questions=(Proposal(row=1, role=Role.TRAINING),)))
    book.apply(Answered(question=0, label="a", by="Ann"))
    assert (book.label(0), book.label(1)) == ("z" if first == "rename" else "b", "a")
    book.apply(Undone(by="Ann"))
    book.apply(Undone())
    assert (book.label(0), book.label(1), book.label(5)) == ("a", None, "a")
    book.apply(Answered(question=0, label="a"))
    assert book.known[0] == book.known[1]


def test_a_merge_forgets_what_was_taken_back() -> None:
    """A row whose label somebody takes back after a merge is not of the merged class when that is taken back, too."""
    book = BOOKS.new_book()
    for event in (Relabelled(row=0, label="b", by="Ann"), ClassAdded(label="c"), ClassMerged(old="b", into="c")):
        book.apply(event)
    book.apply(Undone(by="Ann"))
    assert (book.label(0), book.label(3)) == ("a", "c")
    book.apply(Undone())
    assert (book.label(0), book.label(3)) == ("a", "b")
