"""What calls of a language model cost: an estimate beforehand, a bound before each call, and a cap on the sum."""

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bela.errors import OracleError, ParameterError
from bela.records import Json
from bela.storage import PaidCalls

_CHARACTERS = 4.0  # a token, in an estimate
_PICTURE, _MOST_OF_PICTURE = 800, 10_000  # tokens of a picture of 512 pixels: usual, and the most that is known of
_AROUND, _OF_SERVER = 8, 64  # tokens that a message and a whole call cost besides what is written in them
_ANSWER = 12  # tokens of an answer, in an estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost that go in, and that come out."""

    into: float = 0.0
    out: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Price":
        """Read a price that is written as IN,OUT.

        >>> Price.parse("0.15,0.60")
        Price(into=0.15, out=0.6)
        """
        try:
            into, out = (float(part) for part in text.split(","))
        except ValueError:
            into = out = math.nan
        if not (0 <= into < math.inf and 0 <= out < math.inf):
            what = "is not two numbers from 0 on: write IN,OUT, the prices of a million tokens, such as 0.15,0.60"
            raise ParameterError(f"--llm-price {text} {what}")
        return cls(into=into, out=out)

    def of(self, n_in: float, n_out: float) -> float:
        """Return what so many tokens cost."""
        return (n_in * self.into + n_out * self.out) / 1e6


def estimate_tokens(messages: Json) -> float:
    """Return about how many tokens messages have: only the model itself knows."""
    n_pictures, text = _measure(messages)
    return len(text) / _CHARACTERS + n_pictures * _PICTURE


def most_tokens(messages: Json, schema: Json) -> int:
    """Return how many tokens messages and schema can have at most: none is shorter than a byte."""
    n_pictures, text = _measure(messages)
    written = len(text.encode("utf-8", "surrogatepass")) + len(json.dumps(schema))
    n_messages = len(messages) if isinstance(messages, list) else 1
    return written + n_pictures * _MOST_OF_PICTURE + n_messages * _AROUND + _OF_SERVER


def estimate_answer(messages: Json) -> tuple[float, float]:
    """Return about how many tokens go in and come out for one answer."""
    return estimate_tokens(messages), float(_ANSWER)


def _measure(value: Json) -> tuple[int, str]:
    """Return how many pictures there are in messages, and all their text."""
    if isinstance(value, str):
        return 0, value
    if isinstance(value, dict):
        if value.get("type") == "image_url":
            return 1, ""
        found = [_measure(inner) for inner in value.values()]
    else:
        found = [_measure(inner) for inner in value] if isinstance(value, list) else []
    return sum(n for n, _ in found), "".join(text for _, text in found)


def check_cap(cap: float | None, price: Price | None) -> None:
    """Refuse a cap that cannot be kept; None for a price that is not known yet."""
    if cap is not None and not 0 <= cap < math.inf:
        raise ParameterError(f"--llm-cap is an amount from 0 on, not {cap}")
    if cap is not None and price == Price():
        raise ParameterError("--llm-cap needs --llm-price IN,OUT: without a price nobody knows what is spent")


class Purse:
    """Pays for calls, and for none that could lift the sum above the cap: the most it can cost is put aside first.

    A call that may have been paid for, though nothing came of it, counts with the most it can have cost.
    """

    def __init__(self, paid: PaidCalls, price: Price, cap: float | None = None) -> None:
        check_cap(cap, price)
        self.paid, self.price, self.cap = paid, price, cap
        self._changed, self._n_under_way = threading.Condition(), 0

    @contextmanager
    def pay(self, key: str, n_in: int, n_out: int) -> "Iterator[Call]":
        """Put aside what a call with so many tokens at most can cost, and settle it when it is over."""
        most = self.price.of(n_in, n_out)
        with self._changed:
            while self.cap is not None and self.paid.spent + most > self.cap:
                if not self._n_under_way:  # nothing that was put aside can come back
                    raise OracleError(
                        f"the cap of {self.cap:g} is reached: {self.paid.spent:.6g} were spent, and the next call can "
                        f"cost up to {most:.6g}; raise --llm-cap to go on, nothing that was answered so far is lost"
                    )
                self._changed.wait()
            call = Call(self.paid.reserve(key, most), most, self)
            self._n_under_way += 1
        try:
            yield call
        finally:
            with self._changed:
                self.paid.settle(call.number, call.cost, call.reply)
                self._n_under_way -= 1
                self._changed.notify_all()


@dataclass(slots=True)
class Call:
    """A call that is under way; unless somebody says otherwise, it costs the most that it can."""

    number: int
    cost: float
    purse: Purse
    reply: str | None = None

    def free(self) -> None:
        """It was refused or never arrived: nobody charges for it."""
        self.cost = 0.0

    def answered(self, reply: str, n_in: int | None, n_out: int | None) -> None:
        """It brought a reply, for so many tokens if the server says so."""
        self.reply = reply
        if n_in is not None and n_out is not None:
            self.cost = self.purse.price.of(n_in, n_out)
