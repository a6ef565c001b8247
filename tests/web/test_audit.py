"""Labels under audit, judged on the page: right, wrong, another label, skipped; by several people, with undo."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bela.campaign import StoredCampaign, Verdict, audit_result, create_campaign, open_campaign
from bela.records import Role
from bela.web import LabelService
from bela.web._models import AnswerIn, AnswersOut, QuestionOut

N_ROWS = 600


def truth(row: int) -> str:
    """What a row is."""
    return ("cat", "dog", "newt")[row % 3]


def guess(row: int, every: int) -> str:
    """The label under audit, wrong in one row of so many."""
    return truth(row + 1) if row % every == 0 else truth(row)


def make_audit(folder: Path, *, every: int = 50, target: float = 0.9) -> Path:
    """Begin the audit of a file in which one label of so many is wrong."""
    with (folder / "pets.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "guess", "secret"])
        writer.writerows([f"pet {row}", guess(row, every), truth(row)] for row in range(N_ROWS))
    path = folder / "pets.certify.bela"
    create_campaign(
        folder / "pets.csv", path, method="audit", prediction="guess", hidden=("secret",), target=target
    ).close()  # fmt: skip
    return path


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[StoredCampaign]:
    """An audit that will be certified."""
    with open_campaign(make_audit(tmp_path), background=True) as stored:
        yield stored


@pytest.fixture
def service(audit: StoredCampaign) -> LabelService:
    """A page for several people."""
    return LabelService(audit, team=True)


def judge(service: LabelService, by: str, one: QuestionOut) -> AnswersOut:
    """Say the truth about a row: that its label is right, or only that it is wrong."""
    right = one.suggested == truth(one.row)
    return service.answer(by, [AnswerIn(question=one.id, label=one.suggested if right else None, wrong=not right)])


def test_the_label_under_audit_is_shown_and_nothing_else_says_it(service: LabelService) -> None:
    """The label is what is suggested; its column is not among the values of the row, nor is what is hidden."""
    for one in service.lease("Ann", 5):
        assert one.suggested == guess(one.row, 50)
        assert one.probability is None
        assert dict(one.record) == {"name": f"pet {one.row}"}
    status = service.status()
    assert status.audit is not None
    assert (status.audit.column, status.audit.verdict, status.audit.n_mistakes) == ("guess", Verdict.UNDECIDED, 0)
    assert status.claim.startswith("Not decided: whether at least 90 %")


def test_an_audit_is_certified_by_several_people(service: LabelService) -> None:
    """Right and wrong alone lead to the verdict; status, people and result say the same as the terminal does."""
    turn = 0
    while (status := service.status()).stop_reason is None:
        turn += 1
        by = ("Ann", "Bob")[turn % 2]
        for one in service.lease(by, 3):
            assert judge(service, by, one).refused == []
    found = audit_result(service.stored.campaign)
    assert (str(status.stop_reason), found.verdict) == ("target", Verdict.CERTIFIED)
    assert status.audit is not None
    assert status.lower == found.certificate.lower >= 0.9
    assert [status.claim, *status.audit.details] == found.in_words("pets.csv")
    assert status.audit.n_mistakes == len(found.mistakes) > 0
    assert (status.audit.upper, status.expected) == (found.upper, None)
    service.monitor.forget()
    assert sum(person.answers for person in service.status().people) == found.n_asked


def test_bad_labels_are_refuted(tmp_path: Path) -> None:
    """The campaign stops with that, and says so."""
    with open_campaign(make_audit(tmp_path, every=2)) as stored:
        service = LabelService(stored)
        while (status := service.status()).stop_reason is None:
            for one in service.lease("me", 3):
                judge(service, "me", one)
    assert str(status.stop_reason) == "refuted"
    assert status.claim.startswith("Refuted: fewer than 90 %")


def test_wrong_is_taken_back_and_said_in_another_way(service: LabelService) -> None:
    """Undo gives the question back; another label is an answer like any other, and a mistake with its right label."""
    [one] = service.lease("Ann", 1)
    service.answer("Ann", [AnswerIn(question=one.id, label=None, wrong=True)])
    status = service.status()
    assert (status.answers, status.audit and status.audit.n_mistakes) == (1, 1)
    undone, again = service.undo("Ann")
    assert undone.kind == "answer"
    assert again == one
    other = next(label for label in ("cat", "dog") if label != one.suggested)
    assert service.answer("Ann", [AnswerIn(question=one.id, label=other)]).accepted == [one.id]
    [mistake] = audit_result(service.stored.campaign).mistakes
    assert (mistake.row, mistake.answer) == (one.row, other)


def test_wrong_is_refused_where_it_says_nothing(service: LabelService) -> None:
    """Whoever comes after an answer has to say what is right; saying wrong twice is harmless."""
    one, other = service.lease("Ann", 2)
    service.answer("Ann", [AnswerIn(question=one.id, label=one.suggested)])
    [refused] = service.answer("Bob", [AnswerIn(question=one.id, label=None, wrong=True)]).refused
    assert "say what is right" in refused.message
    for _ in range(2):
        outcome = service.answer("Ann", [AnswerIn(question=other.id, label=None, wrong=True)])
        assert (outcome.accepted, outcome.refused) == ([other.id], [])
    [refused] = service.answer("Ann", [AnswerIn(question=other.id, label="cat", wrong=True)]).refused
    assert "leave out one of them" in refused.message


def test_nothing_is_wrong_where_nothing_is_under_audit(make_page: Callable[..., Any]) -> None:
    """In a campaign that makes labels there is none that could be wrong."""
    page = make_page()
    [question] = page.lease()
    body = page.post("/api/answers", by="Ann", answers=[{"question": question["id"], "label": None, "wrong": True}])
    assert "no labels are under audit" in body["refused"][0]["message"]
    assert body["state"]["audit"] is None


def test_a_second_person_sees_the_same_label(audit: StoredCampaign) -> None:
    """What is judged is the label, not somebody's answer, so whoever gives a second opinion is shown it as well."""
    service = LabelService(audit, team=True, overlap=1.0)
    [one] = service.lease("Ann", 1)
    service.answer("Ann", [AnswerIn(question=one.id, label="newt")])
    [second] = [found for found in service.lease("Bob", 1) if found.second]
    assert (second.id, second.suggested) == (one.id, one.suggested)


def test_labels_under_audit_are_judged_one_by_one(service: LabelService) -> None:
    """All rows of an audit are draws, so there is no grid; the label is what is asked about, and stays in sight."""
    service.refresh()
    asked = service.lease("Ann", 6, grid=True)
    assert len(asked) == 6
    assert all(one.suggested == guess(one.row, 50) and not one.grid for one in asked)
    said = [AnswerIn(question=one.id, label=one.suggested, suggested=True) for one in asked[:2]]
    said.append(AnswerIn(question=asked[2].id, label=None, wrong=True, suggested=True))
    assert service.answer("Ann", said).refused == []
    assert service.stored.campaign.book.n_suggested == {Role.TRAINING: 0, Role.BOUNDS: 3}


def test_a_grid_has_one_label_under_audit(audit: StoredCampaign) -> None:
    """Whoever wants grids of draws gets rows of the same label, so that one key confirms them."""
    service = LabelService(audit, team=True, suggest_draws=True)
    service.refresh()
    grid = service.lease("Ann", 6, grid=True)
    assert len(grid) > 1
    assert len({one.suggested for one in grid}) == 1
    assert all(one.grid for one in grid)


def test_the_report_says_what_was_found(service: LabelService, make_any: Callable[..., Any]) -> None:
    """Verdict, both bounds, the mistakes and what is right, and who said that a label is wrong."""
    page = make_any(service)
    asked = service.lease("Ann", 40)
    wrong, *rest = asked
    service.answer("Ann", [AnswerIn(question=wrong.id, label=None, wrong=True)])
    service.answer("Ann", [AnswerIn(question=rest[0].id, label="axolotl")])
    for one in rest[1:]:
        judge(service, "Ann", one)
    text = page.get("/api/report").text
    found = audit_result(service.stored.campaign)
    for words in (*found.in_words("pets.csv"), "Mistakes found", "nobody said", "axolotl", "guess"):
        assert words in text
    assert "How sure the labels are" not in text
