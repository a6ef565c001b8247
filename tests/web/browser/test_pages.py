"""The pages beside answering: leaves, classes, people, export, guidelines; light and dark, and for everybody."""

import urllib.request

import pytest

READY = {"": ".stage img", "tree": "tbody a", "classes": "tbody th", "people": "tbody th", "report": ".format"}
"""The pages, and what is there when they are."""


def axe() -> str:
    """The checks of accessibility that axe-playwright-python carries."""
    module = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
    return module.AXE_FILE_PATH.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, team, scheme):
    """Every page can be used by those who cannot see it, or see little."""
    checks = axe()
    somebody = visit(team.url, "Rae", color_scheme=scheme, reduced_motion="reduce")
    somebody.page.evaluate(checks)
    serious = {}
    for page, ready in READY.items():
        somebody.page.evaluate("(page) => (location.hash = `#/${page}`)", page)
        somebody.wait("(page) => document.body.dataset.page === (page || 'answer')", page)
        somebody.wait("(ready) => document.querySelector(ready)", ready)
        options = {"resultTypes": ["violations"]}
        if scheme == "dark":
            options["runOnly"] = ["color-contrast"]  # the rest is the same in the dark
        found = somebody.page.evaluate("(options) => axe.run(document, options)", options)
        for violation in found["violations"]:
            if violation["impact"] in ("serious", "critical"):
                serious[page, violation["id"]] = [node["html"][:200] for node in violation["nodes"]][:3]
    assert serious == {}


def test_leaf_opens_as_a_gallery_and_labels_are_fixed_there(visit, team):
    """A leaf's rows are shown with their labels; another label is kept, and undo takes it back."""
    sue = visit(team.url, "Sue")
    sue.page.click("nav >> text=Leaves")
    sue.page.locator(".treemap svg").first.wait_for()
    sue.page.locator("tbody a").first.click()
    tile = sue.page.locator(".tile").first
    tile.locator("img").wait_for()
    row = int(tile.get_attribute("aria-label").split(":")[0].removeprefix("Row "))
    before = team.get(f"rows/{row}")["label"]
    after = "8" if before != "8" else "3"
    sue.page.keyboard.press("ArrowRight")
    sue.page.keyboard.press(after)
    sue.toast(f"is {after} now")
    found = team.get(f"rows/{row}")
    assert (found["label"], found["source"]) == (after, "corrected")
    sue.page.keyboard.press("Backspace")
    sue.toast("as it was before")
    assert team.get(f"rows/{row}")["source"] == "inferred"


def test_classes_are_added_renamed_and_merged(visit, team):
    """Changes of the classes are there for everybody, and their keys go with them."""
    tom = visit(team.url, "Tom")
    tom.page.click("nav >> text=Classes")
    tom.page.get_by_role("button", name="New class").click()
    tom.page.keyboard.type("smudge <i>")
    tom.page.keyboard.press("Enter")
    tom.page.get_by_role("rowheader", name="smudge <i>").wait_for()
    tom.page.get_by_role("button", name="Rename smudge <i>").click()
    tom.page.keyboard.type("smear")
    tom.page.keyboard.press("Enter")
    tom.page.get_by_role("rowheader", name="smear").wait_for()
    tom.page.get_by_role("button", name="Merge smear into another class").click()
    tom.page.keyboard.type("7")
    tom.page.keyboard.press("Enter")
    tom.page.get_by_role("button", name="Merge", exact=True).last.click()
    tom.toast("is part of 7 now")
    assert {one["label"] for one in team.get("classes")["classes"]} == {str(digit) for digit in range(10)}


def test_a_class_is_deleted_and_comes_back(visit, serve):
    """The page says how many answers go with it before it does so, and undo brings all of them back."""
    server = serve("deleting", classes=[str(digit) for digit in range(10)], answered=70)
    before = {one["label"]: one["n_answers"] for one in server.get("classes")["classes"]}
    uwe = visit(server.url)
    uwe.page.click("nav >> text=Classes")
    uwe.page.get_by_role("button", name="Delete 3", exact=True).click()
    dialog = uwe.page.get_by_role("dialog")
    assert f"{before['3']} answers say 3: these rows will be asked again" in dialog.inner_text()
    uwe.page.keyboard.press("Enter")  # on Cancel
    dialog.wait_for(state="detached")
    assert server.get("state")["answers"] == 70
    uwe.page.get_by_role("button", name="Delete 3", exact=True).click()
    uwe.page.get_by_role("button", name="Delete", exact=True).last.click()
    uwe.toast("3 is deleted")
    state = server.get("state")
    assert state["answers"] == 70 - before["3"]
    assert "3" not in {one["label"] for one in state["classes"]}
    uwe.page.get_by_role("button", name="Undo").click()
    uwe.toast("3 is a class again")
    assert server.get("state")["answers"] == 70
    assert {one["label"]: one["n_answers"] for one in server.get("classes")["classes"]} == before


def test_lists_that_are_drawn_anew_keep_the_focus(visit, serve):
    """Others answer meanwhile: whoever goes along the classes or the people by keyboard stays where they were."""
    server = serve("focus", serving={"team": True}, classes=[str(digit) for digit in range(10)], answered=20)
    vera = visit(server.url, "Vera")
    here = "(name) => document.activeElement?.ariaLabel === name"
    vera.page.get_by_role("link", name="Classes").press("Enter")
    vera.page.get_by_role("button", name="Rename 7").focus()
    with urllib.request.urlopen(server.request("classes/new", "Vera", {"labels": ["smudge"]}), timeout=60):  # noqa: S310
        vera.page.get_by_role("rowheader", name="smudge").wait_for()
    vera.wait(here, "Rename 7")
    vera.page.get_by_role("link", name="People").press("Enter")
    vera.page.get_by_label("Name", exact=True).fill("Walt")
    vera.page.get_by_role("button", name="New link: Vera").press("Enter")
    vera.page.get_by_role("dialog").get_by_role("button", name="Cancel").press("Enter")
    vera.wait(here, "New link: Vera")
    vera.page.evaluate("import('./static/js/session.js').then(({ session }) => session.corrected())")
    vera.wait(here, "New link: Vera")
    vera.page.keyboard.press("Enter")
    vera.page.get_by_role("heading", name="A new link for Vera?").wait_for()


def test_guidelines_are_written_and_shown_as_text_and_nothing_else(visit, team):
    """Markdown is shown; whatever looks like HTML stays text, and no script runs."""
    una = visit(team.url, "Una")
    una.page.click("#guidelines")
    una.page.get_by_role("button", name="Edit").click()
    una.page.fill("dialog textarea", "# Sevens\n\nA **crossed** one is a 7. <img src=x onerror=alert(1)>")
    una.page.get_by_role("button", name="Save").click()
    una.page.get_by_role("heading", name="Sevens").wait_for()
    assert una.page.locator("dialog strong").text_content() == "crossed"
    assert una.page.locator("dialog img").count() == 0
    assert "onerror" in una.page.locator("dialog .markdown").text_content()


def test_people_who_differ_settle_it(visit, team):
    """Two people who see a row differently are shown, and what somebody says then is what counts."""
    vic = visit(team.url, "Vic")
    question = int(vic.page.evaluate("sessionStorage.getItem('bela.shown')"))
    row = vic.answer()
    vic.settle()
    other = "8" if vic.truth[row] != "8" else "3"
    team.link("Yan")
    said = {"answers": [{"question": question, "label": other}]}
    with urllib.request.urlopen(team.request("answers", "Yan", said), timeout=60) as answer:  # noqa: S310
        assert answer.status == 200
    team.answers_of("Vic", 1)
    vic.page.click("nav >> text=People")
    vic.page.get_by_role("rowheader", name="Vic").first.wait_for()
    differ = vic.page.get_by_role("heading", name="1 row seen differently")
    differ.wait_for()
    vic.page.get_by_role("button", name=other, exact=True).click()
    vic.toast("is settled")
    differ.wait_for(state="hidden")
    assert team.get(f"rows/{row}")["label"] == other
    vic.page.keyboard.press("Backspace")  # the note with its button may be gone by now
    differ.wait_for()
    assert team.get(f"rows/{row}")["label"] == vic.truth[row]


def test_dark_is_remembered(visit, team):
    """A page that was made dark is dark the next time."""
    wim = visit(team.url, "Wim", color_scheme="light")
    light = wim.page.evaluate("getComputedStyle(document.body).backgroundColor")
    wim.page.click("#theme")
    dark = wim.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    wim.page.reload()
    assert wim.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_explanation_in_plain_words(visit, team):
    """The number is explained where it stands."""
    xan = visit(team.url, "Xan")
    xan.page.get_by_role("button", name="What does this mean?").click()
    xan.page.get_by_text("what you would have answered yourself").wait_for()


def test_chart_can_be_read_off_by_pointer_and_keyboard(visit, team):
    """The chart says in words what a point shows, and no number at its edge is cut off."""
    yul = visit(team.url, "Yul")
    for _ in range(2):
        yul.answer()
    yul.settle()
    n = team.get("state")["answers"]
    # It is drawn seldom, and may be behind.
    chart = yul.page.locator(f".chart.drawn[aria-valuetext$='after {n}\u00a0answers']")
    chart.locator("svg").wait_for()
    inside = """(chart) => {
        const frame = chart.getBoundingClientRect();
        return [...chart.querySelectorAll("text")].every((text) => {
            const box = text.getBoundingClientRect();
            return box.left >= frame.left && box.right <= frame.right && box.top >= frame.top;
        });
    }"""
    assert "100" in chart.text_content()
    assert chart.evaluate(inside)
    chart.locator(".readout").wait_for(state="hidden")
    chart.focus()
    last = chart.get_attribute("aria-valuetext")
    chart = yul.page.locator(".chart.drawn")
    yul.page.keyboard.press("ArrowLeft")
    before = chart.get_attribute("aria-valuetext")
    assert "certain" in before
    assert before != last
    chart.locator(".readout", has_text="certain").wait_for()
    yul.page.locator("h1").click()
    chart.locator(".readout").wait_for(state="hidden")
    chart.hover()
    chart.locator(".readout", has_text="answers").wait_for()


def test_map_of_leaves_shows_one_label_alone(visit, team):
    """A click on a label's name shows its leaves alone, also drawn anew, the next all again; a leaf opens a gallery."""
    zoe = visit(team.url, "Zoe")
    team.rest()  # or the map would be drawn anew, with other leaves
    zoe.page.click("nav >> text=Leaves")
    heads = zoe.page.locator(".treemap .label-head")
    heads.first.wait_for()
    assert heads.count() > 1
    heads.first.click()
    zoe.counts(".treemap .label-head", 1)
    zoe.page.evaluate("window.dispatchEvent(new Event('resize'))")  # the map is drawn anew at once
    assert heads.count() == 1, "drawing the map anew showed all labels again"
    heads.first.click()
    zoe.wait("() => document.querySelectorAll('.treemap .label-head').length > 1")
    zoe.page.locator(".treemap .leaf").first.click()
    zoe.page.locator(".tile img").first.wait_for()


def test_a_rare_label_has_its_place_in_the_map(visit, team):
    """However few rows carry it, they are drawn: there is never a name with nothing below it."""
    rex = visit(team.url, "Rex")
    heights = rex.page.evaluate(
        """async () => {
            const { drawTreemap } = await import('./static/js/treemap.js');
            const root = document.createElement('div');
            root.style.width = '860px';
            document.body.append(root);
            const labels = [['thing', 2495], ['who', 1126], ['number', 655], ['place', 549], ['rare', 45], ['x', 5]];
            drawTreemap(root, labels.map(([label, size], leaf) => ({ leaf, label, size, known: 1, probability: 0.9 })));
            return [...root.querySelectorAll('.leaf rect')].map((area) => Math.min(area.height.baseVal.value,
                area.width.baseVal.value));
        }"""
    )
    assert len(heights) == 6
    assert min(heights) > 1
