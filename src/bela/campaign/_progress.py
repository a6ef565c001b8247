"""How far a run has come, for whoever started it: a bar in notebook and terminal, in a log a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeAlias

from bela.display import card, draw_share
from bela.shares import percent_text, share_text

if TYPE_CHECKING:
    from bela.campaign._campaign import Campaign

Watching: TypeAlias = "bool | Callable[[Campaign], object] | None"

_PATIENCE = 2.0  # seconds in which nothing is shown
_OFTEN = 0.2  # seconds between two looks
_FIRST_LINE, _SLOWER = 10.0, 2.0  # seconds to the first line of a log, and how much longer each takes than the last
_LONGEST = 600.0


class ProgressPlace(Protocol):
    """Somewhere that progress is shown."""

    def show(self, campaign: Campaign, *, last: bool = False) -> None:
        """Show how far it has come."""


class NotebookPlace:
    """A card in the output of a cell, which is replaced as things go on."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, campaign: Campaign, *, last: bool = False) -> None:
        """Replace the card."""
        from IPython.display import HTML, display

        shown = HTML(card("Done" if last else "Labelling", in_words(campaign), [_bar(campaign)]))
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
        self._stream.write("\r\x1b[2K" + ("" if last else in_words(campaign)[:79]))
        self._stream.flush()


class LogPlace:
    """A line now and then, each after a longer time than the one before: hours fill no more than a page."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._wait = _FIRST_LINE
        self._next = clock() + self._wait

    def show(self, campaign: Campaign, *, last: bool = False) -> None:
        """Write a line if it is time for one."""
        if self._clock() < self._next or last:
            return
        self._wait = min(_SLOWER * self._wait, _LONGEST)
        self._next = self._clock() + self._wait
        print(f"bela: {in_words(campaign)}", file=self._stream, flush=True)


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
    shown: Campaign | None = None
    due = clock() + (0.0 if progress else _PATIENCE)

    def look(campaign: Campaign) -> None:
        nonlocal shown, due
        if clock() >= due:
            place.show(campaign)
            shown, due = campaign, clock() + _OFTEN

    try:
        yield look
    finally:
        if shown is not None:
            place.show(shown, last=True)


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


def _bar(campaign: Campaign) -> str:
    return draw_share(campaign.certificate.lower, campaign.target)


def _find_place() -> ProgressPlace:
    """Return where progress can be shown: in a notebook, in a terminal, or in a log."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is not None:  # only that of a notebook has one
        return NotebookPlace()
    stream = sys.stderr
    return TerminalPlace(stream) if stream is not None and stream.isatty() else LogPlace(stream)
