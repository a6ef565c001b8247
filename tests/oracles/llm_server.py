"""A server on this machine that speaks as OpenAI's does, and misbehaves as real ones do, on demand."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler", dict[str, Any]], None]
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}


class Handler(BaseHTTPRequestHandler):
    """Answers a call by the next behaviour of the script, or well if there is none."""

    server: ModelServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server = self.server
        with server.lock:
            server.calls.append({"path": self.path, "headers": dict(self.headers.items()), "body": body})
            behave = server.script.pop(0) if server.script else server.usual
            server.n_now += 1
            server.n_most = max(server.n_most, server.n_now)
        try:
            behave(self, body)
        finally:
            with server.lock:
                server.n_now -= 1

    def send(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class ModelServer(ThreadingHTTPServer):
    """A server with what it was asked (`calls`), what it will do next (`script`), and what it does otherwise."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, label: Callable[[str], str | None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.calls, self.script = threading.Lock(), [], []  # type: ignore[var-annotated]
        self.usual: Behaviour = lambda handler, body: say(json.dumps({"label": label(text_of(body))}))(handler, body)
        self.n_now = self.n_most = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Clients that go away are what is tested."""


def text_of(body: dict[str, Any]) -> str:
    """Return the text of the row that is asked about."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def say(text: str | None, *, usage: Any = USAGE) -> Behaviour:
    """Answer with this text."""
    document = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}
    return lambda handler, body: handler.send(200, json.dumps(document).encode())


def fail(status: int, message: str = "no", **headers: str) -> Behaviour:
    """Answer with an error."""
    content = json.dumps({"error": {"message": message, "code": None}}).encode()
    return lambda handler, body: handler.send(status, content, **headers)


def html(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(200, b"<html><body>Please log in</body></html>")


def truncated(handler: Handler, body: dict[str, Any]) -> None:
    """Send half of the JSON as if it were all."""
    handler.send(200, b'{"choices": [{"message": {"content": "{\\"lab')


def cut_off(handler: Handler, body: dict[str, Any]) -> None:
    """Promise more than is sent, and hang up."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def reset(handler: Handler, body: dict[str, Any]) -> None:
    """Reset the connection without a word."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.rfile.close()
    handler.wfile = handler.rfile = _Nowhere()  # type: ignore[assignment]
    handler.close_connection = True


class _Nowhere:
    closed = True

    def flush(self) -> None: ...
    def close(self) -> None: ...


def endless(handler: Handler, body: dict[str, Any]) -> None:
    """Send a body that is far too big."""
    handler.send_response(200)
    handler.send_header("content-length", str(1 << 30))
    handler.end_headers()
    try:
        for _ in range(1 << 12):
            handler.wfile.write(b" " * (1 << 16))
    except OSError:
        pass
    handler.close_connection = True


def slow(until: threading.Event) -> Behaviour:
    """Send nothing before somebody allows it."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        until.wait(20)
        handler.close_connection = True

    return behave


def dripping(until: threading.Event) -> Behaviour:
    """Send a byte now and then, so that something always comes."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "100000")
        handler.end_headers()
        try:
            while not until.wait(0.02):
                handler.wfile.write(b" ")
                handler.wfile.flush()
        except OSError:
            pass
        handler.close_connection = True

    return behave


def only(allowed: Callable[[dict[str, Any]], str | None]) -> Callable[[Behaviour], Behaviour]:
    """Refuse calls of which `allowed` has something to say, with that as the message."""

    def wrap(usual: Behaviour) -> Behaviour:
        def behave(handler: Handler, body: dict[str, Any]) -> None:
            complaint = allowed(body)
            (usual if complaint is None else fail(400, complaint))(handler, body)

        return behave

    return wrap
