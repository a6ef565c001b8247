"""Draws in a real browser: one by one and without a suggestion, whatever somebody likes; some of them again."""

import pytest

from bela.campaign import open_campaign
from bela.records import Role

SENTENCE = "Some rows are drawn at random to measure the labels; these are answered one by one, without a suggestion."
SIGNS = """() => ({
    suggested: document.querySelector('.suggested')?.textContent ?? '',
    marked: document.querySelectorAll('.palette .marked').length,
    tiles: document.querySelectorAll('.tile').length,
    classes: [...document.querySelectorAll('.palette .class')].map((one) => one.textContent),
    styles: [...document.querySelectorAll('.palette .class')].map((one) => one.className.replace('flash', '').trim()),
    note: document.querySelector('.singly:not([hidden])')?.textContent ?? '',
    box: !document.querySelector('.switches .check').hidden,
})"""
CLASSES = [str(digit) for digit in range(10)]


def begin(serve, name, **serving):
    """Serve a campaign that has some answers already."""
    return serve(name, answered=40, serving=serving, classes=CLASSES)


@pytest.fixture(scope="module")
def alone(serve):
    """A campaign of one person."""
    return begin(serve, "alone")


def roles_of(server) -> dict[int, Role]:
    """What each row was asked for, read from the journal."""
    with open_campaign(server.folder, read_only=True) as stored:
        return {question.row: question.role for question in stored.campaign.book.questions}


def count_again(server) -> int:
    """How many draws were answered again, read from the journal."""
    with open_campaign(server.folder, read_only=True) as stored:
        return len(stored.campaign.book.again)


def rows_of_grid(visitor) -> list[int]:
    """The rows of the grid on the screen."""
    names = visitor.page.eval_on_selector_all(".tile", "(all) => all.map((one) => one.getAttribute('aria-label'))")
    return [int(name.split(":")[0].removeprefix("Row ")) for name in names]


def test_a_draw_is_alone_and_blind_where_the_grid_is_on(visit, alone):
    """The page says why; what was confirmed in a grid counts as suggested, what was drawn does not."""
    ada = visit(alone.url)
    ada.page.keyboard.press("g")
    singles, grids, n_led = [], [], 0
    while not (singles and grids) or len(singles) < 6:
        ada.wait("() => document.querySelector('.tiles:not(.over) .tile, .singly:not([hidden])')")
        signs = ada.page.evaluate(SIGNS)
        if signs["tiles"]:
            assert signs["note"] == ""
            rows = rows_of_grid(ada)
            grids += rows
            n_led += len(rows) if ada.page.locator(".grid-line strong").count() else 0
            ada.page.keyboard.press("Enter")
            if ada.page.locator(".confirm:disabled").count():
                ada.page.keyboard.press("3")
                ada.page.keyboard.press("Enter")
            first = "(name) => !document.querySelector('.tiles:not(.over) .tile')?.ariaLabel.startsWith(name)"
            ada.wait(first, f"Row {rows[0]}:")
            ada.settle()
            continue
        assert (signs["note"], signs["suggested"], signs["marked"]) == (SENTENCE, "", 0)
        row = ada.row
        singles.append(row)
        ada.page.keyboard.press(ada.truth[row])
        ada.wait("(t) => document.querySelector('h1').textContent !== t", f"Row {row}")
    ada.settle()
    roles = roles_of(alone)
    assert {roles[row] for row in singles} == {Role.BOUNDS}
    assert {roles[row] for row in grids} == {Role.TRAINING}
    with open_campaign(alone.folder, read_only=True) as stored:
        counted = stored.campaign.book.n_suggested
    assert counted == {Role.BOUNDS: 0, Role.TRAINING: n_led}


def test_nothing_tells_a_draw_from_another_single_row(visit, alone):
    """One row after the other, the page looks the same but for the row; there is no box that would change that."""
    bo = visit(alone.url)
    seen = []
    for _ in range(25):
        row = bo.row
        seen.append((row, str(bo.page.evaluate(SIGNS))))
        bo.press(bo.truth[row])
    bo.settle()
    roles = roles_of(alone)
    assert {roles[row] for row, _ in seen} == set(Role) or {roles[row] for row, _ in seen} == {Role.BOUNDS}
    [signs] = {signs for _, signs in seen}
    assert "'box': False" in signs
    assert "'suggested': ''" in signs


def test_whoever_wants_suggestions_can_have_them(visit, serve):
    """They are still hidden until somebody wants to see them, and then counted, also if they are hidden again."""
    server = begin(serve, "led", suggest_draws=True)
    cleo = visit(server.url)
    assert cleo.page.evaluate(SIGNS)["box"]
    cleo.answer()
    cleo.page.get_by_label("Show what is suggested").check()
    cleo.page.locator(".suggested strong").wait_for()
    cleo.page.get_by_label("Show what is suggested").uncheck()
    cleo.answer()
    cleo.answer()
    cleo.settle()
    with open_campaign(server.folder, read_only=True) as stored:
        assert sum(stored.campaign.book.n_suggested.values()) == 1


def test_a_draw_comes_again_and_looks_like_any_other(visit, serve):
    """Answered again or taken back, it changes no label."""
    server = begin(serve, "again", again=1.0)
    dan = visit(server.url)
    with open_campaign(server.folder, read_only=True) as stored:
        known = {*stored.campaign.book.answered}
    for _ in range(60):
        row = dan.row
        signs = dan.page.evaluate(SIGNS)
        if row in known:
            break
        known.add(row)
        dan.press(dan.truth[row])
    else:
        pytest.fail("nothing was asked again")
    assert (signs["suggested"], signs["marked"], signs["note"]) == ("", 0, "")
    dan.settle()
    answers, n_again = server.get("state")["answers"], count_again(server)
    dan.press("3" if dan.truth[row] != "3" else "4")
    dan.settle()
    state = server.get("state")
    assert (state["answers"], server.get(f"rows/{row}")["label"]) == (answers, dan.truth[row])
    dan.press("Backspace")
    assert dan.row == row
    dan.press(dan.truth[row])
    dan.settle()
    assert count_again(server) == n_again + 1
