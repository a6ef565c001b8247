"""The first minute: no classes yet, somebody who has never seen the page, and a keyboard."""

import csv

import pytest


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
