"""Several answers written down at once: all of them or none, and nothing that could not be replayed."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bela.errors import BelaError, JournalError, LabelError, QuestionError

LIVES = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("lives.py"))))


@pytest.fixture
def life() -> Any:
    """A campaign with three classes and five open questions."""
    made = LIVES.Life("bela")
    for label in ("a", "b", "c"):
        made.campaign.add_class(label)
    made.campaign.ask(5)
    return made


def test_all_at_once(life: Any) -> None:
    """The block ends with one write of everything; it comes to the same as one by one, live and replayed."""
    one_by_one = life.again()
    first, second, third, *_ = life.campaign.open_questions
    n_events = len(life.journal.plain())

    def actions(campaign: Any) -> None:
        campaign.tell(first.id, "a", by="Ann")
        campaign.skip(second.id)
        campaign.tell(third.id, "b", cost=0.5)

    actions(one_by_one)
    with life.campaign.together():
        actions(life.campaign)
        assert life.campaign.n_asked == 0
        assert len(life.journal.plain()) == n_events
    assert len(life.journal.plain()) == n_events + 3
    assert LIVES.differences(LIVES.view(one_by_one), LIVES.view(life.campaign)) == {}
    assert LIVES.differences(LIVES.view(life.again()), LIVES.view(life.campaign)) == {}


@pytest.mark.parametrize(
    ("second", "error"),
    [
        (lambda campaign, question: campaign.tell(question.id, "b"), QuestionError),
        (lambda campaign, question: campaign.tell(question.id, "a"), QuestionError),
        (lambda campaign, question: campaign.skip(question.id), QuestionError),
        (lambda campaign, question: campaign.opine(question.id, "a", by="Bob"), QuestionError),
        (lambda campaign, question: campaign.tell(question.id + 1, 3), LabelError),
        (lambda campaign, question: campaign.undo(), QuestionError),
        (lambda campaign, question: campaign.merge_class("a", "b"), QuestionError),
        (lambda campaign, question: campaign.rename_class("a", "d"), QuestionError),
        (lambda campaign, question: campaign.relabel(3, "a"), QuestionError),
    ],
)
def test_what_depends_on_what_is_in_the_block(life: Any, second: Any, error: type[BelaError]) -> None:
    """What might make no sense after the rest of the block is refused before it is written, and the rest is kept."""
    question = life.campaign.open_questions[0]
    with life.campaign.together():
        life.campaign.tell(question.id, "a")
        with pytest.raises(error):
            second(life.campaign, question)
    assert life.campaign.n_asked == 1
    assert LIVES.differences(LIVES.view(life.again()), LIVES.view(life.campaign)) == {}


def test_none_of_it(life: Any) -> None:
    """With no room on the disk, or a block that ends with an error, nothing happens; it can be tried again."""
    seen, (first, second, *_) = LIVES.view(life.campaign), life.campaign.open_questions

    def tell_both() -> None:
        with life.campaign.together():
            life.campaign.tell(first.id, "a")
            life.campaign.tell(second.id, "b")

    life.journal.full = True
    with pytest.raises(JournalError, match="no room"):
        tell_both()
    life.journal.full = False
    with pytest.raises(LabelError), life.campaign.together():
        life.campaign.tell(life.campaign.tell(first.id, "a") or second.id, 3)
    assert LIVES.differences(LIVES.view(life.campaign), seen) == {}
    tell_both()
    assert life.campaign.n_asked == 2
    assert LIVES.differences(LIVES.view(life.again()), LIVES.view(life.campaign)) == {}


def test_the_first_labels_of_all() -> None:
    """Where no class is known yet, labels of two types in one block would be written down before anybody notices."""
    life = LIVES.Life("bela")
    first, second, third = life.campaign.ask(3)
    with life.campaign.together():
        life.campaign.tell(first.id, "a")
        with pytest.raises(LabelError, match="of one type"):
            life.campaign.tell(second.id, 3)
        life.campaign.tell(third.id, "b")
    assert life.campaign.classes == ("a", "b")
    assert LIVES.differences(LIVES.view(life.again()), LIVES.view(life.campaign)) == {}


def test_classes_at_once() -> None:
    """Several classes are one write; one that comes up twice, or is of another type, is refused."""
    life = LIVES.Life("bela")
    [first] = life.campaign.ask(1)
    with life.campaign.together():
        life.campaign.add_class("a")
        life.campaign.tell(first.id, "b")
        for label in ("a", "b", 3):
            with pytest.raises(LabelError):
                life.campaign.add_class(label)
        life.campaign.add_class("c")
        assert life.campaign.classes == ()
    assert life.campaign.classes == ("a", "b", "c")
    assert LIVES.differences(LIVES.view(life.again()), LIVES.view(life.campaign)) == {}
