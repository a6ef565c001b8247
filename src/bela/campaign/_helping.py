"""How a helper is asked: whatever answers and is not believed. Its answers teach, draws never go to it."""

import hashlib
import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from bela import _functions
from bela.book import Book, Event, events
from bela.errors import BelaError, ParameterError
from bela.labels import is_missing
from bela.oracles import TruthOracle
from bela.protocols import Method, Oracle, Taught
from bela.records import Label

_SALT = 6  # bytes
_AT_ONCE = 64  # rows, after which what it said is written down


@dataclass(frozen=True, slots=True, kw_only=True)
class HelperSaid:
    """What came of asking a helper about rows: a label or None for each that it got to, and what went wrong, if so."""

    labels: dict[int, Label | None]
    cost: float
    trouble: str | None


class Helping:
    """Puts to a helper what the method wants of it, at once or in the `background`, and records what it says."""

    def __init__(
        self, method: Method, book: Book, make: Callable[..., None], *, background: bool
    ) -> None:  # fmt: skip
        self._method, self._book, self._make, self._background = method, book, make, background
        self.helper: Oracle | None = None
        self._given_up: Oracle | None = None
        self._last: Oracle | None = None  # who was there when somebody last looked
        self._running: Future[HelperSaid] | None = None

    @property
    def under_way(self) -> bool:
        """Whether a helper is being asked just now."""
        return self._running is not None

    def wait(self) -> None:
        """Wait for what it says."""
        if self._running is not None:
            self._running.exception()

    def advance(self) -> None:
        """Take up what was said, and ask what is wanted; without a thread, until nothing is wanted any more."""
        self._see_who_helps()
        while self._book.help.name is not None and self.helper is not None:
            if self._running is not None:
                if not self._running.done():
                    return
                said, self._running = self._running.result(), None
                self._record(said)
                continue
            rows = self._method.helper_rows(self._book)
            if rows is None:
                raise ParameterError("this method learns from no helper: leave the helper out, or choose 'bela'")
            if not rows:
                return
            if isinstance(self.helper, Taught):
                self.helper.show_examples(self._method.helper_examples(self._book))
            if self._background:
                executor = ThreadPoolExecutor(1, thread_name_prefix="bela-helper")
                self._running = executor.submit(_ask, self.helper, rows[:_AT_ONCE])
                executor.shutdown(wait=False)
            else:
                self._record(_ask(self.helper, rows[:_AT_ONCE]))

    def _see_who_helps(self) -> None:
        """Record that a helper has come, or that the one that was there is gone."""
        helper = None if self.helper is self._given_up else self.helper
        name, there, digest = None if helper is None else helper.name, self._book.help.name, _digest(helper)
        other = self._last is not None and helper is not self._last  # of the same name: it may say something else
        self._last = helper
        if there is not None and (there != name or other or digest not in (None, self._book.help.salt)):
            self._running = None
            self._make(events.HelperEnded, reason="nobody helps any more" if name is None else f"{name} helps now")
            there = None
        if name is not None and there is None:
            # A helper may know what an earlier campaign has drawn, and must not meet the same draws again.
            self._make(events.HelperBegan, name=name, salt=digest or _chance())

    def _record(self, said: HelperSaid) -> None:
        if said.labels or said.cost:
            kind: type[Event] = events.Helped
            self._make(kind, rows=tuple(said.labels), labels=tuple(said.labels.values()), cost=said.cost)
        if said.trouble is not None:
            self._given_up = self.helper
            self._make(events.HelperEnded, reason=said.trouble)


def _chance() -> int:
    return 1 + secrets.randbits(8 * _SALT)


def _digest(helper: Oracle | None) -> int | None:
    """Return a digest of all that a helper will say; None where nobody knows that."""
    if not isinstance(helper, TruthOracle):
        return None
    said = repr(helper.labels.tolist()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(said, digest_size=_SALT).digest()) + 1


def _ask(helper: Oracle, rows: Sequence[int]) -> HelperSaid:
    """Ask a helper; rows that it says nothing about, though nothing went wrong, are those that it cannot tell."""
    labels: dict[int, Label | None] = {}
    cost, trouble = 0.0, None
    try:
        with closing(helper.answers(np.array(rows))) as answers:
            for answer in answers:
                cost += answer.cost
                if answer.row in rows:
                    labels[answer.row] = _label(answer.label)
    except BelaError as error:
        trouble = str(error)
    except Exception as error:  # somebody's own function, which may fail in any way
        trouble = f"{helper.name} failed with {_functions.said(error)}"
        logging.getLogger("bela").warning("The helper is given up: %s", trouble)
    if trouble is None:
        labels |= dict.fromkeys((row for row in rows if row not in labels), None)
    return HelperSaid(labels=labels, cost=cost, trouble=trouble)


def _label(said: object) -> Label | None:
    plain = said.item() if isinstance(said, np.generic) else said
    if is_missing(plain):
        return None
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    return plain if isinstance(plain, (str, int)) and plain != "" else None
