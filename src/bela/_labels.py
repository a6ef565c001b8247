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
        self._kind: type | None = None
        self._closed = False
        for label in classes or ():
            self.encode(label)
        self._closed = classes is not None

    @property
    def classes(self) -> tuple[Label, ...]:
        return tuple(self._codes)

    def encode(self, label: Any) -> int:
        """Return the code of a label, a new one if it has not been seen."""
        if isinstance(label, np.generic):
            label = label.item()
        if type(label) is float and label.is_integer():
            label = int(label)  # integers that went through a float column
        code = self._codes.get(label) if type(label) is self._kind else None
        if code is not None:
            return code
        if type(label) not in (str, int, bool):
            raise LabelError(f"a label is a string, an integer or a boolean, not {label!r}")
        if self._kind is not None and type(label) is not self._kind:
            raise LabelError(
                f"labels are all of one type: {label!r} is a {type(label).__name__}, "
                f"{self.classes[0]!r} before it a {self._kind.__name__}"
            )
        if self._closed:
            raise LabelError(f"{label!r} is not one of the declared classes: {', '.join(map(str, self.classes))}")
        self._kind = type(label)
        return self._codes.setdefault(label, len(self._codes))

    def decode(self, codes: IntArray) -> npt.NDArray[Any]:
        """Return the labels of codes, none of which may be UNKNOWN."""
        labels: npt.NDArray[Any] = np.array(self.classes)[codes]
        return labels


def is_missing(label: Any) -> bool:
    """Whether a label stands for no label: None or NaN."""
    return label is None or (isinstance(label, (float, np.floating)) and bool(np.isnan(label)))
