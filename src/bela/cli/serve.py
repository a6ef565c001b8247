"""`bela serve`: the labelling page of a campaign, for a team."""

from __future__ import annotations

from typing import Annotated

import typer

from bela.cli._campaign_options import AcceptOption, FolderArgument
from bela.cli._page_options import BrowserOption, HostOption, PortOption, TokenOption


def serve(
    campaign: FolderArgument,
    *,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    overlap: Annotated[
        float, typer.Option("--overlap", min=0.0, max=1.0, help="The share of questions that two people are asked.")
    ] = 0.0,
    lease: Annotated[
        float,
        typer.Option(
            "--lease", min=5.0, metavar="SECONDS", help="How long a question is kept for whoever has it before them."
        ),
    ] = 120.0,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="HOST", help="A further name that the server goes by, such as behind a proxy. Repeatable."
        ),
    ] = None,
    token: TokenOption = True,
    browser: BrowserOption = True,
    accept_changes: AcceptOption = False,
) -> None:
    """Serve the labelling page of a campaign to several people, each with a name.

    Nobody gets a question that somebody else has before them. Reachable from this machine only, unless --host says
    otherwise; then the page asks for the token that is in the address.
    """
    from bela.campaign import open_campaign
    from bela.cli._campaigns import find_campaign, resumable
    from bela.cli._output import Output
    from bela.cli._overview import overview, summary
    from bela.cli._page import serve_page

    output = Output()
    path = find_campaign(campaign)
    with resumable(path):
        with output.bars() as bars:
            stored = open_campaign(path, accept_changes=accept_changes, progress=bars, background=True)
        with stored:
            serve_page(
                stored, output,
                host=host, port=port, open_browser=browser, token="" if token else None, team=True, overlap=overlap,
                lease_seconds=lease, hosts=tuple(name or ()),
            )  # fmt: skip
            outcome = overview(stored)
    output.finish(outcome, [*summary(outcome), f"To go on: bela serve {path}"])
