"""Figures of the bench: answers needed, growth with the number of rows, shares right beside other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bela.experiments._figure import COLOURS, GRID, INK, SOFT, STYLES, dress, make_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "os^Dvphd*"


def draw_dots(groups: Mapping[str, Mapping[str, tuple[float, bool]]], *, x: str) -> Figure:
    """Draw a dot for each member of each group on a logarithmic scale, hollow where the value was not reached."""
    figure, (axes,) = make_figure(height=1.2 + 0.4 * len(groups), width=9.2)
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    _dress_scale(axes, x=x)
    for place, group in enumerate(groups.values()):
        axes.axhline(-place, color=GRID, linewidth=0.8, zorder=0)
        for name, (value, reached) in group.items():
            look = _look(names.index(name))
            axes.plot(value, -place, markersize=7, markerfacecolor=look["color"] if reached else "white", **look)
    axes.set_yticks([-place for place in range(len(groups))], list(groups))
    axes.set_ylim(0.4 - len(groups), 0.6)
    for i, name in enumerate(names):
        axes.plot([], [], linestyle="none", label=name, **_look(i))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, labelcolor="linecolor", fontsize=9)
    return figure


def draw_powers(lines: Mapping[str, Sequence[tuple[float, float]]], *, x: str) -> Figure:
    """Draw each line in a panel of its own, both scales logarithmic, beside a line that grows as x does."""
    from matplotlib.ticker import LogLocator

    figure, panels = make_figure(len(lines), width=3.4 * len(lines), height=3.4, sharey=False)
    for axes, (name, points), colour in zip(panels, lines.items(), COLOURS, strict=False):
        _dress_scale(axes, title=name, x=x)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.minorticks_off()
        if points:
            first, last = points[0], points[-1]
            reference = [first[1], first[1] * last[0] / first[0]]
            axes.plot([first[0], last[0]], reference, color=SOFT, linewidth=1, linestyle=STYLES[2], label="as the rows")
            axes.plot(*zip(*points, strict=True), color=colour, marker="o", linewidth=2, label="measured")
            axes.legend(loc="upper left", frameon=False, labelcolor="linecolor", fontsize=9)
    return figure


def draw_shares(
    panels_of: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]],
    *,
    bound: Mapping[str, Sequence[tuple[float, float]]],
) -> Figure:
    """Draw a panel for each dataset: the share right of each program after so many answers, and the bound on ours."""
    figure, panels = make_figure(len(panels_of), width=3.3 * len(panels_of), height=4.0)
    names = list(dict.fromkeys(name for members in panels_of.values() for name in members))
    for axes, (data, members) in zip(panels, panels_of.items(), strict=True):
        dress(axes, title=data, x="answers", y="share of all rows" if axes is panels[0] else "")
        axes.set_xscale("log")
        axes.set_xticks([50, 100, 200, 500, 1000], ["50", "100", "200", "500", "1,000"])
        axes.minorticks_off()
        if bound.get(data):
            axes.plot(*zip(*bound[data], strict=True), color=COLOURS[0], linewidth=1.2, linestyle=STYLES[2])
        for name in reversed(list(members)):  # ours on top
            look = _look(names.index(name))
            axes.plot(*zip(*members[name], strict=True), linewidth=2 if name == names[0] else 1.3, markersize=5, **look)
    handles = [panels[-1].plot([], [], label=name, **_look(i))[0] for i, name in enumerate(names)]
    handles += panels[-1].plot([], [], color=COLOURS[0], linewidth=1.2, linestyle=STYLES[2], label="BELA, certified")
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        labelcolor="linecolor",
        fontsize=9,
    )
    return figure


def _look(i: int) -> dict[str, Any]:
    return {"color": COLOURS[i % len(COLOURS)] if i < len(COLOURS) else INK, "marker": _MARKERS[i % len(_MARKERS)]}


def _dress_scale(axes: Axes, *, title: str = "", x: str) -> None:
    """Give a panel its type and a logarithmic scale of numbers."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelsize=9, length=0)
    axes.tick_params(axis="x", length=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(x, fontsize=9.5, color=INK)
    if title:
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=10)
