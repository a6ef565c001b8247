"""Calls of any server that speaks as OpenAI's `/chat/completions` does, and of those that do so badly."""

from __future__ import annotations

import email.utils
import ipaddress
import json
import math
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bela.errors import OracleError, ParameterError
from bela.records import Json

if TYPE_CHECKING:
    import httpx2

_MOST_BYTES = 4 << 20  # of a body: far more than an answer needs
_LONGEST_WAIT = 600.0  # seconds that a server may ask us to wait
_SLOWEST = 60.0  # seconds between two tries, unless the server says otherwise
_TRY_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
# A row that a server will not take, for what is in it or for its length, is declined: others go on.
_ABOUT_ROW = re.compile(
    r"content[ _](?:filter|policy|management)|safety|context[ _]length|maximum context|too (?:long|large|many tokens)",
    re.IGNORECASE,
)
_SHOWN = 200  # characters of what a server said


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model wrote ("" where it refused to), and how many tokens that took, if the server says so."""

    text: str
    n_in: int | None = None
    n_out: int | None = None


class CallFailed(Exception):  # noqa: N818 - reads as what happened
    """A call that brought nothing; whether it is worth another try, and whether it may have to be paid for."""

    def __init__(self, what: str, *, again: bool, paid: bool = False, wait: float | None = None) -> None:
        super().__init__(what)
        self.again, self.paid, self.wait = again, paid, wait


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server understands: not all take a schema, any temperature, or a bound under its older name."""

    answer: str = "json_schema"
    bound: str = "max_tokens"
    temperature: bool = True

    def poorer(self, complaint: str) -> Dialect | None:
        """Return what to try after a complaint, None where there is nothing left to leave out."""
        if self.bound == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, bound="max_completion_tokens")
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if self.answer == "json_schema":
            return replace(self, answer="json_object")
        return replace(self, answer="text") if self.answer == "json_object" else None


class ChatClient:
    """Asks one model at one address; threads may share it.

    A server that asks to wait is waited for by all of them. What goes wrong in passing is tried again, up to `retries`
    times, after ever longer pauses of random length. `wait` is called with the seconds of each pause.
    """

    def __init__(
        self, url: str, model: str, *, key: str | None = None, timeout: float = 60.0, retries: int = 5,
        max_tokens: int = 200, parallel: int = 8, backoff: float = 0.5, say: Callable[[str], object] | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> None:  # fmt: skip
        check_url(url)
        if not model.strip():
            raise ParameterError("the model has no name: give it with --llm-model")
        if not (0 < timeout < math.inf) or retries < 0 or max_tokens < 1 or parallel < 1:
            raise ParameterError("time-out, tokens and calls at once are numbers above 0, retries from 0 on")
        self.url, self.model, self.max_tokens = url, model, max_tokens
        self._place = f"{url.rstrip('/')}/chat/completions"
        self._key, self._timeout, self.retries, self._backoff, self._say = key, timeout, retries, backoff, say
        self._stopped, self._lock = threading.Event(), threading.Lock()
        self._wait = wait or self._stopped.wait
        self._dialect, self._not_before = Dialect(), 0.0
        self._client = _make_client(timeout, parallel)

    def send(self, messages: Json, schema: Json) -> Reply:
        """Make one call; a CallFailed where nothing came of it."""
        dialect: Dialect | None = self._dialect
        while dialect is not None:
            self._wait_for_server()
            status, headers, content = self._post(self._body(messages, schema, dialect))
            if status == 200:
                reply = _read_reply(content)
                self._dialect = dialect  # only one that a server has understood: another row may have been the trouble
                return reply
            said = _message(content)
            if status in (400, 413, 422) and _ABOUT_ROW.search(said):
                return Reply(text="", n_in=0, n_out=0)
            dialect = dialect.poorer(said) if status in (400, 422) else None
        raise self._refusal(status, headers, said)

    def pause(self, failure: CallFailed, n_failures: int) -> None:
        """Wait before another try; raise an OracleError where there is to be none."""
        what = f"the model {self.model} at {self.url} {failure}"
        kept = "nothing that was answered so far is lost"
        if self._stopped.is_set():
            raise OracleError(f"the calls to {self.url} were given up")
        if not failure.again:
            raise OracleError(f"{what}; {kept}")
        if n_failures > self.retries:
            raise OracleError(f"{what}; that was the last of {n_failures} tries: go on later, {kept}")
        wait = min(self._backoff * 2 ** (n_failures - 1), _SLOWEST) * random.uniform(0.5, 1.0)  # noqa: S311
        if failure.wait is not None:
            if failure.wait > _LONGEST_WAIT:
                raise OracleError(f"{what} and asks to wait {failure.wait:.0f} s: go on then, {kept}")
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

    def _wait_for_server(self) -> None:
        left = self._not_before - time.monotonic()
        if left > 0:
            self._wait(left)

    def _body(self, messages: Json, schema: Json, dialect: Dialect) -> dict[str, Json]:
        body: dict[str, Json] = {"model": self.model, "messages": messages, dialect.bound: self.max_tokens}
        if dialect.temperature:
            body["temperature"] = 0
        if dialect.answer == "json_schema":
            form: Json = {"name": "label", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif dialect.answer == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _post(self, body: dict[str, Json]) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of the answer, no more than we can bear of it and within the time."""
        import httpx2

        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        deadline, content, sent = time.monotonic() + self._timeout, b"", False
        try:
            with self._client.stream("POST", self._place, json=body, headers=headers) as response:
                sent = True
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        raise CallFailed("sent a body without end", again=True, paid=response.status_code == 200)
                    if time.monotonic() > deadline:
                        raise CallFailed(f"took longer than {self._timeout:g} s", again=True, paid=True)
                return response.status_code, response.headers, content
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise CallFailed(f"cannot be reached ({_excerpt(str(error))})", again=True) from None
        except httpx2.TimeoutException:
            raise CallFailed(f"took longer than {self._timeout:g} s", again=True, paid=True) from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            where = "broke off" if sent else "broke the connection"
            raise CallFailed(f"{where} ({_excerpt(str(error))})", again=True, paid=True) from None
        except (httpx2.InvalidURL, UnicodeError, RuntimeError) as error:  # such as a client that is closed
            raise CallFailed(f"cannot be called ({_excerpt(str(error))})", again=False) from None

    def _refusal(self, status: int, headers: Mapping[str, str], said: str) -> CallFailed:
        what = f"answered with status {status}" + (f" ({_excerpt(said)})" if said else "")
        if status in (401, 403):
            what += "; is the key right (--llm-key-env)?"
        if status == 404 or status // 100 == 3:
            what += "; is the address right (--llm-url, without /chat/completions)?"
        again = status in _TRY_AGAIN and "insufficient_quota" not in said
        return CallFailed(what, again=again, wait=_retry_after(headers) if again else None)


def check_url(url: str) -> None:
    """Refuse what is no address of a server."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a ValueError if it is no number
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        what = "is not the address of a server: write it as https://api.openai.com/v1, without a key in it"
        raise ParameterError(f"--llm-url {url} {what}")


def is_private(url: str) -> bool:
    """Whether nobody on the way can read what goes to an address: it is encrypted, or stays on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    return False


def _make_client(timeout: float, parallel: int) -> httpx2.Client:
    try:
        import httpx2
    except ImportError:
        raise ParameterError('a language model needs httpx2: pip install "bela[llm]"') from None
    limits = httpx2.Limits(max_connections=parallel)
    waits = httpx2.Timeout(timeout, connect=min(timeout, 10.0))
    return httpx2.Client(timeout=waits, limits=limits, follow_redirects=False)  # a key goes nowhere else


def _read_reply(content: bytes) -> Reply:
    try:
        found = json.loads(content)
        choice = found["choices"][0]
        message = choice.get("message") or {}
        text = message.get("content")
        usage = found.get("usage")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        start = content[: 2 * _SHOWN].decode("utf-8", "replace")
        raise CallFailed(f"sent no answer but {_excerpt(start)}", again=True, paid=True) from None
    if isinstance(text, list):  # parts, as some servers have them
        text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
    counts = [usage.get(n) if isinstance(usage, dict) else None for n in ("prompt_tokens", "completion_tokens")]
    n_in, n_out = (n if type(n) is int and 0 <= n < 10**9 else None for n in counts)
    return Reply(text=text if isinstance(text, str) else "", n_in=n_in, n_out=n_out)


def _message(content: bytes) -> str:
    """Return what a server says is wrong, as far as it says so."""
    text = content[: 4 * _SHOWN * 4].decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        found = json.loads(content)
        error = found.get("error", found) if isinstance(found, dict) else found
        text = json.dumps(error, ensure_ascii=False) if not isinstance(error, str) else error
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            text = f"{error['message']} {error.get('code') or ''}".strip()
    return text


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait: a number of them, or a date."""
    said = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        seconds = float(said)
        return seconds if 0 <= seconds < math.inf else None
    with suppress(TypeError, ValueError):
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    return None


def _excerpt(text: str) -> str:
    """Return the beginning of what somebody else's program wrote, as one line that is safe to print."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
