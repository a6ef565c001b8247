"""Figures: they can be saved, are the same each time, and hold what they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from bela.errors import ParameterError
from bela.experiments import Curve, check_chart_path, draw_comparison, draw_errata, draw_trajectory, save_figure
from bela.records import Point

POINTS = [Point(asked=n, lower=n / 120, accuracy=0.2 + n / 125, leaves=1 + n // 10) for n in range(0, 101, 5)]


def draw_all() -> dict[str, object]:
    return {
        "trajectory": draw_trajectory(POINTS, n_rows=100, target=0.8, title="one"),
        "comparison": draw_comparison([Curve(name=name, points=POINTS, n_rows=100) for name in "abcd"], title="four"),
        "errata": draw_errata(POINTS, POINTS, [p.lower for p in POINTS], n_rows=100, title="errata"),
    }


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    """A figure that is drawn and saved twice is the same file twice: no dates, no random ids."""
    for turn in ("first", "second"):
        for name, figure in draw_all().items():
            save_figure(figure, tmp_path / f"{name}-{turn}.{ending}")
    for name in draw_all():
        first, second = (tmp_path / f"{name}-{turn}.{ending}" for turn in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
        assert 1_000 < first.stat().st_size < 300_000


@pytest.mark.parametrize("points", [[], POINTS[:1], POINTS[:2]])
def test_few_points_can_be_drawn(tmp_path: Path, points: list[Point]) -> None:
    """A campaign with no, one or two points gives a figure like any other."""
    save_figure(draw_trajectory(points, n_rows=100), tmp_path / "few.png")
    save_figure(draw_comparison([Curve(name="x", points=points, n_rows=100)]), tmp_path / "few2.png")


def test_curves_are_what_they_were_given() -> None:
    """The lines of a figure are the numbers of the trajectory, and both panels share one scale."""
    figure = draw_comparison([Curve(name="x", points=POINTS, n_rows=100)])
    left, right = figure.axes
    curves = [max(axes.lines, key=lambda line: len(line.get_xdata())) for axes in (left, right)]
    assert list(curves[0].get_ydata()) == [point.accuracy for point in POINTS]
    assert list(curves[1].get_ydata()) == [point.lower for point in POINTS]
    assert list(curves[0].get_xdata()) == [point.asked / 100 for point in POINTS]
    assert left.get_ylim() == right.get_ylim()


def test_labels_at_the_ends_do_not_touch() -> None:
    """Where two curves end at the same height, their names stand one above the other."""
    level = [Point(asked=n, lower=0.9, accuracy=0.9, leaves=1) for n in (1, 50)]
    figure = draw_trajectory(level, n_rows=100, bound="certified")
    heights = [text.xy[1] for text in figure.axes[0].texts if "\n" in text.get_text()]
    assert len(heights) == 2
    assert abs(heights[0] - heights[1]) >= 0.1


@pytest.mark.parametrize("name", ["chart.gif", "chart", "nowhere/chart.svg"])
def test_a_chart_that_cannot_be_saved_is_refused_first(tmp_path: Path, name: str) -> None:
    """An unknown ending or a missing folder is an error before any work is done."""
    with pytest.raises(ParameterError):
        check_chart_path(tmp_path / name)
