"""The labelling of one dataset, from the first question to the export."""

from bela.campaign._campaign import Campaign, label

__all__ = ["Campaign", "label"]
