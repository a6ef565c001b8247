"""Rows of any data, as JSON that every browser can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bela.campaign import create_campaign
from bela.web import LabelService

ODD = [
    {"text": "plain", "more": {"a": [1, None, "x"]}, "n": 1.5},
    {"text": "<script>alert(1)</script>", "more": {"<b>": "\u2028"}, "n": float("nan")},
    {"text": "\ufffe \U0001f468\u200d\U0001f680", "more": [float("inf")], "n": 2.0},
    {"text": "عربي מימין", "more": "text", "n": 2**60},
    {"text": "x" * 50_000, "more": {"deep": ["y" * 30_000]}, "n": None},
    {"text": "\x00\x1b[31m", "more": True, "n": -1},
]


def test_every_value_can_be_shown(tmp_path: Path, make_any: Any) -> None:
    """Odd characters, what is no number, numbers that a browser would round, nested objects, very long texts."""
    lines = [json.dumps(row | {"n": row["n"] if row["n"] == row["n"] else None}) for row in ODD] * 4
    (tmp_path / "odd.jsonl").write_text("\n".join(lines).replace("Infinity", "1e999"))
    with create_campaign(
        tmp_path / "odd.jsonl", tmp_path / "odd.bela", method="random", kinds={"text": "text"}
    ) as stored:
        page = make_any(LabelService(stored))
        for row in range(len(ODD)):
            response = page.get(f"/api/rows/{row}")
            assert response.status_code == 200, response.text
            json.loads(response.content.decode("utf-8"))
        questions = page.lease("Ann", 20)
        assert len(questions) == 20
        for question in questions:
            assert all(len(json.dumps(value)) < 130_000 for value in question["record"].values())
        assert page.get("/api/rows/1").json()["record"]["text"] == ODD[1]["text"]
        assert page.get("/api/rows/4").json()["record"]["text"] == ODD[4]["text"]  # one row alone is shown whole
        assert page.get("/api/rows/3").json()["record"].get("n") in (str(2**60), None, float(2**60))


def test_vectors_are_shown_in_part(make_any: Any, tmp_path: Path) -> None:
    """Where there is nothing but numbers, some of them are shown."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(30, 200)))
    with create_campaign(tmp_path / "x.npy", tmp_path / "x.bela", method="random") as stored:
        [value] = make_any(LabelService(stored)).lease("Ann", 1)[0]["record"].values()
        assert len(value) == 65
        assert value[-1] == "and 136 more"


@pytest.mark.parametrize("name", ["folder", "a/b", "ü?#%"])
def test_columns_of_any_name(tmp_path: Path, make_any: Any, name: str) -> None:
    """Also those that mean something in an address."""
    import io
    from urllib.parse import quote

    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    pictures = []
    for i in range(12):
        file = io.BytesIO()
        Image.new("L", (16, 16), 20 * i).save(file, "PNG")
        pictures.append(file.getvalue())
    pq.write_table(pa.table({name: pictures}), tmp_path / "t.parquet")
    with create_campaign(tmp_path / "t.parquet", tmp_path / "t.bela", method="random") as stored:
        page = make_any(LabelService(stored))
        [question] = page.lease("Ann", 1)
        assert question["images"] == [name]
        assert page.get(f"/api/rows/3/images/{quote(name, safe='')}").status_code == 200
