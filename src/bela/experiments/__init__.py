"""The experiments of the paper, their figures and their tables."""

from bela.experiments._figure import Curve, check_chart_path, draw_comparison, draw_errata, draw_trajectory, save_figure

__all__ = ["Curve", "check_chart_path", "draw_comparison", "draw_errata", "draw_trajectory", "save_figure"]
