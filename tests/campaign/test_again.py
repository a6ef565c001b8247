"""Which draws are asked again: by the campaign's key and the question's number, after enough answers, once."""

from __future__ import annotations

import numpy as np
import pytest

from bela import Campaign
from bela.book import again
from bela.campaign import Repeats
from bela.errors import ParameterError, QuestionError
from bela.records import Role

N_ROWS = 300
SIDE = np.arange(N_ROWS) % 2
X = np.where(SIDE[:, None] == 0, 0.0, 9.0) + np.random.default_rng(0).normal(size=(N_ROWS, 2))


def begin(n: int) -> Campaign:
    """Begin a campaign and answer so many questions."""
    campaign = Campaign(X, budget=n)
    while campaign.n_asked < n:
        [question] = campaign.ask(1)
        campaign.tell(question.id, str(SIDE[question.row]))
    return campaign


def audited(n: int, by: str | None = None, **more: object) -> Campaign:
    """Begin an audit, in which every question is a draw, and answer so many."""
    campaign = Campaign(X, method="audit", predictions={"any": SIDE.astype(str)}, **more)  # type: ignore[arg-type]
    answer(campaign, n, by)
    return campaign


def answer(campaign: Campaign, n: int, by: str | None = None) -> None:
    """Answer so many questions more."""
    for _ in range(n):
        [question] = campaign.ask(1)
        campaign.tell(question.id, str(SIDE[question.row]), by=by)


def chosen(campaign: Campaign, share: float) -> set[int]:
    """Return the draws that are ever asked again, as far as they lie back far enough."""
    return {question.id for question in Repeats(campaign.book, share).due()}


def test_nothing_is_due_before_enough_was_answered() -> None:
    """Twenty answers lie between the first time and the second."""
    campaign = audited(20)
    repeats = Repeats(campaign.book, 1.0)
    assert repeats.due() == []
    answer(campaign, 1)
    assert [question.id for question in repeats.due()] == [0]
    answer(campaign, 3)
    assert [question.id for question in repeats.due()] == [0, 1, 2, 3]


def test_the_share_follows_from_key_and_number() -> None:
    """Whatever was answered, by whomever; a larger share has all of a smaller one; another key has others."""
    first, second = audited(150), audited(150, by="Ann")
    third = audited(150, seed=1)
    assert chosen(first, 0.2) == chosen(second, 0.2) != chosen(third, 0.2)
    assert chosen(first, 0.1) < chosen(first, 0.3) < chosen(first, 1.0)
    assert 10 <= len(chosen(first, 0.2)) <= 45
    assert chosen(first, 0.0) == set()


def test_training_questions_are_not_asked_again() -> None:
    """Only draws are measured."""
    campaign = begin(60)
    due = Repeats(campaign.book, 1.0).due()
    assert due
    assert all(question.role is Role.BOUNDS for question in due)


def test_each_person_is_asked_about_their_own() -> None:
    """Twenty answers of their own later; where nobody knows who answered, anybody is asked."""
    campaign = audited(15, by="Ann")
    answer(campaign, 25, by="Bob")
    repeats = Repeats(campaign.book, 1.0)
    assert repeats.due("Ann") == []
    assert {question.id for question in repeats.due("Bob")} == {15, 16, 17, 18, 19}
    answer(campaign, 6, by="Ann")
    assert [question.id for question in repeats.due("Ann")] == [0]
    nameless = audited(25)
    assert len(Repeats(nameless.book, 1.0).due("Ann")) == 5


def test_each_draw_is_asked_again_once_and_never_in_a_row() -> None:
    """Some others come between two of them."""
    campaign = audited(40)
    repeats = Repeats(campaign.book, 1.0)
    first = repeats.due()[0]
    campaign.tell_again(first.id, "1")
    assert repeats.due() == []
    answer(campaign, 5)
    assert repeats.due()[0].id == first.id + 1
    campaign.undo()
    assert repeats.due() == []


def test_telling_again() -> None:
    """The same twice is harmless, another label an error; the certificate stays, and undo leads back."""
    campaign = audited(30, by="Ann")
    certificate, version = campaign.certificate, campaign.book.version
    campaign.tell_again(3, "1", by="Ann")
    campaign.tell_again(3, "1", by="Ann")
    assert campaign.book.version == version + 1
    with pytest.raises(QuestionError, match="no draw that can be answered again"):
        campaign.tell_again(3, "0", by="Ann")
    assert campaign.certificate == certificate
    assert again(campaign.book).asked == 1
    assert campaign.undo(by="Ann") is None
    assert again(campaign.book).asked == 0
    with campaign.together():
        campaign.tell_again(3, None)
        campaign.tell_again(4, "1")
    assert again(campaign.book).asked == 1


def test_a_share_that_is_none() -> None:
    """More than all cannot be asked again."""
    with pytest.raises(ParameterError, match="between 0 and 1"):
        Repeats(audited(1).book, 1.5)
