"""The labelling of one dataset, from the first question to the export."""

from bela.campaign._campaign import Campaign, label
from bela.campaign._settings import Settings
from bela.campaign._stored import StoredCampaign, create_campaign, open_campaign

__all__ = ["Campaign", "Settings", "StoredCampaign", "create_campaign", "label", "open_campaign"]
