"""Opening the page in a browser, without the token where everybody on the machine can read it."""

import html
import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bela.storage import write_durably

_FILE = "open.html"
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>BELA</title>
<p>The labelling page is at <a href="{address}">this address</a>.</p></html>
"""


@contextmanager
def lead_to(folder: Path, address: str) -> Iterator[str]:
    """Lend the address of a file that leads a browser to another address; only its owner can read it.

    Whatever stands in the command line of a browser is there for all users of the machine to see. The file lies in a
    folder that browsers can read also where they run in a box of their own, and goes when the block ends.
    """
    file = folder / _FILE
    try:
        write_durably(file, _PAGE.format(address=html.escape(address)).encode(), mode=0o600)
    except OSError:  # no room: whoever started the server has read its address
        yield ""
        return
    try:
        yield file.absolute().as_uri()
    finally:
        with suppress(OSError):
            file.unlink()


def has_screen() -> bool:
    """Whether a browser would have somewhere to open; on a terminal alone it would take the terminal."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show_page(address: str) -> None:
    """Open an address in a browser, without waiting for it."""
    if address:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
