"""What all figures share: colours, type, and files that are the same each time they are written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bela.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people who do not see red and green apart can tell from one another.
BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)
STYLES = ("-", (0, (6, 2)), (0, (1.5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)), "-")
INK, SOFT, GRID = "#262626", "#6b6b6b", "#e6e6e6"

_ENDINGS = (".svg", ".png", ".pdf")


def make_figure(n_panels: int = 1, width: float = 6.4, height: float = 4.0) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with panels side by side, without touching any global state."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(wspace=0.06)
    figure = Figure(figsize=(width, height), dpi=144, layout=layout, facecolor="white")
    panels = figure.subplots(1, n_panels, squeeze=False, sharey=True)[0]
    return figure, list(panels)


def dress(axes: Axes, *, title: str | None = None, x: str | None = None, y: str | None = None) -> None:
    """Give a panel its type and its light grid: shares on both axes, nothing that is no data."""
    from matplotlib.ticker import PercentFormatter

    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(SOFT)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=SOFT, labelsize=9, length=0)
    axes.tick_params(axis="x", length=3)
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if title:
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=10)
    if x:
        axes.set_xlabel(x, fontsize=9.5, color=INK)
    if y:
        axes.set_ylabel(y, fontsize=9.5, color=INK)


def check_chart_path(path: Path) -> None:
    """Raise an error where a figure could not be saved under this name."""
    if path.suffix.lower() not in _ENDINGS:
        raise ParameterError(f"a chart ends in one of {', '.join(_ENDINGS)}, not as in {path.name}")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"there is no folder {path.parent} to save a chart in: make it first")


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure as SVG, PNG or PDF by its ending; the same figure gives the same bytes."""
    import matplotlib

    check_chart_path(path)
    ending = path.suffix.lower()
    metadata = {".svg": {"Date": None}, ".png": {"Software": None}, ".pdf": {"CreationDate": None}}[ending]
    with matplotlib.rc_context({"svg.hashsalt": "bela", "svg.fonttype": "path"}):
        figure.savefig(path, format=ending[1:], metadata=metadata)


def mark_level(axes: Axes, level: float, text: str) -> None:
    """Draw a dashed line across a panel, with its meaning above its left end."""
    axes.axhline(level, color=SOFT, linewidth=1, linestyle=(0, (2, 2)))
    axes.annotate(text, (0, level), (4, 3), textcoords="offset points", fontsize=9, color=SOFT, va="bottom")
