"""Journals that somebody has written to with other tools: one sentence, never a traceback."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela import Campaign
from bela.campaign._state import _HAPPENINGS
from bela.errors import JournalError, ParameterError
from bela.journal import MemoryJournal

FUZZ = int(os.environ.get("BELA_FUZZ_TIMES", "1"))  # so many times the usual number of examples
LIVES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("lives.py"))))
EVENTS: dict[str, dict[str, Any]] = {
    "asked": {"n": 1, "questions": [[0, "training", 0]], "revisions": 0},
    "answered": {"question": 0, "label": "a", "by": "Ann", "cost": 0.5},
    "skipped": {"question": 0, "by": "Ann", "cost": 0.5},
    "relabelled": {"row": 3, "label": "b", "by": "Ann"},
    "opinion": {"question": 1, "label": "a", "by": "Bob"},
    "flagged": {"row": 3, "comment": "look", "by": "Ann"},
    "undone": {"by": "Ann"},
    "class added": {"label": "z", "by": "Ann"},
    "class renamed": {"old": "a", "new": "z", "by": "Ann"},
    "class merged": {"old": "a", "into": "b", "by": "Ann"},
    "aimed": {"target": 0.5, "budget": 30},
    "begun": {"about": {}},
}
odd = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 60), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3), st.lists(st.integers(-2, 50), max_size=3), st.lists(st.lists(st.text(max_size=2), max_size=3)),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.just([[3, "bounds", 0]]), st.just([[3, "training", 0]]), st.just([[-1, "training", 0]]), st.just([[3, "x", 0]]),
)  # fmt: skip


def test_every_kind_of_event_is_here() -> None:
    """All that happens in a campaign is tampered with below."""
    assert EVENTS.keys() == {*_HAPPENINGS, "asked", "begun"}


@pytest.fixture(scope="module")
def past() -> list[tuple[str, dict[str, Any]]]:
    """What happened before: some answers, one of them undone, one question open, opinions."""
    life = LIVES.Life("bela")
    for deed in (("answer", 5, "Ann"), ("answer", 9, None), ("opine", 0, "b", "Bob"), ("undo", None), ("ask", 2)):
        assert life.do(deed)
    result: list[tuple[str, dict[str, Any]]] = life.journal.plain()
    return result


@settings(max_examples=60 * FUZZ)
@given(data=st.data())
def test_events_that_make_no_sense(past: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    """An event with particulars missing, odd or added, at any place: an error that says which, or it makes sense."""
    kind = data.draw(st.sampled_from([*EVENTS, "nonsense"]))
    particulars = dict(EVENTS.get(kind, {}))
    for _ in range(data.draw(st.integers(0, 2))):
        name = data.draw(st.sampled_from([*particulars, "more"]))
        if data.draw(st.integers(0, 3)) == 0:
            particulars.pop(name, None)
        else:
            particulars[name] = data.draw(odd)
    place = data.draw(st.integers(0, len(past)))
    journal = MemoryJournal()
    journal.append([*past[:place], (kind, particulars), *past[place:]])
    X, _ = LIVES.data(0)
    learner = LIVES.Neighbours(X, LIVES.Gate())
    try:
        campaign = Campaign(X, target=0.9, journal=journal, learner=learner)
    except JournalError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either is fine
        return
    LIVES.view(campaign)
    for question in campaign.ask(3):
        campaign.tell(question.id, "a")
    LIVES.view(campaign)


@pytest.mark.parametrize("odd", [3, b"Ann", ["Ann"], 0.5])
def test_nothing_is_written_that_could_not_be_read(odd: Any) -> None:
    """Names and comments that are no texts, costs that are no numbers: refused before they are in the journal."""
    life = LIVES.Life("hsal")
    first, second, _ = life.campaign.ask(3)
    before = life.journal.plain()
    for deed in (
        lambda: life.campaign.tell(first.id, "a", by=odd),
        lambda: life.campaign.tell(first.id, "a", cost=float("inf")),
        lambda: life.campaign.skip(second.id, by=odd),
        lambda: life.campaign.flag(3, odd),
        lambda: life.campaign.relabel(3, "a", by=odd),
        lambda: life.campaign.add_class("a", by=odd),
    ):
        with pytest.raises(ParameterError, match="can be"):
            deed()
        assert life.journal.plain() == before
    life.campaign.tell(np.int64(first.id), np.str_("a"), by=np.str_("Ann"), cost=np.float32(0.5))
    life.campaign.aim(target=np.float64(0.5), budget=np.int64(20))
    life.campaign.relabel(np.int64(5), np.str_("b"))
    assert LIVES.differences(LIVES.view(life.again()), LIVES.view(life.campaign)) == {}
