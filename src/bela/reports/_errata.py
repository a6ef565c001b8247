"""The errata figure: what theorem 1 says as it is printed, beside what is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bela.records import Point
from bela.reports._figure import BLUE, INK, ORANGE, PURPLE, dress, make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_errata(
    steered: Sequence[Point], corrected: Sequence[Point], beside: Sequence[float], *, n_rows: int, title: str = ""
) -> Figure:
    """Draw a campaign that the printed bound steers, and the printed bound beside the corrected one in another."""
    figure, (left, right) = make_figure(2, width=9.6, height=4.2)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    dress(left, title="steered by the bound as printed", x="answers, share of the rows", y="share of all labels")
    dress(right, title="steered by the bound with t = |B|", x="answers, share of the rows")
    for axes, points, bounds in (
        (left, steered, [("bound as printed", PURPLE, (0, (6, 2)), [point.lower for point in steered])]),
        (
            right,
            corrected,
            [
                ("bound as printed, on the same leaves", PURPLE, (0, (6, 2)), list(beside)),
                ("bound with t = |B|", ORANGE, "-", [point.lower for point in corrected]),
            ],
        ),
    ):
        shares = [point.asked / n_rows for point in points]
        axes.plot(shares, [point.accuracy for point in points], color=BLUE, linewidth=2, label="right")
        for name, colour, style, values in bounds:
            axes.plot(shares, values, color=colour, linestyle=style, linewidth=2, label=name)
        axes.set_xlim(0, max(shares, default=1))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.legend(
            loc="lower right", frameon=False, labelcolor="linecolor", fontsize=10, handlelength=2.6, borderaxespad=0.2
        )
    return figure
