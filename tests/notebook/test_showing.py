"""Reprs of a line, cards that escape what they show, and progress that is seen when it is of use."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import bela
from bela.campaign import simulate
from bela.campaign._progress import LogPlace, NotebookPlace, TerminalPlace, watching
from bela.records import Forecast, SurePart

TAGS = {"div", "svg", "rect", "path", "text", "table", "tr", "td"}
EVIL = "<script>alert('x')</script>&\"'"


@pytest.fixture(scope="module")
def campaign() -> bela.Campaign:
    """One that has come to its end, with a class of an evil name."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(9, 1, (100, 2))])
    campaign = bela.Campaign(X, target=0.8)
    campaign.run(np.array([EVIL, "right"])[np.repeat([0, 1], 100)], progress=False)
    return campaign


def test_every_repr_is_a_line(campaign: bela.Campaign) -> None:
    """What people print fits a line or two, whatever it holds; a question does not tell whether it is a draw."""
    result = campaign.result()
    simulated = simulate(np.zeros((40, 1)) + np.arange(40)[:, None], np.arange(40) // 20, budget=20)
    shown = [
        campaign, result, result.certificate, campaign.forecast, campaign.sure(0.95), campaign.assessment, simulated,
        campaign.ladder[0], result.predict(np.zeros((3, 2))), Forecast(answers=1234, low=1, high=5000),
        SurePart(share=0.9, rows=np.ones(5, dtype=bool), n_inferred=2),
        bela.certify(np.repeat(["a", "b"], 15), np.repeat(["a", "b"], 15)),
    ]  # fmt: skip
    for one in shown:
        assert re.fullmatch(r"<\w+: [^\n]{5,280}>", repr(one)), repr(one)
    questions = {repr(question) for question in campaign.book.questions}
    assert all(re.fullmatch(r"<Question \d+: row [\d,]+>", one) for one in questions)


def test_cards_escape_and_are_well_formed(campaign: bela.Campaign) -> None:
    """Each card is sound XML with a drawing that has words; names of classes are texts in it."""
    simulated = simulate(np.arange(40.0)[:, None], np.arange(40) // 20, budget=20)
    audit = bela.certify(np.repeat(["a", "b"], 15), np.repeat(["a", "b"], 15))
    for one in (campaign, campaign.result(), campaign.certificate, simulated, audit):
        html = one._repr_html_()
        tree = ET.fromstring(html)  # noqa: S314 - our own
        assert tree.find(".//svg").attrib["aria-label"]
        assert "<script" not in html
        assert not {element.tag for element in tree.iter()} - {
            *["div", "svg", "rect", "path", "text", "table", "tr", "td"]
        }
    assert "".join(ET.fromstring(campaign._repr_html_()).itertext()).count("<script>alert") == 1  # noqa: S314


def test_a_labeler_shows_its_certificate() -> None:
    """Below what scikit-learn shows of it, once it is fitted."""
    X = np.arange(80.0)[:, None]
    labeler = bela.BelaLabeler(oracle=np.arange(80) // 40, budget=30, progress=False)
    assert re.fullmatch(r"BelaLabeler\(.{5,200}\)", repr(labeler))
    assert "bela-card" not in labeler._repr_mimebundle_()["text/html"]
    assert "bela-card" in labeler.fit(X)._repr_mimebundle_()["text/html"]


class Clock:
    """Time that passes when somebody says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Place:
    """Counts what it is shown."""

    def __init__(self) -> None:
        self.shown: list[bool] = []
        self.scans: list[float] = []

    def show(self, campaign: Any, *, last: bool = False) -> None:
        self.shown.append(last)

    def show_scan(self, share: float) -> None:
        self.scans.append(share)


@pytest.mark.parametrize(("progress", "expected"), [(None, [False, False, True]), (True, [False] * 6 + [True])])
def test_nothing_is_shown_in_the_first_seconds(campaign: bela.Campaign, progress: Any, expected: list[bool]) -> None:
    """What takes less than two seconds shows nothing, unless that is wanted; then not more often than is of use."""
    clock, place = Clock(), Place()
    with watching(progress, place=place, clock=clock) as look:
        for _ in range(24):
            look(campaign)
            clock.now += 0.1
    assert place.shown[-1:] == [True]
    assert len(place.shown) == len(expected) if progress is None else len(place.shown) > len(expected)
    assert place.shown[:-1] == [False] * (len(place.shown) - 1)


def test_nothing_is_shown_if_nobody_wants_it(campaign: bela.Campaign) -> None:
    """False is nothing at all, and a function is called instead."""
    place, called = Place(), []
    with watching(False, place=place) as look:
        assert look is None
    with watching(called.append, place=place) as look:
        look(campaign)
    assert (place.shown, called) == ([], [campaign])


@pytest.mark.usefixtures("slow_scans")
def test_a_long_way_through_all_rows_is_shown(campaign: bela.Campaign) -> None:
    """As long as somebody waits for answers, too; after that it is nobody's business."""
    place = Place()

    def scan() -> None:
        bela.data.scan_blocks(10 * 8192, lambda rows: np.zeros(rows.stop - rows.start))

    with watching(True, place=place) as look:
        scan()
        assert place.scans == [n / 10 for n in range(1, 11)]
        look(campaign)
    assert place.shown == [False, True]
    scan()
    assert len(place.scans) == 10


@pytest.fixture
def slow_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each block be as if somebody had waited for it."""
    for name in ("PATIENCE", "OFTEN"):
        monkeypatch.setattr(f"bela.data._watching.{name}", -1.0)


def test_scans_are_shown_in_words() -> None:
    """In a terminal on the one line, in a log like any other line, in a notebook on the card."""
    clock, log, terminal = Clock(), io.StringIO(), io.StringIO()
    lines = LogPlace(log, clock)
    for second in range(60):
        clock.now = second
        lines.show_scan(second / 60)
    assert log.getvalue().splitlines() == [f"bela: going through all rows: {share} %" for share in (16, 50)]
    line = TerminalPlace(terminal)
    line.show_scan(0.5)
    assert "going through all rows: 50 %" in terminal.getvalue()
    line.show_scan(1.0)
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_a_log_gets_a_line_now_and_then(campaign: bela.Campaign) -> None:
    """Ten hours with an answer a second are fewer than a hundred lines, and the first seconds none."""
    clock, stream = Clock(), io.StringIO()
    place = LogPlace(stream, clock)
    for second in range(36_000):
        clock.now = second
        place.show(campaign)
        if second == 9:
            assert stream.getvalue() == ""
    lines = stream.getvalue().splitlines()
    assert 5 < len(lines) < 100
    assert all(line.startswith("bela: ") and "certified" in line for line in lines)


def test_a_terminal_has_one_line_and_in_the_end_none(campaign: bela.Campaign) -> None:
    """The line is written over, and cleared."""
    stream = io.StringIO()
    place = TerminalPlace(stream)
    place.show(campaign)
    place.show(campaign, last=True)
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_a_notebook_has_one_card(campaign: bela.Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is replaced, not repeated."""
    display = pytest.importorskip("IPython.display")
    shown: list[str] = []

    class Handle:
        def update(self, html: Any) -> None:
            shown[0] = html.data

    monkeypatch.setattr(display, "display", lambda html, display_id: shown.append(html.data) or Handle())
    place = NotebookPlace()
    for last in (False, False, True):
        place.show(campaign, last=last)
    assert len(shown) == 1
    assert "Done" in shown[0]
    place.show_scan(0.25)
    assert len(shown) == 1
    assert "25 %" in shown[0]
