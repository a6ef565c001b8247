"""Answering in a real browser: keys, grid, undo, skip, reload, several people, no connection."""

import json
import urllib.request

import pytest
from tests.web.browser.conftest import FAIL, HOLD


def test_a_key_answers_and_shows_the_next_row(visit, team):
    """One key is one answer, and the next row is there at once."""
    ada = visit(team.url, "Ada")
    rows = [ada.answer() for _ in range(12)]
    ada.settle()
    assert len(set(rows)) == 12
    assert team.answers_of("Ada", 12) == 12
    labels = {row: team.get(f"rows/{row}")["label"] for row in rows}
    assert labels == {row: ada.truth[row] for row in rows}
    times = ada.page.evaluate("performance.getEntriesByName('bela:next-row').map((entry) => entry.duration)")
    assert len(times) == 12


def test_space_skips(visit, team):
    """A skipped row is not asked again, and counts as skipped."""
    skipped = team.get("state")["skipped"]
    bo = visit(team.url, "Bo")
    row = bo.row
    bo.press(" ")
    bo.settle()
    assert team.get("state")["skipped"] == skipped + 1
    assert row not in [bo.answer() for _ in range(3)]


@pytest.mark.parametrize("key", ["Backspace", "Control+z"])
def test_undo_brings_the_row_back(visit, team, key):
    """Undo takes back the last answer, then the one before; the rows are shown again."""
    name = f"Cleo {key}"
    cleo = visit(team.url, name)
    rows = [cleo.answer() for _ in range(3)]
    cleo.settle()
    for n, row in ((2, rows[2]), (1, rows[1])):
        cleo.press(key)
        assert cleo.row == row
        assert team.answers_of(name, n) == n
    cleo.answer()
    cleo.settle()
    assert team.answers_of(name, 2) == 2


def test_nothing_is_answered_while_an_undo_is_under_way(visit, serve):
    """A key that is pressed before the row is back means that row, and not the one that is about to go."""
    team = serve("undoing", serving={"team": True}, answered=70, classes=[str(digit) for digit in range(10)])
    cid = visit(team.url, "Cid")
    rows = [cid.answer() for _ in range(2)]
    cid.settle()
    cid.intercept("/api/undo", HOLD)
    cid.page.keyboard.press("Backspace")
    cid.holds(1)
    cid.page.keyboard.press("5")
    cid.let_go()
    cid.wait("(row) => document.querySelector('h1').textContent === `Row ${row}`", rows[1])
    cid.settle()
    assert team.answers_of("Cid", 1) == 1


def test_undo_pressed_twice_takes_back_two(visit, team):
    """However fast: the second waits for the first."""
    coy = visit(team.url, "Coy")
    rows = [coy.answer() for _ in range(3)]
    coy.settle()
    coy.intercept("/api/undo", HOLD)
    coy.page.keyboard.press("Backspace")
    coy.page.keyboard.press("Backspace")
    coy.holds(1)
    coy.let_go()
    coy.wait("(row) => document.querySelector('h1').textContent === `Row ${row}`", rows[1])
    assert team.answers_of("Coy", 1) == 1


LOSE = """async (at) => {
    const { session } = await import(new URL('static/js/session.js', document.baseURI));
    session.feed.finish([session.feed.items[at]]);
}"""


def test_a_class_that_was_looked_for_goes_to_no_other_row(visit, team):
    """A row may go to somebody else while the list of classes is open: what is chosen then answers nothing."""
    cam = visit(team.url, "Cam")
    row = cam.row
    cam.page.keyboard.press("/")
    cam.page.locator("dialog .option").first.wait_for()
    cam.page.evaluate(LOSE, 0)
    cam.wait("(row) => document.querySelector('h1').textContent !== `Row ${row}`", row)
    cam.page.keyboard.press("Enter")
    cam.toast("nothing was answered")
    cam.settle()
    assert team.answers_of("Cam", 0) == 0


def test_a_grid_that_loses_a_row_keeps_the_others_as_they_are(visit, serve):
    """The selection and the marks stay, nothing comes that nobody has looked at, and the page says so; undo by mark."""
    server = serve("losing", serving={"team": True}, answered=70, classes=[str(digit) for digit in range(10)])
    cat = visit(server.url, "Cat")
    cat.to_grid()
    while len(rows := cat.tiles) < 3:
        cat.confirm()
        cat.to_grid(switch=False)
    cat.page.keyboard.press("Escape")
    cat.page.keyboard.press("f")
    cat.toast("Select a row first")
    label = "(row) => document.querySelector(`.tile[aria-label^='Row ${row}:']`).ariaLabel.split(': ')[1]"
    before = cat.page.evaluate(label, rows[1])
    first, second = [digit for digit in "3456" if digit != before][:2]
    cat.page.keyboard.press("ArrowRight")
    cat.page.keyboard.press("ArrowRight")
    cat.page.keyboard.press(first)
    cat.page.keyboard.press(second)
    cat.page.evaluate(LOSE, 0)
    cat.toast("row of this grid is somebody else's by now")
    assert cat.tiles == rows[1:]
    assert cat.page.locator(".tile.selected").get_attribute("aria-label") == f"Row {rows[1]}: {second}, chosen"
    for said in (f"{first}, chosen", before):
        cat.page.keyboard.press("Backspace")
        assert cat.page.evaluate(label, rows[1]) == said


def test_reload_shows_the_same_row(visit, team):
    """A reload in mid-question shows the question again, and nothing is answered twice."""
    dan = visit(team.url, "Dan")
    dan.answer()
    row = dan.row
    dan.settle()
    dan.page.reload()
    dan.wait("() => document.querySelector('.stage img')")
    assert dan.row == row
    assert team.answers_of("Dan", 1) == 1
    dan.answer()
    dan.settle()
    assert team.answers_of("Dan", 2) == 2


def test_leaving_and_coming_back_keeps_the_row(visit, team):
    """The Back button and other pages lose nothing."""
    eve = visit(team.url, "Eve")
    row = eve.row
    eve.page.click("nav >> text=Export")
    eve.page.get_by_role("heading", name="Export and report").wait_for()
    eve.page.go_back()
    assert eve.row == row
    eve.answer()


@pytest.fixture(scope="module")
def pair(serve):
    """A campaign of its own: in one that many tests share, one page may hold all that is left of a batch."""
    return serve("pair", serving={"team": True, "overlap": 0.0}, answered=70, classes=[str(d) for d in range(10)])


def test_two_people_never_see_the_same_row(visit, pair):
    """Rows that one person has are not given to another."""
    fay, gus = visit(pair.url, "Fay"), visit(pair.url, "Gus")
    seen = [one.answer() for _ in range(4) for one in (fay, gus)]
    assert len(set(seen)) == 8
    fay.settle()
    gus.settle()
    assert pair.answers_of("Fay", 4) == 4
    assert pair.answers_of("Gus", 4) == 4


def test_two_tabs_of_one_person_never_show_the_same_row(visit, pair):
    """Tabs share their rows out; nothing is answered twice."""
    first = visit(pair.url, "Hal")
    second = visit(pair.url, "Hal", beside=first)
    seen = [tab.answer() for _ in range(3) for tab in (first, second)]
    assert len(set(seen)) == 6
    first.settle()
    assert pair.answers_of("Hal", 6) == 6


@pytest.fixture(scope="module")
def away(serve):
    """A campaign of its own that has just been revised: who has no connection can answer what is asked until the next.

    There are too few such rows when it happens to be due, as in a campaign that many tests share.
    """
    return serve("away", serving={"team": True, "overlap": 0.0}, answered=135, classes=[str(d) for d in range(10)])


def test_answers_wait_while_there_is_no_connection(visit, away):
    """Without a connection answering goes on, the page says so, and everything arrives later, even after a reload."""
    ida = visit(away.url, "Ida", alarmed=False)
    context = ida.page.context
    context.set_offline(True)
    for _ in range(4):
        ida.answer()
    ida.page.locator("#away", has_text="4 answers are kept").wait_for()
    assert away.answers_of("Ida", 0) == 0
    context.set_offline(False)
    ida.settle()
    ida.page.locator("#away").wait_for(state="hidden")
    assert away.answers_of("Ida", 4) == 4


def test_answers_survive_a_page_that_is_closed_without_a_connection(visit, away):
    """What was not sent is sent when the page is opened again."""
    jan = visit(away.url, "Jan", alarmed=False)
    jan.intercept("/api/answers", FAIL)
    for _ in range(3):
        jan.answer()
    other = jan.page.context.new_page()
    jan.page.close()
    other.goto(away.url)
    jan.page = other
    jan.settle()
    assert away.answers_of("Jan", 3) == 3


def test_undo_without_a_connection(visit, away):
    """An answer that has not arrived is taken back in the browser; what is answered then is what counts."""
    kim = visit(away.url, "Kim", alarmed=False)
    kim.intercept("/api/answers", FAIL)
    row = kim.row
    kim.press("9" if kim.truth[row] != "9" else "8")
    kim.page.locator("#away").wait_for()
    kim.press("Backspace")
    assert kim.answer() == row
    kim.let_go()
    kim.settle()
    assert away.get(f"rows/{row}")["label"] == kim.truth[row]
    assert away.answers_of("Kim", 1) == 1


def test_grid_confirms_many_and_undo_takes_all_back(visit, team):
    """Exceptions get their own labels, Enter confirms the rest, and one undo takes the whole grid back."""
    lea = visit(team.url, "Lea")
    alone = lea.to_grid()
    strong = lea.page.locator(".grid-line strong")  # there is none where the label would be no better than a guess
    suggested = strong.text_content() if strong.count() else None
    rows = lea.tiles
    for row in rows:
        lea.page.keyboard.press("ArrowRight")
        if lea.truth[row] != suggested:
            lea.page.keyboard.press(lea.truth[row])
    lea.page.keyboard.press("Enter")
    lea.toast("answered")
    lea.settle()
    assert team.answers_of("Lea", alone + len(rows)) == alone + len(rows)
    assert all(team.get(f"rows/{row}")["label"] == lea.truth[row] for row in rows)
    lea.page.keyboard.press("Backspace")
    lea.first_tile(rows[0])
    assert team.answers_of("Lea", alone) == alone
    assert lea.tiles == rows


def test_undo_while_the_next_grid_is_on_its_way(visit, team):
    """A grid that is confirmed is over, also while it is still on the screen: undo takes it back, not a mark in it."""
    luc = visit(team.url, "Luc")
    alone = luc.to_grid()
    rows = luc.tiles
    luc.intercept("/api/lease", HOLD)
    luc.confirm()
    luc.toast("answered")
    luc.settle()
    assert team.answers_of("Luc", alone + len(rows)) == alone + len(rows)
    luc.page.locator(".tiles.over").wait_for()
    luc.page.keyboard.press("Backspace")
    luc.page.locator(".tiles:not(.over)").wait_for()
    luc.let_go()
    assert team.answers_of("Luc", alone) == alone
    assert luc.tiles == rows


SPOIL = """(send, options) => {
    const { answers } = JSON.parse(options.body);
    window.spoilt ??= answers.at(-1).question;
    for (const answer of answers) if (answer.question === window.spoilt) answer.label = 'x'.repeat(100000);
    return send({ ...options, body: JSON.stringify({ answers }) });
}"""  # makes something of the last answer that is not a label, whenever it is sent


def test_undo_takes_back_what_the_server_has_of_a_grid(visit, serve):
    """An answer that was refused is not taken back, so none before the grid is."""
    server = serve("alone", serving={"team": True}, answered=70, classes=[str(digit) for digit in range(10)])
    ned = visit(server.url, "Ned", alarmed=False)
    alone = ned.to_grid()
    while len(rows := ned.tiles) < 2 or not alone:
        ned.confirm()
        alone += len(rows) + ned.to_grid(switch=False)
    ned.intercept("/api/answers", SPOIL)
    ned.confirm()
    ned.toast("An answer was not taken")
    ned.let_go()
    taken = alone + len(rows) - 1
    assert server.answers_of("Ned", taken) == taken
    ned.page.keyboard.press("Backspace")
    ned.first_tile(rows[0])  # all is taken back by then
    assert server.answers_of("Ned", alone) == alone


def test_grid_without_what_is_suggested(visit, team):
    """With the suggested label hidden nothing is confirmed until every row has a label."""
    mia = visit(team.url, "Mia")
    alone = mia.to_grid()
    mia.page.get_by_label("Show what is suggested").uncheck()
    mia.wait("() => document.querySelector('.confirm').disabled")
    mia.page.keyboard.press("Enter")
    assert team.answers_of("Mia", alone) == alone
    mia.page.keyboard.press("4")
    mia.wait("() => !document.querySelector('.confirm').disabled")


def flags_of(server) -> dict[int, list[dict]]:
    """Return the rows that are flagged, with what was said of each."""
    with urllib.request.urlopen(server.request("rows/find", None, {"flagged": True}), timeout=60) as answer:  # noqa: S310
        return {found["row"]: found["flags"] for found in json.load(answer)["rows"]}


def test_flag_with_a_comment(visit, team):
    """F puts a row aside with a comment, and undo takes that back."""
    nia = visit(team.url, "Nia")
    row = nia.row
    nia.page.keyboard.press("f")
    nia.page.keyboard.type("cut off <b>at the top</b>")
    nia.page.get_by_role("button", name="Flag it").click()
    nia.toast("is flagged")
    assert flags_of(team).get(row) == [{"comment": "cut off <b>at the top</b>", "by": "Nia"}]
    nia.page.get_by_role("button", name="Undo").last.click()
    nia.toast("as it was before")
    assert row not in flags_of(team)
    assert nia.row == row


def test_keys_can_be_changed_and_are_remembered(visit, team):
    """A key that was chosen works, also after a reload; whoever had it gets the old one."""
    ola = visit(team.url, "Ola")
    ola.page.keyboard.press("h")
    ola.page.get_by_role("button", name="Skip this row: Space").click()
    ola.page.keyboard.press("x")
    ola.page.get_by_role("button", name="Skip this row: X").wait_for()
    ola.page.keyboard.press("Escape")
    ola.press("x")
    ola.page.reload()
    ola.wait("() => document.querySelector('.stage img')")
    ola.press("x")
    ola.settle()
    assert team.answers_of("Ola", 0) == 0


def test_held_key_answers_once(visit, team):
    """A key that is held down is one answer."""
    pia = visit(team.url, "Pia")
    pia.page.keyboard.down("3")
    pia.page.keyboard.down("3")
    pia.page.keyboard.down("3")
    pia.page.keyboard.up("3")
    pia.settle()
    assert team.answers_of("Pia", 1) == 1
    pia.press("Backspace")


def test_phone(visit, team):
    """On a phone nothing is wider than the screen, and a touch answers."""
    quin = visit(
        team.url, "Quin", viewport={"width": 390, "height": 844}, device_scale_factor=2, is_mobile=True, has_touch=True
    )
    assert quin.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    row = quin.row
    quin.page.get_by_role("group", name="Classes").get_by_text(quin.truth[row], exact=True).tap()
    quin.wait("(row) => !document.querySelector('h1').textContent.endsWith(` ${row}`)", row)
    quin.settle()
    assert team.answers_of("Quin", 1) == 1
    quin.page.get_by_role("button", name="Details").tap()
    quin.page.locator(".facts dt").first.wait_for()
