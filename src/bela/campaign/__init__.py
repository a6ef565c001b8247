"""The labelling of one dataset, from the first question to the export."""

from bela.campaign._campaign import Campaign
from bela.campaign._changes import n_carried
from bela.campaign._label import label
from bela.campaign._overview import Tally, last_deed, n_deeds, tally
from bela.campaign._settings import SETTINGS, Settings, read_settings
from bela.campaign._stored import StoredCampaign, create_campaign, is_open, open_campaign
from bela.campaign._team import (
    Flag,
    Opinions,
    Undoable,
    answered_by,
    find_question,
    flags,
    has_said,
    is_waiting,
    label_source,
    n_said,
    opinions,
    role_and_answer,
    undoable,
)

__all__ = [
    "SETTINGS",
    "Campaign",
    "Flag",
    "Opinions",
    "Settings",
    "StoredCampaign",
    "Tally",
    "Undoable",
    "answered_by",
    "create_campaign",
    "find_question",
    "flags",
    "has_said",
    "is_open",
    "is_waiting",
    "label",
    "label_source",
    "last_deed",
    "n_carried",
    "n_deeds",
    "n_said",
    "open_campaign",
    "opinions",
    "read_settings",
    "role_and_answer",
    "tally",
    "undoable",
]
