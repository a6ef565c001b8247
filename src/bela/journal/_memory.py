"""A journal that lasts as long as the process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
        self._events: list[Event] = []

    def append(self, events: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Event]:
        """Take events in and return them."""
        at, first = time.time(), len(self._events) + 1
        added = [
            Event(seq=first + i, at=at, kind=kind, data=json.loads(json.dumps(data, allow_nan=False)))
            for i, (kind, data) in enumerate(events)
        ]
        self._events += added
        return added

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield events in order."""
        yield from self._events[after:]

    def close(self) -> None:
        """Nothing is held open."""
