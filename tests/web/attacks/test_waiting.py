"""No request without a token keeps others waiting: by what it holds, how slowly it comes, or how many there are.

How long an answer takes meanwhile is measured by `benchmarks/attacks.py`; here it is only seen that there is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from starlette.datastructures import Headers

from bela.web import _connections, _security

LARGEST = _connections.LARGEST_HEAD
COOKIES = {
    "quotes": 'a="' * 20_000,
    "backslashes": 'a="' + "\\" * 60_000 + '"',
    "pairs": "a=1; " * 12_000,
    "semicolons": ";" * 60_000,
    "no value": "a" * 60_000,
    "spaces": " " * 60_000 + "=",
}


def is_ended(connection: Any) -> bool:
    """Whether the server ends a connection, within a while."""
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.mark.parametrize("kind", COOKIES)
def test_a_large_cookie_is_refused_at_once(server: Any, kind: str) -> None:
    """Whatever is in it; and somebody else is answered."""
    head = server.head(more=f"Cookie: {COOKIES[kind]}\r\n") + b"\r\n"
    assert len(head) < LARGEST + 100
    assert server.send(head) in (400, 401)
    assert server.ask() == 200


@pytest.mark.parametrize("kind", COOKIES)
def test_cookies_take_linear_time(kind: str) -> None:
    """Megabytes are read at once; in quadratic time this test would not end today."""
    text = COOKIES[kind] * (4_000_000 // len(COOKIES[kind]))
    assert _security._cookies(Headers({"cookie": f"{text}; bela-0=x"}), "bela-0") == ["x"]


def test_a_cookie_among_others_is_found() -> None:
    """Those of other programs on this machine come with it."""
    for text in ("{}=x", "a=1; {}=x", '{}="x"; b', "_xsrf=2|3;  {} = x ; c=d=e"):
        headers = Headers({"cookie": text.format("bela-0")})
        assert _security._cookies(headers, "bela-0") == ["x"], text


@pytest.mark.parametrize("n", [19, 20, 21, 5_000])
def test_very_many_fields_are_a_bad_request(server: Any, n: int) -> None:
    """Not an error inside; with the token or without."""
    query = "&".join(["a=1"] * n)
    assert server.send(server.head(f"/?{query}") + b"\r\n") == (401 if n <= 20 else 400)
    from_known = server.send(server.head(f"/api/state?{query}", token="the-right-one") + b"\r\n")  # noqa: S106
    assert from_known == (200 if n <= 20 else 400)


@pytest.mark.parametrize("what", ["one header", "many headers", "an address", "a head without end"])
def test_a_head_has_a_largest_size(server: Any, what: str) -> None:
    """However it is made up: it is refused, or the connection is ended."""
    line = "X: " + "x" * 1000 + "\r\n"
    requests = {
        "one header": server.head(more=f"X: {'x' * 2 * LARGEST}\r\n") + b"\r\n",
        "many headers": server.head(more=line * (2 * LARGEST // 1000)) + b"\r\n",
        "an address": server.head(f"/{'x' * 2 * LARGEST}") + b"\r\n",
        "a head without end": server.head(more=f"X: {'x' * (4 << 20)}"),
    }
    assert server.send(requests[what]) in (0, 400)
    assert server.ask() == 200


@pytest.mark.parametrize("what", ["nothing", "half a line", "half a head", "half a body", "a chunk"])
def test_slow_requests_are_ended(start: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Whoever does not say what he wants, or not all of it."""
    monkeypatch.setattr(_connections, "SECONDS_FOR_HEAD", 0.2)
    monkeypatch.setattr(_connections, "SECONDS_FOR_BODY", 0.2)
    server = start()
    parts = {
        "nothing": b"",
        "half a line": b"GET /api",
        "half a head": server.head(more="X: y\r\n"),
        "half a body": server.head("/api/undo", method="POST", more="Content-Length: 1000\r\n") + b"\r\n{",
        "a chunk": server.head("/api/undo", method="POST", more="Transfer-Encoding: chunked\r\n") + b"\r\n1\r\n{\r\n",
    }
    with server.connect() as connection:
        connection.sendall(parts[what])
        assert is_ended(connection)
    assert server.ask() == 200


def test_strangers_make_room_for_others(start: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many idle connections the oldest have to go; one that has shown the token stays."""
    monkeypatch.setattr(_connections, "MOST_STRANGERS", 10)
    server = start()
    known = server.connect()
    known.sendall(server.head(token="the-right-one") + b"\r\n")  # noqa: S106
    assert b" 200 " in known.recv(65536)
    known.sendall(server.head("/api/events", token="the-right-one") + b"\r\n")  # noqa: S106
    strangers = [server.connect() for _ in range(30)]
    assert server.ask() == 200
    assert sum(is_ended(connection) for connection in strangers[:15]) == 15
    assert b" 200 " in known.recv(65536)  # the line of a page that is open
    for connection in (known, *strangers):
        connection.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the number of files is that of POSIX")
def test_there_are_fewer_connections_than_files() -> None:
    """Or the journal could not be opened any more."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert _connections.MOST_STRANGERS < _connections.MOST_CONNECTIONS < max(soft, 1024)
    assert os.name == "posix"


@pytest.mark.parametrize(
    "content",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    ],
)
def test_what_makes_no_sense_is_refused(server: Any, content: bytes) -> None:
    """And somebody else is answered, all the same."""
    assert server.send(content) in (0, 400, 401, 403, 404)
    assert server.answer()


def test_requests_in_a_row_are_answered_or_ended(server: Any) -> None:
    """Hundreds on one connection, without waiting for an answer."""
    with server.connect() as connection:
        connection.sendall((server.head() + b"\r\n") * 300)
        assert server.answer()
        assert b" 401 " in connection.recv(65536)
