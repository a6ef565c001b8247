"""A language model that answers, several rows at once, and is never paid twice for the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

from bela._calls import CallFailed
from bela.errors import BelaError, OracleError, ParameterError
from bela.labels import label_to_text
from bela.oracles._reader import RecordOf
from bela.oracles.llm._client import ChatClient, Reply
from bela.oracles.llm._cost import Price, Purse, estimate_answer, most_tokens
from bela.oracles.llm._prompt import Prompt, choose_examples, key_of
from bela.oracles.llm._replies import is_declined, read_label
from bela.oracles.llm._rows import RowContent
from bela.records import Answer, IntArray, Json, Label
from bela.storage import PaidCalls

_SAMPLE = 5  # rows that the forecast of costs is made from
_IN_VAIN = 20  # replies that are no answer, before it is said that none is to be expected
_SHOWN = 60  # characters of a reply that are shown


def model_name(model: str) -> str:
    """Return what a language model is called in the record of a campaign."""
    return f"llm {model}"


class LLMOracle:
    """Answer by a language model behind any address that speaks as OpenAI's does.

    The model gets guidelines, the classes, a few rows with their labels, and one row at a time, without the columns to
    `hide`. It answers in a form that allows the classes alone; where a server does not know such a form, what it writes
    is read as far as it can be understood, and else the row is skipped. Each reply is on disk before the answer is
    given, so that whoever asks the same again pays nothing.

    Parameters
    ----------
    records, hide, classes
        The data, or a function that gives the record of a row; columns that never leave this machine; all classes.
    client
        Calls the model.
    guidelines, examples
        What the classes mean, in words, and rows with their labels.
    purse
        What calls cost, and where what was paid for is kept; by default nothing, and in memory.
    may_decline
        Whether the model is told that it may say that it cannot tell.
    parallel
        The most calls at once.
    first
        Called once, before the first row is sent.
    """

    def __init__(
        self, records: RecordOf, client: ChatClient, *, classes: Sequence[Label], hide: Collection[str] = (),
        guidelines: str = "", examples: Sequence[tuple[int, Label]] = (), purse: Purse | None = None,
        may_decline: bool = False, parallel: int = 8, first: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        if not classes:
            raise ParameterError("a language model must know the classes: name them with --classes A,B,...")
        self._labels = {label_to_text(label).strip(): label for label in classes}
        self._given = dict(examples)
        self._asking: dict[str, threading.Lock] = {}  # by what is asked: rows may be alike
        self._in_vain: int | None = 0  # replies that were no answer; None once one was
        self._content, self._reading = RowContent(records, hide), threading.Lock()
        self.prompt = Prompt(
            classes=tuple(self._labels), guidelines=guidelines, examples=self._shown(self._given),
            may_decline=may_decline,
        )  # fmt: skip
        self._client, self._purse, self._parallel = client, purse or Purse(PaidCalls(), Price()), parallel
        self._closed = threading.Event()
        self._first, self._pool = first, ThreadPoolExecutor(parallel, thread_name_prefix="bela-llm")

    @property
    def name(self) -> str:
        """What it is called in the record of a campaign."""
        return model_name(self._client.model)

    @property
    def batch(self) -> int:
        """How many rows are asked at once."""
        return self._parallel

    def show_examples(self, labels: Mapping[int, Label]) -> None:
        """Show some of these rows with their labels from now on, beside what it was shown from the start.

        For a helper only: an oracle's answers must not depend on what others have answered.
        """
        found = choose_examples({**labels, **self._given}, tuple(self._labels))
        if found:
            self.prompt = replace(self.prompt, examples=self._shown(dict(found)))

    def _shown(self, examples: Mapping[int, Label]) -> tuple[tuple[Json, str], ...]:
        with self._reading:
            return tuple((self._content(row), label_to_text(label)) for row, label in examples.items())

    def answers(self, rows: IntArray | Sequence[int]) -> Generator[Answer, None, None]:
        """Yield each answer as soon as it is there; when one fails, no more are begun, and those under way end."""
        asked = list(dict.fromkeys(int(row) for row in rows))
        if asked and self._first is not None:
            self._first()
            self._first = None
        failed = threading.Event()

        def answer(row: int) -> Answer | None:
            try:
                return None if failed.is_set() or self._closed.is_set() else self._answer(row)
            except BaseException:
                failed.set()
                raise

        trouble: BelaError | None = None
        futures: list[Future[Answer | None]] = [self._pool.submit(answer, row) for row in asked]
        try:
            for future in as_completed(futures):
                try:
                    found = future.result()
                except BelaError as error:
                    trouble, found = trouble or error, None
                if found is not None:
                    yield found
        finally:
            failed.set()  # whoever takes no more wants no more to be begun
        if trouble is not None:
            raise trouble

    def costs(self, n_rows: int) -> list[str]:
        """Say what answers are expected to cost, by some of the rows."""
        rows = [n_rows * place // _SAMPLE for place in range(min(_SAMPLE, n_rows))]
        sizes = [estimate_answer(self._messages(row)) for row in rows]
        n_in, n_out = (sum(size[i] for size in sizes) / len(sizes) for i in (0, 1))
        client, purse, cost = self._client, self._purse, self._purse.price.of(n_in, n_out)
        about = f"{client.model} at {client.url}: about {n_in:,.0f} tokens in and {n_out:,.0f} out for an answer"
        if purse.price == Price():
            return [f"{about}; say what a million of them cost with --llm-price IN,OUT to know what is spent."]
        cap = f"{purse.paid.spent:.6g} spent, and no cap (--llm-cap)"
        if purse.cap is not None:
            cap = f"the cap is {purse.cap:g}, {purse.paid.spent:.6g} of it spent"
        return [f"{about}, {1000 * cost:.3g} for 1,000 answers, {n_rows * cost:.3g} for all {n_rows:,} rows; {cap}."]

    def show(self, row: int) -> list[str]:
        """Return what is sent about a row, in lines that can be printed."""
        return self.prompt.show(self._content(row))

    def close(self) -> None:
        """Let calls under way come to their end, as they are paid for, and let go of everything."""
        self._closed.set()  # rather than cancelling: whoever waits for answers would not be told of that
        self._client.stop()
        self._pool.shutdown(wait=True)
        self._client.close()
        self._purse.paid.close()

    def _messages(self, row: int) -> list[Json]:
        with self._reading:
            return self.prompt.messages(self._content(row))

    def _answer(self, row: int) -> Answer:
        messages = self._messages(row)
        key, paid = key_of(self._client.model, messages), self._purse.paid
        with self._asking.setdefault(key, threading.Lock()):
            reply = paid.reply(key)
            if reply is None:
                reply = self._ask(key, messages).text
            cost = paid.claim(key)
        label = read_label(reply, self.prompt.classes)
        self._watch(reply, label)
        return Answer(row=row, label=None if label is None else self._labels[label], cost=cost)

    def _watch(self, reply: str, label: str | None) -> None:
        """Give up on a model that has never named a class, nor said that it cannot tell: all rows would be paid for."""
        with self._reading:
            if label is not None:
                self._in_vain = None
            if self._in_vain is None or is_declined(reply):
                return
            self._in_vain += 1
            if self._in_vain < _IN_VAIN:
                return
        raise OracleError(
            f"{self.name} named no class in its first {_IN_VAIN} replies, the last of which begins with "
            f"{reply[:_SHOWN]!r}: look at what it is asked with --show-prompt, or take another model"
        )

    def _ask(self, key: str, messages: Json) -> Reply:
        schema = self.prompt.schema
        n_in, n_failures = most_tokens(messages, schema), 0
        while True:
            with self._purse.pay(key, n_in, self._client.max_tokens) as call:
                try:
                    reply = self._client.send(messages, schema)
                    call.answered(reply.text, reply.n_in, reply.n_out)
                    return reply
                except CallFailed as error:
                    failure = error
                    if not failure.paid:
                        call.free()
            n_failures += 1
            self._client.pause(failure, n_failures)
