"""What people write is text wherever it is shown: names, labels, comments, classes, guidelines, data, exports."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bela.campaign import create_campaign
from bela.web import LabelService

PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "[x](javascript:alert(1))",
    "<iframe src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<math><mtext><img src=x onerror=alert(1)>",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "\u202e<body onload=alert(1)>\u2028\u2029",
]
LOOKS = ("state", "rows/0", "leaves", "history", "classes", "people", "disagreements", "exports", "parts")


class Findings(HTMLParser):
    """Collects whatever a browser would run or fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "base", "form", "math"):
            self.found.append(tag)
        for name, value in attrs:
            address = (value or "").strip().lower()
            if name.startswith("on") or address.startswith(("javascript:", "http:", "https:", "//")):
                self.found.append(f"{tag} {name}={value}")


def runs(html: str) -> list[str]:
    """Return what of an HTML page would run or be fetched."""
    parser = Findings()
    parser.feed(html)
    parser.close()
    return parser.found


def test_the_parser_sees_what_runs() -> None:
    """Or nothing below would fail: most payloads would run where they are taken for HTML."""
    assert sum(bool(runs(payload)) for payload in PAYLOADS) >= 11


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_in_every_field_stay_text(make_page: Callable[..., Any], payload: str) -> None:
    """They come back as JSON, word for word, and never as a type that a browser would run."""
    page = make_page()
    name, label = "".join(filter(str.isprintable, payload[:60])), payload
    question = page.lease(by=name, tab=payload[:60])[0]
    page.post("/api/answers", by=name, answers=[{"question": question["id"], "label": label}])
    page.post("/api/flags", by=name, row=0, comment=payload)
    page.post("/api/relabel", by=name, row=0, label=label)
    page.post("/api/classes/new", by=name, labels=[f"{payload[:100]}2"])
    page.put("/api/guidelines", json={"markdown": payload})
    for look in LOOKS:
        response = page.get(f"/api/{look}")
        assert response.headers["content-type"].startswith("application/json"), look
        assert response.headers["x-content-type-options"] == "nosniff"
    [flagged] = page.post("/api/rows/find", by=name, flagged=True)["rows"]
    assert flagged["flags"][0]["comment"] == payload
    assert not runs(page.get("/api/guidelines").json()["html"])
    report = page.get("/api/report")
    assert report.headers["content-disposition"].startswith("attachment")
    assert not runs(report.text)
    for path in ("/api/rows/", "/api/leaves/", "/api/exports/", "/"):
        response = page.get(f"{path}{payload}")
        assert response.status_code >= 400 or path == "/"
        assert response.headers["content-type"].startswith("application/json")


def test_payloads_in_the_data_stay_text(tmp_path: Path, make_any: Callable[..., Any]) -> None:
    """In cells, in names of columns and of rows."""
    lines = [{"<b>t</b>": payload, "n": i % 2, PAYLOADS[0]: payload} for i, payload in enumerate(PAYLOADS * 3)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with create_campaign(tmp_path / "data.jsonl", tmp_path / "data.bela", method="random") as stored:
        page = make_any(LabelService(stored, team=True))
        with page.http:
            for row in range(len(PAYLOADS)):
                response = page.get(f"/api/rows/{row}")
                assert response.headers["content-type"].startswith("application/json")
                assert PAYLOADS[row] in json.dumps(response.json(), ensure_ascii=False).replace('\\"', '"')
            page.answer(page.lease(n=3))
            assert not runs(page.get("/api/report").text)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"by":' * 50_000,
        b'{"answers": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
        b'{"answers": [{"question": 1e999, "label": "x"}]}',
        b'{"answers": [{"question": ' + b"9" * 5000 + b', "label": "x"}]}',
        b'{"tab": "\\ud800", "answers": []}',
        b"\xff\xfe{}",
        b'{"by": "Ben", "answers": 3}',
        b"null",
        b"",
    ],
)
def test_bodies_that_are_made_to_harm(looker: Any, body: bytes) -> None:
    """Deep, endless, no numbers, no text: a bad request each."""
    response = looker.http.post("/api/answers", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400, response.text
    assert set(response.json()["error"]) == {"kind", "message"}


def test_one_long_piece_of_work_a_person(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second export or report is refused while the first is made, so that nobody takes all the threads."""
    from bela.web import _routes_files

    page.go_on(2)
    seen = []

    def write(facts: object) -> str:
        seen.append(page.get("/api/report").status_code)
        seen.append(page.http.post("/api/exports", json={"format": "csv"}).status_code)
        return "<html></html>"

    monkeypatch.setattr(_routes_files, "write_report", write)
    assert page.get("/api/report").status_code == 200
    assert seen == [429, 429]
    assert page.http.post("/api/exports", json={"format": "csv"}).status_code == 200  # it is over
