"""What is certified of parts of the rows: by class, and the rows that are sure."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bela.data import column_labels, open_table
from bela.exports import check_export, read_certificate
from bela.views import _parts as parts_module


def certified(page: Any) -> dict[str, Any]:
    """Return what the server says of parts."""
    response = page.get("/api/parts")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_nothing_is_said_of_parts_before_the_first_answer(looker: Any) -> None:
    """There are no labels yet."""
    assert certified(looker) == {"answers": 0, "parts": None}


def test_parts_are_those_of_the_campaign(page: Any) -> None:
    """By class and in sure rows, as the campaign itself says; the words say that these are statements of their own."""
    page.go_on(40)
    campaign, end = page.service.stored.campaign, time.monotonic() + 60
    while (found := certified(page))["answers"] < campaign.n_asked and time.monotonic() < end:
        time.sleep(0.1)  # where labelling has once taken long, as on a busy machine, labels are made anew now and then
    assert found["answers"] == campaign.n_asked > 20
    parts = found["parts"]
    with page.service.lock:
        bounds = {one.label: (one.n_rows, one.lower) for one in campaign.by_class()}
        sure = {share: campaign.sure(share) for share in (0.9, 0.95, 0.99)}
    assert {one["label"]: (one["n_rows"], one["lower"]) for one in parts["classes"]} == bounds
    assert sum(one["n_rows"] for one in parts["classes"]) == 120
    assert {one["share"]: (one["n_rows"], one["n_inferred"]) for one in parts["sure"]} == {
        share: (part.n_rows, part.n_inferred) for share, part in sure.items()
    }
    assert all(one["covered"] == one["n_rows"] / 120 for one in parts["sure"])
    assert "hold together with confidence 90 %" in parts["by_class_worth"]
    assert "these and the one by class with 85 %" in parts["sure_worth"]


def test_parts_are_worked_out_for_those_who_ask_alone(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers, the state and other pages do without: it may take a while."""
    asked: list[object] = []
    real = parts_module.parts_of
    monkeypatch.setattr(parts_module, "parts_of", lambda result: (asked.append(result), real(result))[1])
    page.go_on(8)
    for path in ("state", "classes", "leaves", "history"):
        assert page.get(f"/api/{path}").status_code == 200
    assert asked == []
    certified(page)
    assert len(asked) == 1


def test_sure_rows_are_exported(page: Any, tmp_path: Path) -> None:
    """As `bela export --sure` does: the other labels are blank, and the certificate says so; no other share will do."""
    page.go_on(40)
    n_sure = next(one["n_rows"] for one in certified(page)["parts"]["sure"] if one["share"] == 0.9)
    made = page.post("/api/exports", format="csv", sure=0.9)
    assert made["name"] == "pets-labelled-sure-90.csv.zip"
    zipfile.ZipFile(page.service.stored.path / "exports" / made["name"]).extractall(tmp_path)
    path = tmp_path / "pets-labelled-sure-90.csv"
    assert check_export(path) == []
    labels = column_labels(open_table(path), "label")
    assert sum(label not in (None, "") for label in labels) == n_sure
    kept = read_certificate(path)["kept"]
    assert (kept["share"], kept["rows"]) == (0.9, n_sure)
    assert kept["statement"] in (tmp_path / "README.txt").read_text(encoding="utf-8")
    refused = page.http.post("/api/exports", json={"format": "csv", "sure": 0.8})
    assert refused.status_code == 400
    assert "0.95" in refused.json()["error"]["message"]
