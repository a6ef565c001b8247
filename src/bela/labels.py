"""Labels: what counts as one, how it is written as text, and the codes that stand for classes inside."""

import re
from collections.abc import Iterable

import numpy as np

from bela.errors import LabelError
from bela.records import AnyArray, IntArray, Label

_BOOLEANS = {"true": True, "false": False}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}([.]0*)?", re.ASCII)  # perhaps from a column of floats


class LabelCodes:
    """Give each label a code, in the order in which they are first seen.

    A code stays with its class for good: classes may be renamed, and may go out of use when they are merged. If there
    are `classes` from the start, no others are allowed.

    >>> codes = LabelCodes()
    >>> [codes.encode(label) for label in ("cat", "dog", "cat")], codes.classes
    ([0, 1, 0], ('cat', 'dog'))
    """

    def __init__(self, classes: Iterable[Label] | None = None) -> None:
        self._codes: dict[Label, int] = {}
        self._names: list[Label] = []  # by code, those out of use included
        self._kind: type | None = None
        self.closed = False
        for label in classes or ():
            self.encode(label)
        self.closed = classes is not None

    @property
    def classes(self) -> tuple[Label, ...]:
        """The name of each code."""
        return tuple(self._names)

    @property
    def names(self) -> tuple[Label, ...]:
        """The classes in use, in the order of their codes."""
        return tuple(sorted(self._codes, key=self._codes.__getitem__))

    def normal(self, label: object) -> Label:
        """Return a label as it is kept: a plain string, integer or boolean, of the type of the others."""
        if isinstance(label, np.generic):
            label = label.item()
        if type(label) is float and label.is_integer():
            label = int(label)  # integers that went through a float column
        if type(label) is str and self._kind in (None, str):
            try:
                label.encode()
            except UnicodeEncodeError:
                raise LabelError(f"a label is made of characters, which {label!r} is not") from None
        if not isinstance(label, (str, int)):
            raise LabelError(f"a label is a string, an integer or a boolean, not {label!r}")
        if self._kind is not None and type(label) is not self._kind:
            first = f"{self._names[0]!r} before it a {self._kind.__name__}"
            raise LabelError(f"labels are all of one type: {label!r} is a {type(label).__name__}, {first}")
        return label

    def find(self, label: object) -> int | None:
        """Return the code of a label, None if there is no such class."""
        return self._codes.get(self.normal(label))

    def check(self, label: object) -> Label:
        """Return a label as it is kept, if it may be given."""
        code = self.get(label)
        if code is not None:
            return self._names[code]
        normal = self.normal(label)
        if self.closed and normal not in self._codes:
            raise LabelError(f"{normal!r} is not one of the declared classes: {', '.join(map(str, self.names))}")
        return normal

    def get(self, label: object) -> int | None:
        """Return the code of a label that is as it is kept, None if there is no such class."""
        return self._codes.get(label) if isinstance(label, (str, int)) and type(label) is self._kind else None

    def encode(self, label: object) -> int:
        """Return the code of a label, a new one if it has not been seen."""
        code = self.get(label)
        return self.add(self.check(label)) if code is None else code

    def add(self, label: Label) -> int:
        """Return the code of a label, a new one if it has none, declared or not."""
        if label not in self._codes:
            self._kind = type(label)
            self._codes[label] = len(self._names)
            self._names.append(label)
        return self._codes[label]

    def rename(self, old: Label, new: Label) -> None:
        """Give a class another name."""
        code = self._codes.pop(old)
        self._codes[new], self._names[code] = code, new

    def remove(self, label: Label) -> None:
        """Take a class out of use; its code is not given again."""
        del self._codes[label]

    def restore(self, label: Label, code: int) -> None:
        """Take a class into use again."""
        self._codes[label], self._names[code] = code, label

    def decode(self, codes: IntArray) -> AnyArray:
        """Return the labels of codes, none of which may be UNKNOWN."""
        return np.array(self.classes)[codes]


def label_to_text(label: object) -> str:
    """Return a label as people write it.

    >>> [label_to_text(label) for label in ("cat", 3, np.int64(3), 3.0, True)]
    ['cat', '3', '3', '3', 'true']
    """
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def label_from_text(text: str, like: Iterable[Label] = ()) -> Label:
    """Return a label that was written as text, without the spaces around it.

    A text that is written `like` one of the classes that there are is that one; another text is a label of their type,
    or a LabelError where it cannot be.

    >>> label_from_text(" cat"), label_from_text("3"), label_from_text("3", like=[1, 2])
    ('cat', '3', 3)
    """
    text = text.strip()
    classes = tuple(like)
    for known in classes:
        if label_to_text(known).strip() == text:
            return known
    kind = type(classes[0]) if classes else str
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise LabelError(f"{text!r} is not true or false, as the other labels are")
        return _BOOLEANS[text.lower()]
    if kind is int:
        if not _WHOLE.fullmatch(text):
            raise LabelError(f"{text!r} is not a whole number, as the other labels are")
        return int(text.partition(".")[0])
    return text


def label_like(label: Label, like: Iterable[Label]) -> Label:
    """Return a label as one of these classes if it is written like one of them: 3 and "3" are the same class.

    >>> label_like("3", [1, 3]), label_like(3, ["1", "3"]), label_like(4, [])
    (3, '3', 4)
    """
    classes = tuple(like)
    if not classes or (label in classes and type(label) is type(classes[0])):
        return label
    return label_from_text(label_to_text(label), classes)


def is_missing(value: object) -> bool:
    """Whether a value stands for nothing: None, NaN, or what pandas and NumPy have in their place.

    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), "", "nan", 0)]
    [True, True, True, False, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))
