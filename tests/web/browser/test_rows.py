"""Finding rows on the page, by keyboard: texts, a table, 77 classes, two people; flags and their notes."""

import csv
import json
import urllib.request
import zipfile

import pytest
from tests.web.browser.tickets import NAMES


def text_of(row: int) -> str:
    """Return the text of a row."""
    return f"About my {NAMES[row % 77].replace('_', ' ')}, ticket {row}"


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """Short texts of 77 classes, and a column that nobody is to see."""
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "secret"])
        writer.writerows([text_of(row), f"hush{row}"] for row in range(400))
    return path


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """A table of two kinds of pets."""
    path = tmp_path_factory.mktemp("pets") / "pets.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["colour", "weight", "height"])
        colours = ["black", "white", "grey", "brown"]
        writer.writerows([colours[row % 4], 3 + 9 * (row % 2) + row / 100, 20 + 30 * (row % 2)] for row in range(160))
    return path


@pytest.fixture(scope="module")
def many(serve, tickets):
    """A campaign about the texts, by several people."""
    return serve(
        "tickets", data=tickets, classes=NAMES, hidden=["secret"], serving={"team": True, "lease_seconds": 15.0}
    )


@pytest.fixture(scope="module")
def table(serve, pets):
    """A campaign about the table, in which every second row goes to a second person."""
    return serve(
        "pets", data=pets, classes=["cat", "dog"], serving={"team": True, "overlap": 1.0, "lease_seconds": 15.0}
    )


def post(visitor, server, path: str, *, by: str, **body):
    """Tell the server something behind the page's back."""
    server.link(by)  # so that they are let in
    with urllib.request.urlopen(server.request(path, by, body), timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def to_page(visitor, server):
    """Go to the page of rows."""
    visitor.page.goto(f"{server.url}#/rows")
    visitor.page.locator(".tile").first.wait_for()
    return visitor


def answer_some(visitor, server, n: int, label, by: str = "the start") -> None:
    """Answer some questions by their rows."""
    for _ in range(n):
        for one in post(visitor, server, "lease", by=by, n=8)["questions"]:
            said = {"question": one["id"], "label": label(one["row"]), "second": one["second"]}
            post(visitor, server, "answers", by=by, answers=[said])


def to_rows(visitor, words: str = "") -> None:
    """Go to the page of rows by its key, and look for words."""
    visitor.page.keyboard.press(",")
    visitor.wait("() => document.activeElement?.id === 'rows-text'")
    visitor.page.keyboard.type(words)
    visitor.page.keyboard.press("Enter")
    if words:
        visitor.wait("() => document.activeElement?.classList.contains('tile')")


def choose(visitor, field: str, text: str) -> None:
    """Choose from a list by the arrow keys; what is typed may take too long to be taken for one word."""
    options = visitor.page.locator(f"#rows-{field} option").all_text_contents()
    visitor.page.locator(f"#rows-{field}").focus()
    visitor.page.keyboard.press("Home")
    for _ in range(options.index(text)):
        visitor.page.keyboard.press("ArrowDown")
    visitor.page.keyboard.press("Enter")


def rows_shown(visitor) -> list[int]:
    """Return the rows on the screen."""
    names = visitor.page.eval_on_selector_all(".tile", "(tiles) => tiles.map((tile) => tile.ariaLabel)")
    return [int(name.split(":")[0].removeprefix("Row ")) for name in names]


def waiting(server, visitor) -> set[int]:
    """Return the rows that wait for an answer."""
    found = post(visitor, server, "rows/find", by="nobody", limit=100)["rows"]
    return {one["row"] for one in found if one["waits"] == "answer"}


def test_words_find_rows_and_keys_correct_them(visit, many):
    """Every word counts; Enter goes to the first row, a class that is typed is its label, and the next row is there."""
    ada = visit(many.url, "Ada")
    answer_some(ada, many, 6, lambda row: NAMES[row % 77])
    to_rows(ada, '"pin lost" ticket')
    expected = [row for row in range(400) if NAMES[row % 77] == "pin_lost"]
    assert rows_shown(ada) == expected
    ada.page.locator(".found-line", has_text=f"{len(expected)}\u00a0rows found, in the order of the data.").wait_for()
    free = [row for row in expected if many.get(f"rows/{row}")["source"] == "inferred"]
    for _ in range(expected.index(free[0])):
        ada.page.keyboard.press("ArrowRight")
    ada.page.keyboard.type("pin lo")
    ada.page.keyboard.press("Enter")
    ada.toast(f"Row {free[0]} is pin_lost now")
    found = many.get(f"rows/{free[0]}")
    assert (found["label"], found["source"]) == ("pin_lost", "corrected")
    if len(expected) > expected.index(free[0]) + 1:
        after = expected[expected.index(free[0]) + 1]
        ada.wait("(name) => document.activeElement.ariaLabel?.startsWith(name)", f"Row {after}:")
    ada.page.keyboard.press("Backspace")
    ada.toast("as it was before")
    assert many.get(f"rows/{free[0]}")["source"] == "inferred"
    ada.wait("(name) => document.querySelector(`.tile[aria-label^='${name}']:not(.exception)`)", f"Row {free[0]}:")


def test_what_is_hidden_is_not_found(visit, many):
    """Nobody learns what stands in a column that is hidden by looking for it."""
    bea = to_page(visit(many.url, "Bea"), many)
    bea.page.keyboard.press(",")
    bea.wait("() => document.activeElement?.id === 'rows-text'")
    bea.page.keyboard.type("hush17")
    bea.page.keyboard.press("Enter")
    bea.page.locator(".found-line", has_text="No row is like that.").wait_for()
    assert rows_shown(bea) == []


def test_filters_by_keyboard(visit, many):
    """Label, source and confidence narrow it down, the least certain first; Escape goes back to the words."""
    cal = to_page(visit(many.url, "Cal"), many)
    answer_some(cal, many, 2, lambda row: NAMES[row % 77])
    to_rows(cal)
    cal.page.locator(".tile").first.wait_for()
    choose(cal, "source", "An answer")
    cal.wait("""() => {
        const notes = [...document.querySelectorAll('.tile-label .note')];
        return notes.length && notes.every((note) => note.textContent === 'answered');
    }""")
    choose(cal, "source", "The method")
    cal.page.locator("#rows-below").focus()
    cal.page.keyboard.type("90")
    cal.page.keyboard.press("Enter")
    cal.wait("() => document.activeElement.classList.contains('tile')")
    shares = cal.page.locator(".tile-label .note").all_text_contents()
    sure = [float(share.split("\u00a0")[0]) for share in shares]
    assert sure == sorted(sure)
    assert sure[-1] < 90
    cal.page.keyboard.press("Escape")
    cal.wait("() => document.activeElement.id === 'rows-text'")


def test_a_flag_is_sent_by_ctrl_enter_and_has_a_place_of_its_own(visit, many):
    """The note, who wrote it, and the row itself; the row can be answered there."""
    dee = visit(many.url, "Dee")
    row = dee.row
    dee.page.keyboard.press("f")
    dee.page.get_by_role("heading", name=f"Flag row {row}").wait_for()
    dee.page.keyboard.type("two matters\nin one <b>text</b>")
    dee.page.keyboard.press("Control+Enter")
    dee.toast(f"Row {row} is flagged")
    assert dee.row == row
    dee.page.goto(f"{many.url}#/rows/flagged")
    tile = dee.page.locator(f".tile[aria-label^='Row {row}:']")
    tile.wait_for()
    assert text_of(row) in tile.text_content()
    assert "in one <b>text</b> Dee" in tile.locator(".tile-flags").text_content()
    assert "label not shown" in tile.locator(".tile-label").text_content()
    for _ in range(rows_shown(dee).index(row) + 1):
        dee.page.keyboard.press("ArrowRight")
    dee.page.keyboard.type("card fee")
    dee.page.keyboard.press("Enter")
    dee.toast(f"Row {row} is card_fee now")
    assert (many.get(f"rows/{row}")["label"], many.get(f"rows/{row}")["source"]) == ("card_fee", "oracle")
    dee.page.keyboard.press(",")
    dee.page.locator("nav >> text=Answer").click()
    assert dee.row != row


def test_two_people_and_a_row_of_both(visit, table):
    """Whoever is to give a second opinion sees the row without the first; what they say is their opinion."""
    eli = visit(table.url, "Eli")
    row = eli.row
    eli.press("1")
    eli.settle()
    fay = visit(table.url, "Fay")
    seen = {}
    for person in (eli, fay):
        person.page.goto(f"{table.url}#/rows")
        person.page.locator(".tile").first.wait_for()
        find = "(name) => document.querySelector(`.tile[aria-label^='${name}']`)?.ariaLabel"
        while not (label := person.page.evaluate(find, f"Row {row}:")):
            shown = person.page.locator(".tile").count()
            person.page.get_by_role("button", name="Go on").click()
            person.wait("(n) => document.querySelectorAll('.tile').length > n", shown)
        seen[person] = label
    assert seen[eli] == f"Row {row}: cat, answered"
    assert seen[fay] == f"Row {row}: label not shown, waits for your opinion"
    fay.page.locator(f".tile[aria-label^='Row {row}:']").click()
    fay.page.keyboard.press("2")
    fay.toast(f"Row {row} is dog now")
    assert table.get(f"rows/{row}")["label"] == "cat"
    [one] = [one for one in table.get("disagreements") if one["row"] == row]
    assert [(said["by"], said["label"]) for said in one["opinions"]] == [("Eli", "cat"), ("Fay", "dog")]


def test_a_table_is_found_by_its_values(visit, table):
    """A row that waits for an answer takes what is said in the list as its answer, and is not asked any more."""
    gil = visit(table.url, "Gil")
    row = gil.row
    to_rows(gil, "grey")
    shown = rows_shown(gil)
    assert shown == [one for one in range(160) if one % 4 == 2][: len(shown)]
    gil.page.keyboard.press(",")
    gil.page.keyboard.press("Control+A")
    gil.page.keyboard.press("Delete")
    gil.page.keyboard.press("Enter")
    gil.wait("() => document.activeElement?.classList.contains('tile')")
    while not gil.page.locator(f".tile[aria-label^='Row {row}:']").count():
        count = gil.page.locator(".tile").count()
        gil.page.get_by_role("button", name="Go on").click()
        gil.wait("(n) => document.querySelectorAll('.tile').length > n", count)
    gil.page.locator(f".tile[aria-label^='Row {row}:']").click()
    assert "waits for an answer" in gil.page.locator(".tile.selected").get_attribute("aria-label")
    gil.page.keyboard.press("2")
    gil.toast(f"Row {row} is dog now")
    assert table.get(f"rows/{row}")["source"] == "oracle"
    gil.page.click("nav >> text=Answer")
    assert gil.row != row
    gil.page.click("nav >> text=Rows")
    gil.page.locator(".tile").first.wait_for()
    gil.page.keyboard.press("Backspace")
    gil.wait("() => window.seenNotes.length > 0")
    gil.page.click("nav >> text=Answer")
    gil.wait("(title) => document.querySelector('h1').textContent === title", f"Row {row}")


def test_pictures_are_found_by_person_label_and_skip(visit, serve):
    """By keyboard, where two people answer; a skipped row gets its label there, and is among the skipped no more."""
    server = serve(
        "shots", serving={"team": True, "lease_seconds": 15.0}, answered=40, classes=[str(digit) for digit in range(10)]
    )
    jo, kim = visit(server.url, "Jo"), visit(server.url, "Kim")
    mine = {jo.answer(): None for _ in range(2)}
    theirs = {kim.answer() for _ in range(3)}
    skipped = jo.row
    jo.press(" ")
    for person, n in ((jo, 2), (kim, 3)):
        person.settle()
        assert server.answers_of("Jo" if person is jo else "Kim", n) == n
    to_page(jo, server)
    jo.page.locator(".tile img").first.wait_for()
    for name, rows in (("Jo", {*mine}), ("Kim", theirs)):
        choose(jo, "person", name)
        jo.page.locator(".found-line", has_text=f"{len(rows)}\u00a0rows found").wait_for()
        jo.counts(".tile", len(rows))
        assert {*rows_shown(jo)} == rows
    choose(jo, "person", "Anybody")
    label = jo.truth[skipped]
    choose(jo, "label", label)
    said = "() => { const all = [...document.querySelectorAll('.tile-label > span:first-child')]; return all.length && "
    jo.wait(f"{said} all.every((one) => one.textContent === '{label}'); }}")
    choose(jo, "label", "Any")
    choose(jo, "list", "Skipped rows")
    jo.page.locator(".found-line", has_text="1\u00a0row found").wait_for()
    jo.page.locator(f".tile[aria-label^='Row {skipped}:']").focus()
    jo.page.keyboard.press(label)
    jo.toast(f"Row {skipped} is {label} now")
    assert server.get(f"rows/{skipped}")["label"] == label
    choose(jo, "list", "All rows")
    jo.page.locator(".tile").nth(3).wait_for()
    choose(jo, "list", "Skipped rows")
    jo.page.locator(".found-line", has_text="No row is like that.").wait_for()


def test_a_leaf_of_texts_opens_its_rows_in_full(visit, serve, tmp_path):
    """What a tile of the gallery leaves out is said there, and the key for it shows all."""
    path = tmp_path / "letters.csv"
    lines = [f"{('soup', 'train')[i % 2]} {i} " + "and so on " * 150 + f"until {i}" for i in range(120)]
    path.write_text("text\n" + "".join(f"{line}\n" for line in lines))
    server = serve("leaf", data=path, classes=["food", "travel"])
    lou = visit(server.url)
    for _ in range(24):
        lou.press("12"[lou.row % 2])
    lou.settle()
    lou.page.get_by_role("link", name="Leaves").press("Enter")
    lou.page.locator("tbody a").first.press("Enter")
    lou.page.locator(".tile-more", has_text="there is more").first.wait_for()
    lou.page.keyboard.press("ArrowRight")
    row = int(lou.page.locator(".tile.selected").get_attribute("aria-label").split(":")[0].removeprefix("Row "))
    lou.page.keyboard.press(".")
    assert lou.page.locator("dialog .prose").text_content() == lines[row]
    lou.page.keyboard.press("Escape")
    lou.page.locator("dialog").wait_for(state="detached")


def test_hidden_columns_are_exported_by_a_tick(visit, many, tmp_path):
    """Left out otherwise; both by keyboard, each in one file with its certificate."""
    ivo = to_page(visit(many.url, "Ivo"), many)
    answer_some(ivo, many, 1, lambda row: NAMES[row % 77])
    ivo.page.get_by_role("link", name="Export").press("Enter")
    for wanted in (False, True):
        if wanted:
            ivo.page.get_by_label("With the hidden column").press("Space")
        with ivo.page.expect_download() as download:
            ivo.page.get_by_role("button", name="CSV").press("Enter")
        file = tmp_path / f"{wanted}.zip"
        download.value.save_as(file)
        with zipfile.ZipFile(file) as packed:
            names = sorted(packed.namelist())
            head = packed.read("tickets-labelled.csv").decode().splitlines()[0]
        assert names == ["README.txt", "tickets-labelled.csv", "tickets-labelled.csv.certificate.json"]
        assert ('"secret"' in head, '"answered_by"' in head) == (wanted, True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_page_of_rows(visit, many, scheme):
    """With rows, one of them selected, and a flag."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
    hal = to_page(visit(many.url, "Hal", color_scheme=scheme, reduced_motion="reduce"), many)
    post(hal, many, "flags", by="Hal", row=11, comment="which of the two?")
    to_rows(hal, "card")
    hal.page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = hal.page.evaluate("axe.run()")
    assert [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")] == []
