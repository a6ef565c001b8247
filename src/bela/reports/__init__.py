"""Figures that show how a campaign went, and a report of it that can be sent to a colleague."""

from bela.reports._errata import draw_errata
from bela.reports._facts import AskedRow, CampaignFacts, ClassFacts, Course, Example
from bela.reports._figure import check_chart_path, save_figure
from bela.reports._report import write_report
from bela.reports._saving import save_report
from bela.reports._trajectory import Curve, draw_comparison, draw_trajectory

__all__ = [
    "AskedRow",
    "CampaignFacts",
    "ClassFacts",
    "Course",
    "Curve",
    "Example",
    "check_chart_path",
    "draw_comparison",
    "draw_errata",
    "draw_trajectory",
    "save_figure",
    "save_report",
    "write_report",
]
