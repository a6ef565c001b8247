"""What one line of an external command says: an answer, or why it is none."""

import json
import math
from collections.abc import Collection, Mapping

from bela.labels import label_to_text
from bela.records import Answer, Label


class NoAnswer(ValueError):  # noqa: N818 - reads as what happened
    """A line that is no answer, with the reason in a few words."""


def parse_answer(line: bytes, asked: Collection[int], classes: Mapping[str, Label], *, closed: bool) -> Answer:
    """Return the answer that a line holds; raise NoAnswer where it holds none to any row that was asked.

    The line is a JSON object, with perhaps more in it than we know of. The classes are by how they are written (3 and
    "3" are the same), and there are no others if they are `closed`.

    >>> parse_answer(b'{"id": 7, "label": "1", "cost": 0.002}', {7}, {"0": 0, "1": 1}, closed=True)
    Answer(row=7, label=1, cost=0.002)
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        raise NoAnswer("is no JSON") from None
    if not isinstance(found, dict):
        raise NoAnswer("is no JSON object")
    for key in ("id", "label"):
        if key not in found:
            raise NoAnswer(f"has no {key!r}")
    row, label, cost = _row(found["id"]), found["label"], found.get("cost")
    if row not in asked:
        raise NoAnswer("has an 'id' that was not asked")
    if cost is not None and (type(cost) not in (int, float) or not 0 <= cost < math.inf):
        raise NoAnswer("has a 'cost' that is no number from 0 on")
    return Answer(row=row, label=None if label is None else _label(label, classes, closed), cost=float(cost or 0))


def _row(value: object) -> int:
    """Return the number of a row, also where a shell script or a float has been in between; -1 for anything else."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else -1


def _label(label: object, classes: Mapping[str, Label], closed: bool) -> Label:
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if not isinstance(label, (str, int)):
        raise NoAnswer("has a 'label' that is no string, whole number or boolean")
    text = label_to_text(label).strip()
    if not text:
        raise NoAnswer("has an empty 'label' (null skips a row)")
    if closed and text not in classes:
        raise NoAnswer("has a 'label' that is none of the classes")
    return classes.get(text, label)
