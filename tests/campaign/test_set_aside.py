"""Rows that nobody can read: listed, never asked, and never counted as right."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from PIL import Image

from bela import Campaign
from bela.campaign import create_campaign
from bela.exports import export
from bela.features import PreparedData, prepare
from bela.methods import METHODS

N = 60


@pytest.mark.parametrize("method", [name for name in METHODS.names if name != "audit"])
def test_rows_set_aside_are_never_asked_and_count_as_wrong(method, monkeypatch):
    """Asked to the end, every other row is answered, and what is certain stops short of those set aside."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    prepared = prepare(rng.normal(size=(N, 2)) + 6.0 * y[:, None])
    monkeypatch.setattr(PreparedData, "unreadable", {3: "torn", 40: "burnt"})
    campaign = Campaign(prepared, method=method, seed=1)
    result = campaign.run(y)
    assert result.n_asked == N - 2
    assert not campaign.book.answered.keys() & {3, 40}
    assert result.unreadable == (3, 40)
    assert result.certificate.lower <= (N - 2) / N + 1e-12


def test_a_folder_with_a_broken_image_is_labelled_all_the_same(tmp_path):
    """One broken file among many is named, and the export and its certificate say which row it is."""
    rng = np.random.default_rng(0)
    (tmp_path / "pets").mkdir()
    for i in range(12):
        Image.fromarray(rng.integers(0, 255, (8, 8), dtype=np.uint8)).save(tmp_path / "pets" / f"{i:02}.png")
    (tmp_path / "pets" / "05.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    with create_campaign(tmp_path / "pets", tmp_path / "pets.bela", method="random") as stored:
        campaign = stored.campaign
        campaign.run(lambda rows: ["cat"] * len(rows))
        assert campaign.n_asked == 11
        export(stored.records, campaign.result(), tmp_path / "pets.csv")
    rows = list(csv.DictReader((tmp_path / "pets.csv").read_text().splitlines()))
    assert [row["path"] for row in rows if row["label_source"] == "unreadable"] == ["05.png"]
    certificate = json.loads((tmp_path / "pets.csv.certificate.json").read_text())
    assert certificate["unreadable"] == [5]
    assert "1 row(s) cannot be read" in certificate["statement"]
    assert certificate["lower"] <= 11 / 12
