"""How far a run has come, for whoever started it: a bar in notebook and terminal, in a log a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeAlias

from bela.data import watching_scans
from bela.display import card, draw_share
from bela.shares import percent_text, share_text

if TYPE_CHECKING:
    from bela.campaign._campaign import Campaign

Watching: TypeAlias = "bool | Callable[[Campaign], object] | None"

_PATIENCE = 2.0  # seconds in which nothing is shown
_OFTEN = 0.2  # seconds between two looks
_FIRST_LINE, _SLOWER = 10.0, 2.0  # seconds to the first line of a log, and how much longer each takes than the last
_LONGEST = 600.0
SCANNING = "going through all rows"


class ProgressPlace(Protocol):
    """Somewhere that progress is shown."""

    def show(self, campaign: Campaign, *, last: bool = False) -> None:
        """Show how far it has come."""

    def show_scan(self, share: float) -> None:
        """Show which share of all rows somebody has gone through who labels them anew, or finds what is alike."""


class NotebookPlace:
    """A card in the output of a cell, which is replaced as things go on."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, campaign: Campaign, *, last: bool = False) -> None:
        """Replace the card."""
        self._replace(card("Done" if last else "Labelling", in_words(campaign), [_bar(campaign)]))

    def show_scan(self, share: float) -> None:
        """Replace the card by one that says so, until there is something else to be said."""
        self._replace(card("Labelling", scan_in_words(share)))

    def _replace(self, html: str) -> None:
        from IPython.display import HTML, display

        shown = HTML(html)
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)


class TerminalPlace:
    """One line that is written again and again, and is gone in the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, campaign: Campaign, *, last: bool = False) -> None:
        """Write the line anew."""
        self._write("" if last else in_words(campaign))

    def show_scan(self, share: float) -> None:
        """Write a line about that, and clear it in the end."""
        self._write("" if share >= 1 else scan_in_words(share))

    def _write(self, words: str) -> None:
        self._stream.write(f"\r\x1b[2K{words[:79]}")
        self._stream.flush()


class LogPlace:
    """A line now and then, each after a longer time than the one before: hours fill no more than a page."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._wait = _FIRST_LINE
        self._next = clock() + self._wait

    def show(self, campaign: Campaign, *, last: bool = False) -> None:
        """Write a line if it is time for one."""
        if not last and self._is_time():
            self._write(in_words(campaign))

    def show_scan(self, share: float) -> None:
        """Write a line about that, likewise."""
        if self._is_time():
            self._write(scan_in_words(share))

    def _is_time(self) -> bool:
        return self._clock() >= self._next

    def _write(self, words: str) -> None:
        self._wait = min(_SLOWER * self._wait, _LONGEST)
        self._next = self._clock() + self._wait
        print(f"bela: {words}", file=self._stream, flush=True)


@contextmanager
def watching(
    progress: Watching, *, place: ProgressPlace | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[Campaign], object] | None]:
    """Yield what is to be called after each answer: what somebody has given, or what shows how far it has come.

    That shows nothing in the first two seconds, unless `progress` is True, and nothing at all if that is False.
    """
    if progress is False or callable(progress):
        yield progress or None
        return
    place = place or _find_place()
    seen: Campaign | None = None
    is_shown = False
    due = clock() + (0.0 if progress else _PATIENCE)

    def look(campaign: Campaign) -> None:
        nonlocal seen, is_shown, due
        seen = campaign
        if clock() >= due:
            place.show(campaign)
            is_shown, due = True, clock() + _OFTEN

    def look_at_scan(share: float) -> None:
        nonlocal is_shown
        if clock() >= due:
            place.show_scan(share)
            is_shown = True

    try:
        with watching_scans(look_at_scan):
            yield look
    finally:
        if is_shown and seen is not None:
            place.show(seen, last=True)
        elif is_shown:
            place.show_scan(1.0)


def in_words(campaign: Campaign) -> str:
    """Say in a line how far a campaign has come."""
    certificate, aims = campaign.certificate, []
    if campaign.target is not None:
        aims.append(f"target {percent_text(campaign.target)}")
    if campaign.budget is not None:
        aims.append(f"budget {campaign.budget:,}")
    aim = f" ({', '.join(aims)})" if aims else ""
    word = certificate.guarantee.word
    answers = "1 answer" if campaign.n_asked == 1 else f"{campaign.n_asked:,} answers"
    return f"{answers}, at least {share_text(certificate.lower)} {word}{aim}"


def scan_in_words(share: float) -> str:
    """Say in a line how far somebody has come who goes through all rows.

    >>> scan_in_words(0.427)
    'going through all rows: 42 %'
    """
    return f"{SCANNING}: {int(100 * share)} %"


def _bar(campaign: Campaign) -> str:
    return draw_share(campaign.certificate.lower, campaign.target)


def _find_place() -> ProgressPlace:
    """Return where progress can be shown: in a notebook, in a terminal, or in a log."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is not None:  # only that of a notebook has one
        return NotebookPlace()
    stream = sys.stderr
    return TerminalPlace(stream) if stream is not None and stream.isatty() else LogPlace(stream)
