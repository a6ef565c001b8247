"""The labelling of one dataset, from the first question to the export."""

from bela.campaign._campaign import Campaign, label
from bela.campaign._overview import Tally, last_deed, n_deeds, tally
from bela.campaign._settings import SETTINGS, Settings, read_settings
from bela.campaign._stored import StoredCampaign, create_campaign, is_open, open_campaign

__all__ = [
    "SETTINGS",
    "Campaign",
    "Settings",
    "StoredCampaign",
    "Tally",
    "create_campaign",
    "is_open",
    "label",
    "last_deed",
    "n_deeds",
    "open_campaign",
    "read_settings",
    "tally",
]
