"""Any address that speaks as OpenAI's embeddings do: Ollama, vLLM, OpenAI itself. The rows are sent there."""

import hashlib
import importlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from bela.errors import EmbeddingError, ParameterError
from bela.features.embedding._doors import ADDRESS, EMBEDDINGS
from bela.features.embedding._weights import need
from bela.records import AnyArray

OPENAI = "https://api.openai.com/v1"
BATCH = 128
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds before another try
TIMEOUT = 120.0
BUSY = frozenset([408, 409, 425, 429])  # and 500 to 599: another try may do
_LOOPBACK = frozenset(["localhost", "127.0.0.1", "::1"])
_SAID = 200  # characters of what a server says


class _Remote:
    batch = BATCH

    def __init__(self, model: str, address: str, key: str | None, wait: Callable[[float], object]) -> None:
        client = importlib.import_module("httpx2")
        self._errors: type[Exception] = client.HTTPError
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        # a server that sends us elsewhere would get the key and the rows: not followed
        self._client = client.Client(headers=headers, timeout=TIMEOUT, follow_redirects=False)
        self._model, self._address, self._wait = model, address, wait

    def __call__(self, items: Sequence[str]) -> AnyArray:
        body = {"model": self._model, "input": list(items), "encoding_format": "float"}
        problem = ""
        for attempt in range(TRIES):
            pause = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
            try:
                reply = self._client.post(f"{self._address}/embeddings", json=body)
            except self._errors as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if reply.status_code == 200:
                    return self._vectors(reply, len(items))
                problem = f"it says {reply.status_code} {_short(reply.text)}"
                if reply.status_code not in BUSY and reply.status_code < 500:
                    raise EmbeddingError(f"{self._where} will not embed: {problem}")
                pause = min(LONGEST_WAIT, max(pause, _retry_after(reply.headers)))
            if attempt + 1 < TRIES:
                self._wait(pause)
        done = "what is done is kept, and the same command goes on"
        raise EmbeddingError(f"{self._where} did not answer {TRIES} times ({_short(problem)}): {done}")

    @property
    def _where(self) -> str:
        return f"the model {self._model!r} at {self._address}"

    def _vectors(self, reply: Any, n: int) -> AnyArray:
        """Return the vectors of a reply, in the order of what was sent."""
        try:
            entries = sorted(reply.json()["data"], key=lambda entry: entry["index"])
            if [entry["index"] for entry in entries] != list(range(n)):
                raise ValueError(f"{len(entries)} vectors for {n} texts")
            return np.array([entry["embedding"] for entry in entries], np.float32)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}; it says {_short(reply.text)}"
            raise EmbeddingError(f"{self._where} gave no vectors for {n} texts ({what}): check the address") from None


class OpenAIDoor:
    """Models by their names at an address: NAME for the one that OPENAI_BASE_URL names, NAME@ADDRESS for another.

    The key comes from OPENAI_API_KEY, for another address from BELA_API_KEY; it is sent and never written anywhere.
    """

    kinds = ("text",)
    is_safe = False

    def __init__(self, wait: Callable[[float], object] = time.sleep) -> None:
        self._wait = wait

    def found(self, kind: str) -> Sequence[str]:
        """Rows are sent elsewhere by those only who say so."""
        return ()

    def digest(self, model: str, kind: str, tell: Callable[[str], object]) -> str:
        """Return a digest of the address and the name; nobody can tell whether the weights there change."""
        if kind not in self.kinds:
            raise ParameterError(f"models at an address read texts, not {kind}s: {model!r} needs another door")
        need(f"the model {model!r}", "httpx2", install='"bela[embed]"')
        name, address = _place(model)
        _key(model)
        return hashlib.sha256(f"{name}\n{address}".encode()).hexdigest()

    def load(self, model: str, kind: str) -> _Remote:
        """Make ready to ask the address."""
        return _Remote(*_place(model), _key(model), self._wait)


def _place(model: str) -> tuple[str, str]:
    """Return the name and the address of a model."""
    name, _, address = model.partition("@")
    address = (address or os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
    if not address.startswith(ADDRESS) or not urlsplit(address).hostname:
        raise ParameterError(f"{address!r} is no address: write NAME@http://HOST:PORT/v1")
    if urlsplit(address).username or urlsplit(address).password:
        raise ParameterError("an address with a password in it would be written down: put the key into BELA_API_KEY")
    return name, address


def _key(model: str) -> str | None:
    """Return the key for an address; one that everybody on the way could read is not sent."""
    parts = urlsplit(_place(model)[1])
    key = os.environ.get("BELA_API_KEY" if "@" in model else "OPENAI_API_KEY") or None
    if key is not None and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ParameterError(f"a key is not sent to {parts.hostname} in the clear: use https, or unset the key")
    return key


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return float(headers.get("retry-after", 0))
    except ValueError:  # a date
        return 0.0


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"


EMBEDDINGS.add("openai", OpenAIDoor())
