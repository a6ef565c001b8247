"""Who a request comes from: told by their token, or by a proxy that is trusted, and never by the request itself."""

import hmac
import ipaddress
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import Scope

from bela.campaign import Member, Team, clean_name
from bela.errors import ParameterError

SECRET_HEADER = "X-Bela-Proxy-Secret"  # noqa: S105 - its name
PERSON_HEADER = "X-Bela-Person"  # who a page believes to be, by number
_LONGEST_TOKEN = 200
_SAFE = ("GET", "HEAD", "OPTIONS")
_EVERYBODY = Member(id="", name="owner", is_owner=True, token="")  # where there are no tokens
_ALONE = "me"
_LOG = logging.getLogger("bela.web")


class NotLetIn(Exception):  # noqa: N818 - reads as what happened
    """Somebody is not let in: the kind of error, and a sentence."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who is let in: what their answers are signed with, which browser it is, and whether they own it all."""

    id: str
    name: str
    is_owner: bool
    token: str = ""  # by which it is known when it is not valid any more
    browser: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedProxy:
    """A proxy that says who somebody is, in a header; it comes from one of the networks, knows a secret, or both."""

    header: str
    networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()
    secret: str = ""

    def name(self, scope: Scope, headers: Headers) -> str | None:
        """Return the name that the proxy gives somebody; None if it gives none, or it is not the proxy."""
        if not self._is_meant(scope, headers):
            return None
        given = headers.getlist(self.header)
        if len(given) > 1:
            raise NotLetIn(
                403, "person", f"the proxy sent {self.header} more than once: it has to replace what it gets"
            )
        said: str | None = given[0] if given else None
        try:  # headers are bytes, which most proxies take for UTF-8
            return None if said is None else said.encode("latin-1").decode()
        except UnicodeError:
            return said

    def _is_meant(self, scope: Scope, headers: Headers) -> bool:
        said = headers.get(SECRET_HEADER, "")
        if self.secret and not hmac.compare_digest(said.encode("utf-8", "replace"), self.secret.encode()):
            return False
        return not self.networks or _is_within((scope.get("client") or ("", 0))[0], self.networks)


def trust_proxy(header: str | None, addresses: Sequence[str], secret_file: Path | None) -> TrustedProxy | None:
    """Return the proxy that is trusted, by what was said of it; None if there is none."""
    if header is None:
        if addresses or secret_file is not None:
            raise ParameterError("a proxy is trusted to say who somebody is: in which header? Say --proxy-header")
        return None
    if not header.isascii() or not header.replace("-", "").isalnum():
        raise ParameterError(f"--proxy-header {header!r} is not the name of a header, such as Remote-User")
    try:
        networks = tuple(ipaddress.ip_network(address, strict=False) for address in addresses)
    except ValueError as error:
        raise ParameterError(f"--proxy is an address or a network, such as 10.0.0.5 or 10.0.0.0/24: {error}") from None
    secret = "" if secret_file is None else _read_secret(secret_file)
    if not secret and not networks:
        raise ParameterError("--proxy-header needs --proxy ADDRESS or --proxy-secret FILE: anybody can send a header")
    if not secret and any(network.is_loopback for network in networks):
        raise ParameterError("anybody on this machine comes from that --proxy address: say --proxy-secret FILE as well")
    return TrustedProxy(header=header, networks=networks, secret=secret)


class Identities:
    """Tells who somebody is, by the people of a campaign; without people, whoever comes in is the owner.

    `alone`, the page is for the owner only, who needs no name.
    """

    def __init__(self, team: Team | None, *, alone: bool, proxy: TrustedProxy | None = None) -> None:
        self.team, self._alone, self._proxy = team, alone, proxy
        self._tickets: dict[str, str] = {}

    def ticket(self, token: str) -> str:
        """Return what is worth the same as a token, once: for where a token could be found later."""
        made = secrets.token_urlsafe(24)
        self._tickets[made] = token
        return made

    def who(self, scope: Scope, headers: Headers, candidates: Sequence[str]) -> Member | None:
        """Return who a request comes from, by the proxy or by the tokens that it brings; None if nobody can tell."""
        if self.team is None:
            return _EVERYBODY
        self._look(self.team)
        if self._proxy is not None and (name := self._proxy.name(scope, headers)) is not None:
            return self._through_proxy(self.team, name)
        revoked = False
        for token in candidates:
            member = None if len(token) > _LONGEST_TOKEN else self.team.by_token(token)
            if member is not None and not member.revoked and (member.is_owner or not self._alone):
                return member
            revoked = revoked or (member is not None and member.revoked)
        if revoked:
            raise NotLetIn(401, "revoked", "this link is not valid any more: ask whoever gave it to you for another")
        return None

    def welcome(self, scope: Scope) -> str | None:
        """Return the token that the address of the page brings, if it is one of somebody's."""
        if scope["path"] != "/" or scope["method"] not in _SAFE or self.team is None:
            return None
        self._look(self.team)
        for said in parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", ()):
            token: str = self._tickets.pop(said, said)
            if len(token) <= _LONGEST_TOKEN and self.team.by_token(token) is not None:
                return token
        return None

    def visitor(self, member: Member, browser: str) -> Visitor:
        """Return somebody as the campaign knows them."""
        name = _ALONE if self._alone else member.name
        return Visitor(id=member.id, name=name, is_owner=member.is_owner, token=member.token, browser=browser)

    def _look(self, team: Team) -> None:
        """Take in what another process has changed: a link may be a moment old, or have just ended."""
        try:
            team.reread()
        except ParameterError as error:
            _LOG.error("nobody can be let in: %s", error)
            raise NotLetIn(503, "people", "who may come in cannot be read: the server's log says why") from None

    def _through_proxy(self, team: Team, name: str) -> Member:
        try:
            member = team.named(clean_name(name)) or team.add(name)
        except ParameterError as error:
            raise NotLetIn(403, "person", f"the proxy calls you by a name that cannot be used: {error}") from None
        if member.at_machine:
            raise NotLetIn(403, "person", f"{member.name} is the owner's name here: the owner comes in by a link")
        if member.revoked:
            raise NotLetIn(403, "revoked", f"{member.name} may not come in any more: ask the owner of the campaign")
        return member


def _is_within(address: str, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return any(found in network for network in networks if network.version == found.version)


def _read_secret(file: Path) -> str:
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise ParameterError(f"--proxy-secret {file} cannot be read: {error}") from None
    if len(secret) < 16 or not secret.isascii():
        raise ParameterError(f"--proxy-secret {file} has to hold at least 16 ASCII characters that nobody can guess")
    return secret
