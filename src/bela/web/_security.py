"""Who may talk to the server, and what a browser may do with what it gets.

Before anything else is looked at: the Host header must name this server (or a site could point a name of its own to
this machine), whatever changes something must come from our own page, the body must be of a sensible size, and the
token must be somebody's. A token comes in the address once and is kept in a cookie that no script can read and no other
site can send. All else is not for strangers, but for `/healthz`, which says that the server is there and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import ipaddress
import secrets
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bela.web._connections import KNOWN
from bela.web._errors import error_response
from bela.web._identity import PERSON_HEADER, Identities, NotLetIn

VISITOR = "bela.visitor"
"""Under this name, the scope of a request has who it comes from."""

LARGEST_BODY = 1 << 20
_LONGEST_BROWSER = 40
_MOST_FIELDS = 20  # of the query that the page is opened with
_SAFE = ("GET", "HEAD", "OPTIONS")
_LOOKS = (
    "body{max-width:34rem;margin:18vh auto 0;padding:0 1.5rem;font:1.0625rem/1.6 system-ui,sans-serif}"
    "h1{font-size:1.5rem}"
)
_LOCKED = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>BELA: the token is missing</title><style>{_LOOKS}</style></head>
<body><main><h1>This page needs its token</h1>
<p>Open the whole link that you were given, or the address that <code>bela label</code> or <code>bela serve</code>
printed when it started: it ends with <code>?token=</code> and some letters. This browser remembers it from then on.</p>
<p>Is the link gone, or not valid any more? Ask the owner of the campaign for another; the owner gets one from
<code>bela people</code>. Nothing that was answered is lost.</p></main></body></html>
"""
_LOOKS_DIGEST = base64.b64encode(hashlib.sha256(_LOOKS.encode()).digest()).decode()
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_ONWARD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={home}"><title>BELA</title>
<p><a href="{home}">To the labelling page</a></p></html>
"""
_LOCKED_POLICY = f"default-src 'none'; style-src 'sha256-{_LOOKS_DIGEST}'; base-uri 'none'; frame-ancestors 'none'"
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
    """Lets in whoever is known, by one of the names of the server; `root` is the path that all of it is below."""

    def __init__(self, app: ASGIApp, *, identities: Identities, hosts: Sequence[str], root: str = "") -> None:
        self._app, self._identities, self._root = app, identities, root
        self._hosts = frozenset(host.lower().strip("[]") for host in hosts if host != "*")
        self._by_number = "*" in hosts
        self.cookie = cookie_name("" if identities.team is None else identities.team.number)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no web sockets here
        bare, browser = scope["path"] == self._root != "", ""
        if bare or scope["path"].startswith(f"{self._root}/"):  # a proxy may have taken it off already
            scope = {**scope, "path": scope["path"].removeprefix(self._root) or "/"}
        is_page = scope["path"] == "/"

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api") or "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store" if scope["path"].startswith("/api") else "no-cache"
                if is_page and not browser and message["status"] < 400:
                    self._keep(scope, f"{self.cookie}-browser", secrets.token_hex(8), headers)
            await send(message)

        if scope["path"] == "/healthz" and scope["method"] in _SAFE:
            await PlainTextResponse("ok\n")(scope, receive, guarded_send)
            return
        browser = next(iter(_cookies(Headers(scope=scope), f"{self.cookie}-browser")), "")[:_LONGEST_BROWSER]
        try:
            answer = self._refuse(scope) or self._welcome(scope) or (self._home() if bare else None)
            if answer is None:
                self._let_in(scope, browser)
        except NotLetIn as error:
            answer = self._send_away(scope, error)
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
        """Return why nobody is let in with such a request, None if somebody may be."""
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
        return None

    def _welcome(self, scope: Scope) -> Response | None:
        """Put a token that came in the address into a cookie, so that it is in no history and no log from then on."""
        token = self._identities.welcome(scope)
        if token is None:
            return None
        # A browser that was led here by another page, or by a file, would send the cookie with no redirection of ours:
        # only with what our own page asks for.
        by_hand = Headers(scope=scope).get("sec-fetch-site") in ("none", "same-origin")
        response = self._home() if by_hand else HTMLResponse(_ONWARD.format(home=html.escape(f"{self._root}/")))
        self._keep(scope, self.cookie, token, response.headers)
        return response

    def _let_in(self, scope: Scope, browser: str) -> None:
        """Find out who somebody is, which is known from now on; an error if they are not let in."""
        headers = Headers(scope=scope)
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        brought = [bearer.strip()] if scheme.lower() == "bearer" else _cookies(headers, self.cookie)
        member = self._identities.who(scope, headers, brought)
        if member is None:
            raise NotLetIn(401, "token", "open the whole link that you were given, token and all")
        if headers.get(PERSON_HEADER, member.id) != member.id:
            raise NotLetIn(409, "person", f"this browser is {member.name}'s by now: load the page again")
        scope[VISITOR] = self._identities.visitor(member, browser)

    @staticmethod
    def _send_away(scope: Scope, error: NotLetIn) -> Response:
        if scope["path"] == "/" and error.status == 401 and "text/html" in Headers(scope=scope).get("accept", ""):
            return HTMLResponse(_LOCKED, status_code=401, headers={"Content-Security-Policy": _LOCKED_POLICY})
        return error_response(error.status, error.kind, error.message)

    def _home(self) -> Response:
        return RedirectResponse(f"{self._root}/", status_code=303)

    def _keep(self, scope: Scope, name: str, value: str, headers: MutableHeaders) -> None:
        """Have a browser keep something that no script can read, and that it sends to nobody else."""
        # Whoever says that they came by https is only kept from coming without.
        secure = "https" in (scope.get("scheme"), Headers(scope=scope).get("x-forwarded-proto"))
        made = Response()
        made.set_cookie(name, value, httponly=True, samesite="strict", secure=secure, path=f"{self._root}/")
        headers.append("set-cookie", made.headers["set-cookie"])

    def _is_ours(self, host: str) -> bool:
        name = _host_name(host)
        if name in self._hosts or not self._by_number:
            return name in self._hosts
        # A name of somebody's own can be made to point here; the number of this machine cannot be made theirs. Where
        # the server is open to others it goes by its numbers, too.
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return False


def cookie_name(number: str) -> str:
    """Return the name of a campaign's cookie: one for each, as cookies do not tell the ports of a machine apart."""
    return f"bela-{hashlib.sha256(number.encode()).hexdigest()[:8]}"


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
