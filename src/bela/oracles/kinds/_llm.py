"""A language model as an oracle: chosen on the command line, frozen with its prompt when the first row is sent."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bela._calls import is_private
from bela.errors import JournalError, ParameterError
from bela.labels import label_to_text
from bela.oracles._kinds import ORACLES, ModelChoice, OracleContext, OracleOptions
from bela.oracles.llm import ChatClient, LLMOracle, Price, Purse
from bela.oracles.llm._client import check_url
from bela.oracles.llm._cost import check_cap
from bela.oracles.llm._prompt import choose_examples
from bela.storage import PaidCalls, write_durably

MODEL_FILE = "llm.toml"
PAID_FILE = "llm.sqlite"
KEY = "OPENAI_API_KEY"
_GUIDELINES = "guidelines.md"  # which people see on the page, too
_AT_ONCE = 8
_HEAD = """\
# The language model that answers for this campaign, and all that it is told. What was answered rests on this prompt, so
# it stays as it is; url, price and cap may be changed on the command line.

"""


class FrozenModel(BaseModel):
    """A model and its prompt, as a campaign keeps them; `examples` are rows of the data with this digest."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = 1
    url: str
    model: str
    classes: list[str]
    guidelines: str = ""
    examples: list[tuple[int, str]] = Field(default_factory=list, strict=False)
    max_tokens: int = Field(default=200, ge=1)
    data: str = ""
    price: str = "0,0"
    cap: float | None = None

    @property
    def digest(self) -> str:
        """What somebody says yes to: where rows go, with which words, and which data they are of."""
        named = [self.url, self.model, self.classes, self.guidelines, self.examples, self.data]
        return hashlib.blake2b(json.dumps(named).encode(), digest_size=20).hexdigest()


@ORACLES.register("llm")
def choose_llm(argument: str, options: OracleOptions) -> Callable[[OracleContext], LLMOracle]:
    """A language model behind any address that speaks as OpenAI's does."""
    if argument:
        raise ParameterError(f"--oracle llm={argument} says too much: name the model with --llm-model {argument}")
    if options.keep_running:
        raise ParameterError("--keep-running is for --oracle-cmd: leave it out")
    said = options.llm
    if said.url is not None:
        check_url(said.url)
    check_cap(said.cap, None if said.price is None else Price.parse(said.price))
    if options.begun is None or not (options.begun / MODEL_FILE).exists():
        _check_named(said.url, said.model)
    return lambda context: make_llm(options, context)


def make_llm(options: OracleOptions, context: OracleContext) -> LLMOracle:
    """Make the model that answers for a campaign: as it was frozen there, or as it was chosen now."""
    path = None if context.folder is None else context.folder / MODEL_FILE
    before = None if path is None or not path.exists() else read_model(path)
    frozen = _combine(options.llm, before, context)
    typed = options.llm.url is not None and options.llm.model is not None
    if before is not None and not typed:
        what = f"the campaign's file {MODEL_FILE} names the model {frozen.model} at {frozen.url}, which would get rows"
        context.permissions.check(frozen.url, what, frozen.digest)
    parallel = options.llm.parallel or _AT_ONCE
    client = ChatClient(
        frozen.url, frozen.model, key=_key(options.llm, frozen.url, context.say),
        timeout=60.0 if options.timeout is None else options.timeout,
        retries=5 if options.retries is None else options.retries,
        max_tokens=frozen.max_tokens, parallel=parallel, say=context.say,
    )  # fmt: skip
    paid = PaidCalls(None if context.folder is None else context.folder / PAID_FILE)
    by_text = {label_to_text(label).strip(): label for label in context.classes()}

    def begin() -> None:
        """Freeze the model and its prompt, and say what is to come."""
        if path is not None and frozen != before:
            write_model(path, frozen)
        context.permissions.remember(frozen.url, frozen.digest)
        for line in oracle.costs(context.records.n_rows):
            context.say(line)

    oracle = LLMOracle(
        context.records, client, classes=[by_text.get(name, name) for name in frozen.classes], hide=context.hidden,
        guidelines=frozen.guidelines, examples=frozen.examples, may_decline=options.may_decline, parallel=parallel,
        purse=Purse(paid, Price.parse(frozen.price), frozen.cap), first=begin,
    )  # fmt: skip
    return oracle


def read_model(path: Path) -> FrozenModel:
    """Read what a campaign has kept of its language model."""
    try:
        found = FrozenModel.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        if found.format != 1:
            raise ValueError(f"format {found.format} is of a newer bela")
        check_url(found.url)
        return found
    except (OSError, ValueError, ValidationError) as error:
        raise JournalError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from None


def write_model(path: Path, frozen: FrozenModel) -> None:
    """Keep a model and its prompt, whole or not at all."""
    import tomli_w

    try:
        write_durably(path, (_HEAD + tomli_w.dumps(frozen.model_dump(mode="json", exclude_none=True))).encode())
    except OSError as error:
        raise JournalError(f"{path} cannot be written: {error.strerror or error}") from None


def _combine(said: ModelChoice, before: FrozenModel | None, context: OracleContext) -> FrozenModel:
    """Return the model as it was frozen, if it was, and what may be changed as it was said now."""
    url = said.url or (None if before is None else before.url)
    model = said.model or (None if before is None else before.model)
    url, model = _check_named(url, model)
    guidelines = said.guidelines
    if guidelines is None:
        guidelines = before.guidelines if before is not None else _read_guidelines(context.folder)
    classes = _class_names(context) if before is None else before.classes
    if not classes:
        raise ParameterError("a language model must know the classes: name them with --classes A,B,...")
    data = context.records.fingerprint
    examples = before.examples if before is not None and before.data == data else choose_examples(
        context.given, classes
    )  # fmt: skip
    max_tokens = said.max_tokens or (200 if before is None else before.max_tokens)
    frozen = FrozenModel(
        url=url, model=model, classes=list(classes), guidelines=guidelines, examples=examples, data=data,
        max_tokens=max_tokens, price=said.price or ("0,0" if before is None else before.price),
        cap=said.cap if said.cap is not None else None if before is None else before.cap,
    )  # fmt: skip
    if before is not None:
        for option, now, then in (
            ("--llm-model", model, before.model), ("--llm-guidelines", guidelines, before.guidelines),
        ):  # fmt: skip
            if now != then:
                another = "its answers rest on that: leave it out, or begin another campaign with --campaign"
                raise ParameterError(f"{option} contradicts the {MODEL_FILE} of the campaign: {another}")
    return frozen


def _check_named(url: str | None, model: str | None) -> tuple[str, str]:
    if url is None or model is None:
        missing = "--llm-url" if url is None else "--llm-model"
        raise ParameterError(f"which language model is to answer? Name it with {missing}")
    return url, model


def _class_names(context: OracleContext) -> Sequence[str]:
    return tuple(dict.fromkeys(label_to_text(label).strip() for label in context.classes()))


def _read_guidelines(folder: Path | None) -> str:
    try:
        return "" if folder is None else (folder / _GUIDELINES).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _key(said: ModelChoice, url: str, say: Callable[[str], object]) -> str | None:
    """Return the key, from the environment alone; over a line that others can read only if somebody insists."""
    name = KEY if said.key_env is None else said.key_env
    key = os.environ.get(name, "").strip() if name else ""
    if said.key_env and not key:
        raise ParameterError(f"there is no key in the environment variable {name}: set it, or leave out --llm-key-env")
    if key and not key.isascii():
        raise ParameterError(f"the environment variable {name} holds no key that can be sent")
    if key and not said.key_env and not is_private(url):
        say(f"{url} is not encrypted, so the key in {name} is not sent there (--llm-key-env {name} sends it).")
        return None
    return key or None
