"""Small things that cost people most of their patience."""

import re

import pytest


@pytest.fixture(scope="module")
def named(serve):
    """A campaign with some answers."""
    return serve("named", serving={"team": True}, answered=40, classes=[str(digit) for digit in range(10)])


def test_space_skips_where_a_link_has_the_focus(visit, named):
    """Somebody who has just followed a link still skips with Space; Enter follows the link."""
    ada = visit(named.url, "Ada")
    ada.page.locator("nav a").first.focus()
    ada.press(" ")
    ada.settle()
    assert named.get("state")["skipped"] == 1
    ada.page.locator("nav a", has_text="Classes").focus()
    ada.page.keyboard.press("Enter")
    ada.page.get_by_role("heading", name="Classes", exact=True).wait_for()


def test_nothing_of_the_chart_is_cut_off(visit, named):
    """Every number of it lies inside."""
    bo = visit(named.url, "Bo")
    for _ in range(3):
        bo.answer()
    bo.page.locator(".chart .tick", has_text=re.compile("^100")).wait_for(state="attached")
    inside = """() => {
        const frame = document.querySelector('.chart svg').getBoundingClientRect();
        return [...document.querySelectorAll('.chart .tick')].every((tick) => {
            const { left, right, top, bottom } = tick.getBoundingClientRect();
            return left >= frame.left && right <= frame.right && top >= frame.top && bottom <= frame.bottom;
        });
    }"""
    assert bo.page.evaluate(inside)


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overlaps_among_the_keys(visit, named, width):
    """Neither keys and what they do, nor one line and the next, whatever classes are called."""
    cat = visit(named.url, "Cat", viewport={"width": width, "height": 800})
    cat.page.evaluate("document.querySelector('#keys').click()")
    cat.page.locator(".key-list li").first.wait_for()
    cat.page.evaluate(
        "document.querySelector('.key-list li > span:last-child').textContent = 'averylongname'.repeat(9)"
    )
    overlaps = """() => {
        const kinds = '.key-list :is(li > span, kbd), .key-columns h3, .keys-body button';
        const parts = [...document.querySelectorAll(kinds)];
        const boxes = parts.map((part) => [part, part.getBoundingClientRect()]);
        const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
        return boxes.flatMap(([one, a], at) => boxes.slice(at + 1)
            .filter(([other, b]) => !one.contains(other) && !other.contains(one) && over(a, b))
            .map(([other]) => `${one.textContent} / ${other.textContent}`));
    }"""
    assert cat.page.evaluate(overlaps) == []
    assert cat.page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('dialog'))"
    )


def test_a_bound_that_would_be_shown_as_nothing_is_nothing(visit, serve):
    """One answer of 1,797 rows certifies one row: that is no number to put before anybody."""
    server = serve("little", classes=["1", "2"])
    eve = visit(server.url)
    eve.press("1")
    eve.settle()
    assert 0 < server.get("state")["lower"] < 0.001
    eve.says("1 chosen", "#certificate")
    chart = eve.page.locator(".chart.drawn")
    chart.focus()
    chart.locator(".readout", has_text="nothing certain yet").wait_for()
    text = eve.page.locator("#certificate").text_content()
    assert "Nothing yet" in text
    assert not re.search(r"0\.0\s%", text)


def test_no_number_is_read_into_nothing(visit, serve):
    """Before anything is certain the page says that, and not how many labels of nothing are right."""
    dan = visit(serve("nothing", classes=["1", "2"]).url)
    for link, title, said in (("Answer", "Row", "Nothing yet"), ("Export", "Export", "Nothing is certified yet")):
        dan.page.click(f"nav >> text={link}")
        dan.says(title, "h1")
        dan.says(said)
        text = dan.page.locator("body").text_content()
        assert not re.search(r"[Nn]othing[^.:]* of [\d,]+ labels|That took 0", text)
