"""Measurements are made in processes of their own, kept row by row, and gone on with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bela.bench import PARTS, Scope, chosen_parts, run_parts
from bela.bench._data import load_labelled, made_rows, missing
from bela.bench._growth import exponent
from bela.bench._memory import OwnMemory, own_mb
from bela.bench._parts import Row, measure_missing, read_rows, write_rows
from bela.errors import DatasetNotFound, ParameterError

pytestmark = pytest.mark.usefixtures("own_cache")
GROWTH = PARTS["c"]
SMALL: list[Row] = [{"n_rows": n, "answers": 20, "seed": 0} for n in (300, 600)]


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Words, whole numbers, fractions, truths and empty cells survive the file."""
    rows: list[Row] = [{"a": "x, y", "b": 1, "c": 0.5, "d": True}, {"a": "z", "b": 2, "e": "a\nb"}]
    write_rows(tmp_path / "t.csv", rows)
    assert read_rows(tmp_path / "t.csv") == rows
    assert read_rows(tmp_path / "none.csv") == []


def test_what_is_there_is_not_measured_again(tmp_path: Path) -> None:
    """A run that was broken off goes on where it was; a row with an error is measured anew; others are kept."""
    path = tmp_path / "growth.csv"
    first = next(measure_missing(GROWTH, SMALL, path))
    assert read_rows(path) == [first]
    assert first["n_rows"] == 300
    assert 0 <= first["lower"] <= first["right"] <= 1
    write_rows(path, [*read_rows(path), SMALL[1] | {"error": "broken off"}, {"n_rows": 7, "answers": 1, "seed": 9}])
    begun: list[Row] = []
    [second] = measure_missing(GROWTH, SMALL, path, begin=begun.append)
    assert begun == SMALL[1:]
    assert "error" not in second
    assert {row["n_rows"] for row in read_rows(path)} == {7, 300, 600}
    assert list(measure_missing(GROWTH, SMALL, path)) == []


def test_what_goes_wrong_is_kept_in_its_words(tmp_path: Path) -> None:
    """A measurement that fails is a row with the last line of its error, and the others go on."""
    [row] = measure_missing(PARTS["b"], [{"data": "nowhere", "target": 0.9, "seed": 0}], tmp_path / "cost.csv")
    assert row["error"] == "KeyError: 'nowhere'"


def test_what_is_not_at_hand_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Data that are nowhere are left out with a sentence, not an error; asked for by name, they are one."""
    monkeypatch.setenv("BELA_DATA", str(tmp_path))
    jobs, said = PARTS["a"].jobs(Scope())
    assert not any(job["features"] == "predicted" for job in jobs)
    assert "stance is left out: there is no predictions/stance.csv in the folder that BELA_DATA names" in said
    assert missing("digits") is None
    with pytest.raises(DatasetNotFound, match=r"no texts/trec\.csv"):
        load_labelled("trec")


def test_memory_of_our_own_is_told_from_pages_of_files(tmp_path: Path) -> None:
    """What is read from a file that is mapped is not counted, what is made is."""
    np.save(tmp_path / "x.npy", np.ones(8_000_000))
    before, memory = own_mb(), OwnMemory()
    if before is None:
        pytest.skip("nothing says it here")
    assert np.load(tmp_path / "x.npy", mmap_mode="r").sum() == 8e6
    assert (own_mb() or 0) < before + 20
    held = np.ones(8_000_000)
    assert (own_mb() or 0) > before + 55
    assert before + 55 < (memory.close() or 0) < before + 200
    del held


def test_made_rows_are_the_same_each_time(own_cache: Path) -> None:
    """Rows are made once, and those that were begun and not ended are made anew."""
    first = made_rows(500)
    assert list(own_cache.rglob("made-500.npy"))
    for file in own_cache.rglob("made-500*"):
        file.unlink()
    second = made_rows(500)
    assert (first.rows == second.rows).all()
    assert (first.truth == second.truth).all()
    assert first.rows.shape == (500, 64)


def test_growth_goes_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 10^4 to 10^7 rows; what does not fit on the disk is left out with a sentence."""
    room = [10**12]
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=room[0]))
    assert [job["n_rows"] for job in GROWTH.jobs(Scope())[0]] == [10**4, 10**5, 10**6, 10**7]
    room[0] = 10**9
    jobs, said = GROWTH.jobs(Scope())
    assert [job["n_rows"] for job in jobs] == [10**4, 10**5, 10**6]
    assert len(said) == 1
    assert "10,000,000 rows are left out" in said[0]
    assert "no room for 2.6 GB" in said[0]
    assert GROWTH.jobs(Scope(seeds=0)) == ([], [])


def test_the_exponent_is_that_of_a_power() -> None:
    """Of a table that grows by a power, that power; of one size, none."""
    rows: list[Row] = [{"n_rows": 10**k, "processor_s": 3.0 * 10 ** (1.05 * k)} for k in range(3, 7)]
    assert exponent(rows, "processor_s") == pytest.approx(1.05)
    assert exponent(rows[:1], "processor_s") is None


def test_parts_are_chosen_by_letter_or_name() -> None:
    """A part that there is not is told with those that there are."""
    assert chosen_parts("d, answers") == [PARTS["d"], PARTS["a"]]
    for wrong in ("", "e", "a,z"):
        with pytest.raises(ParameterError, match=r"a \(answers\), b \(cost\)"):
            chosen_parts(wrong)


def test_a_seed_less_run_measures_nothing(tmp_path: Path) -> None:
    """With no seeds the page is written from what is there."""
    write_rows(tmp_path / "growth.csv", [{**SMALL[0], **dict.fromkeys(("right", "lower", "processor_s"), 0.5),
        **dict.fromkeys(("seconds", "passes", "peak_mb", "ask_p50_ms", "ask_p99_ms", "tell_p99_ms"), 1)}])  # fmt: skip
    page = run_parts(list(PARTS.values()), Scope(seeds=0), tmp_path, watch=lambda *_: None, say=lambda _: None)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Growth with the number of rows")
    assert "| 300 | 20 | 0 |" in text
