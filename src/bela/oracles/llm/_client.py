"""Questions to any server that speaks as OpenAI's `/chat/completions` does, as well as each understands them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from bela._calls import Caller, CallFailed, check_address, error_message, excerpt, refusal
from bela.errors import OracleError, ParameterError
from bela.records import Json

_MOST_BYTES = 4 << 20  # of a body: far more than an answer needs
# A row that a server will not take, for what is in it or for its length, is declined: others go on.
_ABOUT_ROW = re.compile(
    r"content[ _](?:filter|policy|management)|safety|context[ _]length|maximum context|too (?:long|large|many tokens)",
    re.IGNORECASE,
)
_KEY = "; is the key right (--llm-key-env)?"
_ADDRESS = "; is the address right (--llm-url, without /chat/completions)?"
_ADVICE = {401: _KEY, 403: _KEY, 404: _ADDRESS, 300: _ADDRESS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model wrote ("" where it refused to), and how many tokens that took, if the server says so."""

    text: str
    n_in: int | None = None
    n_out: int | None = None


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
    """Asks one model at one address; threads may share it. Pauses, tries and limits are those of `Caller`."""

    def __init__(
        self, url: str, model: str, *, key: str | None = None, timeout: float = 60.0, retries: int = 5,
        max_tokens: int = 200, parallel: int = 8, backoff: float = 0.5, say: Callable[[str], object] | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> None:  # fmt: skip
        check_url(url)
        if not model.strip():
            raise ParameterError("the model has no name: give it with --llm-model")
        if max_tokens < 1:
            raise ParameterError(f"an answer has at least one token, not {max_tokens}")
        self.url, self.model, self.max_tokens = url, model, max_tokens
        self._caller = Caller(
            url, name=f"the model {model} at {url}", error=OracleError,
            kept="nothing that was answered so far is lost", most_bytes=_MOST_BYTES, key=key, timeout=timeout,
            retries=retries, parallel=parallel, backoff=backoff, say=say, wait=wait,
        )  # fmt: skip
        self.pause, self.stop, self.close = self._caller.pause, self._caller.stop, self._caller.close
        self._dialect = Dialect()

    def send(self, messages: Json, schema: Json) -> Reply:
        """Make one call; a CallFailed where nothing came of it."""
        dialect: Dialect | None = self._dialect
        while dialect is not None:
            status, headers, content = self._caller.post("chat/completions", self._body(messages, schema, dialect))
            if status == 200:
                reply = _read_reply(content)
                self._dialect = dialect  # only one that a server has understood: another row may have been the trouble
                return reply
            said = error_message(content)
            if status in (400, 413, 422) and _ABOUT_ROW.search(said):
                return Reply(text="", n_in=0, n_out=0)
            dialect = dialect.poorer(said) if status in (400, 422) else None
        raise refusal(status, headers, said, _ADVICE)

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


def check_url(url: str) -> None:
    """Refuse what is no address of a server."""
    check_address(url, "--llm-url")


def _read_reply(content: bytes) -> Reply:
    try:
        found = json.loads(content)
        choice = found["choices"][0]
        message = choice.get("message") or {}
        text = message.get("content")
        usage = found.get("usage")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise CallFailed(f"sent no answer but {excerpt(content)}", again=True, paid=True) from None
    if isinstance(text, list):  # parts, as some servers have them
        text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
    counts = [usage.get(n) if isinstance(usage, dict) else None for n in ("prompt_tokens", "completion_tokens")]
    n_in, n_out = (n if type(n) is int and 0 <= n < 10**9 else None for n in counts)
    return Reply(text=text if isinstance(text, str) else "", n_in=n_in, n_out=n_out)
