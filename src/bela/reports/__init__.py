"""The report of a campaign: one HTML file that can be sent to a colleague."""

from bela.reports._report import save_report, write_report

__all__ = ["save_report", "write_report"]
