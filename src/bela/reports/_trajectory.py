"""How many labels were right after so many answers, and how many the bound said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bela.records import Point
from bela.reports._figure import BLUE, COLOURS, INK, ORANGE, STYLES, dress, make_figure, mark_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A trajectory with its name, and the number of rows that it is about."""

    name: str
    points: Sequence[Point]
    n_rows: int


def draw_trajectory(
    points: Sequence[Point], *, n_rows: int, target: float | None = None, title: str = "", bound: str = "certified"
) -> Figure:
    """Draw one campaign: the share that is right, the bound below it under its name, and the target."""
    figure, (axes,) = make_figure()
    dress(axes, title=title, x=f"answers, of {n_rows:,} rows", y="share of all labels")
    asked = [point.asked for point in points]
    truth = [point.accuracy for point in points]
    lower = [point.lower for point in points]
    last = max(1, *asked) if asked else 1
    axes.set_xlim(0, last)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if target is not None:
        mark_level(axes, target, f"target {target:.0%}")
    axes.fill_between(asked, lower, truth, color=BLUE, alpha=0.08, linewidth=0)
    axes.plot(asked, truth, color=BLUE, linewidth=2, solid_capstyle="round")
    axes.plot(asked, lower, color=ORANGE, linewidth=2, solid_capstyle="round")
    if asked:
        _label_ends(axes, last, [(truth[-1], "right", BLUE), (lower[-1], bound, ORANGE)])
    return figure


def draw_comparison(curves: Sequence[Curve], *, title: str = "", marks: Sequence[float] = (0.9,)) -> Figure:
    """Draw several campaigns in two panels: the share that is right, and the bound on it."""
    figure, panels = make_figure(2, width=9.6, height=4.2)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    for axes, attribute, name in zip(panels, ("accuracy", "lower"), ("share right", "the bound on it"), strict=True):
        dress(axes, title=name, x="answers, share of the rows")
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        for mark in marks:
            mark_level(axes, mark, f"{mark:.0%}" if axes is panels[1] else "")
        for curve, colour, style in zip(curves, COLOURS, STYLES, strict=False):
            shares = [point.asked / curve.n_rows for point in curve.points]
            values = [getattr(point, attribute) for point in curve.points]
            axes.plot(shares, values, color=colour, linestyle=style, linewidth=2, label=curve.name)
    panels[0].legend(
        loc="lower right", frameon=False, labelcolor="linecolor", fontsize=10, handlelength=2.6, borderaxespad=0.2
    )
    return figure


def _label_ends(axes: Axes, x: float, labels: Sequence[tuple[float, str, str]], gap: float = 0.11) -> None:
    """Write each curve's name and last value beside its end, moved apart where they would touch."""
    below = 2.0
    for y, name, colour in sorted(labels, reverse=True):
        place = min(y, below - gap)
        below = place
        axes.annotate(
            f"{name}\n{y:.1%}", (x, place), (8, 0), textcoords="offset points", fontsize=10, color=colour, va="center",
            annotation_clip=False, linespacing=1.1,
        )  # fmt: skip
