"""A journal that lasts as long as the process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bela.errors import JournalError
from bela.journal._text import event_data, event_text
from bela.records import Event


class MemoryJournal:
    """Events in a list, as plain as they would be on disk.

    Examples
    --------
    >>> journal = MemoryJournal()
    >>> _ = journal.append([("answered", {"question": 0, "label": "cat"})])
    >>> [(event.seq, event.kind) for event in journal.events()]
    [(1, 'answered')]
    """

    def __init__(self) -> None:
        self._events: list[tuple[float, str, str]] = []

    def append(self, events: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Event]:
        """Take events in and return them."""
        at, before = time.time(), len(self._events)
        self._events += [(at, kind, event_text(kind, data)) for kind, data in events]
        return list(self.events(before))

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield events in order."""
        if after > len(self._events):
            raise JournalError(f"the journal has no event {after}")
        for i, (at, kind, text) in enumerate(self._events[after:]):
            # made from its text each time, so that nobody who changes what he got changes what happened
            yield Event(seq=after + i + 1, at=at, kind=kind, data=event_data(text) or {})

    def close(self) -> None:
        """Nothing is held open."""
