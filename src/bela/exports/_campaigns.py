"""What an export of a campaign has beside its labels: how rows are called, who said what, and what is left out."""

from collections.abc import Collection, Sequence
from typing import TypedDict

from bela.campaign import StoredCampaign
from bela.exports._history import History, history_of
from bela.records import BoolArray


class CampaignRows(TypedDict):
    """Arguments of `export`."""

    ids: Sequence[object] | None
    given: BoolArray
    label_column: str | None
    history: History
    leave_out: Collection[str]


def campaign_rows(stored: StoredCampaign, *, with_hidden: bool = False) -> CampaignRows:
    """Return what `export` is told about the rows of a campaign; hidden columns are left out unless they are wanted."""
    settings = stored.settings
    leave_out = () if with_hidden else settings.hidden
    return {
        "ids": None if settings.id_column in leave_out else stored.ids(), "given": stored.given,
        "label_column": settings.label_column, "leave_out": leave_out,
        "history": history_of(stored.campaign.book, stored.journal.events()),
    }  # fmt: skip
