"""The widget of a notebook in a real browser: its own code, with a page that stands in for the notebook's model."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import bela
from bela.campaign import create_campaign, open_campaign
from bela.notebook import NotebookAnswering
from bela.records import Role

PATIENCE = 60_000
FILES = Path(bela.__file__).parent / "notebook"
ADDRESS = "http://notebook.test/"
PAGE = """<!doctype html><html lang="en"><head><title>notebook</title><link rel="stylesheet" href="/widget.css"></head>
<body><main><div id="cell"></div></main><script type="module">
import widget from "/widget.js";
const watchers = [];
window.model = {
  state: JSON.parse(await window.belaHandle(JSON.stringify({ action: "show" }))),
  sent: [],
  get: (name) => window.model[name],
  on: (name, call) => watchers.push(call),
  off: () => {},
  async send(message) {
    window.model.sent.push(message);
    window.model.state = JSON.parse(await window.belaHandle(JSON.stringify(message)));
    watchers.forEach((call) => call());
  },
};
document.addEventListener("keydown", (event) => (window.leaked = [...(window.leaked ?? []), event.key]));
widget.render({ model: window.model, el: document.getElementById("cell") });
document.querySelector(".bela-widget").focus();
</script></body></html>"""


class Cell:
    """The output of a cell, and whoever answers in it."""

    def __init__(self, page) -> None:
        self.page = page

    @property
    def row(self) -> int:
        """The row on the screen."""
        return self.page.evaluate("() => window.model.state.question.row")

    def press(self, *keys: str) -> None:
        """Press keys, and wait until the last has done what it does."""
        before = self.page.evaluate("() => window.model.sent.length")
        for key in keys:
            self.page.keyboard.press(key)
        self.page.wait_for_function(
            "(n) => window.model.sent.length > n && !document.querySelector('.bela-widget[aria-busy]')",
            arg=before, timeout=PATIENCE,
        )  # fmt: skip

    def text(self, selector: str) -> str:
        """What stands there."""
        return self.page.locator(selector).first.inner_text()


@pytest.fixture
def show(browser):
    """Show a campaign in a cell; no page may have complained in the end."""
    contexts, complaints = [], []

    def come(campaign, **options) -> Cell:
        answering = NotebookAnswering(campaign, **options)
        context = browser.new_context(color_scheme="dark" if len(contexts) % 2 else "light")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        page.expose_function("belaHandle", lambda text: json.dumps(answering.handle(json.loads(text))))
        kinds = {"widget.js": "text/javascript", "widget.css": "text/css"}

        def serve(route) -> None:
            name = route.request.url.removeprefix(ADDRESS)
            if name in kinds:
                route.fulfill(body=(FILES / name).read_text(encoding="utf-8"), content_type=kinds[name])
            else:
                route.fulfill(body=PAGE, content_type="text/html")

        page.route(f"{ADDRESS}**", serve)
        page.goto(ADDRESS)
        page.locator(".bela-widget").wait_for()
        return Cell(page)

    yield come
    for context in contexts:
        context.close()
    assert complaints == []


SCRIPT = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'


def test_texts_by_keyboard_with_undo_skip_and_a_new_class(show):
    """Keys answer, Space skips, Backspace takes back, + adds a class; no key leaves the widget, no content acts."""
    texts = [f"text {i} {SCRIPT} &amp; more" for i in range(60)]
    campaign = bela.Campaign(texts, classes=["good", SCRIPT])
    cell = show(campaign)
    assert "<script>" in cell.text(".bela-text")
    assert "& more" in cell.text(".bela-text")
    first = cell.row
    cell.press("1")
    assert campaign.book.label(first) == "good"
    second = cell.row
    cell.press("2")
    assert campaign.book.label(second) == SCRIPT
    cell.press("Backspace")
    assert (cell.row, campaign.book.label(second)) == (second, None)
    cell.press("Space")
    assert campaign.book.n_skipped == 1
    cell.press("Control+z")
    assert (cell.row, campaign.book.n_skipped) == (second, 0)
    cell.page.keyboard.press("+")
    cell.page.keyboard.type("so so")
    cell.press("Enter")
    assert campaign.classes == ("good", SCRIPT, "so so")
    assert cell.row == second
    cell.press("3")
    assert campaign.book.label(second) == "so so"
    assert "answers" in cell.text(".bela-head")
    assert cell.page.evaluate("() => window.hacked") is None
    assert "1" not in (cell.page.evaluate("() => window.leaked") or [])


def test_many_classes_are_found_by_their_names(show):
    """Letters begin a name; arrows and Enter choose; the order has nothing to do with the row."""
    names = [f"{area}_{matter}" for area in ("card", "pin", "refund") for matter in "abcdefghijklmnopqrstuvwxyz"]
    campaign = bela.Campaign([{"text": f"about {i} things", "n": i} for i in range(80)], classes=names)
    cell = show(campaign)
    for _ in range(3):
        assert cell.page.locator(".bela-classes button span").all_inner_texts() == names[:60]
        row = cell.row
        cell.page.keyboard.type("pin c")
        assert cell.page.locator(".bela-classes button span").all_inner_texts()[0] == "pin_c"
        cell.press("Enter")
        assert campaign.book.label(row) == "pin_c"
    row = cell.row
    cell.page.keyboard.type("refund")
    cell.press("ArrowDown", "Enter")
    assert campaign.book.label(row) == "refund_b"


def test_pictures_and_tables(show):
    """A picture is one, small ones enlarged; a table has its names and values, and says what it leaves out."""
    rng = np.random.default_rng(0)
    cell = show(bela.Campaign(rng.integers(0, 255, (40, 8, 8), dtype=np.uint8), classes=["a", "b"]))
    cell.page.wait_for_function("() => document.querySelector('.bela-row img').naturalWidth === 256", timeout=PATIENCE)
    rows = [{"city": ["Rome", "Oslo"][i % 2], "size": i * 1.5, "height": i % 7, "note": None} for i in range(40)]
    cell = show(bela.Campaign(rows, classes=["a", "b"]), hide=["size"])
    assert cell.page.locator(".bela-row dt").all_inner_texts() == ["city", "height"]
    assert "Not shown: note" in cell.text(".bela-row")
    assert "size" not in cell.text(".bela-row")


def test_nothing_tells_a_draw_and_an_answer_is_on_disk_when_it_is_acknowledged(show, tmp_path):
    """Draws and others look the same, key by key; the journal has each answer before the next row is shown."""
    path = tmp_path / "texts.csv"
    path.write_text("text,secret\n" + "".join(f"word{i % 7} and word{i % 3},{i % 2}\n" for i in range(300)))
    create_campaign(path, tmp_path / "texts.bela", classes=["dull", "fine"], hidden=["secret"]).close()
    with bela.Campaign.open(tmp_path / "texts.bela") as campaign:
        cell = show(campaign, by="Ada")
        shapes = {role: set() for role in Role}
        for n in range(1, 41):
            state = cell.page.evaluate("() => window.model.state")
            assert "secret" not in cell.text(".bela-row")
            role = campaign.book.questions[state["question"]["id"]].role
            shown = cell.page.evaluate("() => document.querySelector('.bela-widget').outerHTML")
            shown = re.sub(">[^<]*<", "><", shown)
            plain = shown.split("bela-foot")[0]
            shapes[role].add((tuple(sorted(state["question"])), plain.split("bela-row")[1]))
            cell.press("1")
            with open_campaign(tmp_path / "texts.bela", read_only=True) as again:
                assert again.campaign.n_asked == n
                assert again.campaign.book.said[state["question"]["id"]] == {"Ada": 0}
        assert all(shapes.values())
        assert shapes[Role.BOUNDS] == shapes[Role.TRAINING]
