"""The keys that stand for classes."""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bela.cli._showing import name_of
from bela.errors import LabelError

if TYPE_CHECKING:
    from bela.records import Label

_RESERVED = "uq"  # undo and quit
_KEYS = [
    key
    for key in string.digits[1:] + string.ascii_lowercase + string.ascii_uppercase
    if key.lower() not in _RESERVED
]  # fmt: skip


class ClassKeys:
    """Give each class a key of its own: 1 to 9, then letters; a class whose name is a free key has that one.

    Keys are given in the order in which the classes come, and stay: the same classes in the same order have the same
    keys the next day. Where there are more classes than keys, the last ones have none and are typed by name.

    Examples
    --------
    >>> keys = ClassKeys(["cat", "dog", "y", "0"])
    >>> keys.by_key
    {'1': 'cat', '2': 'dog', 'y': 'y', '0': '0'}
    """

    def __init__(self, classes: Iterable[Label] = ()) -> None:
        self.classes: list[Label] = []
        self.by_key: dict[str, Label] = {}
        self._seen: set[Label] = set()
        self.learn(classes)

    def learn(self, classes: Iterable[Label]) -> None:
        """Give keys to those classes that have none yet."""
        for label in classes:
            if label in self._seen:
                continue
            self._seen.add(label)
            self.classes.append(label)
            name = str(label)
            own = [name, name.lower()] if len(name) == 1 and name.isprintable() and name not in " +?" else []
            usable = [key for key in own if key.lower() not in _RESERVED]
            key = next((key for key in (*usable, *_KEYS) if key not in self.by_key), None)
            if key is not None:
                self.by_key[key] = label

    def find(self, key: str) -> Label | None:
        """Return the class of a key; with Caps Lock on it is the same one, unless both letters are keys."""
        found = self.by_key.get(key)
        return found if found is not None or len(key) != 1 else self.by_key.get(key.swapcase())

    def named(self, name: str) -> Label | None:
        """Return the class of this name, in whatever case where that leaves no doubt."""
        names = {str(label).strip(): label for label in self.classes}
        if name in names:
            return names[name]
        alike = [label for other, label in names.items() if other.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None

    def complete(self, start: str) -> str:
        """Return the longest beginning that all classes share whose names begin like this."""
        names = [str(label) for label in self.classes if str(label).casefold().startswith(start.casefold())]
        if not names:
            return start
        first, last = min(names), max(names)
        length = next((i for i, c in enumerate(first) if i >= len(last) or last[i] != c), len(first))
        return first[:length] if length > len(start) else start

    def make(self, name: str) -> Label:
        """Return the class of a name, a new one if need be, of the type that the other classes have."""
        found = self.named(name)
        if found is not None or not self.classes:
            return name if found is None else found
        kind = type(self.classes[0])
        if kind is bool:
            raise LabelError(f"{name_of(name)} is none of the classes, which are true and false")
        if kind is int:
            try:
                return int(name)
            except ValueError:
                raise LabelError(f"{name_of(name)} is no whole number, as the other classes are") from None
        return name
