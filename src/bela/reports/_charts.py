"""The charts of a report, as drawings inside its HTML that take on the colours of the page, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from bela.reports._elements import parse_fragment
from bela.reports._facts import Course
from bela.reports._figure import BLUE, GRID, INK, ORANGE, SOFT, dress, make_figure, mark_level

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {BLUE: "--expected", ORANGE: "--certain", INK: "--ink", SOFT: "--soft", GRID: "--line"}


def draw_course(course: Sequence[Course], target: float | None) -> Figure:
    """Draw what was certain and what was expected after how many answers."""
    figure, (axes,) = make_figure(width=7.2, height=3.4)
    dress(axes, x="answers", y="share of all labels")
    asked = [point.answers for point in course]
    axes.set_xlim(0, max(1, *asked))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if target is not None:
        mark_level(axes, target, f"target {100 * target:.10g} %")
    expected = [(point.answers, point.expected) for point in course if point.expected is not None]
    if expected:
        axes.plot(*zip(*expected, strict=True), color=BLUE, linewidth=1.6, linestyle=(0, (5, 2)))
    axes.plot(asked, [point.lower for point in course], color=ORANGE, linewidth=2.4, drawstyle="steps-post")
    return figure


def draw_sureness(counts: Sequence[int]) -> Figure:
    """Draw how many rows have labels of which probability."""
    from matplotlib.ticker import FuncFormatter

    figure, (axes,) = make_figure(width=7.2, height=2.4)
    dress(axes, x="probability of a label", y="rows")
    n = len(counts)
    axes.bar([(i + 0.5) / n for i in range(n)], counts, width=0.92 / n, color=BLUE)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, max(1, *counts) * 1.08)
    axes.set_yticks([0, max(1, *counts)])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    return figure


def as_drawing(figure: Figure, words: str) -> Element:
    """Return a figure as an SVG element with its meaning in words; texts are texts, colours are the page's."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "bela", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    source = re.sub(r"^.*?(?=<svg)", "", file.getvalue(), flags=re.DOTALL)
    for colour, name in _COLOURS.items():
        source = re.sub(colour, f"var({name})", source, flags=re.IGNORECASE)
    source = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", source)
    source = re.sub(r" font-family: [^;\"]*;", "", source)  # the page's own
    root = parse_fragment(source)
    drawing = root[0] if root is not None else Element("svg")
    for metadata in drawing.findall("metadata"):
        drawing.remove(metadata)
    for element in drawing.iter():
        if f"#{element.get('id')}" not in source:  # two drawings would have the same names
            element.attrib.pop("id", None)
    for name in ("width", "height"):
        drawing.attrib.pop(name, None)
    drawing.set("role", "img")
    drawing.set("aria-label", words)
    return drawing
