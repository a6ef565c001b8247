"""77 and 1,000 classes, by keyboard: found by parts of their names, in an order that has nothing to do with the row."""

import csv

import pytest
from tests.web.browser.tickets import AREAS, MATTERS, NAMES


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """Short texts, each with its class."""
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "number"])
        writer.writerows([f"about my {NAMES[i % 77].replace('_', ' ')}, ticket {i}", i] for i in range(400))
    return path


@pytest.fixture(scope="module")
def begin(serve, tickets):
    """Serve a campaign about them."""
    return lambda name, classes, **serving: serve(name, data=tickets, classes=classes, serving=serving)


@pytest.fixture(scope="module")
def many(begin):
    """One that all may answer in."""
    return begin("many", NAMES, team=True)


def options(visitor) -> list[str]:
    """The classes in the list, as they stand there."""
    return visitor.page.locator(".found .option .name").all_text_contents()


def label_of(visitor, server, row) -> str:
    """What a row was answered with."""
    visitor.settle()
    return server.get(f"rows/{row}")["label"]


def test_typing_finds_a_class_by_parts_of_its_words(visit, many):
    """The first letter opens the list; arrows choose and Enter answers, or a digit does both."""
    ada = visit(many.url, "Ada")
    row = ada.row
    ada.page.keyboard.type("not work")
    assert options(ada) == [name for name in NAMES if name.endswith("not_working") and not name.startswith("top")] + [
        "top_up_not_working"
    ]
    ada.page.keyboard.press("ArrowDown")
    ada.press("Enter")
    assert label_of(ada, many, row) == "transfer_not_working"
    row = ada.row
    ada.page.keyboard.press("/")
    ada.page.keyboard.type("ex fe")
    assert options(ada)[0] == "exchange_fee"
    ada.press("1")
    assert label_of(ada, many, row) == "exchange_fee"
    ada.page.keyboard.type("nothing like it")
    assert options(ada) == []
    ada.page.keyboard.press("Enter")
    ada.page.keyboard.press("Escape")
    ada.page.locator("dialog").wait_for(state="detached")


def test_the_order_is_the_same_for_every_row(visit, many):
    """Single rows may be draws: nothing in list or buttons follows the row, or what was answered before."""
    bo = visit(many.url, "Bo")
    seen = []
    for name in ("pin_lost", "refund_find", "card_fee", "pin_lost"):
        bo.page.keyboard.press("/")
        seen.append((options(bo), bo.page.locator(".palette .class .name").all_text_contents()))
        bo.page.keyboard.type(name)
        bo.press("Enter")
    assert all(one == seen[0] for one in seen)
    assert seen[0][0] == NAMES[:60]
    assert seen[0][1][1:] == NAMES


def test_keys_of_the_page_are_not_keys_of_classes(visit, begin):
    """F flags, whatever classes there are; a key that was changed elsewhere is taken from the class that had it."""
    server = begin("clash", NAMES[:12])
    cat = visit(server.url)
    cat.page.keyboard.press("f")
    cat.page.get_by_role("heading", name="Flag row").wait_for()
    cat.page.keyboard.press("Escape")
    cat.page.evaluate("localStorage.setItem('bela.keys', JSON.stringify({ skip: '3', flag: 'a' }))")
    cat.page.reload()
    cat.wait("() => document.querySelector('.stage .record')")
    keys = cat.page.locator(".palette .class kbd").all_text_contents()
    assert len(set(keys)) == 12
    assert not {"3", "A"} & set(keys)
    row = cat.row
    cat.press("3")
    cat.settle()
    assert server.get("state")["skipped"] == 1
    assert row != cat.row


def test_groups_by_a_separator(visit, begin):
    """Names with a separator stand in groups, by the rest of their names; answers have the whole name."""
    server = begin("groups", [f"{area}/{matter}" for area in AREAS for matter in MATTERS])
    dan = visit(server.url)
    assert dan.page.locator(".class-group h3").all_text_contents() == AREAS
    assert dan.page.locator(".class-group").nth(1).locator(".name").all_text_contents() == MATTERS
    row = dan.row
    dan.press("2")
    assert label_of(dan, server, row) == "card/declined"


def test_groups_by_a_column(visit, serve, tickets):
    """Classes of a file with a column of groups stand in these, in whatever order, and a renamed class stays in its."""
    groups = {name: ["money", "plastic", "other matters"][len(name) % 3] for name in NAMES}
    server = serve("columns", data=tickets, classes=NAMES, groups=groups)
    gil = visit(server.url)
    assert gil.page.locator(".class-group h3").all_text_contents() == list(dict.fromkeys(groups.values()))
    first = gil.page.locator(".class-group").first.locator(".name").all_text_contents()
    assert first == [name for name in NAMES if groups[name] == groups[NAMES[0]]]
    row = gil.row
    gil.press("1")
    assert label_of(gil, server, row) == NAMES[0]
    found = {entry["label"]: entry["group"] for entry in server.get("state")["classes"]}
    assert found == groups


def test_likely_classes_come_first_in_a_grid_and_never_for_single_rows(visit, serve):
    """Rows of a grid are to be learnt from: its list begins with what is suggested. A single row may be a draw."""
    names = [str(number) for number in range(10)] + [
        f"kind {letter}{other}" for letter in "abcd" for other in "efghijkl"
    ]
    server = serve("likely", classes=names, answered=30)
    hal = visit(server.url)

    def answer_blind() -> None:
        row = hal.row
        hal.page.keyboard.press("/")
        assert options(hal) == names  # whatever was learnt and answered so far
        hal.page.keyboard.type(hal.truth[row])
        hal.press("Enter")

    for _ in range(8):
        answer_blind()
    hal.settle()
    hal.page.keyboard.press("g")
    while True:
        hal.wait("() => document.querySelector('.tiles:not(.over) .tile, .singly:not([hidden])')")
        if hal.page.locator(".tile").count():
            break
        answer_blind()
    label = "() => document.querySelector('.tile').ariaLabel.split(': ')[1]"
    hal.wait(f"() => ({label})() !== 'no label yet'")
    suggested = hal.page.evaluate(label)
    hal.page.keyboard.press("ArrowRight")
    hal.page.keyboard.press("/")
    assert options(hal)[0] == suggested
    assert sorted(options(hal)) == sorted(names)


def test_what_was_given_last_comes_first_for_rows_that_nobody_answered(visit, begin):
    """In the list of rows as in grids: the label that it has, then those given last, then all others."""
    server = begin("recent", NAMES)
    ida = visit(server.url)
    for name in ("pin lost", "card fee"):
        ida.page.keyboard.type(name)
        ida.press("Enter")
    ida.settle()
    ida.page.keyboard.press(",")
    ida.wait("() => document.activeElement?.id === 'rows-text'")
    ida.page.locator("#rows-source").select_option("inferred")
    ida.page.locator(".tile").first.wait_for()
    ida.page.locator("#rows-text").press("Enter")
    ida.wait("() => document.activeElement?.classList.contains('tile')")
    label = ida.page.locator(".tile.selected .tile-label > span").first.text_content()
    ida.page.keyboard.press("/")
    first = [label, *(name for name in ("card_fee", "pin_lost") if name != label)]
    assert options(ida)[: len(first)] == first
    assert options(ida)[len(first) :] == [name for name in NAMES if name not in first][: 60 - len(first)]


def test_a_class_of_many_is_deleted_by_keyboard(visit, begin):
    """Its answers are open again, it is no button any more, and the note that says so has a way back."""
    server = begin("fewer", NAMES)
    jan = visit(server.url)
    row = jan.row
    jan.press("1")
    jan.settle()
    jan.page.get_by_role("link", name="Classes").press("Enter")
    jan.page.get_by_role("button", name=f"Delete {NAMES[0]}", exact=True).press("Enter")
    jan.page.get_by_role("dialog").get_by_text(f"1 answer says {NAMES[0]}: that row will be asked again").wait_for()
    jan.page.keyboard.press("Tab")
    jan.page.keyboard.press("Enter")
    jan.toast(f"{NAMES[0]} is deleted")
    state = server.get("state")
    assert (state["answers"], len(state["classes"])) == (0, 76)
    jan.page.get_by_role("link", name="Answer").press("Enter")
    jan.page.locator(".palette .class .name", has_text=NAMES[1]).wait_for()
    assert NAMES[0] not in jan.page.locator(".palette .class .name").all_text_contents()
    jan.page.get_by_role("button", name="Undo").last.press("Enter")
    jan.toast(f"{NAMES[0]} is a class again")
    assert server.get("state")["answers"] == 1
    assert server.get(f"rows/{row}")["label"] == NAMES[0]


def test_a_thousand_classes(visit, begin):
    """The list shows some and says how many more there are; any is found."""
    server = begin("thousand", [f"kind {chr(97 + i // 100)} {i:03}" for i in range(1000)])
    eve = visit(server.url)
    row = eve.row
    eve.page.keyboard.press("/")
    assert len(options(eve)) == 60
    assert "And 940 more" in eve.page.locator("dialog").text_content()
    eve.page.keyboard.type("777")  # a part of names, so that digits choose nothing here
    assert options(eve) == ["kind h 777"]
    eve.press("Enter")
    assert label_of(eve, server, row) == "kind h 777"
    eve.page.goto(f"{server.url}#/classes")
    few = eve.page.locator(".note-line", has_text="Few answers so far")
    few.wait_for()
    assert few.text_content().endswith(" more.")
    assert few.locator("strong").count() == 12


def test_axe_finds_nothing_in_the_list(visit, many):
    """The list can be used with a screen reader."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
    fay = visit(many.url, "Fay")
    fay.page.keyboard.press("/")
    fay.page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = fay.page.evaluate("axe.run()")
    assert [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")] == []
