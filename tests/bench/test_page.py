"""The page says what the rows say: what was needed, what it cost, and where others win."""

from __future__ import annotations

from pathlib import Path

import pytest

from bela.bench._parts import Row, write_rows
from bela.bench._run import write_page

TIMES = dict.fromkeys(("ask_p50_ms", "ask_p99_ms", "tell_p50_ms", "tell_p99_ms"), 0.5) | {"revisions": 3}


def peer(name: str, data: str, n_rows: int = 5000, **more: float | str) -> Row:
    return {"data": data, "peer": name, "seed": 0, "answers": 1000, "limit_s": 150, "n_rows": n_rows} | more


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows of all parts, made up."""
    claim = {"data": "mnist", "features": "auto", "target": 0.9, "most": 1000, "violations": 0, "reached": True}
    answers: list[Row] = [claim | {"method": "bela", "seed": seed, "asked": 100 + seed} for seed in range(3)]
    answers += [claim | {"method": "random", "seed": 0, "asked": 1000, "reached": False}]
    stance = claim | {"data": "stance", "features": "predicted"}
    answers += [stance | {"method": "pac-betting", "seed": s, "asked": 1300 + s, "violations": s} for s in range(2)]
    write_rows(tmp_path / "answers.csv", answers)
    cost: Row = {"data": "mnist", "target": 0.95, "seed": 0, "n_rows": 60000, "answers": 300, "passes": 400}
    write_rows(tmp_path / "cost.csv", [cost | TIMES | {"seconds": 20.0, "peak_mb": 600, "revision_longest_s": 9.0}])
    growth: list[Row] = [
        {"n_rows": n, "answers": 1000, "seed": 0, "right": 0.96, "lower": 0.9, "seconds": 1.0, "passes": 3,
         "processor_s": n / 1e3, "peak_mb": 200 + n / 1e4, "own_mb": 150.0, **TIMES}
        for n in (10_000, 100_000)
    ]  # fmt: skip
    write_rows(tmp_path / "growth.csv", growth)
    marks = (50, 100, 200, 500, 1000)
    ours = {f"right_{m}": 0.8 for m in marks} | {f"lower_{m}": 0.6 for m in marks}
    why = {"drawn_50": 20, "same_fit_50": 0.85, "revisions": 9, "revisions_s": 4.0}
    theirs = {f"right_{m}": 0.7 for m in marks[:-1]} | {"right_200": 0.801}
    rows = [
        peer("bela", "photos", asked=1000, seconds=5.0, peak_mb=300, **ours, **why),
        peer("modal", "photos", asked=1000, seconds=9.0, peak_mb=200, **theirs),
        peer("alipy", "photos", asked=500, seconds=2.0, right_50=0.9, right_100=0.8, right_end=0.85, stopped="time"),
        peer("libact", "photos", error="not installed: no Cython"),
        peer("alipy", "made-10000", 10_000, base_mb=40, peak_mb=140),
        peer("alipy", "made-20000", 20_000, base_mb=40, peak_mb=150),
        peer("libact", "made-10000", 10_000, base_mb=40, peak_mb=440),
        peer("libact", "made-20000", 20_000, base_mb=40, peak_mb=1640),
        peer("libact", "made-200000", 200_000, base_mb=40, peak_mb=60, said="MemoryError: Unable to allocate"),
    ]
    write_rows(tmp_path / "peers.csv", rows)
    return tmp_path


def test_all_parts_are_told(folder: Path) -> None:
    """Each part has its heading, its table, its figure if it has one, and its rows."""
    page = write_page(folder).read_text(encoding="utf-8")
    assert "processors" in page
    for name, figure in (("answers", True), ("cost", False), ("growth", True), ("peers", True)):
        assert f"({name}.csv)" in page
        assert ((folder / f"{name}.svg").exists(), f"({name}.svg)" in page) == (figure, figure)
    assert "| mnist | 0.90 | 200 | **101** (100-102, 3 seeds) |  | > 1,000 |" in page
    assert "1 of 2 with the betting" in page
    assert "| 10,000 | 1,000 | 0 | 10.0 | 1.0 | 3 | 201 | 150 |" in page
    assert "10,000 to 100,000 rows, 1,000 answers: processor seconds n^1.00, MB beside the page cache n^0.00" in page


def test_where_others_win_is_said(folder: Path) -> None:
    """A better share is named with both numbers, a level one is not; so are faster ones, and those that failed."""
    page = write_page(folder).read_text(encoding="utf-8")
    assert "1 of 4 places" in page
    assert "- photos, 50 answers: alipy 0.900; BELA 0.800 (20 of them drawn at random; 0.850 by the regression" in page
    assert "Why: uncertainty sampling" in page
    assert "- photos, 200 answers: modAL-python 0.801; BELA 0.800" in page.partition("By no more than 0.2%")[2]
    assert "- photos: alipy 4.0 ms; BELA 5.0 ms, 80% of it in 9 revisions" in page
    assert "stopped after 500 answers, 0.850 right" in page
    assert "not installed: no Cython" in page


def test_how_many_rows_fit_is_extrapolated_from_those_that_did(folder: Path) -> None:
    """Memory that grows with the square of the rows lets in the root of what is there; else rows take bytes."""
    page = write_page(folder).read_text(encoding="utf-8")
    assert "| libact | 440 | 1,640 | MemoryError: Unable to allocate | n^2.00 | 63,000 |" in page
    assert "| alipy | 140 | 150 |  | 1,000 bytes a row | 16,000,000 |" in page


def test_the_same_rows_give_the_same_page(folder: Path) -> None:
    """Page and figures are the same bytes each time."""
    write_page(folder)
    once = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_page(folder)
    assert once == {path.name: path.read_bytes() for path in folder.iterdir()}
