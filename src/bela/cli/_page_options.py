"""The options that the commands have in common that serve the labelling page."""

from __future__ import annotations

from typing import Annotated

import typer

HostOption = Annotated[
    str,
    typer.Option("--host", help="The address to serve on; 0.0.0.0 lets others reach it, who then need the token."),
]
PortOption = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="The port to serve on.", show_default="the first free from 8765 on"),
]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")]
TokenOption = Annotated[
    bool, typer.Option("--token/--no-token", help="Ask for the token in the address, on this machine too.")
]
TerminalOption = Annotated[bool, typer.Option("--terminal", help="Answer in the terminal instead of a browser.")]
