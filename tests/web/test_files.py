"""Guidelines and exports."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from bela.data import column_labels, open_table
from bela.exports import check_export


def test_guidelines_are_kept(page: Any) -> None:
    """As they were written, beside their HTML, and in the campaign's folder."""
    assert page.get("/api/guidelines").json() == {"markdown": "", "html": ""}
    text = "# Cats\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n* *soft*\n"
    saved = page.put("/api/guidelines", json={"markdown": text}).json()
    assert "<h1>Cats</h1>" in saved["html"]
    assert "<table>" in saved["html"]
    assert page.get("/api/guidelines").json() == saved
    assert (page.service.stored.path / "guidelines.md").read_text(encoding="utf-8") == text
    assert page.put("/api/guidelines", json={"markdown": "x" * 100_001}).status_code == 400


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "label-studio", "snorkel", "hf"])
def test_exports_are_written_and_fetched(page: Any, form: str) -> None:
    """In the campaign's folder, with their certificate; again and again."""
    page.go_on(8)
    for _ in range(2):
        made = page.post("/api/exports", format=form)
        response = page.get(made["url"])
        assert response.status_code == 200
        assert response.headers["content-disposition"].startswith("attachment")
        assert response.headers["content-type"] == "application/octet-stream"
    path = page.service.stored.path / "exports" / made["name"]
    assert response.content == path.read_bytes()
    if form == "hf":
        names = zipfile.ZipFile(io.BytesIO(response.content)).namelist()
        assert any(name.endswith("certificate.json") for name in names)
        return
    assert check_export(path) == []
    assert page.get(f"{made['url']}.certificate.json").json()["journal"]["events"] > 8
    if form in ("csv", "parquet", "jsonl"):
        assert len(column_labels(open_table(path), "label")) == 120


def test_there_is_nothing_to_export_before_the_first_answer(page: Any) -> None:
    """An error that says what to do."""
    response = page.http.post("/api/exports", json={"format": "csv"})
    assert response.status_code == 400
    assert "answer" in response.json()["error"]["message"]
