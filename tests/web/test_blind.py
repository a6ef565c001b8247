"""Draws are answered blind and one by one, what was suggested is counted, and some draws are asked again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from bela.book import again, undo_step
from bela.campaign import StoredCampaign, open_campaign
from bela.exports import certificate_differences
from bela.records import Role
from bela.views import Notes, Reporter, result_of
from bela.web import AnswerIn, LabelService, QuestionOut


def kind_of(row: int) -> str:
    """Return the true label of a row."""
    return ("cat", "dog")[row % 2]


def role_of(service: LabelService, one: QuestionOut) -> Role:
    return service.stored.campaign.question(one.id).role


def say(service: LabelService, asked: list[QuestionOut], by: str = "Ann", **more: bool) -> None:
    """Answer with the truth."""
    said = [AnswerIn(question=one.id, label=kind_of(one.row), second=one.second, again=one.again, **more)
            for one in asked]  # fmt: skip
    outcome = service.answer(by, said)
    assert outcome.refused == []
    service.refresh()


def lease(service: LabelService, n: int = 1, by: str = "Ann", **more: Any) -> list[QuestionOut]:
    """Return questions, after the revision that is being made if there are none before."""
    asked = service.lease(by, n, **more)
    if not asked:
        service.stored.campaign.ask()
        asked = service.lease(by, n, **more)
    return asked


def lease_until(service: LabelService, role: Role, **more: Any) -> list[QuestionOut]:
    """Answer until the next rows are of this role, and return those; without an end there are always both."""
    service.aim(None, None)
    for _ in range(60):
        asked = lease(service, **more)
        if {role_of(service, one) for one in asked} == {role}:
            return asked
        say(service, asked)
    raise AssertionError(f"nothing was asked as {role}")


def test_single_rows_do_not_tell_what_they_are_for(service: LabelService) -> None:
    """Draw or not, a row that is shown alone comes without a suggestion and without anything that tells them apart."""
    seen: dict[Role, list[dict[str, Any]]] = {role: [] for role in Role}
    for _ in range(30):
        [one] = lease(service)
        seen[role_of(service, one)].append({**asdict(one), "id": 0, "row": 0, "name": "", "record": {}})
        say(service, [one])
    assert service.monitor.labels is not None
    assert all(len(found) > 3 for found in seen.values())
    shown = {json.dumps(found) for every in seen.values() for found in every}
    assert len(shown) == 1
    assert '"suggested": null, "probability": null, "second": false, "again": false, "grid": false' in shown.pop()


def test_classes_come_in_an_order_of_their_own(service: LabelService) -> None:
    """The order in which classes are shown is that of their first answers, whatever is likely for a row."""
    for _ in range(20):
        say(service, lease(service))
    first = [kind_of(row) for row in service.stored.campaign.book.answered]
    assert [one.label for one in service.status().classes] == list(dict.fromkeys(first))


def test_grids_have_no_draws(service: LabelService) -> None:
    """Rows of a grid are to learn from; where draws are next, they come alone, in their order, without a suggestion."""
    kinds = []
    for _ in range(40):
        asked = lease(service, 6, grid=True)
        roles = {role_of(service, one) for one in asked}
        assert len(roles) == 1
        is_draw = roles == {Role.BOUNDS}
        assert all(one.grid == (not is_draw) for one in asked)
        if is_draw:
            assert all(one.suggested is None and one.probability is None for one in asked)
            assert [one.id for one in asked] == sorted(one.id for one in asked)
        elif service.monitor.labels is not None:
            assert len({one.suggested for one in asked}) == 1
        kinds.append((is_draw, len(asked)))
        say(service, asked[:1] if is_draw else asked)
        if service.stored.campaign.stop_reason is not None:
            break
    assert any(is_draw and n > 1 for is_draw, n in kinds)
    assert any(not is_draw and n > 1 for is_draw, n in kinds)


def test_whoever_likes_it_otherwise_can_have_it(stored: StoredCampaign) -> None:
    """With `suggest_draws`, labels are suggested for draws too, alone and in grids."""
    service = LabelService(stored, suggest_draws=True)
    assert service.status().suggest_draws
    for _ in range(4):
        say(service, lease(service, 3))
    [one] = lease_until(service, Role.BOUNDS)
    assert (one.suggested is not None, one.grid) == (True, False)
    grid = lease(service, 6, grid=True)
    assert all(found.grid and found.suggested is not None for found in grid)
    assert Role.BOUNDS in {role_of(service, found) for found in grid}


def test_undo_shows_a_draw_blind(service: LabelService) -> None:
    """A draw that is open again comes alone; a row to learn from comes back into the grid."""
    for _ in range(3):
        say(service, lease(service, 3))
    for role in (Role.BOUNDS, Role.TRAINING):
        asked = lease_until(service, role, n=4, grid=True)
        say(service, asked)
        undone, question = service.undo("Ann", grid=True)
        assert undone.kind == "answer"
        assert question is not None
        assert question.grid == (role is Role.TRAINING)
        assert (question.suggested is None) == (role is Role.BOUNDS)


def test_a_grid_that_was_taken_back_stays_whole(service: LabelService) -> None:
    """Rows of a grid that was undone come before draws that came meanwhile, all of them, whatever was said of each."""
    for _ in range(3):
        say(service, lease(service, 3))
    for _ in range(30):
        grid = lease_until(service, Role.TRAINING, n=6, grid=True)
        said = [AnswerIn(question=one.id, label=("cat", "dog")[at % 2]) for at, one in enumerate(grid)]
        assert service.answer("Ann", said).refused == []
        service.refresh()  # so that the labels that are suggested are what was just said
        later = lease(service, 6, grid=True)
        if len(grid) > 1 and role_of(service, later[0]) is Role.BOUNDS:
            break
    else:
        raise AssertionError("no draw came after a grid")
    for one in reversed(grid):
        _, question = service.undo("Ann", grid=True)
        assert question is not None
        assert question.id == one.id
    assert [one.id for one in service.lease("Ann", len(grid), grid=True)] == [one.id for one in grid]
    assert {one.id for one in grid}.isdisjoint(one.id for one in service.lease("Bob", 9))


def test_what_was_in_sight_is_counted(stored: StoredCampaign, make_any: Callable[..., Any]) -> None:
    """The certificate counts answers with a suggestion, draws and others apart; its text and the report say so."""
    service = LabelService(stored, suggest_draws=True)
    for _ in range(4):
        say(service, lease(service, 3))
    for role, n in ((Role.TRAINING, 1), (Role.BOUNDS, 2)):
        for _ in range(n):
            say(service, lease_until(service, role), suggested=True)
    document = result_of(stored)[1]()
    assert document["with_suggestion"] == {"draws": 2, "others": 1}
    assert "2 of the answers to rows drawn at random were given with a suggested label in sight" in str(
        document["statement"]
    )
    page = make_any(service)
    assert "2 of those drawn, 1 of the others" in page.http.get("/api/report").text
    while document["with_suggestion"]["draws"]:  # a row to learn from may have come between the two
        service.undo("Ann")
        document = result_of(stored)[1]()
    assert document["with_suggestion"] == {"draws": 0, "others": 1}
    assert "in sight" not in str(document["statement"])


def test_what_was_in_sight_is_on_disk(service: LabelService) -> None:
    """The flag is in the journal, and there again when the campaign is opened anew."""
    [one] = lease(service)
    say(service, [one], suggested=True)
    folder = service.stored.path
    service.stored.close()
    with open_campaign(folder, read_only=True) as again_open:
        assert sum(again_open.campaign.book.n_suggested.values()) == 1


# ------------------------------------------------------------------------------------------------------- asked again


@pytest.fixture
def repeating(stored: StoredCampaign, clock: Any) -> LabelService:
    """A service for a team in which every draw is asked again."""
    return LabelService(stored, team=True, again=1.0, clock=clock, lease_seconds=60)


def answer_until_again(service: LabelService, by: str = "Ann") -> QuestionOut:
    """Answer until somebody is asked about a draw for the second time."""
    for _ in range(80):
        [one] = lease(service, by=by)
        if one.again:
            return one
        say(service, [one], by)
    raise AssertionError("nothing was asked again")


def test_a_draw_is_asked_again(repeating: LabelService) -> None:
    """At least 20 answers later, of the same person, blind; labels and certificate stay as they are."""
    one, book = answer_until_again(repeating), repeating.stored.campaign.book
    assert role_of(repeating, one) is Role.BOUNDS
    assert (one.suggested, one.second, one.grid) == (None, False, False)
    order = [*book.answered]
    assert len(order) - 1 - order.index(one.row) >= 20
    assert repeating.lease("Bob", 4) != []
    assert one.id not in {found.id for found in repeating.lease("Bob", 40) if found.again}
    before = (book.known.tolist(), book.n_asked, repeating.stored.campaign.certificate)
    outcome = repeating.answer("Ann", [AnswerIn(question=one.id, label="bird", again=True)])
    assert outcome.accepted == [one.id]
    assert (book.known.tolist(), book.n_asked, repeating.stored.campaign.certificate) == before
    assert asdict(again(book)) == {"asked": 1, "agreed": 0}
    assert result_of(repeating.stored)[1]()["again"] == {"asked": 1, "agreed": 0}
    assert one.id not in {found.id for found in repeating.lease("Ann", 40) if found.again}


def test_an_answer_again_twice_is_harmless_and_another_is_refused(repeating: LabelService) -> None:
    """A page may send what it has sent before; there is no third time."""
    one = answer_until_again(repeating)
    say(repeating, [one])
    events = repeating.stored.journal.n_events
    say(repeating, [one])
    assert repeating.stored.journal.n_events == events
    [refused] = repeating.answer("Ann", [AnswerIn(question=one.id, label="bird", again=True)]).refused
    assert "no draw that can be answered again" in refused.message
    assert asdict(again(repeating.stored.campaign.book)) == {"asked": 1, "agreed": 1}


def test_nobody_answers_again_for_somebody_else(repeating: LabelService) -> None:
    """It would tell how far two people agree, which second opinions do."""
    one = answer_until_again(repeating)
    [refused] = repeating.answer("Bob", [AnswerIn(question=one.id, label="cat", again=True)]).refused
    assert "was answered by Ann" in refused.message


def test_certificates_of_earlier_versions_agree(service: LabelService) -> None:
    """They say nothing of suggestions and second times; whoever strikes out what one says is noticed."""
    for _ in range(8):
        say(service, lease(service), suggested=True)
    now = result_of(service.stored)[1]()
    old = {name: value for name, value in now.items() if name not in ("with_suggestion", "again")}
    assert [line.split(":")[0] for line in certificate_differences(old, now)] == ["with_suggestion"]
    for _ in range(8):
        service.undo("Ann")
    for _ in range(8):
        say(service, lease(service))
    now = result_of(service.stored)[1]()
    old = {name: value for name, value in now.items() if name not in ("with_suggestion", "again")}
    assert certificate_differences(old, now) == []


def test_answers_again_are_mixed_in(repeating: LabelService) -> None:
    """Of the rows before somebody one is asked again at most, and others come between two of them."""
    answer_until_again(repeating)
    asked = repeating.lease("Ann", 8)
    assert sum(one.again for one in asked) == 1
    say(repeating, [one for one in asked if one.again])
    assert not any(one.again for one in repeating.lease("Ann", 8))


@pytest.mark.parametrize("label", ["cat", None])
def test_an_answer_again_is_undone(repeating: LabelService, label: str | None) -> None:
    """Also one that was skipped; the row is before the same person again, as it was."""
    one, book = answer_until_again(repeating), repeating.stored.campaign.book
    skipped = book.n_skipped
    repeating.answer("Ann", [AnswerIn(question=one.id, label=label, again=True)])
    assert (len(book.again), book.n_skipped, again(book).asked) == (1, skipped, int(label is not None))
    assert undo_step(book, "Ann").kind == "again"
    undone, question = repeating.undo("Ann")
    assert (undone.kind, question) == ("again", one)
    assert not book.again
    assert one.id in {found.id for found in repeating.lease("Ann", 8) if found.again}


def test_grids_bring_draws_again_alone(repeating: LabelService) -> None:
    """Where draws are answered one by one, one that is asked again is among them."""
    found = False
    for _ in range(60):
        asked = lease(repeating, 6, grid=True)
        found = found or any(one.again for one in asked)
        assert not any(one.again and one.grid for one in asked)
        if found or repeating.stored.campaign.stop_reason is not None:
            break
        say(repeating, asked)
    assert found


def test_the_report_says_how_far_people_agree_with_themselves(repeating: LabelService) -> None:
    """In words, and only where somebody was asked again."""
    from bela.reports import write_report

    stored = repeating.stored

    def report() -> str:
        return write_report(Reporter(stored).look(Notes(stored.path / "cache"))())

    one = answer_until_again(repeating)
    assert "a second time" not in report()
    say(repeating, [one])
    assert "1 of 1 got the same answer" in report()
    assert "1 of 1 asked again" in report()


def test_nothing_is_asked_again_by_default(service: LabelService) -> None:
    """It is off, unless somebody wants it."""
    for _ in range(40):
        asked = lease(service, 2)
        assert not any(one.again for one in asked)
        say(service, asked)
