"""How far it is to some shares, and what is certain of parts of the rows, in a real browser."""

import re

import pytest


@pytest.fixture(scope="module")
def aimless(serve):
    """A campaign that has some answers and no target."""
    return serve("aimless", answered=120)


def test_a_rung_becomes_the_target(visit, aimless):
    """With a click or a key: the server has it, the panel shows it, and the focus stays where it was."""
    rungs = aimless.get("state")["ladder"]
    share = next(rung["share"] for rung in rungs if rung["forecast"])
    name = f"{100 * share:g}"
    ada = visit(aimless.url)
    assert ada.page.locator(".bar-target").is_hidden()
    rung = ada.page.locator(f".ladder button[data-share='{share}']")
    assert rung.get_attribute("aria-pressed") == "false"
    rung.click()
    ada.toast(f"The target is {name}")
    assert aimless.get("state")["target"] == share
    ada.wait("() => document.querySelector('.ladder [aria-pressed=true]') === document.activeElement")
    assert rung.get_attribute("aria-pressed") == "true"
    assert re.fullmatch(rf"Target {name}\s%", ada.page.locator(".bar-target").text_content())
    assert "the target" in ada.page.locator(".ladder li", has=rung).text_content()


def test_classes_say_what_is_certain_of_them(visit, aimless):
    """By class, in sure rows, and what that is worth; whoever exports sure rows is told that others are blank."""
    found = aimless.get("parts")["parts"]
    bob = visit(aimless.url)
    bob.page.click("nav >> text=Classes")
    bob.page.get_by_role("heading", name="Sure rows").wait_for()
    n_certain = sum(one["lower"] > 0 for one in found["classes"])
    bob.wait("(n) => document.querySelectorAll('.class-list td [title^=\"At least\"]').length === n", n_certain)
    assert bob.page.locator(".class-list .missing").count() == len(found["classes"]) - n_certain
    assert "hold together with confidence" in bob.page.locator(".sure").text_content()
    assert bob.page.locator(".sure li").count() == sum(one["n_inferred"] > 0 for one in found["sure"])
    bob.page.evaluate("location.hash = '#/report/0.9'")
    bob.page.get_by_text("the labels of all others are left blank").wait_for()
    with bob.page.expect_download() as download:
        bob.page.get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "aimless-labelled-sure-90.csv"
