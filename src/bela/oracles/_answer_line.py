"""What one line of an external command says: an answer, or why it is none."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from bela.records import Label


class NoAnswer(ValueError):  # noqa: N818 - reads as what happened
    """A line that is no answer, with the reason in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLine:
    """The label of a row (None: skipped), and what it cost."""

    row: int
    label: Label | None
    cost: float


class AnswerParser:
    """Understand the lines of a command.

    Parameters
    ----------
    classes
        The classes that there are. A label that is written like one of them is that one, so that 3 and "3" are the
        same class.
    closed
        Whether there are no others.

    Examples
    --------
    >>> AnswerParser([0, 1], closed=True).parse(b'{"id": 7, "label": "1", "cost": 0.002}', {7})
    AnswerLine(row=7, label=1, cost=0.002)
    """

    def __init__(self, classes: Iterable[Label] = (), *, closed: bool = False) -> None:
        self._classes: dict[str, Label] = {_text(label): label for label in classes}
        self._closed = closed

    def parse(self, line: bytes, asked: Collection[int]) -> AnswerLine:
        """Return the answer that a line holds; raise NoAnswer where it holds none to any row that was asked."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
            raise NoAnswer("is no JSON") from None
        if not isinstance(found, dict):
            raise NoAnswer("is no JSON object")
        for key in ("id", "label"):
            if key not in found:
                raise NoAnswer(f"has no {key!r}")
        row = _whole(found["id"])
        if row is None or row not in asked:
            raise NoAnswer("has an 'id' that was not asked")
        return AnswerLine(row=row, label=self._label(found["label"]), cost=_cost(found.get("cost")))

    def _label(self, label: Any) -> Label | None:
        if label is None:
            return None
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if not isinstance(label, (str, int)):
            raise NoAnswer("has a 'label' that is no string, whole number or boolean")
        if not isinstance(label, str) or label.strip():
            known = self._classes.get(_text(label))
            if known is not None:
                return known
            if self._closed:
                raise NoAnswer("has a 'label' that is none of the classes")
            return label
        raise NoAnswer("has an empty 'label' (null skips a row)")


def _text(label: Label) -> str:
    return label.strip() if isinstance(label, str) else json.dumps(label) if isinstance(label, bool) else str(label)


def _whole(value: Any) -> int | None:
    """Return a number of a row, also where a shell script or a float has been in between."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _cost(value: Any) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise NoAnswer("has a 'cost' that is no number from 0 on")
    return float(value)
