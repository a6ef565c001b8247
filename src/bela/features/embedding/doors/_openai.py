"""Any address that speaks as OpenAI's embeddings do: Ollama, vLLM, OpenAI itself. The rows are sent there."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bela._calls import Caller, check_address, excerpt, is_private
from bela.errors import EmbeddingError, ParameterError
from bela.features.embedding._doors import EMBEDDINGS
from bela.features.embedding._weights import need
from bela.records import AnyArray, Json

OPENAI = "https://api.openai.com/v1"
AT_ONCE = 4  # requests: most of the time of each is spent on the way
TEXTS = 128  # of a request
TIMEOUT = 120.0
_MOST_BYTES = 64 << 20  # of a reply: 128 vectors of some thousand numbers as text


class _Remote:
    batch = AT_ONCE * TEXTS

    def __init__(self, model: str, address: str, key: str | None, wait: Callable[[float], object] | None) -> None:
        self._model, self._where = model, f"the model {model!r} at {address}"
        self._caller = Caller(
            address, name=self._where, error=EmbeddingError, most_bytes=_MOST_BYTES, key=key, timeout=TIMEOUT,
            kept="what is done is kept, and the same command goes on", parallel=AT_ONCE, backoff=1.0, wait=wait,
        )  # fmt: skip
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="bela-embed")

    def __call__(self, items: Sequence[str]) -> AnyArray:
        parts = [items[start : start + TEXTS] for start in range(0, len(items), TEXTS)]
        return np.concatenate(list(self._threads.map(self._ask, parts)))

    def _ask(self, items: Sequence[str]) -> AnyArray:
        """Return the vectors of texts, in their order."""
        body: dict[str, Json] = {"model": self._model, "input": list(items), "encoding_format": "float"}
        content, n = self._caller.ask("embeddings", body), len(items)
        try:
            entries = sorted(json.loads(content)["data"], key=lambda entry: entry["index"])
            if [entry["index"] for entry in entries] != list(range(n)):
                raise ValueError(f"{len(entries)} vectors for {n} texts")
            return np.array([entry["embedding"] for entry in entries], np.float32)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            what = f"{type(error).__name__}: {error}; it says {excerpt(content)}"
            raise EmbeddingError(f"{self._where} gave no vectors for {n} texts ({what}): check the address") from None


class OpenAIDoor:
    """Models by their names at an address: NAME for the one that OPENAI_BASE_URL names, NAME@ADDRESS for another.

    The key comes from OPENAI_API_KEY, for another address from BELA_API_KEY; it is sent and never written anywhere.
    """

    kinds = ("text",)
    is_safe = False

    def __init__(self, wait: Callable[[float], object] | None = None) -> None:
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
    check_address(address, f"--embed {name}@")
    return name, address


def _key(model: str) -> str | None:
    """Return the key for an address; one that everybody on the way could read is not sent."""
    address = _place(model)[1]
    key = os.environ.get("BELA_API_KEY" if "@" in model else "OPENAI_API_KEY") or None
    if key is not None and not is_private(address):
        raise ParameterError(f"a key is not sent to {address} in the clear: use https, or unset the key")
    return key


EMBEDDINGS.add("openai", OpenAIDoor())
