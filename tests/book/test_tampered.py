"""Events that somebody has tampered with: one sentence, never another error."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela import Campaign
from bela.book import EVENTS, Book, Undone, count, describe_undo, opinions, read_event
from bela.errors import BelaError, JournalError, ParameterError
from bela.records import Json

BOOKS = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("books.py"))))
FUZZ = int(os.environ.get("BELA_FUZZ_TIMES", "1"))  # so many times the usual number of examples
SCRIPT = [
    ("asked", 2, "a", "a", None), ("asked", 2, "a", "a", None), ("answered", 0, "c", "a", "Ann"),
    ("answered", 1, "b", "a", None), ("second opinion", 0, "b", "a", "Bob"), ("skipped", 0, "a", "a", "Ann"),
    ("answered again", 1, "b", "a", "Ann"),
    ("rejected", 1, "a", "a", "Bob"), ("relabelled", 3, "d", "a", "Ann"), ("relabelled", 0, "b", "a", None),
    ("flagged", 2, "a", "a", "Ann"), ("class added", 0, "e", "a", "Ann"), ("class renamed", 0, "e", "z", None),
    ("class merged", 0, "a", "b", None), ("class deleted", 0, "c", "a", "Bob"), ("target set", 3, "a", "a", None),
    ("revised", 0, "a", "a", None),
    ("undone", 0, "a", "a", "Ann"), ("undone", 0, "a", "a", None),
    ("helper began", 0, "a", "a", None), ("helped", 3, "a", "b", None), ("helper ended", 0, "a", "a", None),
]  # fmt: skip
ODD: tuple[Json, ...] = (
    None, True, False, -1, 0, 1, 3, 8, 9, 10**30, 0.5, -0.5, 1e308, "", "a", "nonsense", "\ud800", "two\nlines",
    [], {}, [1], [["x"]], [[1, "training", 0]], [[1, "training", 0], [1, "training", 0]], [[99, "training", 0]],
    [[1, "bounds", 0, [0.0]]], [[1, "bounds", 0, ["x"]]], [[1, "bounds", 0, 3]], [[1, "x", 0]], [[True, "training", 0]],
    [[1, ["training"], 0]], [[-1, "training", 0]], {"a": 1},
)  # fmt: skip


def whole() -> list[tuple[str, dict[str, Json]]]:
    """A journal with every kind of event."""
    book = BOOKS.new_book()
    events = [book.began, *BOOKS.live(book, SCRIPT)]
    return [(event.kind, event.model_dump(mode="json", exclude_defaults=True)) for event in events]


WHOLE = whole()


def fold(written: list[tuple[str, dict[str, Json]]]) -> Book:
    """Fold what is written."""
    book = Book(BOOKS.N_ROWS, given=BOOKS.GIVEN)
    for seq, (kind, data) in enumerate(written, start=1):
        book.replay(seq, read_event(seq, kind, data))
    return book


def check(written: list[tuple[str, dict[str, Json]]]) -> None:
    """It is refused in one sentence, or makes sense, and then all of it can be read and taken back."""
    try:
        book = fold(written)
    except JournalError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either is fine
        assert "the journal" in str(error)  # noqa: PT017
        return
    count(book), opinions(book), describe_undo(book), BOOKS.state(book)
    while book.steps:
        book.apply(Undone())
        BOOKS.state(book)


def test_every_kind_of_event_is_here() -> None:
    """The journal that is tampered with has all kinds of events, and makes sense as it is."""
    assert {kind for kind, _ in WHOLE} == set(EVENTS)
    assert fold(WHOLE).version == len(WHOLE)


@pytest.mark.parametrize("kind", EVENTS)
def test_nonsense_in_every_field(kind: str) -> None:
    """Every field of every event replaced, removed or added, at its place in a journal."""
    for place, (there, data) in enumerate(WHOLE):
        if there != kind:
            continue
        for name in [*EVENTS[kind].model_fields, "more"]:
            for value in ODD:
                check([*WHOLE[:place], (kind, data | {name: value}), *WHOLE[place + 1 :]])
            check([*WHOLE[:place], (kind, {key: data[key] for key in data if key != name}), *WHOLE[place + 1 :]])


@settings(max_examples=150 * FUZZ)
@given(data=st.data())
def test_events_at_other_places(data: st.DataObject) -> None:
    """Events moved, left out, repeated, or with particulars of others."""
    written: list[tuple[str, Any]] = list(WHOLE)
    for _ in range(data.draw(st.integers(1, 3))):
        place, other = data.draw(st.integers(0, len(written) - 1)), data.draw(st.sampled_from(WHOLE))
        match data.draw(st.integers(0, 3)):
            case 0 if len(written) > 1:
                del written[place]
            case 1:
                written.insert(place, other)
            case 2:
                written[place] = (written[place][0], other[1])
            case _:
                written[place] = (data.draw(st.text(max_size=5)), written[place][1])
    check(written)


@pytest.mark.parametrize("kind", EVENTS)
def test_no_event_is_made_that_makes_no_sense(kind: str) -> None:
    """Whoever makes an event of nonsense gets one sentence, too."""
    data = next(data for there, data in WHOLE if there == kind)
    with pytest.raises(ParameterError, match="more cannot be 1") as caught:
        Campaign([[0.0], [1.0]], method="random")._recorder.make(EVENTS[kind], **data, more=1)
    assert isinstance(caught.value, BelaError)
    assert "\n" not in str(caught.value)
