"""The labelling page: a server for a campaign, and the page that it shows."""

from bela.web._app import LOOPBACK, create_app
from bela.web._intake import Said, Ticket
from bela.web._notes import Notes
from bela.web._report import Reporter
from bela.web._serve import serve
from bela.web._service import Asked, LabelService

__all__ = ["LOOPBACK", "Asked", "LabelService", "Notes", "Reporter", "Said", "Ticket", "create_app", "serve"]
