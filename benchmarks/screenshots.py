"""Take the pictures of the labelling page that docs/page.md shows.

    python benchmarks/screenshots.py [--rows 10000] [--to docs/page] [--texts]

A campaign on the first rows of Fashion-MNIST, answered by the truth up to a point, and one on a few texts.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from _browser import chromium, pictures_file, serving
from bela.campaign import Team, create_campaign
from bela.views import ChartPoint, Notes

PEOPLE = ["Ada", "Bo", "Cleo"]
CLOTHES = ["T-shirt", "Trousers", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
AREAS = ["card", "transfer", "top_up", "exchange", "pin", "balance", "refund"]
MATTERS = "arrival declined pending fee limit lost not_working stolen amount find linked"
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
SENTENCES = {
    "sport": ["The match ended in a draw after a late goal.", "The coach praised the young goalkeeper.",
              "המשחק הסתיים בתיקו אחרי שער מאוחר."],
    "travel": ["The train to the coast runs every hour.", "We stayed in a small hotel by the harbour.",
               "הרכבת לחוף יוצאת בכל שעה, והמוזיאון סגור בימי שני."],
    "cooking": ["Add the onions and let them brown slowly.", "The bread needs two hours to rise.",
                "הוסיפו את הבצל ותנו לו להשחים לאט."],
}  # fmt: skip


def answer(stored: Any, names: list[str], n: int, people: list[str]) -> None:
    """Answer n questions by the truth, some of them twice and not always alike; note how it goes, as the page does."""
    rng = random.Random(0)  # noqa: S311
    campaign, notes = stored.campaign, Notes(stored.path / "cache")
    done = 0
    while done < n and campaign.stop_reason is None:
        for question in campaign.ask(10):
            first, second = rng.sample(people, 2)
            campaign.tell(question.id, names[question.row], by=first)
            if rng.random() < 0.2:
                differs = rng.random() < 0.08
                campaign.opine(question.id, rng.choice(campaign.classes) if differs else names[question.row], by=second)
            done += 1
        result = campaign.result()
        expected = float(np.mean(result.probability))
        lower = float(result.certificate.lower)
        notes.mark(ChartPoint(answers=result.n_asked, lower=lower, expected=expected, at=time.time()))


def make_clothes(folder: Path, n_rows: int, n_answers: int, target: float) -> Path:
    """Create a campaign on pictures of clothes, and answer some of it."""
    data, campaign = folder / "clothes.npz", folder / "clothes.bela"
    codes = pictures_file(data, "fashion-mnist", n_rows)
    names = [CLOTHES[code] for code in codes]
    with create_campaign(data, campaign, classes=CLOTHES, target=target) as stored:
        answer(stored, names, n_answers, PEOPLE)
    np.save(folder / "codes.npy", codes)
    return campaign


def make_texts(folder: Path, name: str, classes: list[str]) -> Path:
    """Create a campaign on texts, some of them from right to left, some long."""
    rng = random.Random(2)  # noqa: S311
    data, campaign = folder / f"{name}.csv", folder / f"{name}.bela"
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "source", "year"])
        for i in range(300):
            *latin, hebrew = SENTENCES[rng.choice(list(SENTENCES))]
            text = f"{hebrew} {hebrew}" if i % 3 else " ".join(rng.choices(latin, k=rng.choice([2, 4, 8])))
            writer.writerow([f"letter-{i:03d}", text, rng.choice(["news", "forum", "letter"]), rng.randint(1990, 2025)])
    create_campaign(data, campaign, id_column="id", classes=classes or None, target=0.9).close()
    return campaign


class Camera:
    """Takes pictures of a page."""

    def __init__(self, browser: Any, url: str, to: Path) -> None:
        self._browser, self._url, self._to = browser, url, to
        self.page: Any = None

    def open(self, route: str = "", **options: Any) -> Any:
        """Open a page of its own as Ada, and wait for what is slow."""
        if self.page is not None:
            self.page.goto("about:blank")  # so that its rows go back
            self.page.context.close()
        context = self._browser.new_context(**({"viewport": DESKTOP} | options))
        context.set_default_timeout(120_000)
        self.page = context.new_page()
        self.page.goto(f"{self._url}#/{route}")
        self.page.wait_for_selector(".stage .record, main .page h1, .reached")
        self.settle(3000)
        return self.page

    def settle(self, milliseconds: int = 800) -> None:
        """Wait for charts and pictures."""
        self.page.wait_for_timeout(milliseconds)

    def take(self, name: str) -> None:
        """Keep the picture."""
        self.page.screenshot(path=self._to / f"{name}.png")
        print(f"{self._to / name}.png", flush=True)


def await_grid(camera: Camera, *, draw: str = "") -> None:
    """Answer what is drawn at random until there is a grid; take the picture `draw` of such a row, if it has a name."""
    while True:
        camera.page.wait_for_selector(".tile .record, .singly:not([hidden])")
        if camera.page.locator(".tile").count():
            return
        title = camera.page.text_content("h1")
        if draw:
            camera.settle()
            camera.take(draw)
            draw = ""
        camera.page.keyboard.press("1")
        camera.page.wait_for_function("(t) => document.querySelector('h1').textContent !== t", arg=title)


def texts(browser: Any, folder: Path, to: Path, port: int) -> None:
    """Take the pictures of texts: one, a grid of them, no classes yet, and 77 classes."""
    many = [f"{area}_{matter}" for area in AREAS for matter in MATTERS.split()]
    for at, (name, classes) in enumerate({"letters": list(SENTENCES), "fresh": [], "tickets": many}.items()):
        with serving(make_texts(folder, name, classes), port + at) as url:
            camera = Camera(browser, url, to)
            page = camera.open()
            if name == "letters":
                camera.take("text")
                page.keyboard.press("g")
                await_grid(camera)
                camera.settle()
                camera.take("grid-text")
            elif name == "fresh":
                page.keyboard.type("sport, travel, cooking")
                camera.take("first")
            else:
                page.keyboard.type("not work")
                camera.settle()
                camera.take("many")


def make_found(folder: Path) -> Path:
    """Create a campaign on texts of which one column is hidden, answer some, and flag two."""
    rng = random.Random(3)  # noqa: S311
    data, campaign = folder / "reviewed.csv", folder / "reviewed.bela"
    truth = [rng.choice(list(SENTENCES)) for _ in range(400)]
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "year", "author"])
        for i, kind in enumerate(truth):
            writer.writerow([" ".join(rng.choices(SENTENCES[kind][:2], k=1 + i % 4)), rng.randint(1990, 2025), f"a{i}"])
    settings = {"classes": list(SENTENCES), "target": 0.9, "hidden": ["author"], "kinds": {"text": "text"}}
    with create_campaign(data, campaign, **settings) as stored:
        answer(stored, truth, 60, ["Ada", "Bo"])
        stored.campaign.flag(3, "Is a hotel by the harbour travel, or cooking?", by="Bo")
        stored.campaign.flag(17, "Two topics in one text", by="Ada")
    return campaign


def found(browser: Any, folder: Path, to: Path, port: int) -> None:
    """Take the pictures of rows that were found, of those that were flagged, and of the export."""
    with serving(make_found(folder), port) as url:
        camera = Camera(browser, url, to)
        page = camera.open("rows")
        page.fill("#rows-text", "hotel")
        page.keyboard.press("Enter")
        page.wait_for_selector(".tile.selected")
        page.keyboard.press("ArrowRight")
        camera.settle()
        camera.take("rows")
        camera.open("rows/flagged", color_scheme="dark")
        camera.take("flagged")
        page = camera.open("report")
        page.locator(".format").first.click()
        page.wait_for_selector(".made a")
        camera.take("export")


def clothes(camera: Camera) -> None:
    """Take the pictures of answering, the grid, and what has come of it."""
    camera.open()
    camera.take("answer")
    camera.page.keyboard.press("h")
    camera.settle()
    camera.take("keys")
    camera.page.keyboard.press("Escape")
    camera.page.keyboard.press("g")
    await_grid(camera, draw="draw")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "3"):
        camera.page.keyboard.press(key)
    camera.settle(1500)
    camera.take("grid")
    camera.open(color_scheme="dark")
    camera.take("answer-dark")
    camera.open("tree")
    camera.take("leaves")
    camera.page.locator("tbody a").nth(2).click()
    camera.page.wait_for_selector(".tile img")
    camera.page.keyboard.press("ArrowRight")
    camera.settle(1200)
    camera.take("gallery")
    camera.open("classes")
    camera.page.evaluate("document.querySelector('main').scrollTo(0, 9999)")
    camera.settle()
    camera.take("classes")
    camera.open("people", color_scheme="dark")
    camera.take("people")
    camera.open(viewport=PHONE, device_scale_factor=2, is_mobile=True, has_touch=True)
    camera.take("phone")
    camera.page.tap("text=Grid")
    await_grid(camera)
    camera.settle()
    camera.take("phone-grid")


def reach(camera: Camera, codes: np.ndarray) -> None:
    """Answer to the target by keyboard, and take the picture of that."""
    page = camera.open()
    keys = dict(zip(CLOTHES, "123456789abc", strict=False))
    while page.locator(".reached").count() == 0:
        title = page.text_content("h1")
        if not title.startswith("Row "):
            page.wait_for_timeout(100)
            continue
        page.keyboard.press(keys[CLOTHES[codes[int(title.split()[-1])]]])
        page.wait_for_function("(t) => document.querySelector('h1').textContent !== t", arg=title)
    camera.settle(3000)
    camera.take("reached")


def report(camera: Camera) -> None:
    """Take the picture of the report's beginning, as a colleague opens it: from a file, without the server."""
    page = camera.open("report")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the report").click()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        download.value.save_as(file)
        page.goto(file.as_uri())
        camera.take("report")


def main() -> None:
    """Make the campaigns and take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=420)
    parser.add_argument("--target", type=float, default=0.85)
    parser.add_argument("--to", type=Path, default=Path("docs/page"))
    parser.add_argument("--texts", action="store_true", help="only the pictures of texts, which take a minute")
    parser.add_argument("--people", action="store_true", help="only the picture of people")
    parser.add_argument("--port", type=int, default=8791)
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = Path(temporary)
        if not arguments.people:
            texts(browser, folder, arguments.to, arguments.port)
            found(browser, folder, arguments.to, arguments.port + 4)
        if arguments.texts:
            return
        campaign = make_clothes(folder, arguments.rows, arguments.answers, arguments.target)
        os.environ["BELA_CONFIG"] = str(folder / "config")  # for links that are of no use afterwards
        team = Team.of(campaign)
        ada = team.owner("Ada")
        for name in PEOPLE[1:]:
            team.add(name)
        with serving(campaign, arguments.port + 3, team=True, token=True, lease_seconds=5.0) as url:
            camera = Camera(browser, f"{url}?token={ada.token}", arguments.to)
            if arguments.people:
                camera.open("people")
                camera.take("people")
                return
            clothes(camera)
            reach(camera, np.load(folder / "codes.npy"))
            report(camera)


if __name__ == "__main__":
    main()
