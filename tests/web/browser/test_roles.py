"""A team: the owner hands out links, annotators answer by theirs, and see nothing of the owner's."""

import pytest

CLASSES = [str(digit) for digit in range(10)]
GO = """(page) => new Promise((done) => {
    window.addEventListener('hashchange', () => setTimeout(done), { once: true });
    location.hash = `#/${page}`;
})"""  # to a page by its address, and wait until the browser has gone there


@pytest.fixture(scope="module")
def served(serve):
    """A campaign for a team, with a second opinion on each row."""
    return serve("roles", serving={"team": True, "overlap": 0.0}, answered=30, classes=CLASSES)


def test_the_owner_hands_out_links_and_ends_them(visit, served):
    """By the page alone: add somebody, copy the link, see what they answer, revoke it; what they hold is not lost."""
    boss = visit(served.url, "Boss")
    boss.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    boss.page.click("nav >> text=People")
    boss.page.get_by_label("Name", exact=True).fill("  Ann  Lee ")
    boss.page.keyboard.press("Enter")
    boss.toast("The link of Ann Lee is copied")
    link = boss.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{served.url}?token=")

    ann = visit(link, alarmed=False)
    assert "token" not in ann.page.url
    ann.page.locator("#person", has_text="Ann Lee").wait_for()
    rows = [ann.answer() for _ in range(2)]
    ann.settle()
    assert served.answers_of("Ann Lee", 2) == 2

    boss.page.reload()
    row = boss.page.locator(".team tr", has_text="Ann Lee")
    row.get_by_role("button", name="Revoke: Ann Lee").click()
    boss.page.get_by_role("button", name="Revoke", exact=True).click()
    row.get_by_text("revoked").wait_for()
    rows.append(ann.answer())
    ann.page.locator("#away", has_text="not valid any more").wait_for()
    ann.page.locator("#away", has_text="1 answer waits").wait_for()
    row.get_by_role("button", name="Let in again: Ann Lee").click()
    boss.page.locator(".team tr", has_text="Ann Lee").get_by_role("button", name="Copy link: Ann Lee").wait_for()
    again = served.link("Ann Lee")
    assert again != link
    ann.open(again)
    ann.settle()
    assert served.answers_of("Ann Lee", 3) == 3
    assert all(served.get(f"rows/{row}")["label"] == ann.truth[row] for row in rows)


def test_annotators_see_nothing_of_the_owner(visit, served):
    """No pages but rows, no new classes, no target, no guidelines to edit; addresses and keys lead nowhere either."""
    ben = visit(served.url, "Ben", role="annotator")
    assert ben.page.locator("nav a").all_text_contents() == ["Answer", "Rows"]
    assert ben.page.locator("[data-action=add]").count() == 0
    assert ben.page.locator(".ladder button").count() == 0
    ben.page.keyboard.press("+")
    ben.page.keyboard.press("h")
    dialog = ben.page.locator("dialog")
    dialog.get_by_text("Skip this row").wait_for()
    assert dialog.get_by_text("New class").count() == 0
    ben.page.keyboard.press("Escape")
    ben.page.click("#guidelines")
    dialog.get_by_text("There are no guidelines yet.").wait_for()
    assert dialog.get_by_role("button", name="Edit").count() == 0
    ben.page.keyboard.press("Escape")
    for page in ("tree", "classes", "people", "report", ""):
        ben.page.evaluate(GO, page)
        assert ben.page.evaluate("document.body.dataset.page") == "answer"
        ben.page.locator(".answering .stage .record").wait_for()
    row = ben.answer()
    ben.settle()
    ben.page.keyboard.press("Backspace")
    ben.wait("(name) => document.querySelector('h1').textContent === name", f"Row {row}")
    ben.page.keyboard.press("f")
    ben.page.get_by_label("What should somebody look at later?").fill("odd")
    ben.page.keyboard.press("Tab")
    ben.page.get_by_role("button", name="Flag it").click()
    ben.toast("is flagged")


def test_two_browsers_of_one_person_never_have_the_same_row(visit, served):
    """Whatever is answered in either counts, once each."""
    laptop, phone = visit(served.url, "Cid", role="annotator"), visit(served.url, "Cid", role="annotator")
    rows = [browser.answer() for _ in range(6) for browser in (laptop, phone)]
    for browser in (laptop, phone):
        browser.settle()
    assert len(set(rows)) == 12
    assert served.answers_of("Cid", 12) == 12


def test_a_browser_that_is_somebody_elses_by_now_answers_for_nobody(visit, served):
    """The page of one person does not go on in the name of the next who comes in with the same browser."""
    dan = visit(served.url, "Dan", role="annotator", alarmed=False)
    first = dan.row
    eve = visit(served.url, "Eve", role="annotator", beside=dan, alarmed=False)
    dan.press(dan.truth[first])
    dan.page.locator("#away", has_text="this browser is Eve's by now").wait_for()
    eve.answer()
    assert served.answers_of("Eve", 1) == 1
    assert served.answers_of("Dan", 0) == 0
    back = visit(served.url, "Dan", role="annotator", beside=dan)  # who gets the answer that was kept
    back.settle()
    assert served.answers_of("Dan", 1) == 1


def test_all_of_it_below_a_path(visit, serve):
    """Pictures, news, links, and the cookie, which is sent nowhere else."""
    server = serve("below", serving={"team": True, "root_path": "/deep/pets"}, answered=30, classes=CLASSES)
    fay = visit(server.link("Fay").replace("/?", "/deep/pets/?"))
    assert fay.page.url == f"{server.url}deep/pets/"
    assert {cookie["path"] for cookie in fay.page.context.cookies()} == {"/deep/pets/"}
    fay.answer()
    fay.settle()
    assert server.answers_of("Fay", 1) == 1
    fay.page.click("nav >> text=People")
    fay.page.get_by_role("rowheader", name="Fay").first.wait_for()
    fay.page.click("nav >> text=Export")
    with fay.page.expect_download() as download:
        fay.page.locator(".format").first.click()
    assert download.value.url.startswith(f"{server.url}deep/pets/api/exports/")
