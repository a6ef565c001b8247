"""The report that the page gives away."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bela.campaign import create_campaign, open_campaign
from bela.views import Notes, Reporter
from bela.views._pictures import Pictures


def test_the_report_is_a_download(page: Any) -> None:
    """As a file, never shown in place of the page; with what was asked and flagged, and nothing that is hidden."""
    page.go_on(12)
    page.post("/api/flags", by="Ann", row=3, comment="odd <b>one</b>")
    page.put("/api/guidelines", json={"markdown": "Look at the **ears**."})
    response = page.get("/api/report")
    assert response.status_code == 200
    assert response.headers["content-disposition"] == "attachment; filename*=utf-8''pets-report.html"
    text = response.text
    assert "pet &lt;3&gt;" in text
    assert "odd &lt;b&gt;one&lt;/b&gt;" in text
    assert "<strong>ears</strong>" in text
    assert "secret" not in text
    assert len(re.findall("to learn from|drawn at random", text)) > 10


def test_no_report_before_the_first_answer(page: Any) -> None:
    """An error that says what to do."""
    response = page.get("/api/report")
    assert response.status_code == 400
    assert "answer" in response.json()["error"]["message"]


def test_what_was_taken_back_is_not_in_the_report(page: Any) -> None:
    """Skips and answers as they stand, not as they stood."""
    first, second, third = page.lease(n=3)
    page.answer([first, second])
    page.post("/api/answers", by="Ann", answers=[{"question": third["id"], "label": None}])
    reporter = Reporter(page.service.stored)
    gather = reporter.look(page.service.monitor.notes)
    page.post("/api/undo", by="Ann")
    page.post("/api/undo", by="Ann")
    assert [one.answer is None for one in gather().asked] == [False, False, True]  # as of when somebody looked
    facts = reporter.look(page.service.monitor.notes)()
    assert [one.name for one in facts.asked] == [first["name"]]
    assert facts.course[-1].answers == 1


def test_pictures_are_small_and_inside(tmp_path: Path) -> None:
    """Examples are thumbnails that the file holds itself; one that cannot be read is left out."""
    rng = np.random.default_rng(0)
    (tmp_path / "photos").mkdir()
    for i in range(40):
        pixels = rng.integers(0, 120, (200, 300, 3)).astype(np.uint8) + np.uint8(130 * (i % 2))
        Image.fromarray(pixels).save(tmp_path / "photos" / f"{i:02}.png")
    with create_campaign(tmp_path / "photos", tmp_path / "photos.bela") as stored:
        for question in stored.campaign.ask(8):
            stored.campaign.tell(question.id, ("dark", "light")[question.row % 2])
    with open_campaign(tmp_path / "photos.bela", read_only=True) as stored:
        result = stored.campaign.result()
        gone = int(np.flatnonzero(~result.known)[0])
        (tmp_path / "photos" / f"{gone:02}.png").unlink()
        facts = Reporter(stored).look(Notes(stored.path / "cache"))()
    examples = [one for kind in facts.classes for one in (*kind.surest, *kind.doubtful)]
    assert examples
    for address in (picture for one in examples for picture in one.pictures):
        head, _, content = address.partition(",")
        assert head in ("data:image/png;base64", "data:image/jpeg;base64")
        assert max(Image.open(io.BytesIO(base64.b64decode(content))).size) <= 96


def test_small_arrays_are_as_they_are() -> None:
    """A thumbnail of few pixels is not scaled up: the report does that when it is shown."""
    from bela.data import open_table

    records = open_table(np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8))
    [column] = records.columns
    content, _ = Pictures(records, (column,)).thumbnail(1, column, 96)
    assert Image.open(io.BytesIO(content)).size == (8, 8)
