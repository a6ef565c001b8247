"""Several people: second opinions, how far they agree, and settling it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from bela.campaign import StoredCampaign
from bela.errors import QuestionError
from bela.views import Disagreement, agreement_of
from bela.views import disagreements as disagreements_of
from bela.views._people import People, cohen_kappa, fleiss_kappa, krippendorff_alpha
from bela.web import AnswerIn, LabelService


def kind_of(row: int) -> str:
    """Return the true label of a row."""
    return ("cat", "dog")[row % 2]


def disagreements(service: LabelService, *, settled: bool = False) -> list[Disagreement]:
    """Return the first rows that people see differently."""
    return disagreements_of(service.stored.campaign.book, service.view, settled=settled, offset=0, limit=10)


@pytest.fixture
def twice(stored: StoredCampaign, clock: Any) -> LabelService:
    """A service that puts every question to two people."""
    return LabelService(stored, team=True, overlap=1.0, clock=clock, lease_seconds=60)


def test_second_opinions_come_from_somebody_else(twice: LabelService) -> None:
    """Who has answered is not asked again; one more opinion is enough; nobody sees what is suggested."""
    first = twice.lease("Ann", 4)
    twice.answer("Ann", [AnswerIn(question=one.id, label=kind_of(one.row)) for one in first])
    assert not any(one.second for one in twice.lease("Ann", 6))
    second = [one for one in twice.lease("Bob", 6) if one.second]
    assert {one.id for one in second} <= {one.id for one in first}
    assert second
    assert all(one.suggested is None for one in second)
    others = [one.id for one in twice.lease("Cid", 6) if one.second]
    assert not set(others) & {one.id for one in second}
    twice.answer("Bob", [AnswerIn(question=one.id, label="dog", second=True) for one in second])
    assert not {one.id for one in twice.lease("Dora", 9) if one.second} & {one.id for one in second}


def test_the_share_is_kept(stored: StoredCampaign, clock: Any) -> None:
    """About the chosen share of questions is asked twice, always the same ones."""
    service = LabelService(stored, team=True, overlap=0.3, clock=clock)
    for _ in range(12):
        asked = service.lease("Ann", 5)
        if not asked:
            stored.campaign.ask()
        service.answer("Ann", [AnswerIn(question=one.id, label=kind_of(one.row)) for one in asked])
    wanted = {one.id for one in service.lease("Bob", 100) if one.second}
    assert 0.1 * service.status().answers < len(wanted) < 0.5 * service.status().answers
    again = LabelService(stored, team=True, overlap=0.3, clock=clock)
    assert {one.id for one in again.lease("Bob", 100) if one.second} == wanted


def test_opinions_change_no_label_and_no_bound(twice: LabelService) -> None:
    """The certificate rests on the first answer, until somebody settles the matter."""
    first = twice.lease("Ann", 2)
    twice.answer("Ann", [AnswerIn(question=one.id, label="cat") for one in first])
    campaign = twice.stored.campaign
    before = campaign.certificate
    twice.answer("Bob", [AnswerIn(question=one.id, label="dog", second=True) for one in first])
    assert campaign.certificate == before
    assert [campaign.book.label(one.row) for one in first] == ["cat", "cat"]
    found = disagreements(twice)
    assert [entry.row for entry in found] == [one.row for one in reversed(first)]
    assert [(one.by, one.label) for one in found[0].opinions] == [("Ann", "cat"), ("Bob", "dog")]
    twice.settle("Cid", first[0].row, "dog")
    assert campaign.book.label(first[0].row) == "dog"
    assert [entry.row for entry in disagreements(twice)] == [first[1].row]
    [entry] = disagreements(twice, settled=True)
    assert (entry.settled_by, entry.label) == ("Cid", "dog")
    twice.undo("Cid")
    assert len(disagreements(twice)) == 2
    with pytest.raises(QuestionError, match="nobody differs"):
        twice.settle("Cid", 0 if 0 not in {one.row for one in first} else 1, "dog")


def test_an_opinion_is_taken_back_like_an_answer(twice: LabelService) -> None:
    """It is theirs again to give, and the answer stays."""
    [first] = twice.lease("Ann", 1)
    twice.answer("Ann", [AnswerIn(question=first.id, label="cat")])
    twice.answer("Bob", [AnswerIn(question=first.id, label="dog", second=True)])
    undone, question = twice.undo("Bob")
    assert (undone.kind, undone.question) == ("opinion", first.id)
    assert question is not None
    assert question.second
    assert disagreements(twice) == []
    assert twice.status().answers == 1
    assert first.id not in {one.id for one in twice.lease("Cid", 5)}
    assert first.id in {one.id for one in twice.lease("Bob", 5)}


def test_an_answer_taken_back_leaves_the_opinion(twice: LabelService) -> None:
    """The question is open again; whoever gave an opinion may answer it, and has then said one thing."""
    [first] = twice.lease("Ann", 1)
    twice.answer("Ann", [AnswerIn(question=first.id, label="cat")])
    twice.answer("Bob", [AnswerIn(question=first.id, label="dog", second=True)])
    twice.undo("Ann")
    assert disagreements(twice) == []
    twice.release("Ann", [first.id])
    twice.answer("Bob", [AnswerIn(question=first.id, label="cat")])
    assert twice.stored.campaign.book.label(first.row) == "cat"
    assert twice.undo("Bob")[0].kind == "answer"
    assert twice.undo("Bob")[0].kind == "opinion"


def test_opinions_follow_renamed_and_merged_classes(twice: LabelService) -> None:
    """Whoever said kat has said cat, once the two are one."""
    [first] = twice.lease("Ann", 1)
    twice.answer("Ann", [AnswerIn(question=first.id, label="kat")])
    twice.answer("Bob", [AnswerIn(question=first.id, label="cat", second=True)])
    assert len(disagreements(twice)) == 1
    twice.change_classes("Ann", "merge", "kat", "cat")
    assert disagreements(twice) == []
    assert agreement_of(twice.stored.campaign.book).pairs[0].agreement == 1.0


def test_agreement_of_two_is_cohens() -> None:
    """Like scikit-learn's, on random labels."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        one = rng.integers(0, 3, 40)
        other = np.where(rng.random(40) < 0.6, one, rng.integers(0, 3, 40))
        assert cohen_kappa(list(zip(one.tolist(), other.tolist(), strict=True))) == pytest.approx(
            cohen_kappa_score(one, other)
        )
    assert cohen_kappa([("a", "a")] * 3) is None
    assert cohen_kappa([]) is None


def test_agreement_of_many_as_published() -> None:
    """Fleiss' kappa of the example in his paper's tradition (0.210), and Krippendorff's alpha of his own (0.743)."""
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    said = [[label for label, n in enumerate(row) for _ in range(n)] for row in counts]
    items = [{str(by): label for by, label in enumerate(labels)} for labels in said]
    assert fleiss_kappa(items) == pytest.approx(0.210, abs=0.001)
    nothing = None
    raters = {  # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C
        "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, nothing, nothing, nothing],
        "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nothing, 3],
        "C": [nothing, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nothing],
        "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nothing],
    }
    units = [{name: said[i] for name, said in raters.items() if said[i] is not None} for i in range(12)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=0.001)
    assert krippendorff_alpha([{"A": 1, "B": 1}]) is None
    assert fleiss_kappa([{"A": 1}]) is None


def test_the_pace_of_grids_and_of_machines() -> None:
    """Rows of a grid come in at once and count by the time that the grid took; a machine has no pace."""
    people = People()
    for grid in range(3):
        for _ in range(24):
            people.answered("Ann", 100.0 + 6 * grid)
    assert people.pace("Ann") == pytest.approx(0.2, abs=0.1)
    for second in range(10):
        people.answered("Bob", 100.0 + 2 * second)
    assert people.pace("Bob") == 2
    for i in range(50):
        people.answered("a script", 100 + i / 1000)
    assert people.pace("a script") is None
