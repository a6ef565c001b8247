"""The service alone: leases, answers, undo; no web."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bela.book import flags, opinions
from bela.campaign import StoredCampaign, open_campaign
from bela.errors import JournalError, LabelError, QuestionError
from bela.records import Role
from bela.web import AnswerIn, LabelService, QuestionOut


def kind_of(row: int) -> str:
    """Return the true label of a row."""
    return ("cat", "dog")[row % 2]


def rows(asked: list[QuestionOut]) -> set[int]:
    return {one.row for one in asked}


def say(service: LabelService, by: str, asked: list[QuestionOut]) -> None:
    """Answer with the truth."""
    said = [AnswerIn(question=one.id, label=kind_of(one.row), second=one.second) for one in asked]
    outcome = service.answer(by, said)
    assert (outcome.accepted, outcome.refused) == ([one.id for one in asked], [])


def lease(service: LabelService, by: str, n: int = 1, *, grid: bool = False) -> list[QuestionOut]:
    """Return questions, after the revision that is being made if there are none before."""
    asked = service.lease(by, n, grid=grid)
    if not asked:
        service.stored.campaign.ask()
        asked = service.lease(by, n, grid=grid)
    return asked


def test_no_two_people_have_the_same_question(service: LabelService) -> None:
    """What somebody has before them is given to nobody else, however often people ask."""
    held: dict[str, set[int]] = {}
    for round_ in range(3):
        for by in ("Ann", "Bob", "Cid", "Dora"):
            mine = rows(service.lease(by, 3 + round_))
            assert held.get(by, set()) <= mine  # what they had, they have
            held[by] = mine
    seen = [row for mine in held.values() for row in mine]
    assert len(seen) == len(set(seen))


def test_nobody_waits_for_what_others_have_ahead(service: LabelService) -> None:
    """Before a revision all that is asked may be somebody's: whoever has nothing gets half of it, the last of it."""
    anns = service.lease("Ann", 100, tab="one")
    bobs = service.lease("Bob", 100, tab="one")
    assert bobs == anns[(len(anns) + 1) // 2 :]
    assert service.lease("Ann", 100, tab="one") == anns[: (len(anns) + 1) // 2]
    assert service.lease("Bob", 100, tab="one") == bobs  # whoever has something takes nothing
    say(service, "Ann", anns[:1])
    say(service, "Bob", bobs)
    assert service.lease("Cid", 1, tab="one") == anns[-len(bobs) - 1 : -len(bobs)]


def test_nor_does_anybody_who_likes_grids(service: LabelService) -> None:
    """What they take over is alike, as in any grid: rows of one suggested label, or draws."""
    anns = service.lease("Ann", 100, tab="one")
    bobs = service.lease("Bob", 100, tab="one", grid=True)
    assert bobs
    assert {one.id for one in bobs} <= {one.id for one in anns[(len(anns) + 1) // 2 :]}
    assert len({(one.grid, one.suggested if one.grid else None) for one in bobs}) == 1
    assert not rows(bobs) & rows(service.lease("Ann", 100, tab="one"))
    assert service.lease("Bob", 100, tab="one", grid=True) == bobs


def test_what_is_on_the_screen_is_not_taken_over(service: LabelService) -> None:
    """Nor is what comes next, which is shown before a page has heard of anything: the last two stay."""
    anns = service.lease("Ann", 100, tab="one")
    say(service, "Ann", anns[:-3])
    assert service.lease("Bob", 3, tab="one") == anns[-1:]
    say(service, "Bob", anns[-1:])
    assert service.lease("Bob", 1, tab="one") == []
    assert service.lease("Ann", 100, tab="one") == anns[-3:-1]


def test_leases_end(service: LabelService, clock: Any) -> None:
    """After its time a question is free; asking again in time keeps it."""
    mine = rows(service.lease("Ann", 2))
    clock.seconds += 59
    assert rows(service.lease("Ann", 2)) == mine
    clock.seconds += 59  # 118 since the first, 59 since the second
    assert not rows(service.lease("Bob", 2)) & mine
    clock.seconds += 2
    assert rows(service.lease("Cid", 20)) >= mine
    assert not rows(service.lease("Ann", 2)) & mine


def test_questions_are_given_back(service: LabelService) -> None:
    """Whoever leaves gives questions back, and can give back only their own."""
    asked = service.lease("Ann", 3)
    service.release("Bob", [one.id for one in asked])
    assert not rows(service.lease("Bob", 3)) & rows(asked)
    service.release("Ann", [asked[0].id, asked[1].id, 999])
    assert {asked[0].row, asked[1].row} <= rows(service.lease("Cid", 30))


def test_no_two_tabs_of_one_person_have_the_same_question(service: LabelService) -> None:
    """However slow their browser is to tell one of the other; what a tab has, it has again when it asks again."""
    first, second = service.lease("Ann", 4, tab="first"), service.lease("Ann", 4, tab="second")
    assert not rows(first) & rows(second)
    assert rows(service.lease("Ann", 4, tab="first")) == rows(first)
    service.release("Ann", [one.id for one in first], tab="second")  # those are not its own
    assert not rows(service.lease("Ann", 8, tab="second")) & rows(first)


def test_a_tab_that_is_loaded_anew_keeps_its_questions(service: LabelService) -> None:
    """Also when what it gave back as it went away comes in after it has asked again."""
    before = service.lease("Ann", 3, tab="before")
    after = service.lease("Ann", 3, tab="after", was="before")
    assert rows(after) == rows(before)
    service.release("Ann", [one.id for one in before], tab="before")
    assert not rows(service.lease("Bob", 9)) & rows(after)


def test_what_a_tab_left_behind_goes_to_the_same_person(service: LabelService) -> None:
    """A browser that is killed says no goodbye; whoever opens another must not wait until the lease is over."""
    with service.in_sight("killed", "a browser"):
        left = service.lease("Ann", 200, tab="killed", browser="a browser")  # all rows that there are
    assert service.lease("Bob", 1, tab="other") == left[-1:]  # for others she may come back: they get the last of it
    taken = service.lease("Ann", 5, tab="next")
    assert len(taken) == 5
    assert rows(taken) <= rows(left)
    assert rows(service.lease("Bob", 200, tab="other")) == rows(left) - rows(taken)  # she is elsewhere now


def test_a_tab_in_sight_keeps_its_questions(service: LabelService) -> None:
    """However little there is for another of the same person, up to the end of the last line that it holds open."""
    held = service.lease("Ann", 200, tab="first")
    with service.in_sight("first"):
        with service.in_sight("first"):  # as when a line is made anew before the old one is known to be dead
            assert service.lease("Ann", 5, tab="second") == []
        assert service.lease("Ann", 5, tab="second") == []
    assert rows(service.lease("Ann", 200, tab="second")) == rows(held)


def test_a_program_keeps_its_questions(service: LabelService) -> None:
    """It is never in sight, whatever it says of itself; so do two that come in by the same link."""
    service.lease("Ann", 200, tab="a program", browser="none that there is")
    assert service.lease("Ann", 5) == service.lease("Ann", 5, tab="page") == service.lease("Ann", 5, tab="other") == []


def test_an_answer_after_the_lease_is_an_answer(service: LabelService, clock: Any) -> None:
    """Nothing that was answered is lost: the first counts, the second is an opinion if it came from somebody else."""
    [asked] = service.lease("Ann", 1)
    clock.seconds += 100
    assert rows(service.lease("Bob", 5)) >= {asked.row}
    say(service, "Ann", [asked])
    assert service.answer("Bob", [AnswerIn(question=asked.id, label="bird")]).accepted == [asked.id]
    assert service.stored.campaign.book.label(asked.row) == kind_of(asked.row)


def test_the_same_answer_twice_is_harmless_and_another_is_refused(service: LabelService) -> None:
    """A page that was not told may send its answers again; whoever has changed their mind says so otherwise."""
    asked = service.lease("Ann", 2)
    say(service, "Ann", asked)
    before = service.stored.journal.n_events
    say(service, "Ann", asked)
    assert service.stored.journal.n_events == before
    outcome = service.answer("Ann", [AnswerIn(question=asked[0].id, label="bird")])
    [refused] = outcome.refused
    assert (outcome.accepted, refused.question) == ([], asked[0].id)
    assert "was answered with" in refused.message


def test_bad_answers_are_refused_one_by_one(service: LabelService) -> None:
    """The others of the same batch are taken in."""
    one, other = service.lease("Ann", 2)
    given = [(one.id, "cat"), (12345, "cat"), (other.id, 7)]
    outcome = service.answer("Ann", [AnswerIn(question=question, label=label) for question, label in given])
    assert outcome.accepted == [one.id]
    assert [one.question for one in outcome.refused] == [12345, other.id]
    assert outcome.state.answers == 1


def test_skipping_needs_the_question(service: LabelService, clock: Any) -> None:
    """A question that somebody else has by now is not skipped under their hands; answered ones stay answered."""
    [asked] = service.lease("Ann", 1)
    clock.seconds += 100
    service.lease("Bob", 5)
    assert service.answer("Ann", [AnswerIn(question=asked.id, label=None)]).accepted == []
    say(service, "Bob", [asked])
    assert service.answer("Ann", [AnswerIn(question=asked.id, label=None)]).accepted == [asked.id]
    assert service.stored.campaign.book.n_skipped == 0


def test_undo_takes_back_what_one_person_did(service: LabelService) -> None:
    """Answers of others stay, and the question is that person's again."""
    ann, bob = service.lease("Ann", 2), service.lease("Bob", 2)
    say(service, "Ann", ann[:1])
    say(service, "Bob", bob)
    service.answer("Ann", [AnswerIn(question=ann[1].id, label=None)])
    undone, question = service.undo("Ann")
    assert (undone.kind, undone.question) == ("skip", ann[1].id)
    assert question is not None
    assert question.id == ann[1].id
    undone, question = service.undo("Ann")
    assert (undone.kind, undone.row) == ("answer", ann[0].row)
    assert service.stored.campaign.n_asked == 2
    assert not rows(service.lease("Bob", 9)) & rows(ann)
    assert rows(service.lease("Ann", 2)) == rows(ann)
    with pytest.raises(QuestionError, match="nothing to undo"):
        service.undo("Ann")


def test_undo_of_everything_else(service: LabelService) -> None:
    """Relabellings and flags are taken back, too; changes of classes are not one person's."""
    asked = service.lease("Ann", 2)
    say(service, "Ann", asked)
    row = next(row for row in range(120) if row not in rows(asked))
    service.relabel("Ann", row, "bird")
    service.flag("Ann", row, "a bird?")
    service.add_classes("Ann", ["fish"])
    assert [service.undo("Ann")[0].kind for _ in range(3)] == ["flag", "relabelling", "answer"]
    assert flags(service.stored.campaign.book) == []
    assert service.stored.campaign.book.label(row) is None
    assert "fish" in service.stored.campaign.classes


def test_what_somebody_else_said_since_stays(service: LabelService) -> None:
    """An answer that somebody else has corrected since cannot be taken back under their hands."""
    [asked] = service.lease("Ann", 1)
    say(service, "Ann", [asked])
    service.relabel("Bob", asked.row, "bird")
    with pytest.raises(QuestionError, match="Bob"):
        service.undo("Ann")
    assert service.undo("Bob")[0].kind == "relabelling"
    assert service.undo("Ann")[0].kind == "answer"


def test_undo_across_a_merge_of_classes(service: LabelService) -> None:
    """What is taken back after classes were merged comes back as the class that they are now, and after undoing that
    merge as what it was."""
    one, other = service.lease("Ann", 2)
    service.answer("Ann", [AnswerIn(question=one.id, label="kat"), AnswerIn(question=other.id, label="cat")])
    service.relabel("Ann", one.row, "dog")
    service.change_classes("Bob", "merge", "kat", "cat")
    campaign = service.stored.campaign
    service.undo("Ann")
    assert campaign.book.label(one.row) == "cat"
    campaign.undo()
    assert campaign.book.label(one.row) == "kat"
    assert campaign.book.label(other.row) == "cat"


def test_a_person_alone_may_undo_what_the_terminal_did(stored: StoredCampaign) -> None:
    """Answers without a name are those of the one person there is."""
    [question] = stored.campaign.ask()
    stored.campaign.tell(question.id, "cat")
    service = LabelService(stored)
    assert service.undo("me")[0].question == question.id
    with pytest.raises(QuestionError):
        service.undo("me")


def test_everything_is_there_after_opening_again(folder: Path, clock: Any) -> None:
    """Answers, opinions, flags, what was undone and who did them come back from the journal."""
    with open_campaign(folder, background=True) as stored:
        service = LabelService(stored, team=True, overlap=1.0, clock=clock)
        say(service, "Ann", service.lease("Ann", 4))
        service.answer("Bob", [AnswerIn(question=one.id, label="bird", second=True) for one in service.lease("Bob", 2)])
        service.flag("Bob", 5, "odd")
        service.undo("Ann")
        service.relabel("Ann", next(row for row in range(100) if not stored.campaign.book.asked[row]), "dog")
        before = service.status()
    with open_campaign(folder, background=True) as stored:
        again = LabelService(stored, team=True, overlap=1.0, clock=clock)
        after = again.status()
        assert flags(again.stored.campaign.book) == flags(service.stored.campaign.book)
        for key in ("answers", "skipped", "classes", "lower", "seq", "n_revisions", "stop_reason"):
            assert getattr(after, key) == getattr(before, key), key
        assert {person.name: person.answers for person in after.people} == {"Ann": 3, "Bob": 2}
        assert again.undo("Ann")[0].kind == "relabelling"


def test_a_grid_is_of_one_label(service: LabelService) -> None:
    """Rows of a grid are suggested to be the same; rows of another label that somebody had are free again."""
    service.aim(None, None)
    for _ in range(3):
        say(service, "Ann", lease(service, "Ann", 3))
        service.refresh()
    lease(service, "Ann", 4)
    grid = lease(service, "Ann", 9, grid=True)
    for _ in range(60):  # until there are rows of one label to learn from
        if len(grid) > 1 and all(one.grid for one in grid):
            break
        say(service, "Ann", grid)
        grid = lease(service, "Ann", 9, grid=True)
    assert len(grid) > 1
    assert len({one.suggested for one in grid}) == 1
    assert grid[0].suggested is not None
    assert rows(service.lease("Ann", len(grid))) == rows(grid)
    labels = service.monitor.labels
    assert labels is not None
    assert all(labels.label(one.row) == one.suggested for one in grid)


def test_a_grid_is_whole_although_rows_are_held_one_by_one(service: LabelService) -> None:
    """A tab that turns to the grid while its first rows are on their way has not given those back."""
    service.aim(None, None)
    grid: list[QuestionOut] = []
    for _ in range(60):  # until labels are suggested, a row to learn from is all that is held, and others can be asked
        held = lease(service, "Ann")
        alone = len(service.stored.campaign.open_questions) == 1
        teaches = service.stored.campaign.question(held[0].id).role is Role.TRAINING
        if service.monitor.labels is not None and alone and teaches:
            grid = service.lease("Ann", 6, grid=True)
            if len(grid) > 1:
                break
        say(service, "Ann", grid or held)
        grid = []
        service.refresh()
    assert len(grid) > 1
    assert all(one.grid for one in grid)


def test_a_grid_puts_off_no_question_for_ever(service: LabelService) -> None:
    """The oldest question that nobody has is in the next grid, so that grids alone bring a campaign to its target."""
    for _ in range(4):
        say(service, "Ann", lease(service, "Ann", 3))
        service.refresh()
    campaign = service.stored.campaign
    for _ in range(60):
        if campaign.stop_reason is not None:
            break
        waiting = {question.id for question in campaign.open_questions}
        grid = service.lease("Ann", 6, grid=True)
        if not grid:
            campaign.ask()
            continue
        if waiting:
            assert min(waiting) in {one.id for one in grid}
        say(service, "Ann", grid)
        service.refresh()
    assert str(campaign.stop_reason) == "target"


def test_the_state_says_where_it_stands(service: LabelService, clock: Any) -> None:
    """Counts, bound, classes and people, also right after an answer."""
    assert service.status().answers == 0
    asked = service.lease("Ann", 4)
    say(service, "Ann", asked[:3])
    service.answer("Ann", [AnswerIn(question=asked[3].id, label=None)])
    clock.seconds += 1
    state = service.status()
    assert (state.answers, state.skipped, state.n_rows, state.target) == (3, 1, 120, 0.9)
    assert sum(entry.n_answers for entry in state.classes) == 3
    assert state.people[0].name == "Ann"
    assert state.shown == ("name", "weight", "height")
    assert "first answer" in state.rests_on


def test_an_answer_says_how_things_are_after_it(service: LabelService) -> None:
    """What costs little is new at once, a class that nobody had named before included; the rest a moment later."""
    one, other = service.lease("Ann", 2)
    service.status()
    state = service.answer("Ann", [AnswerIn(question=one.id, label="bird")]).state
    assert (state.answers, [entry.label for entry in state.classes]) == (1, ["bird"])
    later = service.answer("Ann", [AnswerIn(question=other.id, label="bird")]).state
    assert (later.answers, later.seq > state.seq) == (2, True)


def test_hidden_columns_are_never_shown(service: LabelService) -> None:
    """Not in questions, not in rows, not among the columns."""
    [asked] = service.lease("Ann", 1)
    assert set(asked.record) == {"name", "weight", "height"}
    assert asked.name == f"pet <{asked.row}>"
    assert "secret" not in service.monitor.row(3).record
    assert "secret" not in service.status().kinds


def test_labels_typed_as_text_get_the_type_of_the_others(service: LabelService) -> None:
    """A page types text; where classes are numbers, the text of a number is that number."""
    one, two, three = service.lease("Ann", 3)
    service.answer("Ann", [AnswerIn(question=one.id, label=1), AnswerIn(question=two.id, label="12")])
    assert service.stored.campaign.classes == (1, 12)
    assert service.answer("Ann", [AnswerIn(question=three.id, label="cat")]).accepted == []
    with pytest.raises(LabelError):
        service.relabel("Ann", 5, "cat")


def test_listeners_hear_of_changes(service: LabelService) -> None:
    """Whoever listens is called after each change, until they stop listening."""
    heard: list[int] = []
    stop = service.listen(lambda: heard.append(1))
    say(service, "Ann", service.lease("Ann", 1))
    assert len(heard) == 1
    stop()
    say(service, "Ann", service.lease("Ann", 1))
    assert len(heard) == 1


def test_answers_at_the_same_time_are_written_together(service: LabelService, monkeypatch: pytest.MonkeyPatch) -> None:
    """People who wait for the disk wait for it once; what depends on another answer comes after it all the same."""
    say(service, "Zoe", service.lease("Zoe", 2))  # both classes are there
    service.relabel("Zoe", 0, "cat")
    service.relabel("Zoe", 1, "dog")
    people = [f"person {i}" for i in range(8)]
    asked = {by: service.lease(by, 1) for by in people}
    shared = asked[people[0]][0]
    written: list[int] = []
    append = service.stored.journal.append
    monkeypatch.setattr(service.stored.journal, "append", lambda events: written.append(len(events)) or append(events))
    with service.lock:  # they all come while somebody else is at it
        workers = [threading.Thread(target=say, args=(service, by, asked[by])) for by in people]
        late = threading.Thread(target=service.answer, args=("late", [AnswerIn(question=shared.id, label="dog")]))
        for worker in [*workers, late]:
            worker.start()
            while len(service._submitted) <= [*workers, late].index(worker):  # so that the order is known
                time.sleep(0.001)
    for worker in [*workers, late]:
        worker.join()
    assert written == [8, 1]
    assert service.stored.campaign.n_asked == 10
    [found] = [found for found in opinions(service.stored.campaign.book) if found.question == shared.id]
    assert list(found.said) == [people[0], "late"]


def test_what_cannot_be_written_down_is_taken_in_by_nobody(
    service: LabelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk: the answer is not there, its question is still theirs, and it can be given again."""
    asked = service.lease("Ann", 2)

    def refuse(_: object) -> None:
        raise JournalError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(service.stored.journal, "append", refuse)
        with pytest.raises(JournalError):
            say(service, "Ann", asked)
    assert service.stored.campaign.n_asked == 0
    assert rows(service.lease("Ann", 2)) == rows(asked)
    say(service, "Ann", asked)
    assert service.stored.campaign.n_asked == 2
