"""What the experiments gave, as files: a table and a figure of each comparison, and one page about them all."""

from __future__ import annotations

import csv
from pathlib import Path

from bela.cli._experiments import Line, Outcome
from bela.cli._findings_page import TITLES, Findings, write_page
from bela.records import Point
from bela.reports import Curve, draw_comparison, draw_errata, save_figure

_N_POINTS = 200


def write_findings(findings: Findings, folder: Path, *, seed: int) -> Path:
    """Write all files into a folder and return the page."""
    figures: dict[str, list[tuple[Line, Outcome]]] = {}
    for line, outcome in findings:
        figures.setdefault(line.figure, []).append((line, outcome))
    for name, members in figures.items():
        _write_csv(members, folder / f"{name}.csv")
        _draw(name, members, folder)
    page = folder / "README.md"
    page.write_text(write_page(figures, seed), encoding="utf-8")
    return page


def _write_csv(members: Findings, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        with_printed = any(outcome.printed for _, outcome in members)
        writer.writerow(["curve", "asked", "right", "bound", "leaves"] + ["bound_as_printed"] * with_printed)
        for line, outcome in members:
            for i in _thinned(len(outcome.points)):
                point = outcome.points[i]
                row = [line.name, point.asked, f"{point.accuracy:.5f}", f"{point.lower:.5f}", point.leaves]
                writer.writerow(row + ([f"{outcome.printed[i]:.5f}"] if with_printed else []))


def _thinned(n: int) -> list[int]:
    """Return evenly spaced positions, the first and the last among them."""
    if n <= _N_POINTS:
        return list(range(n))
    return sorted({round(i * (n - 1) / (_N_POINTS - 1)) for i in range(_N_POINTS)})


def _points(outcome: Outcome) -> list[Point]:
    return [outcome.points[i] for i in _thinned(len(outcome.points))]


def _draw(name: str, members: Findings, folder: Path) -> None:
    if name == "errata":
        by_name = {line.name: outcome for line, outcome in members}
        steered, corrected = by_name["as printed"], by_name["as we run it"]
        kept = _thinned(len(corrected.points))
        figure = draw_errata(
            _points(steered),
            _points(corrected),
            [corrected.printed[i] for i in kept],
            n_rows=corrected.n_rows,
            title="Theorem 1 as printed: MNIST, the first tenth of the answers",
        )
    else:
        curves = [Curve(name=line.name, points=_points(outcome), n_rows=outcome.n_rows) for line, outcome in members]
        figure = draw_comparison(curves, title=TITLES[name])
    for ending in ("svg", "png"):
        save_figure(figure, folder / f"{name}.{ending}")
