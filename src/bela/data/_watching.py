"""How far somebody has come who goes through all rows: told to whoever waits, where it takes long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PATIENCE, OFTEN = 1.0, 0.2  # seconds in which nothing is told, and between two times

_watcher: ContextVar[Callable[[float], object] | None] = ContextVar("bela_watcher", default=None)


@contextmanager
def watching_scans(tell: Callable[[float], object]) -> Iterator[None]:
    """Be told the share that is done by whoever goes through all rows meanwhile: now and then, and 1.0 in the end.

    Of what takes no longer than a second nothing is told, nor of what other threads begin.
    """
    token = _watcher.set(tell)
    try:
        yield
    finally:
        _watcher.reset(token)


class ScanWatch:
    """One way through all rows, begun when this is made: to be called with the share that is done."""

    def __init__(self) -> None:
        self._tell, self._told = _watcher.get(), False
        self._due = time.monotonic() + PATIENCE

    def __call__(self, share: float) -> None:
        """Tell it if somebody waits and it is time to."""
        if self._tell is None or (time.monotonic() < self._due and not (self._told and share >= 1)):
            return
        self._told, self._due = True, time.monotonic() + OFTEN
        self._tell(share)
