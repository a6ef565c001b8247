"""The laws that every journal keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bela.storage
from bela.errors import JournalError
from bela.protocols import Journal
from bela.storage import MemoryJournal, SQLiteJournal

JOURNALS: dict[str, Callable[[Path], Journal]] = {
    "MemoryJournal": lambda folder: MemoryJournal(),
    "SQLiteJournal": lambda folder: SQLiteJournal(folder / "journal.sqlite", create=True),
}

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
events = st.lists(
    st.tuples(st.sampled_from(["answered", "class added", ""]), st.dictionaries(st.text(), plain, max_size=3)),
    max_size=4,
)


@pytest.fixture(params=JOURNALS)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An empty journal of each kind."""
    made = JOURNALS[request.param](tmp_path)
    yield made
    made.close()


def contents(journal: Journal, after: int = 0) -> list[tuple[int, str, dict[str, Any]]]:
    return [(event.seq, event.kind, event.data) for event in journal.events(after)]


def test_every_journal_is_here() -> None:
    """A class that the package exports as a journal runs through these laws."""
    exported = {name for name in bela.storage.__all__ if hasattr(getattr(bela.storage, name), "events")}
    assert exported == set(JOURNALS)


def test_it_keeps_the_protocol(journal: Journal) -> None:
    """A journal is what the seam says, and starts empty."""
    assert isinstance(journal, Journal)
    assert contents(journal) == []
    assert journal.append([]) == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(events, max_size=4))
def test_what_goes_in_comes_out(journal: Journal, batches: list[Any]) -> None:
    """Events come back in order, numbered from one without gaps, in the shape in which `append` returned them."""
    before = contents(journal)
    for batch in batches:
        returned = journal.append(batch)
        assert [(event.kind, event.data) for event in returned] == batch
        before += [(event.seq, event.kind, event.data) for event in returned]
    assert contents(journal) == before
    assert [seq for seq, _, _ in before] == list(range(1, len(before) + 1))
    for after in (0, len(before) // 2, len(before)):
        assert contents(journal, after) == before[after:]


def test_one_shape_of_data(journal: Journal) -> None:
    """Whatever was given as a tuple is a list, at once and later; all the keys are texts."""
    [event] = journal.append([("asked", {"questions": ((1, "bounds", 0),), "n": 1, "names": {3: "x"}})])
    assert event.data == {"questions": [[1, "bounds", 0]], "n": 1, "names": {"3": "x"}}
    assert [again.data for again in journal.events()] == [event.data]


def test_all_or_none(journal: Journal) -> None:
    """If one event cannot be written down, none of its batch is, and the journal goes on as before."""
    journal.append([("answered", {"question": 0})])
    for bad in (math.nan, math.inf, object(), {1, 2}, b"bytes"):
        with pytest.raises(JournalError, match="cannot be written down"):
            journal.append([("answered", {"question": 1}), ("answered", {"question": bad})])
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(JournalError, match="cannot be written down"):
        journal.append([("answered", {"question": deep})])
    assert contents(journal) == [(1, "answered", {"question": 0})]
    journal.append([("answered", {"question": 1})])
    assert [seq for seq, _, _ in contents(journal)] == [1, 2]


def test_halves_of_characters(journal: Journal) -> None:
    """A user name from a system without UTF-8 has characters that are none: it is kept all the same."""
    journal.append([("answered", {"by": "J\udcfcrgen", "label": "Käfer 🪲"})])
    assert contents(journal) == [(1, "answered", {"by": "J\udcfcrgen", "label": "Käfer 🪲"})]


def test_what_happened_cannot_be_changed(journal: Journal) -> None:
    """Whoever changes the event that was returned changes his copy."""
    [event] = journal.append([("answered", {"label": "cat", "list": [1]})])
    event.data["label"] = "dog"
    event.data["list"].append(2)
    assert contents(journal) == [(1, "answered", {"label": "cat", "list": [1]})]
    next(journal.events()).data.clear()
    assert contents(journal) == [(1, "answered", {"label": "cat", "list": [1]})]


def test_events_beyond_the_end(journal: Journal) -> None:
    """To go on after an event that there is none of is an error, not silence."""
    journal.append([("answered", {})])
    assert contents(journal, 1) == []
    with pytest.raises(JournalError, match="no event 2"):
        contents(journal, 2)


def test_reading_while_writing(journal: Journal) -> None:
    """Events may be appended while somebody goes through them."""
    journal.append([("answered", {"question": i}) for i in range(5)])
    seen = []
    for event in journal.events():
        seen.append(event.seq)
        if event.seq == 2:
            journal.append([("undone", {})])
    assert seen[:5] == [1, 2, 3, 4, 5]
    assert len(contents(journal)) == 6


def test_closing_twice_is_harmless(journal: Journal) -> None:
    """A journal may be closed again."""
    journal.append([("answered", {})])
    journal.close()
    journal.close()
