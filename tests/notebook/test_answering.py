"""What the widget is told, message by message: strange ones get a sentence, answers are kept before they count."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from PIL import Image

import bela
from bela.errors import JournalError, ParameterError
from bela.notebook import NotebookAnswering
from bela.notebook._widget import widget_class
from bela.storage import MemoryJournal

TEXTS = [f"text {i}" for i in range(60)]


@pytest.fixture
def answering() -> NotebookAnswering:
    """Somebody who answers about texts."""
    return NotebookAnswering(bela.Campaign(TEXTS, classes=["good", "bad"], budget=5), by="Ada")


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        "answer",
        {},
        {"action": "delete everything"},
        {"action": "answer"},
        {"action": "answer", "question": "0", "label": "good"},
        {"action": "answer", "question": True, "label": "good"},
        {"action": "answer", "question": 10**9, "label": "good"},
        {"action": "answer", "question": 0, "label": 3},
        {"action": "answer", "question": 0, "label": "  "},
        {"action": "answer", "question": 0, "label": "neither"},
        {"action": "skip", "question": -1},
        {"action": "undo"},
        {"action": "add class", "label": ""},
    ],
)
def test_strange_messages(answering: NotebookAnswering, message: Any) -> None:
    """Each gets one sentence, and nothing has happened."""
    before = answering.handle({"action": "show"})
    reply = answering.handle(message)
    assert reply.pop("error")
    assert {**reply, "number": None} == before


def test_to_the_end_of_the_budget(answering: NotebookAnswering) -> None:
    """Answers follow each other, the same twice is harmless, and the end is said; undo leads back."""
    state = answering.handle({"action": "show"})
    seen = []
    while state["question"]:
        seen.append(state["question"]["id"])
        message = {"action": "answer", "question": seen[-1], "label": "good", "number": len(seen)}
        state = answering.handle(message)
        assert state["number"] == len(seen)
        assert "error" not in answering.handle(message)
    assert len(seen) == 5
    assert state["stopped"] == "All 5 answers of the budget are given."
    assert state["claim"].startswith(("Certified", "Nothing"))
    state = answering.handle({"action": "undo"})
    assert (state["question"]["id"], state["answers"], state["stopped"]) == (seen[-1], 4, None)
    assert "error" in answering.handle({"action": "answer", "question": seen[0], "label": "bad"})


def test_an_answer_that_cannot_be_kept_is_not_confirmed() -> None:
    """Where the journal fails, the widget is told so, and the question stays."""

    class Full(MemoryJournal):
        full = False

        def append(self, events: Any) -> Any:
            if self.full:
                raise JournalError("the disk is full")
            return super().append(events)

    journal = Full()
    answering = NotebookAnswering(bela.Campaign(TEXTS, classes=["good", "bad"], journal=journal))
    asked = answering.handle({"action": "show"})["question"]["id"]
    journal.full = True
    reply = answering.handle({"action": "answer", "question": asked, "label": "good"})
    assert reply["error"] == "the disk is full"
    assert (reply["question"]["id"], reply["answers"]) == (asked, 0)
    journal.full = False
    assert answering.handle({"action": "answer", "question": asked, "label": "good"})["answers"] == 1


def test_pictures_of_files_that_are_broken(tmp_path: Any) -> None:
    """A picture that cannot be read says so; the others are sent as pictures, without their folders."""
    (tmp_path / "secret-class").mkdir()
    for i in range(12):
        Image.fromarray(np.full((20, 30, 3), 20 * i, dtype=np.uint8)).save(tmp_path / "secret-class" / f"{i:02}.png")
    campaign = bela.Campaign(tmp_path, classes=["a", "b"])
    (tmp_path / "secret-class" / "00.png").write_bytes(b"nonsense")
    answering = NotebookAnswering(campaign)
    for row in range(12):
        [shown] = answering._show(bela.Question(id=row, row=row, role=bela.Role.TRAINING))["images"]
        assert ("error" in shown) == (row == 0)
        assert "secret-class" not in str(shown.get("file"))
        assert row == 0 or shown["source"].startswith("data:image/png;base64,")


def test_labels_that_are_numbers_stay_numbers() -> None:
    """The widget has texts only; the classes keep their type."""
    campaign = bela.Campaign(np.random.default_rng(0).normal(size=(30, 2)), classes=[3, 7])
    answering = NotebookAnswering(campaign)
    state = answering.handle({"action": "show"})
    assert state["classes"] == ["3", "7"]
    answering.handle({"action": "answer", "question": state["question"]["id"], "label": "7"})
    assert campaign.book.label(state["question"]["row"]) == 7


def test_columns_that_are_not_there_cannot_be_hidden() -> None:
    """A sentence names what there is."""
    with pytest.raises(ParameterError, match="no column 'truth' to hide: there are text"):
        NotebookAnswering(bela.Campaign(TEXTS), hide=["truth"])


def test_the_widget_by_messages_of_a_comm() -> None:
    """What the page sends comes to the campaign, and the state that goes back is that from after it."""
    pytest.importorskip("anywidget")
    campaign = bela.Campaign(TEXTS, classes=["good", "bad"])
    widget = campaign.widget(by="Ada")
    asked = widget.state["question"]
    sent = []
    widget.observe(lambda change: sent.append((campaign.n_asked, change["new"])), "state")
    content = {"action": "answer", "question": asked["id"], "label": "bad", "number": 1}
    widget._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
    [(n_asked, state)] = sent
    assert (n_asked, state["number"], state["answers"]) == (1, 1, 1)
    assert campaign.book.label(asked["row"]) == "bad"
    assert state["question"]["id"] != asked["id"]
    assert "role" not in str(state)
    assert "render" in widget._esm
    assert repr(widget).startswith("<CampaignWidget: 1 answers. ")


def test_the_widget_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra there is a sentence that says how to get it."""
    widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ParameterError, match=r"pip install 'bela\[notebook\]'"):
        bela.Campaign(TEXTS).widget()
