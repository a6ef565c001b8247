"""The files of `bela reproduce`, from outcomes made up for every experiment."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bela.errors import ParameterError
from bela.experiments._experiments import GROUPS, Outcome, lines_of
from bela.experiments._findings import write_findings
from bela.records import Point


def made_up(name: str, *, printed: bool) -> Outcome:
    """Return curves that end where everything is known, better ones for longer names."""
    start = 0.5 + min(len(name), 20) / 100
    points = tuple(
        Point(asked=5 * n, lower=n / 200, accuracy=start + (1 - start) * n / 200, leaves=n) for n in range(1, 201)
    )
    return Outcome(points=points, printed=tuple(1.0 for _ in points) if printed else (), n_rows=1000, seconds=1.0)


@pytest.mark.parametrize("what", [*GROUPS, "all"])
def test_each_group_has_its_files(tmp_path: Path, what: str) -> None:
    """Every figure has a table and two pictures, and the page has them in it, with each method beside its numbers."""
    lines = lines_of(what)
    found = [(line, made_up(line.name, printed=line.experiment.printed is not None)) for line in lines]
    page = write_findings(found, tmp_path, seed=7).read_text(encoding="utf-8")
    assert "with seed 7" in page
    for figure in {line.figure for line in lines}:
        assert f"({figure}.svg)" in page
        assert (tmp_path / f"{figure}.png").stat().st_size > 1000
        with (tmp_path / f"{figure}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert {row["curve"] for row in rows} == {line.name for line in lines if line.figure == figure}
        assert ("bound_as_printed" in rows[0]) == (figure == "errata")
    if "mnist" in what:
        assert "| HSAL (Ward) |" in page
        assert "0 of 200" in page


def test_an_outcome_tells_when_and_how_far() -> None:
    """Shares of answers and values come from the first point that has got there; what is never reached is None."""
    outcome = made_up("x", printed=False)
    assert outcome.asked_share(0.9, "lower") == 0.9
    assert outcome.asked_share(1.1, "lower") is None
    assert outcome.value_at(0.5, "lower") == 0.5
    assert outcome.n_violations == 0


def test_an_unknown_group_is_told() -> None:
    """The error lists those that there are."""
    with pytest.raises(ParameterError, match="no experiment 'cifar': choose one of mnist"):
        lines_of("cifar")
