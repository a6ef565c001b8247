"""Everything decided anew: the same where nothing was touched, and in words where something comes out otherwise."""

from __future__ import annotations

import json
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

from bela.campaign import Verification, Verifier
from bela.errors import ParameterError, ReplayError
from bela.storage import digest_arrays

LIVES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("lives.py"))))
STORED = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("test_stored.py"))))
FUZZ = int(os.environ.get("BELA_FUZZ_TIMES", "1"))  # so many times the usual number of examples
OTHERS = ("audit", "bela-paper", "hsal", "pac", "plal", "random")


def decide(life: Any, change: Any = None) -> Verification:
    """Decide anew what a journal says, perhaps with some events changed."""
    twin = deepcopy(life.journal)
    events = [(kind, json.loads(json.dumps(data))) for kind, data in twin.plain()]
    if change is not None:
        events = [(kind, change(kind, data)) for kind, data in events]
    journal = LIVES.Full()
    journal.append(events)
    verifier = Verifier(life.arrays)
    life._make(journal, verifier.arrays, LIVES.Gate(), background=False, witness=verifier)
    return verifier.verification


def lived(*actions: tuple[Any, ...], **options: Any) -> Any:
    """A campaign with revisions and draws."""
    life = LIVES.Life("bela", **options)
    for action in actions or [("answer", 5, "Ann"), ("answer", 9, None), ("answer", 9, None), ("undo", None)]:
        life.do(action)
    return life


@settings(max_examples=8 * FUZZ)
@given(actions=st.lists(LIVES.with_gate, min_size=10, max_size=30), seed=st.integers(0, 3), background=st.booleans())
def test_whatever_was_decided_is_decided_again(actions: list[Any], seed: int, background: bool) -> None:
    """After everything that can be done, in the background or not, every question and revision comes out the same."""
    life = LIVES.Life("bela", seed, background=background)
    try:
        for action in actions:
            if background or action[0] != "hold":
                life.do(action)
    finally:
        life.settle()
    found = decide(life)
    kinds = [kind for kind, _ in life.journal.plain()]
    assert found.differences == ()
    assert (found.n_decided, found.n_compared) == (kinds.count("asked") + kinds.count("revised"), 0)


@pytest.mark.parametrize("method", OTHERS)
def test_other_methods(method: str) -> None:
    """Methods without revisions decide their questions again."""
    predictions = {"predictions": {"model": ([*"abca"] * 10, [i / 40 for i in range(40)])}}
    life = LIVES.Life(method, options=predictions if method == "audit" else {})
    for action in (("answer", 5, None), ("skip", 0, "a", None), ("undo", None), ("answer", 9, "Ann")):
        life.do(action)
    found = decide(life)
    assert found.holds
    assert found.n_decided == sum(kind == "asked" for kind, _ in life.journal.plain())


def test_other_questions() -> None:
    """Questions that the method would not have asked are counted, event by event."""
    life = lived()
    others = np.flatnonzero(~life.campaign.book.asked).tolist()[-1:]

    def change(kind: str, data: Any) -> Any:
        if kind == "asked" and others:
            data["questions"][0][0] = others.pop()
        return data

    found = decide(life, change)
    assert not found.holds
    assert found.differences[0] == "event 2: of 5 question(s), 1 would be about another row now"


def test_other_questions_of_a_method_that_decides_on_its_way() -> None:
    """Where later choices rest on earlier ones, nothing can be told from there on."""
    life = LIVES.Life("hsal")
    life.do(("answer", 5, None))
    row = [39]
    with pytest.raises(ReplayError):
        decide(life, lambda kind, data: data | {"questions": [[row.pop(), *data["questions"][0][1:]]]}
               if kind == "asked" and row else data)  # fmt: skip


def test_weights_of_draws() -> None:
    """A draw with other weights than the method's is noticed; the last digits may be those of another machine."""
    life = lived(*[("answer", 9, None)] * 6, options={"target": 0.5})

    def factor(by: float) -> Any:
        def change(kind: str, data: Any) -> Any:
            for question in data.get("questions", ()) if kind == "asked" else ():
                question[3:] = [[weight * by for weight in weights] for weights in question[3:]]
            return data

        return change

    assert any(len(question) == 4 for kind, data in life.journal.plain() if kind == "asked"
               for question in data.get("questions", ()))  # fmt: skip
    assert decide(life, factor(1 + 1e-12)).holds
    found = decide(life, factor(2.0))
    assert "drawn in another way" in found.differences[0]


def test_a_revision_that_was_forged() -> None:
    """Labels that the method would not have given are counted, though all digests are in order."""
    life = lived()
    arrays: dict[str, str] = {}

    def forge(kind: str, data: Any) -> Any:
        if kind == "revised" and not arrays:
            kept = life.arrays.load(data["arrays"])
            kept[0][[3, 30]] = (kept[0][[3, 30]] + 1) % 2
            arrays[data["arrays"]] = digest_arrays(kept)
            life.arrays.save(data["arrays"], kept)
            data["digest"] = digest_arrays(kept)
        return data

    found = decide(life, forge)
    assert "the revision comes out otherwise on this machine, for 2 of 40 rows" in found.differences[0]


def test_alpha_that_was_forged() -> None:
    """A revision that spends more or less than the method gave it is noticed."""
    found = decide(lived(), lambda kind, data: data | {"alpha": 0.001} if kind == "revised" else data)
    assert any("of alpha now, not 0.001" in difference for difference in found.differences)


def test_a_revision_at_another_moment() -> None:
    """A revision that was not due at that moment is noticed."""
    found = decide(lived(), lambda kind, data: data | {"version": 3} if kind == "revised" else data)
    assert found.differences[0].endswith("no revision would be made after event 3 now")


def test_another_version_of_the_method() -> None:
    """What another version decided is compared by its digests, and that is said; the questions after it are taken."""
    life = lived()
    found = decide(life, lambda kind, data: data | {"method_version": 0} if kind == "revised" else data)
    assert found.holds
    n_revised = sum(kind == "revised" for kind, _ in life.journal.plain())
    assert found.n_compared > n_revised > 0
    assert found.n_decided > 0  # the questions before the first revision


def test_first_questions_are_not_believed() -> None:
    """The first questions are kept for speed only: others in their place change nothing."""
    life = lived()
    life.arrays.save("first-questions", [np.arange(40)[::-1].copy()])
    assert decide(life).holds


def test_differences_are_told_in_short() -> None:
    """Of many differences the first few are told."""
    life = lived(*[("answer", 1, None)] * 12)
    rows = iter(range(39, 20, -1))
    found = decide(life, lambda kind, data: data | {"questions": [[next(rows), "training", 0]]}
                   if kind == "asked" and data["questions"][0][1] == "training" else data)  # fmt: skip
    assert len(found.differences) == 5 < found.n_different


def test_a_campaign_in_a_folder(tmp_path: Path) -> None:
    """Opened to be decided anew, a folder says what was found, and nothing in it is changed."""
    path = STORED.make(tmp_path, method="bela", target=0.8)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*") if file.suffix == ".arrays"}
    with STORED.open_campaign(path, read_only=True, recompute=True) as stored:
        seen, found = LIVES.view(stored.campaign), stored.verification
    assert found.holds
    assert found.n_decided > 10
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*") if file.suffix == ".arrays"} == before
    assert LIVES.differences(STORED.view(path), seen) == {}
    with pytest.raises(ParameterError, match="only looks"):
        STORED.open_campaign(path, recompute=True)
