"""Serving the labelling page from a command."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bela.campaign import StoredCampaign
    from bela.cli._output import Output


def serve_page(stored: StoredCampaign, output: Output, **options: Any) -> None:
    """Serve until somebody stops it, which is how it ends; options are those of `bela.web.serve`."""
    from bela.web import serve

    with suppress(KeyboardInterrupt):
        serve(stored, say=output.say, **options)
