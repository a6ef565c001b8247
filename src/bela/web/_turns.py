"""Work that takes long, such as an export, is done one at a time for each person: nobody can take all the threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException

_WAIT = "what you asked for before is still being made: wait until it is there"


class Turns:
    """Knows for whom something is being made.

    >>> turns = Turns()
    >>> with turns.of("Ann"), turns.of("Ben"):
    ...     pass
    """

    def __init__(self) -> None:
        self._lock, self._busy = threading.Lock(), set[str]()

    @contextmanager
    def of(self, who: str) -> Iterator[None]:
        """Make something for somebody for whom nothing else is being made."""
        with self._lock:
            if who in self._busy:
                raise HTTPException(429, _WAIT, headers={"Retry-After": "5"})
            self._busy.add(who)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(who)
