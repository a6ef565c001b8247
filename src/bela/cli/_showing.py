"""Values of any kind, shown in a terminal: nothing in them steers it, and long ones come in pages."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from bela.labels import label_to_text

if TYPE_CHECKING:
    from rich.console import Console

    from bela.data import CodedColumn

_AT_ONCE = 4000  # characters that are wrapped at once: those of pages that nobody turns to are left alone
# Invisible, and harmless: joiners make one sign of several emoji, marks and soft hyphens are in honest texts.
_HARMLESS = frozenset("\u200b\u200c\u200d\u200e\u200f\u061c\u00ad\u2060")


def escape(text: str) -> str:
    r"""Return text that can be printed: what would steer the terminal, or turn the text around, is spelled out.

    >>> escape("red\x1b[31m\r\nalert\x07 👩‍🚀")
    'red\\x1b[31m\nalert\\x07 👩‍🚀'
    """
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" or c in _HARMLESS else _spell(c) for c in text)


def _spell(character: str) -> str:
    if character == "\r" or unicodedata.category(character) in ("Zl", "Zp"):
        return "\n"
    if unicodedata.category(character) == "Zs":
        return " "
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def name_of(label: object, width: int = 30) -> str:
    """Return the name of a class on one line, cut if it is wider than so many columns of the terminal."""
    from rich.cells import cell_len, set_cell_size

    text = " ".join(escape(str(label)).split()) or repr(label)
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def alike_lines(classes: Iterable[object]) -> list[str]:
    """Say that two classes differ by nothing but capitals or spaces: mostly they are one.

    >>> alike_lines(["cat", "dog", "Cat"])
    ["Note: 'cat' and 'Cat' are two classes here. If they are one, write them alike, or merge them on the page."]
    """
    seen: dict[str, object] = {}
    for label in classes:
        other = seen.setdefault(" ".join(str(label).split()).casefold(), label)
        if other != label:
            two = f"{name_of(other)!r} and {name_of(label)!r}"
            return [f"Note: {two} are two classes here. If they are one, write them alike, or merge them on the page."]
    return []


def strange_lines(classes: Iterable[object], predicted: Mapping[str, tuple[CodedColumn, object]]) -> list[str]:
    """Say of how many rows a prediction names what is not one of the `classes`: nobody would see that it is lost.

    >>> from bela.data import code_values
    >>> strange_lines(["cat", "dog"], {"gpt": (code_values(["cat", "Dog", "Dog", None]), None)})
    ["Note: the prediction 'gpt' names no class in 2 rows, such as 'Dog': what it says of them counts for nothing."]
    """
    known, lines = {label_to_text(label) for label in classes}, list[str]()
    for name, (labels, _) in predicted.items():
        rows = zip(labels.values, labels.counts().tolist(), strict=True)
        strange = [(label, n) for label, n in rows if label is not None and label_to_text(label) not in known]
        if strange:
            n, first_one = sum(n for _, n in strange), name_of(strange[0][0])
            what = f"names no class in {count(n, 'row')}, such as {first_one!r}"
            lines.append(f"Note: the prediction {name!r} {what}: what it says of them counts for nothing.")
    return lines


def for_cost(cost: float) -> str:
    """Say what something has cost, if anything."""
    return f" for {cost:.6g}" if cost else ""


def count(n: int, what: str) -> str:
    """Return a number of things.

    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def first(lines: Sequence[str], n: int, more: str = "") -> list[str]:
    """Return the first of some lines, and how many more there are."""
    rest = [f"  and {len(lines) - n:,} more{more}"] if len(lines) > n else []
    return [*(f"  {line}" for line in lines[:n]), *rest]


def as_text(value: object) -> str:
    """Return a value as the text that tells a person the most about it.

    >>> [as_text(value) for value in ("a", 2.5, None, b"abc", ["é", 1])]
    ['a', '2.5', '(nothing)', '(3 bytes)', '["é", 1]']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "(nothing)"
    if isinstance(value, (bytes, bytearray)):
        return f"({len(value):,} bytes)"
    if isinstance(value, Mapping) and set(value) == {"bytes", "path"}:  # a picture as Hugging Face keeps them
        return as_text(value["path"] or value["bytes"])
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=as_text)
    size = getattr(value, "size", None)
    if type(value).__module__.startswith("PIL.") and isinstance(size, tuple):
        return f"(a picture of {size[0]} x {size[1]})"
    return str(value)


def record_lines(console: Console, record: Mapping[str, object], columns: Sequence[str] | None) -> Iterator[str]:
    """Yield the lines that show a row: short values first, so that no long text hides them, then the long ones."""
    from rich.cells import cell_len

    width = max(20, console.width - 2)
    long: dict[str, str] = {}
    for name in record if columns is None else columns:
        if name in record:
            text, title = as_text(record[name]), f"{name_of(name)}: "
            shown = escape(text) if len(text) <= width else "\n"
            if "\n" in shown or cell_len(title + shown) > width:
                long[title] = text
            else:
                yield title + shown
    for title, text in long.items():
        yield title.rstrip()
        for line in wrapped(console, text, width - 2):
            yield f"  {line}"


def wrapped(console: Console, text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, no wider than the terminal, and no more of them made than are taken."""
    from rich.text import Text

    start = 0
    while start < len(text):
        end = min(start + _AT_ONCE, len(text))
        if end < len(text):  # better between two words than within one
            space = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
            end = space + 1 if space > start else end
        for line in escape(text[start:end]).removesuffix("\n").split("\n"):
            for part in Text(line).wrap(console, width) or [Text()]:
                yield part.plain.rstrip()
        start = end


class Pager:
    """Lines, so many at a time."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._next = lines, list(islice(lines, 1))

    @property
    def more(self) -> bool:
        """Whether there are lines that were not taken yet."""
        return bool(self._next)

    def take(self, n: int) -> list[str]:
        """Return the next n lines, or those that are left."""
        taken = [*self._next, *islice(self._lines, n)]
        self._next = taken[n:]
        return taken[:n]
