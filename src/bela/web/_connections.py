"""Connections that cannot be used to keep others waiting: how long they may take, how much they may send, how many.

Whoever has shown the token is known from then on, and is not dropped for the sake of anybody else. Of strangers there
are so many at most; when there is another, the one that has been there longest has to go, as an honest one would have
shown its token by then.
"""

import asyncio
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

KNOWN = "bela.known"
"""Under this name, `extensions` of a request has a function that is called when its token was right."""

LARGEST_HEAD = 64 << 10  # bytes of an address and its headers
SECONDS_FOR_HEAD, SECONDS_FOR_BODY = 10.0, 60.0
MOST_STRANGERS, MOST_CONNECTIONS = 128, 900  # a process usually has 1,024 files and connections at most
_READ_AT_ONCE = 256 << 10  # bytes that may be there before anybody can look how many they are


def limited_protocol() -> Any:
    """Return what makes the connections of one server."""
    return partial(LimitedProtocol, strangers={})


class LimitedProtocol(HttpToolsProtocol):
    """A connection with limits."""

    def __init__(self, *args: Any, strangers: dict["LimitedProtocol", None], **more: Any) -> None:
        super().__init__(*args, **more)
        self._strangers = strangers  # the oldest first
        self._timer: asyncio.TimerHandle | None = None
        self._n_head = self._n_unparsed = 0
        self._in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection in, perhaps in place of another."""
        super().connection_made(transport)
        self._strangers[self] = None
        if len(self._strangers) > MOST_STRANGERS:
            next(iter(self._strangers)).drop()
        if len(self.connections) > MOST_CONNECTIONS:
            self.drop()
        else:
            self._allow(SECONDS_FOR_HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._strangers.pop(self, None)
        self._allow(None)
        super().connection_lost(exc)

    def drop(self) -> None:
        """End a connection at once, whatever it still has to send or to get."""
        self._strangers.pop(self, None)
        self._allow(None)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take in what was sent; a head that does not end is too long, however it is cut into pieces."""
        self._n_unparsed = self._n_unparsed + len(data) if self._in_head else 0
        super().data_received(data)
        if self._in_head and self._n_unparsed > LARGEST_HEAD + _READ_AT_ONCE:
            self.drop()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["extensions"] = {KNOWN: {"tell": self._be_known}}
        self._n_head, self._in_head = 0, True
        self._allow(SECONDS_FOR_HEAD)

    def on_url(self, url: bytes) -> None:
        """Take in a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header, or one that comes after the body."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._n_unparsed, self._in_head = 0, False
        self._allow(SECONDS_FOR_BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of the request is there: from now on it is our own time."""
        self._allow(None)
        self._in_head = True
        super().on_message_complete()

    def _be_known(self) -> None:
        self._strangers.pop(self, None)

    def _count(self, n_bytes: int) -> None:
        self._n_head += n_bytes
        if self._n_head > LARGEST_HEAD:
            raise ValueError("the head of a request is too long")  # which the parser makes a bad request

    def _allow(self, seconds: float | None) -> None:
        """Let what comes next take so long at most, None for as long as it likes."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.drop)
