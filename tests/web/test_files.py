"""Guidelines and exports."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bela.campaign import create_campaign
from bela.data import column_labels, open_table
from bela.exports import check_export, read_certificate
from bela.web import LabelService


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
def test_every_download_comes_with_its_certificate(page: Any, form: str, tmp_path: Path) -> None:
    """One file with the data, their certificate and what both are; again and again."""
    page.go_on(8)
    for _ in range(2):
        made = page.post("/api/exports", format=form)
        response = page.get(made["url"])
        assert response.status_code == 200
        assert response.headers["content-disposition"].startswith("attachment")
        assert response.headers["content-type"] == "application/octet-stream"
    exports = page.service.stored.path / "exports"
    assert response.content == (exports / made["name"]).read_bytes()
    assert [path.name for path in exports.iterdir()] == [made["name"]]
    zipfile.ZipFile(io.BytesIO(response.content)).extractall(tmp_path)
    path = tmp_path / made["name"].removesuffix(".zip")
    assert check_export(path) == []
    assert read_certificate(path)["journal"]["events"] > 8
    readme = (tmp_path / "README.txt").read_text(encoding="utf-8")
    assert str(read_certificate(path)["statement"]) in readme
    assert path.name in readme
    if form in ("csv", "parquet", "jsonl"):
        assert len(column_labels(open_table(path), "label")) == 120


def test_hidden_columns_are_exported_for_whoever_asks(page: Any, tmp_path: Path) -> None:
    """And for nobody else, nor are they in the report."""
    page.go_on(8)
    page.post("/api/flags", by="Ann", row=3, comment="odd")
    columns = {}
    for wanted in (False, True):
        made = page.post("/api/exports", format="csv", with_hidden=wanted)
        zipfile.ZipFile(io.BytesIO(page.get(made["url"]).content)).extractall(tmp_path)
        records = open_table(tmp_path / made["name"].removesuffix(".zip"))
        columns[wanted] = records.columns
        assert any("hidden columns are left out: secret" in note for note in made["notes"]) == (not wanted)
        assert sum(records.record(row)["answered_by"] == "Ann" for row in range(120)) == 8
        assert '"comment": "odd"' in records.record(3)["flags"]
    assert "secret" in columns[True]
    assert [name for name in columns[True] if name != "secret"] == list(columns[False])
    assert page.get("/api/state").json()["n_hidden"] == 1
    assert "secret" not in page.get("/api/report").text


def test_formulas_are_escaped_for_whoever_asks(make_any: Any, tmp_path: Path) -> None:
    """In what spreadsheets open; elsewhere nothing would run them, and nothing is altered."""
    (tmp_path / "data.csv").write_text("text\n" + "".join(f'"=1+{i}, so far"\n' for i in range(30)))
    with create_campaign(tmp_path / "data.csv", tmp_path / "data.bela", method="random") as stored:
        page = make_any(LabelService(stored, team=True))
        with page.http:
            page.answer(page.lease(n=2))
            for form, safe, first in (("csv", False, "=1+0"), ("csv", True, "'=1+0"), ("jsonl", True, "=1+0")):
                made = page.post("/api/exports", format=form, excel_safe=safe)
                to = tmp_path / f"{form} {safe}"
                zipfile.ZipFile(io.BytesIO(page.get(made["url"]).content)).extractall(to)
                path = to / made["name"].removesuffix(".zip")
                assert open_table(path).record(0)["text"] == f"{first}, so far"
                assert any("the tick on the page" in note for note in made["notes"]) == (form == "csv" and not safe)
                assert check_export(path) == []


def test_there_is_nothing_to_export_before_the_first_answer(page: Any) -> None:
    """An error that says what to do."""
    response = page.http.post("/api/exports", json={"format": "csv"})
    assert response.status_code == 400
    assert "answer" in response.json()["error"]["message"]
