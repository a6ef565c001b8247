"""Figures: how many labels were right after so many answers, and how many the bound said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bela.errors import ParameterError
from bela.records import Point
from bela.shares import percent_text, share_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people who do not see red and green apart can tell from one another.
BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
STYLES = ("-", (0, (6, 2)), (0, (1.5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)), "-")
INK, SOFT, GRID = "#262626", "#6b6b6b", "#e6e6e6"

# What is left out of each kind of file so that it is the same each time.
_METADATA = {".svg": {"Date": None}, ".png": {"Software": None}, ".pdf": {"CreationDate": None}}
_Panels: TypeAlias = "tuple[Figure, list[Axes]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A trajectory with its name, and the number of rows that it is about."""

    name: str
    points: Sequence[Point]
    n_rows: int


def make_figure(
    n_panels: int = 1, *, width: float = 6.4, height: float = 4.0, title: str = "", sharey: bool = True
) -> _Panels:
    """Return an empty figure with panels side by side, without touching any global state."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(wspace=0.06)
    figure = Figure(figsize=(width, height), dpi=144, layout=layout, facecolor="white")
    panels = figure.subplots(1, n_panels, squeeze=False, sharey=sharey)[0]
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    return figure, list(panels)


def dress(axes: Axes, *, title: str = "", x: str = "", y: str = "") -> None:
    """Give a panel its type and its light grid: shares on both axes, nothing that is no data."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(SOFT)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.tick_params(colors=SOFT, labelsize=9, length=0)
    axes.tick_params(axis="x", length=3)
    axes.set(axisbelow=True, ylim=(0, 1.02), yticks=[0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.yaxis.set_major_formatter("{x:.0%}")
    if title:
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=10)
    axes.set_xlabel(x, fontsize=9.5, color=INK)
    axes.set_ylabel(y, fontsize=9.5, color=INK)


def check_chart_path(path: Path) -> None:
    """Raise an error where a figure could not be saved under this name."""
    if path.suffix.lower() not in _METADATA:
        raise ParameterError(f"a chart ends in one of {', '.join(_METADATA)}, not as in {path.name}")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"there is no folder {path.parent} to save a chart in: make it first")


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure as SVG, PNG or PDF by its ending; the same figure gives the same bytes."""
    import matplotlib

    check_chart_path(path)
    ending = path.suffix.lower()
    with matplotlib.rc_context({"svg.hashsalt": "bela", "svg.fonttype": "path"}):
        figure.savefig(path, format=ending[1:], metadata=_METADATA[ending])


def mark_level(axes: Axes, level: float, text: str) -> None:
    """Draw a dashed line across a panel, with its meaning above its left end."""
    axes.axhline(level, color=SOFT, linewidth=1, linestyle=(0, (2, 2)))
    axes.annotate(text, (0, level), (4, 3), textcoords="offset points", fontsize=9, color=SOFT, va="bottom")


def draw_trajectory(
    points: Sequence[Point], *, n_rows: int, target: float | None = None, title: str = "", bound: str = "certified"
) -> Figure:
    """Draw one campaign: the share that is right, the bound below it under its name, and the target."""
    figure, (axes,) = make_figure()
    dress(axes, title=title, x=f"answers, of {n_rows:,} rows", y="share of all labels")
    asked = [point.asked for point in points]
    truth, lower = [point.accuracy for point in points], [point.lower for point in points]
    last = max(1, *asked) if asked else 1
    axes.set_xlim(0, last)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    if target is not None:
        mark_level(axes, target, f"target {percent_text(target)}")
    axes.fill_between(asked, lower, truth, color=BLUE, alpha=0.08, linewidth=0)
    axes.plot(asked, truth, color=BLUE, linewidth=2, solid_capstyle="round")
    axes.plot(asked, lower, color=ORANGE, linewidth=2, solid_capstyle="round")
    if asked:
        _label_ends(axes, last, [(truth[-1], "right", BLUE), (lower[-1], bound, ORANGE)])
    return figure


def draw_comparison(curves: Sequence[Curve], *, title: str = "", marks: Sequence[float] = (0.9,)) -> Figure:
    """Draw several campaigns in two panels: the share that is right, and the bound on it."""
    figure, panels = make_figure(2, width=9.6, height=4.2, title=title)
    for axes, attribute, name in zip(panels, ("accuracy", "lower"), ("share right", "the bound on it"), strict=True):
        dress(axes, title=name, x="answers, share of the rows")
        _set_shares(axes, most=1.0)
        for mark in marks:
            mark_level(axes, mark, f"{mark:.0%}" if axes is panels[1] else "")
        for curve, colour, style in zip(curves, COLOURS, STYLES, strict=False):
            shares = [point.asked / curve.n_rows for point in curve.points]
            values = [getattr(point, attribute) for point in curve.points]
            axes.plot(shares, values, color=colour, linestyle=style, linewidth=2, label=curve.name)
    _add_legend(panels[0])
    return figure


def draw_errata(
    steered: Sequence[Point], corrected: Sequence[Point], beside: Sequence[float], *, n_rows: int, title: str = ""
) -> Figure:
    """Draw a campaign that the printed bound steers, and the printed bound beside the corrected one in another."""
    figure, (left, right) = make_figure(2, width=9.6, height=4.2, title=title)
    dress(left, title="steered by the bound as printed", x="answers, share of the rows", y="share of all labels")
    dress(right, title="steered by the bound with t = |B|", x="answers, share of the rows")
    for axes, points in ((left, steered), (right, corrected)):
        shares, lower = [point.asked / n_rows for point in points], [point.lower for point in points]
        axes.plot(shares, [point.accuracy for point in points], color=BLUE, linewidth=2, label="right")
        printed, name = (lower, "") if axes is left else (beside, ", on the same leaves")
        axes.plot(shares, printed, color=PURPLE, linestyle=STYLES[1], linewidth=2, label=f"bound as printed{name}")
        if axes is right:
            axes.plot(shares, lower, color=ORANGE, linewidth=2, label="bound with t = |B|")
        _set_shares(axes, most=max(shares, default=1))
        _add_legend(axes)
    return figure


def _set_shares(axes: Axes, *, most: float) -> None:
    axes.set_xlim(0, most)
    axes.xaxis.set_major_formatter("{x:.0%}")


def _add_legend(axes: Axes) -> None:
    """Name the curves of a panel in their own colours, where they leave room."""
    axes.legend(
        loc="lower right", frameon=False, labelcolor="linecolor", fontsize=10, handlelength=2.6, borderaxespad=0.2
    )


def _label_ends(axes: Axes, x: float, labels: Sequence[tuple[float, str, str]], gap: float = 0.11) -> None:
    """Write each curve's name and last value beside its end, moved apart where they would touch."""
    place = 2.0
    for y, name, colour in sorted(labels, reverse=True):
        place = min(y, place - gap)
        axes.annotate(
            f"{name}\n{share_text(y)}", (x, place), (8, 0), textcoords="offset points", fontsize=10, color=colour,
            va="center", annotation_clip=False, linespacing=1.1,
        )  # fmt: skip
