"""The names of the classes and the codes that stand for them inside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bela.errors import LabelError
from bela.records import IntArray, Label


class LabelCodes:
    """Give each label a code, in the order in which they are first seen.

    A code stays with its class for good: classes may be renamed, and may go out of use when they are merged.

    Parameters
    ----------
    classes
        The only labels allowed, or None where the list is not known beforehand.

    Examples
    --------
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
        return tuple(sorted(self._codes, key=lambda label: self._codes[label]))

    def normal(self, label: Any) -> Label:
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
        if type(label) not in (str, int, bool):
            raise LabelError(f"a label is a string, an integer or a boolean, not {label!r}")
        if self._kind is not None and type(label) is not self._kind:
            raise LabelError(
                f"labels are all of one type: {label!r} is a {type(label).__name__}, "
                f"{self._names[0]!r} before it a {self._kind.__name__}"
            )
        named: Label = label
        return named

    def find(self, label: Any) -> int | None:
        """Return the code of a label, None if there is no such class."""
        return self._codes.get(self.normal(label))

    def check(self, label: Any) -> Label:
        """Return a label as it is kept, if it may be given."""
        code = self._codes.get(label) if type(label) is self._kind else None
        if code is not None:
            return self._names[code]
        normal = self.normal(label)
        if self.closed and normal not in self._codes:
            raise LabelError(f"{normal!r} is not one of the declared classes: {', '.join(map(str, self.names))}")
        return normal

    def encode(self, label: Any) -> int:
        """Return the code of a label, a new one if it has not been seen."""
        code = self._codes.get(label) if type(label) is self._kind else None
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

    def decode(self, codes: IntArray) -> npt.NDArray[Any]:
        """Return the labels of codes, none of which may be UNKNOWN."""
        labels: npt.NDArray[Any] = np.array(self.classes)[codes]
        return labels


def is_missing(label: Any) -> bool:
    """Whether a label stands for no label: None or NaN."""
    return label is None or (isinstance(label, (float, np.floating)) and bool(np.isnan(label)))
