"""Figures that show how a campaign went."""

from bela.reports._errata import draw_errata
from bela.reports._figure import check_chart_path, save_figure
from bela.reports._trajectory import Curve, draw_comparison, draw_trajectory

__all__ = ["Curve", "check_chart_path", "draw_comparison", "draw_errata", "draw_trajectory", "save_figure"]
