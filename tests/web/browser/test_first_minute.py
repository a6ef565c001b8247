"""The first minute: no classes yet, somebody who has never seen the page, and a keyboard."""

import csv

import pytest
from tests.web.browser.conftest import PATIENCE, Visitor
from tests.web.browser.tickets import NAMES


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """Texts with a column of moods, one of places, and a number in each row."""
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "mood", "place", "secret"])
        for i in range(120):
            text = f"The {('soup', 'bread', 'service')[i % 3]} was {('fine', 'cold')[i % 2]}, number {i}."
            writer.writerow([text, ("good", "bad")[i % 2], f"town {i % 4}", f"hush {i % 3}"])
    return path


@pytest.fixture(scope="module")
def begin(serve, reviews):
    """Serve a campaign that has no classes."""
    return lambda name: serve(name, data=reviews, hidden=["secret"])


def named(server) -> list:
    """The classes that the server has."""
    return [entry["label"] for entry in server.get("state")["classes"]]


def test_classes_are_asked_for_first(visit, begin):
    """The page asks which classes there are, says what will happen, and takes them as they are typed or pasted."""
    server = begin("typed")
    ada = visit(server.url)
    ada.page.locator("#first-classes:focus").wait_for()
    first = ada.page.locator(".first-minute").text_content()
    assert "Which classes?" in first
    assert "You answer some rows, BELA labels the rest, and says how good the labels are." in first
    assert ada.page.locator(".phases [aria-current]").text_content() == "Looking around"
    assert ada.page.locator(".ladder h3").count() == 1
    row = ada.row
    ada.page.keyboard.type("good, bad , good,")
    ada.page.keyboard.press("Control+Enter")
    ada.page.locator(".first-minute").wait_for(state="hidden")
    assert named(server) == ["good", "bad"]
    assert ada.row == row
    assert server.get("state")["answers"] == 0
    ada.press("2")
    ada.settle()
    assert server.get(f"rows/{row}")["label"] == "bad"


def test_what_will_happen_is_said_where_classes_are_known(visit, serve, reviews):
    """Whoever comes to a campaign that has its classes is told what will happen as well, until the first answer."""
    server = serve("known", data=reviews, hidden=["secret"], classes=["good", "bad"])
    cid = visit(server.url)
    said = cid.page.locator("#certificate .sentence")
    assert said.text_content() == "You answer some rows, BELA labels the rest, and says how good the labels are."
    cid.press("1")
    cid.settle()
    cid.wait("() => document.querySelector('#certificate .sentence').textContent.includes('of the labels are right')")


def test_a_key_without_classes_says_what_to_do(visit, begin):
    """Key 1 answers nothing where there is no class: it leads to the field for their names."""
    bo = visit(begin("reminded").url)
    bo.page.locator("#first-classes:focus").wait_for()
    bo.page.keyboard.press("Escape")
    bo.page.keyboard.press("1")
    bo.toast("There are no classes yet")
    bo.page.locator("#first-classes:focus").wait_for()
    assert bo.page.locator("#first-classes").input_value() == ""


def test_classes_come_from_a_column(visit, begin):
    """Columns with few values are offered, those that are hidden are not."""
    server = begin("columns")
    cat = visit(server.url)
    cat.page.get_by_role("button", name="mood (2)").press("Enter")
    assert cat.page.locator(".sources button").all_text_contents() == ["mood (2)", "place (4)"]
    cat.page.keyboard.press("Control+Enter")
    cat.page.locator(".first-minute").wait_for(state="hidden")
    assert named(server) == ["bad", "good"]


def test_seventy_seven_classes_are_pasted(visit, begin):
    """One a line: the page says how many there are before they are added, and any is found afterwards."""
    server = begin("pasted")
    eli = visit(server.url)
    eli.page.locator("#first-classes:focus").wait_for()
    eli.page.keyboard.insert_text("\n".join(NAMES))
    eli.says("77 classes".replace(" ", "\u00a0"), ".first-minute")
    eli.page.keyboard.press("Control+Enter")
    eli.page.locator(".first-minute").wait_for(state="hidden")
    assert named(server) == NAMES
    row = eli.row
    eli.page.keyboard.type("top stolen")
    eli.press("Enter")
    eli.settle()
    assert server.get(f"rows/{row}")["label"] == "top_up_stolen"


def test_the_classes_of_a_prediction_are_there(visit, serve, reviews):
    """Whoever brings a prediction need not name its classes; what it says of a row is not on the page."""
    server = serve("predicted", data=reviews, hidden=["secret"], predicted=["mood"])
    fay = visit(server.url)
    assert named(server) == ["good", "bad"]
    fay.page.locator(".first-minute").wait_for(state="hidden")
    assert fay.page.locator(".stage dt").all_text_contents() == ["place"]
    row = fay.row
    fay.press("2")
    fay.settle()
    assert server.get(f"rows/{row}")["label"] == "bad"


def test_annotators_wait_until_the_owner_has_said_which_classes_there_are(visit, serve, tmp_path):
    """The rows of a table come by themselves then, with the keys of the classes; until then the page says why."""
    path = tmp_path / "pets.csv"
    path.write_text("colour,weight\n" + "".join(f"{('black', 'white')[i % 2]},{i}\n" for i in range(90)))
    server = serve("unnamed", data=path, serving={"team": True})
    gus = visit(server.url, "Gus")
    gus.page.locator("#first-classes:focus").wait_for()
    hal = Visitor(gus.page.context.browser.new_context().new_page(), gus.truth)
    hal.page.set_default_timeout(PATIENCE)
    hal.page.goto(server.link("Hal", "annotator"))
    hal.page.locator(".notice", has_text="There are no classes yet").wait_for()
    hal.page.keyboard.press("1")
    assert hal.page.locator(".stage .record, .first-minute:not([hidden])").count() == 0
    gus.page.get_by_role("button", name="colour (2)").press("Enter")
    gus.page.keyboard.press("Control+Enter")
    gus.page.locator(".first-minute").wait_for(state="hidden")
    row = hal.row
    hal.press("1")
    hal.settle()
    assert server.answers_of("Hal", 1) == 1
    assert server.get(f"rows/{row}")["label"] == "black"
    hal.page.context.close()


def test_the_phases_have_names(visit, serve):
    """Looking around, learning, certifying: the last as soon as the labels look good enough for the target."""
    server = serve("phases", answered=70, target=0.999, classes=[str(digit) for digit in range(10)])
    ida = visit(server.url)
    phase = ida.page.locator(".phases [aria-current=step]")
    phase.filter(has_text="Learning").wait_for()
    server.rest()
    known = server.get("state")
    within = 100 * (known["lower"] + known["expected"]) / 2
    ida.page.get_by_role("link", name="Export", exact=True).press("Enter")
    ida.page.get_by_label("Target, per cent").fill(f"{within:.1f}")
    ida.page.keyboard.press("Enter")
    phase.filter(has_text="Certifying").wait_for()
    assert ida.page.locator(".phases li").all_text_contents() == ["Looking around", "Learning", "Certifying"]


def test_axe_finds_nothing_in_the_first_minute(visit, begin):
    """It can be used with a screen reader, and so can the dialog of the keys."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
    jo = visit(begin("reading").url, reduced_motion="reduce")
    jo.page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    for there, keys in (("#first-classes:focus", ("Escape", "h")), ("dialog .key-list li >> nth=0", ("Escape",))):
        jo.page.locator(there).wait_for()
        found = jo.page.evaluate("axe.run()")
        assert [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")] == [], there
        for key in keys:
            jo.page.keyboard.press(key)


def test_plus_adds_a_class_and_answers_nothing(visit, begin):
    """The row on the screen stays, and the new class says what its key is."""
    server = begin("plus")
    dan = visit(server.url)
    dan.page.locator("#first-classes:focus").wait_for()
    dan.page.keyboard.type("good\nbad")
    dan.page.keyboard.press("Control+Enter")
    dan.page.locator(".first-minute").wait_for(state="hidden")
    row = dan.row
    dan.page.keyboard.press("+")
    dan.page.keyboard.type("mixed")
    dan.page.keyboard.press("Enter")
    dan.toast("Its key is 3")
    dan.settle()
    assert (dan.row, server.get("state")["answers"], len(named(server))) == (row, 0, 3)
    dan.press("3")
    dan.settle()
    assert server.get(f"rows/{row}")["label"] == "mixed"
