"""Calls of servers that speak as OpenAI's do, and of those that do so badly: one way for all that is sent anywhere."""

from __future__ import annotations

import email.utils
import ipaddress
import json
import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bela.errors import BelaError, ParameterError
from bela.records import Json

if TYPE_CHECKING:
    import httpx2

_LONGEST_WAIT = 600.0  # seconds that a server may ask us to wait
_SLOWEST = 60.0  # seconds between two tries, unless the server says otherwise
_TRY_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_SHOWN = 200  # characters of what a server said


class CallFailed(Exception):  # noqa: N818 - reads as what happened
    """A call that brought nothing; whether it is worth another try, and whether it may have to be paid for."""

    def __init__(self, what: str, *, again: bool, paid: bool = False, wait: float | None = None) -> None:
        super().__init__(what)
        self.again, self.paid, self.wait = again, paid, wait


class Caller:
    """Sends JSON to a server; threads may share it.

    A server that asks to wait is waited for by all of them. What goes wrong in passing is tried again, up to `retries`
    times, after ever longer pauses of random length; then it is an `error`. `name` says who is called, `kept` what
    becomes of what was done so far; `wait` is called with the seconds of each pause. No reply may be longer than
    `most_bytes`.
    """

    def __init__(
        self, url: str, *, name: str, error: type[BelaError], kept: str, most_bytes: int, key: str | None = None,
        timeout: float = 60.0, retries: int = 5, parallel: int = 8, backoff: float = 0.5,
        say: Callable[[str], object] | None = None, wait: Callable[[float], object] | None = None,
    ) -> None:  # fmt: skip
        if not (0 < timeout < math.inf) or retries < 0 or parallel < 1:
            raise ParameterError("time-out and calls at once are numbers above 0, retries from 0 on")
        self._url, self._name, self._error, self._kept = url.rstrip("/"), name, error, kept
        self._key, self._most_bytes, self._timeout = key, most_bytes, timeout
        self._retries, self._backoff, self._say = retries, backoff, say
        self._stopped, self._lock, self._not_before = threading.Event(), threading.Lock(), 0.0
        self._wait = wait or self._stopped.wait
        self._client = _make_client(name, timeout, parallel)

    def post(self, path: str, body: Mapping[str, Json]) -> tuple[int, Mapping[str, str], bytes]:
        """Make one call; return status, headers and body of the reply, no more than we can bear and within the time."""
        import httpx2

        left = self._not_before - time.monotonic()
        if left > 0:
            self._wait(left)
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        deadline, content, sent = time.monotonic() + self._timeout, bytearray(), False
        try:
            with self._client.stream("POST", f"{self._url}/{path}", json=body, headers=headers) as response:
                sent = True
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > self._most_bytes:
                        raise CallFailed("sent a body without end", again=True, paid=response.status_code == 200)
                    if time.monotonic() > deadline:
                        raise CallFailed(f"took longer than {self._timeout:g} s", again=True, paid=True)
                return response.status_code, response.headers, bytes(content)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise CallFailed(f"cannot be reached ({excerpt(str(error))})", again=True) from None
        except httpx2.TimeoutException:
            raise CallFailed(f"took longer than {self._timeout:g} s", again=True, paid=True) from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            where = "broke off" if sent else "broke the connection"
            raise CallFailed(f"{where} ({excerpt(str(error))})", again=True, paid=True) from None
        except (httpx2.InvalidURL, UnicodeError, RuntimeError) as error:  # such as a client that is closed
            raise CallFailed(f"cannot be called ({excerpt(str(error))})", again=False) from None

    def ask(self, path: str, body: Mapping[str, Json]) -> bytes:
        """Call until there is a reply, and return its body."""
        n_failures = 0
        while True:
            try:
                status, headers, content = self.post(path, body)
                if status == 200:
                    return content
                raise refusal(status, headers, error_message(content))
            except CallFailed as failure:
                n_failures += 1
                self.pause(failure, n_failures)

    def pause(self, failure: CallFailed, n_failures: int) -> None:
        """Wait before another try; raise an error where there is to be none."""
        what = f"{self._name} {failure}"
        if self._stopped.is_set():
            raise self._error(f"the calls to {self._url} were given up")
        if not failure.again:
            raise self._error(f"{what}; {self._kept}")
        if n_failures > self._retries:
            raise self._error(f"{what}; that was the last of {n_failures} tries: go on later, {self._kept}")
        wait = min(self._backoff * 2 ** (n_failures - 1), _SLOWEST) * random.uniform(0.5, 1.0)  # noqa: S311
        if failure.wait is not None:
            if failure.wait > _LONGEST_WAIT:
                raise self._error(f"{what} and asks to wait {failure.wait:.0f} s: go on then, {self._kept}")
            wait = failure.wait + wait / 10  # so that not all of them come back at the same moment
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + failure.wait)
        if self._say is not None and wait:
            self._say(f"{what}; asking again in {wait:.1f} s")
        if wait:
            self._wait(wait)

    def stop(self) -> None:
        """Let nobody wait any longer; calls under way come to their end."""
        self._stopped.set()

    def close(self) -> None:
        """Let go of all connections."""
        self.stop()
        self._client.close()


def check_address(url: str, option: str) -> None:
    """Refuse what is no address of a server, or has a password in it, which would be written down."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a ValueError if it is no number
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        what = "is not the address of a server: write it as https://api.openai.com/v1, without a key or password in it"
        raise ParameterError(f"{option} {url.replace(parts.password or chr(0), '…')} {what}")


def is_private(url: str) -> bool:
    """Whether nobody on the way can read what goes to an address: it is encrypted, or stays on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    return False


def refusal(status: int, headers: Mapping[str, str], said: str, advice: Mapping[int, str] | None = None) -> CallFailed:
    """Return what a status other than 200 comes to, with `advice` by status; 300 stands for all that lead elsewhere."""
    what = f"answered with status {status}" + (f" ({excerpt(said)})" if said else "")
    what += (advice or {}).get(300 if status // 100 == 3 else status, "")
    again = status in _TRY_AGAIN and "insufficient_quota" not in said
    return CallFailed(what, again=again, wait=_retry_after(headers) if again else None)


def error_message(content: bytes) -> str:
    """Return what a server says is wrong, as far as it says so."""
    text = content[: 4 * _SHOWN * 4].decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        found = json.loads(content)
        error = found.get("error", found) if isinstance(found, dict) else found
        text = json.dumps(error, ensure_ascii=False) if not isinstance(error, str) else error
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            text = f"{error['message']} {error.get('code') or ''}".strip()
    return text


def excerpt(text: str | bytes) -> str:
    """Return the beginning of what somebody else's program wrote, as one line that is safe to print."""
    if isinstance(text, bytes):
        text = text[: 2 * _SHOWN].decode("utf-8", "replace")
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _make_client(name: str, timeout: float, parallel: int) -> httpx2.Client:
    try:
        import httpx2
    except ImportError:
        raise ParameterError(f'{name} needs the package httpx2: pip install "bela[llm]"') from None
    limits = httpx2.Limits(max_connections=parallel)
    waits = httpx2.Timeout(timeout, connect=min(timeout, 10.0))
    return httpx2.Client(timeout=waits, limits=limits, follow_redirects=False)  # a key goes nowhere else


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait: a number of them, or a date."""
    said = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        seconds = float(said)
        return seconds if 0 <= seconds < math.inf else None
    with suppress(TypeError, ValueError):
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    return None
