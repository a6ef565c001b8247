"""Answering a campaign in a notebook: a widget that needs the extra `bela[notebook]`."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from bela.errors import ParameterError
from bela.notebook._answering import NotebookAnswering
from bela.notebook._widget import widget_class

if TYPE_CHECKING:
    from bela.campaign import Campaign

__all__ = ["NotebookAnswering", "make_widget"]


def make_widget(campaign: "Campaign", *, by: str | None = None, hide: Collection[str] = ()) -> Any:
    """Return a widget that shows the open questions one by one, takes answers by key, and shows what is certain.

    Nothing is suggested, so that draws are answered blind. `by` is who answers, for the record; columns to `hide` are
    not shown, nor are those that the folder of the campaign hides.
    """
    try:
        widget = widget_class()
    except ImportError as error:
        raise ParameterError(f"the widget needs another package: pip install 'bela[notebook]' ({error})") from None
    return widget(NotebookAnswering(campaign, by=by, hide=hide))
