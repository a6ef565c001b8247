"""News for all pages that are open: the status whenever it has changed, as server-sent events."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress

from pydantic_core import to_json

from bela.campaign import Team
from bela.web._identity import Visitor
from bela.web._roles import for_annotators
from bela.web._service import LabelService

_APART = 0.2  # seconds between two events at least
_SILENCE = 15.0  # seconds after which a comment shows that the line is alive
_AFTER_ERROR = 5.0
_LOG = logging.getLogger("bela.web")


class Broadcast:
    """Watches a service: calls its `refresh` now and then, and hands the status on to those of a team who listen."""

    def __init__(self, service: LabelService, team: Team | None = None) -> None:
        self._service, self._team = service, team
        self._closed = threading.Event()
        self._news = threading.Event()
        self._version = 0
        self._texts = {True: "", False: ""}  # for owners, and for annotators
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop_listening: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to watch, in a thread of its own."""
        self._stop_listening = self._service.listen(self._news.set)
        self._thread = threading.Thread(target=self._watch, name="bela-web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all lines, and the thread."""
        self.end_lines()
        self._stop_listening()
        self._stop_listening = lambda: None
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=1)  # it may wait for somebody who is making something

    def end_lines(self) -> None:
        """End all lines at once, so that a server need not wait for pages to go away."""
        self._closed.set()
        self._news.set()
        self.wake()

    async def lines(self, visitor: Visitor, tab: str = "") -> AsyncIterator[str]:
        """Yield events as text, from now on until it is closed, the tab is gone, or it is not for its reader."""
        with self._service.in_sight(tab, visitor.browser), self._waking() as woken:
            seen = -1
            while not self._closed.is_set() and self._is_let_in(visitor):
                woken.clear()
                if self._version != seen and self._texts[visitor.is_owner]:
                    seen = self._version
                    yield f"event: state\ndata: {self._texts[visitor.is_owner]}\n\n"
                    await asyncio.sleep(_APART)
                    continue
                try:
                    await asyncio.wait_for(woken.wait(), _SILENCE)
                except TimeoutError:
                    yield ": still here\n\n"

    @contextmanager
    def _waking(self) -> Iterator[asyncio.Event]:
        """Have an event set whenever there is news, for as long as a block lasts."""
        waiting = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.add(waiting)
        try:
            yield waiting[1]
        finally:
            with self._lock:
                self._waiting.discard(waiting)

    def _watch(self) -> None:
        self._publish()
        with self._going_on():
            self._service.prepare()
        while not self._closed.is_set():
            news = self._news.wait(_APART)
            self._news.clear()
            with self._going_on():
                if self._team is not None and self._team.reread():
                    self.wake()
                if self._service.refresh() or news:
                    self._news.clear()
                    self._publish()
            self._closed.wait(_APART)

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Say what went wrong and go on: a fit that failed, say, while answers are taken in all the same."""
        try:
            yield
        except Exception:
            if not self._closed.is_set():
                _LOG.exception("the state cannot be made up to date")
            self._closed.wait(_AFTER_ERROR)

    def _publish(self) -> None:
        status = self._service.status()
        texts = {True: status, False: for_annotators(status, blind=self._service.second_opinions)}
        self._texts = {is_owner: to_json(text).decode() for is_owner, text in texts.items()}
        self._version += 1
        self.wake()

    def _is_let_in(self, visitor: Visitor) -> bool:
        """Whether somebody may still come in, as what they were when they came."""
        if self._team is None:
            return True
        member = self._team.by_token(visitor.token)
        return member is not None and not member.revoked and member.is_owner == visitor.is_owner

    def wake(self) -> None:
        """Have all lines look whether there is anything for them, and whether they may go on."""
        with self._lock:
            for loop, event in self._waiting:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(event.set)
