"""The server as it is run, on a port of this machine, and connections that one can misuse."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from tests.web.conftest import team_of_ann

from bela.campaign import StoredCampaign
from bela.web import LabelService, create_app
from bela.web._serve import _listen, make_server

TOKEN = "the-right-one"  # noqa: S105 - for tests
PATIENCE = 20.0  # seconds that anybody may have to wait on a machine that has much to do


class Server:
    """A server that is running, and how to talk to it byte by byte."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address

    def connect(self) -> socket.socket:
        """Return a connection that nothing was sent on."""
        return socket.create_connection(self.address, timeout=PATIENCE)

    def head(self, path: str = "/api/state", *, method: str = "GET", token: str | None = None, more: str = "") -> bytes:
        """Return the head of a request but for the empty line that ends it."""
        known = "" if token is None else f"Authorization: Bearer {token}\r\n"
        return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{known}{more}".encode()

    def send(self, content: bytes) -> int:
        """Send something on a connection of its own, and return the status of the answer, 0 if there is none."""
        with self.connect() as connection:
            with suppress(OSError):  # it may have heard enough
                connection.sendall(content)
            return status_of(connection)

    def ask(self) -> int:
        """Ask as somebody who knows the token, and return the status."""
        return self.send(self.head(token=TOKEN) + b"\r\n")

    def answer(self) -> Any:
        """Have a question, and answer it, as somebody who knows the token."""
        question = self.post("/api/lease", {"n": 1})["questions"][0]
        return self.post(
            "/api/answers", {"answers": [{"question": question["id"], "label": "cat"}]}
        )["accepted"] == [question["id"]]  # fmt: skip

    def post(self, path: str, body: object) -> Any:
        """Send an object, and return what comes back."""
        content = json.dumps(body).encode()
        more = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\nConnection: close\r\n"
        with self.connect() as connection:
            connection.sendall(self.head(path, method="POST", token=TOKEN, more=more) + b"\r\n" + content)
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        return json.loads(received.partition(b"\r\n\r\n")[2])


def status_of(connection: socket.socket) -> int:
    """Return the status of the answer that comes, 0 if the connection is ended without one."""
    try:
        line = connection.recv(65536).split(b" ", 2)
        return int(line[1]) if len(line) > 1 else 0
    except TimeoutError:
        raise AssertionError("there is no answer") from None
    except OSError:
        return 0


@pytest.fixture
def start(stored: StoredCampaign) -> Iterator[Callable[[], Server]]:
    """Return a function that starts a server, in a thread."""
    running = []

    def begin() -> Server:
        service = LabelService(stored, team=True)
        service.prepare()
        started = threading.Event()
        server = make_server(create_app(service, team=team_of_ann(TOKEN)), started.set)
        listener = _listen("127.0.0.1", 0)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert started.wait(PATIENCE)
        running.append((server, thread))
        return Server(listener.getsockname())

    yield begin
    for server, thread in running:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def server(start: Callable[[], Server]) -> Server:
    """A server that is running."""
    return start()
