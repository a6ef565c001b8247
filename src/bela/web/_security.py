"""Who may talk to the server, and what a browser may do with what it gets.

Before anything else is looked at: the Host header must name this server (or a site could point a name of its own to
this machine), whatever changes something must come from our own page, the body must be of a sensible size, and the
token must be right. A token comes in the address once and is kept in a cookie that no script can read and no other site
can send.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bela.web._connections import KNOWN
from bela.web._errors import error_response

LARGEST_BODY = 1 << 20
_LONGEST_TOKEN = 200
_MOST_FIELDS = 20  # of the query that the page is opened with
_SAFE = ("GET", "HEAD", "OPTIONS")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_ONWARD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>BELA</title>
<p><a href="/">To the labelling page</a></p></html>
"""
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _TooLarge(Exception):  # noqa: N818 - reads as what happened
    """More of a body came in than is taken."""


class Gate:
    """Lets in whoever knows the token, or everybody where there is none, by one of the names of the server."""

    def __init__(self, app: ASGIApp, *, token: str | None, hosts: Sequence[str]) -> None:
        self._app, self._token = app, token
        self._hosts = frozenset(host.lower().strip("[]") for host in hosts if host != "*")
        self._by_number = "*" in hosts
        self.cookie = cookie_name(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no web sockets here

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if scope["path"].startswith("/api") or "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store" if scope["path"].startswith("/api") else "no-cache"
            await send(message)

        answer = self._refuse(scope) or self._welcome(scope)
        if answer is not None:
            await answer(scope, receive, guarded_send)
            return
        if (connection := scope.get("extensions", {}).get(KNOWN)) is not None:
            connection["tell"]()
        body = _Body(receive)

        async def checked_send(message: Message) -> None:
            if not body.too_large:  # whatever the application makes of a body that was cut off
                await guarded_send(message)

        with suppress(_TooLarge):
            await self._app(scope, body, checked_send)
        if body.too_large:
            await _too_large()(scope, receive, guarded_send)

    def _refuse(self, scope: Scope) -> Response | None:
        """Return why somebody is not let in, None if they are."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            return error_response(403, "host", "this address is not one that the server goes by")
        if scope["method"] not in _SAFE and not _is_same_origin(headers, host):
            return error_response(403, "origin", "changes are made from the server's own page only")
        try:
            length = int(headers.get("content-length", "0"))
        except ValueError:
            return error_response(400, "input", "the length of the body is no number")
        if length > LARGEST_BODY:
            return _too_large()
        if scope.get("query_string", b"").count(b"&") >= _MOST_FIELDS:
            return error_response(400, "input", f"an address has at most {_MOST_FIELDS} fields")
        if self._token is None or self._knows(headers) or self._brings(scope):
            return None
        return error_response(401, "token", "open the address that the server printed when it started, token and all")

    def _welcome(self, scope: Scope) -> Response | None:
        """Put a token that came in the address into a cookie, so that it is in no history and no log from then on."""
        if self._token is None or scope["path"] != "/" or not self._brings(scope):
            return None
        # A browser that was led here by another page, or by a file, would send the cookie with no redirection of ours:
        # only with what our own page asks for.
        by_hand = Headers(scope=scope).get("sec-fetch-site") in ("none", "same-origin")
        response = RedirectResponse("/", status_code=303) if by_hand else HTMLResponse(_ONWARD)
        secure = scope.get("scheme") == "https"
        response.set_cookie(self.cookie, self._token, httponly=True, samesite="strict", secure=secure, path="/")
        return response

    def _brings(self, scope: Scope) -> bool:
        """Whether the address of the page brings the right token."""
        if scope["path"] != "/" or scope["method"] not in _SAFE:
            return False
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        return any(self._is_right(value) for value in query.get("token", ()))

    def _knows(self, headers: Headers) -> bool:
        """Whether a request brings the right token in its cookie, or in its head as programs do."""
        scheme, _, value = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_right(value.strip()):
            return True
        return any(self._is_right(value) for value in _cookies(headers, self.cookie))

    def _is_right(self, token: str) -> bool:
        if self._token is None or len(token) > _LONGEST_TOKEN:
            return False
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())

    def _is_ours(self, host: str) -> bool:
        name = _host_name(host)
        if name in self._hosts or not self._by_number:
            return name in self._hosts
        # A name of somebody's own can be made to point here; the number of this machine cannot be made theirs. Where
        # the server is open to others it goes by its numbers, too.
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return False


def cookie_name(token: str | None) -> str:
    """Return the name of the cookie: one for each token, as cookies do not tell the ports of a machine apart."""
    return f"bela-{hashlib.sha256((token or '').encode()).hexdigest()[:8]}"


def _cookies(headers: Headers, name: str) -> list[str]:
    """Return what cookies of a name hold, in time that grows with the header and no faster.

    >>> _cookies(Headers({"cookie": 'a=1; b="2"; a = 3;; =; a'}), "a")
    ['1', '3']
    """
    pairs = (pair.partition("=") for line in headers.getlist("cookie") for pair in line.split(";"))
    return [value.strip().strip('"') for key, _, value in pairs if value and key.strip() == name]


def _is_same_origin(headers: Headers, host: str) -> bool:
    """Whether a request comes from our own page, or from a program that is no browser."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _host_name(host: str) -> str:
    """Return a Host header without its port.

    >>> [_host_name(host) for host in ("localhost:8000", "[::1]:80", "127.0.0.1", "", "a@b:1")]
    ['localhost', '::1', '127.0.0.1', '', '']
    """
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    if parts.netloc != host or "@" in host or parts.path or parts.query:
        return ""
    return parts.hostname or ""


class _Body:
    """Counts what comes in, as the length that was announced need not be true."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._n_bytes = receive, 0

    @property
    def too_large(self) -> bool:
        return self._n_bytes > LARGEST_BODY

    async def __call__(self) -> Message:
        message = await self._receive()
        self._n_bytes += len(message.get("body", b""))
        if self.too_large:
            raise _TooLarge
        return message


def _too_large() -> Response:
    return error_response(413, "size", f"a request holds at most {LARGEST_BODY >> 20} MB")
