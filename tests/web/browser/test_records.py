"""Rows of texts and values on the page."""

import csv

import pytest

HEBREW = "המשחק הסתיים בתיקו אחרי שער מאוחר"
NASTY = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> & ünï"


@pytest.fixture(scope="module")
def serve_texts(serve, tmp_path_factory):
    """Serve texts in two directions, short and long, with things in them that would like to be HTML."""
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "source <b>", "year"])
        for i in range(200):
            text = (f"{NASTY} {i} " + "long " * 2000, f"{HEBREW} {i} {NASTY}")[i % 2]
            writer.writerow([f"d<i>{i}", text, f"<u>{i % 3}", 1990 + i % 30])
    return lambda name: serve(name, data=path, id_column="id", classes=["<b>one</b>", "two"])


@pytest.fixture(scope="module")
def texts(serve_texts):
    """A campaign about them for all who do not mind what others have before them."""
    return serve_texts("texts")


def test_texts_are_texts(visit, texts):
    """Nothing in the data becomes HTML; right-to-left texts run from right to left; long ones scroll within."""
    ada = visit(texts.url)
    seen = set()
    while len(seen) < 2:
        stage = ada.page.locator(".stage")
        assert "<script>" in stage.text_content()
        hebrew = HEBREW in stage.text_content()
        direction = ada.page.evaluate("getComputedStyle(document.querySelector('.prose')).direction")
        assert direction == ("rtl" if hebrew else "ltr")
        if not hebrew:
            heights = (
                "(({ scrollHeight, clientHeight }) => [scrollHeight, clientHeight])(document.querySelector('.stage'))"
            )
            whole, visible = ada.page.evaluate(heights)
            assert whole > visible
            assert ada.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        seen.add(hebrew)
        ada.press(" ")
    assert ada.page.locator(".stage img, .stage script, .stage b, .stage u").count() == 0
    assert "taken" not in ada.page.title()
    ada.page.keyboard.press("1")
    ada.settle()
    assert texts.get("state")["answers"] == 1


def test_grid_of_texts_is_accessible(visit, texts):
    """Tiles of texts hold nothing that could be reached inside a button."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")
    bo = visit(texts.url)
    bo.to_grid(key="1")
    bo.page.locator(".tile .prose").first.wait_for()
    bo.page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = bo.page.evaluate("axe.run()")
    serious = [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert serious == []


TAKE_ALL = """async () => {
    const body = JSON.stringify({ tab: sessionStorage.getItem('bela.tab'), n: 100 });
    await fetch('/api/lease', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
}"""


def test_rows_of_a_page_that_is_gone_are_at_hand_again(visit, serve_texts):
    """A browser may be killed before it can give its rows back: whoever opens the page again need not wait for them."""
    server = serve_texts("gone")
    cat = visit(server.url)
    cat.page.evaluate(TAKE_ALL)  # that can be asked about so far
    cat.page.evaluate("navigator.sendBeacon = () => true")
    cat.page.close()
    visit(server.url)
