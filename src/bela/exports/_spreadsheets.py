"""What a spreadsheet would run: texts that look like formulas, which anybody can have put into the data."""

import re

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

_FORMULA = "^[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"  # the last as they are written in East Asia
_NUMBER = r"^[+-]?[0-9.,]+([eE][+-]?[0-9]+)?%?$"


class Formulas:
    """Counts texts that a spreadsheet would run as formulas, and escapes them where that is wanted."""

    def __init__(self, escapes: bool) -> None:
        self._escapes, self._n = escapes, 0

    def escape(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with a ' before each such text, names of columns included; or as they are."""
        arrays = [self._escaped(array) if _is_text(array.type) else array for array in batch.columns]
        names = self._escaped(pa.array(batch.schema.names, pa.string())).to_pylist()
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @property
    def notes(self) -> list[str]:
        """What somebody should be told who opens the file in a spreadsheet."""
        if not self._n:
            return []
        done = (
            "have a ' before them"
            if self._escapes
            else "would be run by a spreadsheet: --excel-safe, or the tick on the page, escapes them"
        )
        return [f"{self._n:,} text(s) begin like formulas (with =, +, - or @) and {done}"]

    def _escaped(self, array: pa.Array) -> pa.Array:
        runs = pc.and_(pc.match_substring_regex(array, _FORMULA), pc.invert(pc.match_substring_regex(array, _NUMBER)))
        n = pc.sum(runs).as_py() or 0
        self._n += n
        if not (n and self._escapes):
            return array
        mark, none = pa.scalar("'", array.type), pa.scalar("", array.type)
        return pc.if_else(pc.fill_null(runs, False), pc.binary_join_element_wise(mark, array, none), array)


def without_escape(text: object) -> object:
    """Return a text as it was before a formula in it was escaped.

    >>> [without_escape(text) for text in ("'=1", "'tis", "-1", 3)]
    ['=1', "'tis", '-1', 3]
    """
    return text[1:] if isinstance(text, str) and text[:1] == "'" and re.match(_FORMULA, text[1:]) else text


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))
