"""Whether the particulars of an event make sense, before they are written down and before they change anything.

What a campaign writes makes sense. A journal is a file, though, and people have tools.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bela.records import Role


def check_sense(data: Mapping[str, Any], n_rows: int) -> None:
    """Raise a ValueError that names the first of these particulars that makes no sense."""
    for name, value in data.items():
        sensible = _SENSIBLE.get(name)
        if sensible is None or not sensible(value, n_rows):
            raise ValueError(f"{name} = {value!r}")


def _is_row(value: Any, n_rows: int) -> bool:
    return type(value) is int and 0 <= value < n_rows


def _is_count(value: Any, n_rows: int) -> bool:
    return type(value) is int and value >= 0


def _is_label(value: Any, n_rows: int) -> bool:
    return type(value) in (str, int, bool)


def _is_share(value: Any, n_rows: int) -> bool:
    return value is None or (type(value) in (int, float) and 0 < value <= 1)


def _are_questions(value: Any, n_rows: int) -> bool:
    return isinstance(value, list) and all(
        isinstance(question, list)
        and len(question) in (3, 4)
        and _is_row(question[0], n_rows)
        and question[1] in tuple(Role)
        and _is_count(question[2], n_rows)
        and (len(question) == 3 or _are_weights(question[3]))
        for question in value
    )


def _are_weights(value: Any) -> bool:
    return isinstance(value, list) and all(type(weight) in (int, float) and 0 < weight < math.inf for weight in value)


_SENSIBLE: dict[str, Callable[[Any, int], bool]] = {
    "row": _is_row,
    "question": _is_count,
    "questions": _are_questions,
    "n": _is_count,
    "revisions": _is_count,
    **dict.fromkeys(("label", "old", "new", "into"), _is_label),
    "by": lambda value, n_rows: value is None or isinstance(value, str),
    "comment": lambda value, n_rows: isinstance(value, str),
    "cost": lambda value, n_rows: type(value) in (int, float) and 0 <= value < math.inf,
    "target": _is_share,
    "budget": lambda value, n_rows: value is None or (type(value) is int and 0 <= value <= n_rows),
}
