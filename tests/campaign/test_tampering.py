"""Journals that somebody has written to with other tools: one sentence, never a traceback."""

from __future__ import annotations

import os
import runpy
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela import Campaign
from bela.book import EVENTS as KINDS
from bela.errors import JournalError, ParameterError
from bela.records import Json
from bela.storage import MemoryJournal

FUZZ = int(os.environ.get("BELA_FUZZ_TIMES", "1"))  # so many times the usual number of examples
LIVES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("lives.py"))))
EVENTS: dict[str, dict[str, Json]] = {
    "began": {"method": "bela", "n_rows": 40, "confidence": 0.95, "seed": 0, "key": "0"},
    "asked": {"version": 1, "n": 1, "questions": [[0, "training", 0]], "exhausted": True},
    "revised": {
        "version": 1, "n_answers": 5, "arrays": "first-questions", "digest": "0", "method_version": 1, "alpha": 0.01,
    },
    "answered": {"question": 0, "label": "a", "by": "Ann", "cost": 0.5, "suggested": True},
    "rejected": {"question": 0, "by": "Ann", "cost": 0.5, "suggested": True},
    "skipped": {"question": 0, "by": "Ann", "cost": 0.5},
    "relabelled": {"row": 3, "label": "b", "by": "Ann"},
    "second opinion": {"question": 1, "label": "a", "by": "Bob"},
    "answered again": {"question": 1, "label": "a", "by": "Ann"},
    "flagged": {"row": 3, "comment": "look", "by": "Ann"},
    "undone": {"by": "Ann"},
    "class added": {"label": "z", "by": "Ann"},
    "class renamed": {"old": "a", "new": "z", "by": "Ann"},
    "class merged": {"old": "a", "into": "b", "by": "Ann"},
    "class deleted": {"label": "a", "by": "Ann"},
    "target set": {"target": 0.5, "budget": 30},
    "helper began": {"name": "model"},
    "helped": {"rows": [1, 2], "labels": ["a", None], "cost": 0.5},
    "helper ended": {"reason": "no money"},
}  # fmt: skip
odd = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 60), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3), st.lists(st.integers(-2, 50), max_size=3), st.lists(st.lists(st.text(max_size=2), max_size=3)),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.just([[3, "bounds", 0]]), st.just([[3, "training", 0]]), st.just([[-1, "training", 0]]), st.just([[3, "x", 0]]),
)  # fmt: skip


def test_every_kind_of_event_is_here() -> None:
    """All that happens in a campaign is tampered with below."""
    assert EVENTS.keys() == KINDS.keys()


@pytest.fixture(scope="module")
def past() -> Any:
    """What happened before: some answers, one of them undone, one question open, opinions."""
    life = LIVES.Life("bela")
    for action in (("answer", 5, "Ann"), ("answer", 9, None), ("opine", 0, "b", "Bob"), ("undo", None), ("ask", 2)):
        assert life.do(action)
    assert life.campaign.book.n_revisions
    return life


@settings(max_examples=60 * FUZZ)
@given(data=st.data())
def test_events_that_make_no_sense(past: Any, data: st.DataObject) -> None:
    """An event with particulars missing, odd or added, at any place: an error that says which, or it makes sense."""
    kind = data.draw(st.sampled_from([*EVENTS, "nonsense"]))
    before = past.journal.plain()
    likely = [EVENTS.get(kind, {}), *(particulars for other, particulars in before if other == kind)]
    particulars = dict(data.draw(st.sampled_from(likely)))
    for _ in range(data.draw(st.integers(0, 2))):
        name = data.draw(st.sampled_from([*particulars, "more"]))
        if data.draw(st.integers(0, 3)) == 0:
            particulars.pop(name, None)
        else:
            particulars[name] = data.draw(odd)
    place = data.draw(st.integers(0, len(before)))
    rest = before[place + data.draw(st.integers(0, 1)) :]  # in place of an event, or between two
    journal = MemoryJournal()
    journal.append([*before[:place], (kind, particulars), *rest])
    X, _ = LIVES.data(0)
    learner, arrays = LIVES.Neighbours(X, LIVES.Gate()), deepcopy(past.arrays)
    try:
        campaign = Campaign(X, target=0.9, journal=journal, arrays=arrays, learner=learner)
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
    life = LIVES.Life("bela")
    first, second, _ = life.campaign.ask(3)
    before = life.journal.plain()
    for action in (
        lambda: life.campaign.tell(first.id, "a", by=odd),
        lambda: life.campaign.tell(first.id, "a", cost=float("inf")),
        lambda: life.campaign.skip(second.id, by=odd),
        lambda: life.campaign.flag(3, odd),
        lambda: life.campaign.relabel(3, "a", by=odd),
        lambda: life.campaign.add_class("a", by=odd),
    ):
        with pytest.raises(ParameterError, match="cannot be"):
            action()
        assert life.journal.plain() == before
    life.campaign.tell(np.int64(first.id), np.str_("a"), by=np.str_("Ann"), cost=np.float32(0.5))
    life.campaign.set_target(target=np.float64(0.5), budget=np.int64(20))
    life.campaign.relabel(np.int64(5), np.str_("b"))
    assert LIVES.differences(LIVES.view(life.again()), LIVES.view(life.campaign)) == {}
