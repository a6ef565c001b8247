"""The replay law: at every moment a campaign is what its journal says, and goes on from there as it would have."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bela.campaign import Verifier
from bela.errors import JournalError

LIVES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("lives.py"))))
FUZZ = int(os.environ.get("BELA_FUZZ_TIMES", "1"))  # so many times the usual number of examples
PREDICTED = ([*"abca"] * 10, [i / 40 for i in range(40)])
METHODS: dict[str, tuple[int, dict[str, Any]]] = {  # examples to try, and options
    "bela": (5, {}),
    "bela, no target": (3, {"target": None, "budget": 30}),
    "bela, labels brought": (3, {"labels": {3: "a", 9: "b", 21: "c", 22: "a"}}),
    "bela, classes declared": (3, {"classes": ("a", "b", "c", "d")}),
    "bela-paper": (3, {}),
    "hsal": (5, {}),
    "plal": (3, {}),
    "audit": (3, {"predictions": {"model": PREDICTED}}),
    "margin": (2, {}),
    "pac": (2, {}),
    "random": (1, {}),
    "random, labels brought": (1, {"labels": {3: "a", 9: "b"}, "budget": 25}),
}


def same(one: Any, other: Any) -> None:
    assert LIVES.differences(LIVES.view(one), LIVES.view(other)) == {}


@pytest.mark.parametrize("name", METHODS)
def test_a_campaign_is_what_its_journal_says(name: str) -> None:
    """After everything that can be done, in any order, the campaign replayed from its journal equals the live one.

    What is asked, done and written next is the same as well: the replayed one does it first, the live one after it.
    """

    examples, options = METHODS[name]

    @settings(max_examples=examples * FUZZ)
    @given(
        actions=st.lists(LIVES.actions, min_size=10, max_size=25),
        seed=st.integers(0, 3),
        looks=st.integers(0, 2**25 - 1),
    )
    def check(actions: list[Any], seed: int, looks: int) -> None:
        life = LIVES.Life(name.partition(",")[0], seed, options=options)
        for i, action in enumerate(actions):
            if not (looks >> i) & 1 and i < len(actions) - 1:  # no look at this moment
                life.do(action)
                continue
            twin = life.twin()
            assert twin.do(action) == life.do(action)
            assert twin.journal.plain() == life.journal.plain()
            same(twin.campaign, life.campaign)
        same(life.again(), life.campaign)

    check()


@settings(max_examples=6 * FUZZ)
@given(actions=st.lists(LIVES.with_gate, min_size=10, max_size=30), seed=st.integers(0, 3), data=st.data())
def test_revisions_in_the_background(actions: list[Any], seed: int, data: st.DataObject) -> None:
    """With fits that take their time, too; opened again with fits in the background or without."""
    life = LIVES.Life("bela", seed, background=True)
    try:
        for action in actions:
            life.do(action)
            if data.draw(st.integers(0, 4)) == 0:
                same(life.again(background=data.draw(st.booleans())), life.campaign)
        for background in (True, False):
            same(life.again(background=background), life.campaign)
    finally:
        life.settle()


@settings(max_examples=6 * FUZZ)
@given(actions=st.lists(LIVES.actions, min_size=8, max_size=25), seed=st.integers(0, 3), data=st.data())
def test_a_full_disk(actions: list[Any], seed: int, data: st.DataObject) -> None:
    """What cannot be written does not happen; when there is room again everything goes on, and can be replayed."""
    life = LIVES.Life("bela", seed)
    for action in actions:
        life.journal.full = data.draw(st.integers(0, 2)) == 0
        before = life.journal.plain()
        life.do(action)
        if life.journal.full:
            assert life.journal.plain() == before
            life.journal.full = False
            LIVES.view(life.again())
        elif not life.campaign._recorder._pending and data.draw(st.integers(0, 3)) == 0:
            same(life.again(), life.campaign)
    life.do(("answer", 3, None))
    life.do(("flag", 0, "the end", None))
    same(life.again(), life.campaign)


@pytest.mark.parametrize("method", ["bela", "hsal", "random"])
def test_a_crash_between_disk_and_memory(method: str) -> None:
    """What is on disk has happened, though nobody was told; what comes next is what would have come without a crash."""

    @settings(max_examples=5 * FUZZ)
    @given(actions=st.lists(LIVES.actions, min_size=8, max_size=25), seed=st.integers(0, 3), data=st.data())
    def check(actions: list[Any], seed: int, data: st.DataObject) -> None:
        life = LIVES.Life(method, seed)
        for action in actions:
            life.journal.crashes = data.draw(st.integers(0, 2)) == 0
            n_events = len(life.journal.plain())
            try:
                life.do(action)
            except LIVES.Crash:
                assert len(life.journal.plain()) > n_events
                with pytest.raises(JournalError, match="open it again"):
                    life.campaign.flag(0, "too late")
                life.restart()
            life.journal.crashes = False
        same(life.again(), life.campaign)
        verifier = Verifier(life.arrays)
        life._make(life.twin().journal, verifier.arrays, LIVES.Gate(), witness=verifier)
        assert verifier.verification.differences == ()

    check()
