"""What a language model wrote, read as one of the classes: as it should be, or as far as it can be understood."""

import json
import re
from collections.abc import Iterator, Sequence

from bela.labels import label_to_text

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]*\}")
_AROUND = " \t\r\n\"'`*_.:,;!()[]{}"
_LONGEST = 4_000  # characters in which a class is looked for


def read_label(text: str, classes: Sequence[str]) -> str | None:
    """Return the class that a reply names, None where it names none, or cannot be understood.

    First the label of a JSON object, wherever it stands; then the text itself; then the only class that is in the text.
    Case and spaces are forgiven if no two classes differ in nothing else.

    >>> read_label('{"label": "cat"}', ["cat", "dog"]), read_label("It is a Dog.", ["cat", "dog"])
    ('cat', 'dog')
    >>> read_label("a cat or a dog", ["cat", "dog"]), read_label("not spam", ["spam", "not spam"])
    (None, 'not spam')
    """
    text = _THOUGHTS.sub("", text[:_LONGEST])
    for said in _labels(text):
        if said is None:
            return None
        found = _match(said, classes)
        if found is not None:
            return found
    return _match(text, classes) or _only_one(text, classes)


def is_declined(text: str) -> bool:
    """Return whether a reply says, in the form that was asked for, that it cannot tell."""
    return next(_labels(_THOUGHTS.sub("", text[:_LONGEST])), "") is None


def _labels(text: str) -> Iterator[str | None]:
    """Yield the labels of the JSON objects in a text; None for one that says that it cannot be told."""
    for place in (text, *_OBJECT.findall(text)):
        try:
            found = json.loads(place)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "label" in found:
            label = found["label"]
            if label is None:
                yield None
            elif isinstance(label, (str, int, float, bool)):
                yield label_to_text(label)


def _match(said: str, classes: Sequence[str]) -> str | None:
    if said in classes:
        return said
    folded = _fold(said)
    found = [name for name in classes if _fold(name) == folded]
    return found[0] if len(found) == 1 and folded else None


def _only_one(text: str, classes: Sequence[str]) -> str | None:
    """Return the only class that is in the text as words of their own; one within a longer one does not count."""
    folded, spans = _spaced(text), []
    for name in classes:
        words = _spaced(name)
        if words:
            pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
            spans += [(*found.span(), name) for found in re.finditer(pattern, folded)]
    names = {
        name for start, end, name in spans
        if not any(a <= start and end <= b and b - a > end - start for a, b, _ in spans)
    }  # fmt: skip
    return names.pop() if len(names) == 1 else None


def _fold(text: str) -> str:
    return _spaced(text).strip(_AROUND)


def _spaced(text: str) -> str:
    return " ".join(text.casefold().split())
