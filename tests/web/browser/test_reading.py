"""Rows that have to be read: nothing of them is out of sight without a word, and nothing is confirmed unseen."""

import csv

import numpy as np
import pytest
from PIL import Image

LAST = "the very last words"


@pytest.fixture(scope="module")
def letters(serve, tmp_path_factory):
    """Serve long letters in a table of many columns, one of which is the same everywhere."""
    path = tmp_path_factory.mktemp("letters") / "letters.csv"
    rng = np.random.default_rng(0)
    words = ["loan", "card", "fee", "rate", "wait", "phone", "branch", "refund"]
    columns = [f"part {i}" for i in range(12)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *columns, "constant"])
        for i in range(200):
            body = " ".join(rng.choice(words, 150).tolist())
            text = f"Fish &amp; chips &lt;b&gt; &#39;{i}&#39; a?b=1&copy=2 {body} {LAST} {i}"
            writer.writerow([text, *rng.integers(0, 9, 12).tolist(), "same"])
    return serve("letters", data=path, classes=["one", "two"])


def test_a_row_shows_all_or_says_what_it_hides(visit, letters):
    """Entities are read as what they stand for, as text; every column is there, or its name is."""
    ada = visit(letters.url)
    text = ada.page.locator(".stage .prose").text_content()
    assert text.startswith(f"Fish & chips <b> '{ada.row}' a?b=1&copy=2 ")
    assert ada.page.locator(".stage b").count() == 0
    names = ada.page.locator(".stage dt").all_text_contents()
    hidden = ada.page.locator(".stage .left-out").all_text_contents()
    assert sorted(names) == sorted(f"part {i}" for i in range(12))
    assert hidden == ["Not shown: constant"]


def test_what_of_a_row_is_further_down_is_named(visit, letters):
    """Not every system shows scroll bars: what is out of sight is said until it was scrolled to."""
    dan = visit(letters.url, viewport={"width": 1280, "height": 520})
    note = dan.page.locator(".further")
    note.filter(has_text="further down: part").wait_for()
    assert note.text_content().rstrip("↓").endswith("part 11")
    while note.is_visible():
        top = dan.page.evaluate("document.querySelector('.stage').scrollTop")
        dan.page.keyboard.press("ArrowDown")
        dan.wait("(top) => document.querySelector('.stage').scrollTop > top", top)
        dan.page.evaluate("() => new Promise(requestAnimationFrame)")
    last = "document.querySelector('.stage .left-out').getBoundingClientRect().bottom"
    assert dan.page.evaluate(f"{last} < document.querySelector('.stage').getBoundingClientRect().bottom")
    dan.page.set_viewport_size({"width": 1280, "height": 1600})
    dan.wait("() => document.querySelector('.further').hidden")


def test_long_names_leave_their_values_room(visit, serve, tmp_path):
    """In a grid a number stands in one line, however long the name of its column is."""
    rng = np.random.default_rng(0)
    path = tmp_path / "sensors.csv"
    names = [f"measurement_{i}_of_the_sensor" for i in range(3)]
    rows = [",".join(f"{value:.6f}" for value in rng.normal(0, 300, 3)) for _ in range(200)]
    path.write_text("\n".join([",".join(names), *rows]), encoding="utf-8")
    eve = visit(serve("sensors", data=path, classes=["one", "two"]).url)
    eve.to_grid(key="1")
    lines = """() => [...document.querySelectorAll('.tile dd')].map((value) => {
        const range = document.createRange();
        range.selectNodeContents(value);
        return range.getClientRects().length;
    })"""
    assert set(eve.page.evaluate(lines)) == {1}


def test_a_grid_of_texts_is_read_to_its_end(visit, letters):
    """Fewer, larger cells; what is cut says so and opens; Enter goes on until all rows were in sight, then confirms."""
    bo = visit(letters.url)
    bo.to_grid(key="1")
    bo.page.locator(".tile .prose").first.wait_for()
    n = len(bo.tiles)
    assert 4 <= n <= 12
    bo.settle()
    before = letters.get("state")["answers"]
    bo.page.locator(".tile-more", has_text="not in sight: part").first.wait_for()
    bo.page.keyboard.press("ArrowRight")
    row = bo.tiles[0]
    bo.page.keyboard.press(".")
    assert bo.page.locator("dialog .prose").text_content().endswith(f"{LAST} {row}")
    bo.page.keyboard.press("Escape")
    bo.page.locator("dialog").wait_for(state="detached")
    bo.page.keyboard.press("Escape")
    bo.page.keyboard.press("2")
    bo.page.locator(".confirm", has_text="further down").wait_for()
    bo.page.keyboard.press("Enter")
    bo.wait("() => document.querySelector('.tiles-frame').scrollTop > 0")
    assert letters.get("state")["answers"] == before
    said = "(window.seenNotes ?? []).some((note) => note.includes('answered'))"
    while not bo.page.evaluate(said):  # each Enter goes further down, or confirms
        top = bo.page.evaluate("document.querySelector('.tiles-frame').scrollTop")
        bo.page.keyboard.press("Enter")
        bo.wait(f"(top) => {said} || document.querySelector('.tiles-frame')?.scrollTop > top", top)
    bo.settle()
    assert letters.get("state")["answers"] == before + n


def test_a_picture_has_the_name_of_its_file(visit, serve, tmp_path):
    """Without its folder, which may be what the row is."""
    rng = np.random.default_rng(0)
    for i in range(40):
        folder = tmp_path / "photos" / ("cat", "dog")[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (20, 20, 3), dtype=np.uint8)).save(folder / f"shot {i}.png")
    server = serve("photos", data=tmp_path / "photos", hidden=["folder"], classes=["cat", "dog"])
    cat = visit(server.url)
    name = cat.page.locator(".stage figcaption").text_content()
    assert name == server.get(f"rows/{cat.row}")["files"]["path"]
    assert name.startswith("shot ")
    assert name.endswith(".png")
