"""The report of a campaign: complete in itself, and nothing in it is anything but text."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bela.errors import ExportError
from bela.records import Forecast
from bela.reports import save_report, write_report
from bela.views import AskedRow, CampaignFacts, ChartPoint, ClassFacts, Example, LeafView

NASTY = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)> \"' & \x00\ud800 ünï"
PIXEL = "data:image/png;base64,iVBORw0KGgo="
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "h1", "h2", "h3", "p",
    "div", "span", "strong", "code", "b", "i", "dl", "dt", "dd", "figure", "figcaption", "svg", "defs", "g", "path",
    "use", "text", "clippath", "rect", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "img", "details",
    "summary", "em", "a", "br",
}  # fmt: skip


class Reader(HTMLParser):
    """Reads a document as a browser does, and takes down what is in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words += data


def make_facts(text: str = "a text", **changes: Any) -> CampaignFacts:
    """Return the facts of a small campaign, with this text wherever people or data can put one."""
    example = Example(
        name=text, text=text, pictures=[PIXEL, "https://example.org/x.png"],
        probability=0.5,
    )  # fmt: skip
    asked = AskedRow(
        name=text, text=text, pictures=[], role="bounds", predicted="cat", answer=text, by=text, at=1_700_000_000.0
    )
    facts = CampaignFacts(
        name=text,
        certificate={
            "lower": 0.8129, "confidence": 0.95, "guarantee": "anytime", "statement": text, "target": 0.9,
            "method": "bela", "seed": 7, "stop_reason": "stopped", "labels_sha256": "abc",
            "data": {"fingerprint": "def"},
            "counts": {"rows": 1000, "asked": 60, "training": 20, "bounds": 40, "given": 3, "skipped": 2, "leaves": 2},
            "journal": {"events": 100, "digest": "0123"},
        },
        expected=0.9,
        forecast=Forecast(answers=40, low=20, high=90),
        n_corrected=1,
        course=[ChartPoint(answers=10, lower=0.1, expected=0.4), ChartPoint(answers=60, lower=0.8129, expected=None)],
        classes=[ClassFacts(label=text, n_rows=990, n_known=60, surest=[example], doubtful=[example])],
        leaves=[LeafView(leaf=0, label=text, size=10, known=1, lower=0.5, probability=0.8)] * 50,
        sureness=[0, 10, 990],
        confusions=[("cat", text, 3)],
        n_predicted=40,
        n_right=37,
        asked=[asked, replace(asked, answer=None, by="Bo")],
        people=[(text, 40, 1), ("Bo", 20, 0)],
        agreement=[("Cohen's kappa", 0.81)],
        flags=[(text, text, text)],
        guidelines="<p>Take <em>care</em>.</p>",
        data=[("Data", text)],
        versions=[("BELA", "0.1.0")],
        created="2026-01-01",
    )  # fmt: skip
    return replace(facts, **changes)


def test_it_is_complete_in_itself() -> None:
    """No script, and nothing that would be fetched: pictures hold their content, and the policy says so too."""
    read = Reader(write_report(make_facts()))
    assert read.tags <= TAGS
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    addresses = [value for _, name, value in read.attributes if name in ("src", "href", "xlink:href", "srcset")]
    assert PIXEL in addresses
    assert all(value.startswith(("data:image/", "#")) for value in addresses)
    policies = [value for tag, name, value in read.attributes if (tag, name) == ("meta", "content")]
    assert any(value.startswith("default-src 'none'; img-src data:") for value in policies)
    assert "url(" not in write_report(make_facts()).replace("url(#", "")


def test_everything_is_escaped() -> None:
    """Whatever is in data, labels, names and comments is shown as text."""
    text = write_report(make_facts(NASTY))
    read = Reader(text)
    assert read.tags <= TAGS
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    assert read.words.count("<script>alert(1)</script>") > 10
    assert "<script" not in text
    assert "ünï" in read.words
    text.encode("utf-8")


def test_it_says_what_is_certain_and_never_more() -> None:
    """Rounded down, with the confidence, the target and what it rests on."""
    words = Reader(write_report(make_facts())).words
    for part in ("Certified: at least 81.2 %", "(confidence 95 %)", "target 90 %", "20 to learn from, 40 drawn",
                 "about 40 answers", "count as wrong", "and 10 smaller leaves with 100 rows", "37 of 40",
                 "Take care."):  # fmt: skip
        assert part in words
    assert "81.3" not in words


def test_it_says_what_is_certain_of_parts() -> None:
    """The classes with their bounds, the rows that are sure, and with what confidence both hold."""
    facts = make_facts()
    parts = {
        "by_class": {"statement": "All classes.", "classes": [{"label": "a text", "rows": 990, "lower": 0.7777}]},
        "sure": {"statement": "All parts.", "parts": [{"share": 0.9, "statement": "At least 90 %."}]},
    }
    words = Reader(write_report(replace(facts, certificate={**facts.certificate, **parts}))).words
    for part in ("right, at least", "77.7 %", "All classes.", "The rows that are sure", "At least 90 %.", "All parts."):
        assert part in words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lower": 0.0}, "Nothing is certified yet"),
        ({"guarantee": "paper"}, "is not a guarantee"),
        ({"stop_reason": "target"}, "The target is reached"),
    ],
)
def test_it_claims_no_more_than_there_is(change: dict[str, object], words: str) -> None:
    """A bound that is not a guarantee is not called one."""
    facts = make_facts()
    text = Reader(write_report(replace(facts, certificate={**facts.certificate, **change}))).words
    assert words in text
    assert ("Certified" in text) == ("stop_reason" in change)


def test_a_campaign_with_hardly_anything() -> None:
    """What there is nothing to say about is left out."""
    nothing: dict[str, Any] = dict.fromkeys(
        ("course", "leaves", "classes", "asked", "people", "flags", "agreement", "confusions"), ()
    )
    bare = make_facts(**nothing, guidelines="", forecast=None, expected=None, n_predicted=0)
    words = Reader(write_report(bare)).words
    assert "Nothing yet." in words
    assert "People" not in words.replace("People were asked", "")


def test_guidelines_that_are_no_markup_are_left_out() -> None:
    """Rather nothing than something half understood."""
    assert "told to go by" not in write_report(make_facts(guidelines="<p>open"))


def test_saving_is_all_or_nothing(tmp_path: Path) -> None:
    """What was there stays when the new report cannot be written."""
    save_report("one", tmp_path / "r.html")
    save_report("two", tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == "two"
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ExportError, match=r"folder\.html"):
        save_report("three", tmp_path / "folder.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.html", "r.html"]
