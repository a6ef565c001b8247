"""The command line: one file per command, heavy packages imported only by the command that needs them."""

from bela.cli._app import app, main

__all__ = ["app", "main"]
