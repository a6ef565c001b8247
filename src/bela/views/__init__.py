"""What people are shown of a campaign, computed from it: status, rows, pictures, leaves, people, and a report's facts.

Nothing here knows of a web server: the page sends these values as they are, the report is written from them.
"""

from bela.views._class_sources import ClassSource, class_sources
from bela.views._find import SOURCES, WAITS, Finder, FlagNote, FoundPlace, FoundRow, FoundRows, Wanted
from bela.views._labels import ChartPoint, ClassOverview, JsonLabel, Labels, LeafView, chart_point
from bela.views._notes import Notes, guidelines_html, read_guidelines, write_guidelines
from bela.views._parts import ClassPart, PartsNow, PartsView, SureRows, parts_of
from bela.views._people import Agreement, Disagreement, Person, agreement_of, differing, disagreements
from bela.views._pictures import Pictures
from bela.views._report import AskedRow, CampaignFacts, ClassFacts, Example, Reporter, result_of
from bela.views._rows import LabelledRow, RowView, ShownRow
from bela.views._status import AuditStatus, CampaignStatus, Monitor, audit_status

__all__ = [
    "SOURCES", "WAITS", "Agreement", "AskedRow", "AuditStatus", "CampaignFacts", "CampaignStatus", "ChartPoint",
    "ClassFacts", "ClassOverview", "ClassPart", "ClassSource", "Disagreement", "Example", "Finder", "FlagNote",
    "FoundPlace", "FoundRow", "FoundRows", "JsonLabel", "LabelledRow", "Labels", "LeafView", "Monitor", "Notes",
    "PartsNow", "PartsView", "Person", "Pictures", "Reporter", "RowView", "ShownRow", "SureRows", "Wanted",
    "agreement_of", "audit_status", "chart_point", "class_sources", "differing", "disagreements", "guidelines_html",
    "parts_of", "read_guidelines", "result_of", "write_guidelines",
]  # fmt: skip
