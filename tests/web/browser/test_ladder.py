"""How far it is to some shares, and what is certain of parts of the rows, in a real browser."""

import re

import numpy as np
import pytest


@pytest.fixture
def aimless(serve):
    """A campaign that has some answers and no target."""
    return serve("aimless", answered=120)


def test_a_rung_becomes_the_target(visit, aimless):
    """With a click or a key: the server has it, the panel shows it, and the focus stays where it was."""
    ada = visit(aimless.url)
    aimless.rest()
    ada.wait("() => !document.querySelector('.busy.on') && document.querySelector('.ladder button')")
    share = float(ada.page.locator(".ladder button").last.get_attribute("data-share"))
    name = f"{100 * share:g}"
    assert ada.page.locator(".bar-target").is_hidden()
    rung = ada.page.locator(f".ladder button[data-share='{share}']")
    assert rung.get_attribute("aria-pressed") == "false"
    rung.click()
    ada.toast(f"The target is {name}")
    assert aimless.get("state")["target"] == share
    ada.wait("() => document.querySelector('.ladder [aria-pressed=true]') === document.activeElement")
    assert rung.get_attribute("aria-pressed") == "true"
    assert re.fullmatch(rf"Target {name}\s%", ada.page.locator(".bar-target").text_content())
    assert "the target" in ada.page.locator(f".ladder li:has([data-share='{share}'])").text_content()


def test_whoever_has_reached_the_target_can_go_on_to_a_higher_one(visit, aimless):
    """The page says that it is reached; a further rung brings the next row."""
    ada = visit(aimless.url)
    aimless.rest()
    lower = aimless.get("state")["lower"]
    aim = {"target": round(lower / 2, 3), "budget": None}
    assert ada.page.request.post(f"{aimless.url}api/aim", data=aim).ok
    ada.wait("() => document.querySelector('.reached')")
    ada.page.locator(".ladder button").last.click()
    ada.wait("() => !document.querySelector('.reached') && document.querySelector('.stage .record')")
    assert ada.row >= 0


def test_what_is_out_of_reach_is_said_with_another_way(visit, serve, tmp_path, digits_file):
    """Where nothing in the rows tells of the labels, the page says what else there is to try."""
    found = np.load(digits_file)
    noise = np.random.default_rng(0).permutation(found["digit"])[:400]
    np.savez(tmp_path / "noise.npz", image=found["image"][:400], digit=noise)
    server = serve("noise", data=tmp_path / "noise.npz", hidden=["digit"], answered=120)
    ada = visit(server.url)
    ada.page.locator(".ladder .closed", has_text="not reachable by asking this way").last.wait_for()
    assert "--prediction" in ada.page.locator(".ladder .hint").last.text_content()


def test_classes_say_what_is_certain_of_them(visit, aimless):
    """By class, in sure rows, and what that is worth."""
    bob = visit(aimless.url)
    aimless.rest()
    with bob.page.expect_response("**/api/parts") as fetched:
        bob.page.click("nav >> text=Classes")
    found = fetched.value.json()["parts"]
    bob.page.get_by_role("heading", name="Sure rows").wait_for()
    n_certain = sum(one["lower"] > 0 for one in found["classes"])
    bob.wait("(n) => document.querySelectorAll('.class-list td [title^=\"At least\"]').length === n", n_certain)
    bob.counts(".class-list .missing", len(found["classes"]) - n_certain)
    assert "hold together with confidence" in bob.page.locator(".class-list > .help").text_content()
    bob.counts(".sure li", sum(one["n_inferred"] > 0 for one in found["sure"]))


def test_sure_rows_are_exported_from_there(visit, aimless):
    """A line for each share that has rows beyond the answers, and a link; the others are said to be left blank."""
    found = aimless.get("parts")
    found["parts"]["sure"][0] |= {"n_rows": 1610, "n_inferred": 1490, "covered": 1610 / 1797}
    found["parts"]["classes"][0]["lower"] = 0.0
    bob = visit(aimless.url)
    bob.page.route("**/api/parts", lambda route: route.fulfill(json=found))
    bob.page.click("nav >> text=Classes")
    line = bob.page.locator(".sure li").first
    line.wait_for()
    said = " ".join(line.locator("span").text_content().split())
    assert said == "Of 1,610 rows (89.5 %) at least 90 % are right."
    assert "hold together with confidence" in bob.page.locator(".sure > .help").text_content()
    bob.page.locator(".class-list .missing", has_text="nothing certain yet").wait_for()
    line.get_by_role("link").click()
    bob.page.get_by_text("the labels of all others are left blank").wait_for()
    with bob.page.expect_download() as download:
        bob.page.get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "aimless-labelled-sure-90.csv.zip"
