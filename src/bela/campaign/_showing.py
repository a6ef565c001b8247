"""How a campaign shows itself: in a line, as a card in a notebook, and as a widget that can be answered there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bela._registry import Registry
from bela.book import count
from bela.display import card, draw_counts, draw_share

if TYPE_CHECKING:
    from bela.campaign._campaign import Campaign

# The rooms above know how rows are shown, so the widget is chosen by its name, and imported then.
WIDGETS: Registry[Callable[..., Any]] = Registry("widget", "bela.widgets", {"answering": "bela.notebook:make_widget"})


def in_a_line(campaign: Campaign) -> str:
    """Say what a campaign is, and what is certain by now."""
    n_rows, n_classes, n_open = campaign.n_rows, len(campaign.classes), len(campaign.book.open)
    counts = f"{n_rows:,} rows, {n_classes:,} classes, {campaign.n_asked:,} answers, {n_open:,} open"
    return f"<Campaign: {counts}. {campaign.certificate.claim}>"


def as_a_card(campaign: Campaign) -> str:
    """Draw what is certain and what was answered."""
    counts, certificate, forecast = count(campaign.book), campaign.certificate, campaign.forecast
    facts = [
        ("rows", f"{campaign.n_rows:,}"), ("answers", f"{campaign.n_asked:,}"), ("open", f"{counts.n_open:,}"),
        ("skipped", f"{counts.n_skipped:,}" if counts.n_skipped else None),
        ("more answers expected", None if forecast is None else f"{forecast.answers:,}"),
        ("stopped by", campaign.stop_reason),
    ]  # fmt: skip
    known = [(name, n) for name, n in counts.known.items() if n]
    drawings = [draw_share(certificate.lower, campaign.target), draw_counts(known)]
    return card("Campaign", certificate.claim, drawings, facts)
