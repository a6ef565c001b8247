"""A column of few values that many rows have: each value once, and a number for each row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import pyarrow as pa

from bela.data._arrow import to_python
from bela.records import UNKNOWN, AnyArray, IntArray
from bela.storage import empty_array

BLOCK = 1 << 18  # rows that become Python's objects at once, where they must


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn(Sequence[Any]):
    """A value for each row: its place among those that differ, in the order in which they are first seen.

    Where there is none, the place is UNKNOWN and the value None. It takes four bytes a row.
    """

    places: IntArray
    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, row: int) -> Any: ...

    @overload
    def __getitem__(self, row: slice) -> CodedColumn: ...

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return CodedColumn(self.places[row], self.values)
        place = int(self.places[row])
        return None if place == UNKNOWN else self.values[place]

    def __iter__(self) -> Iterator[Any]:
        values = (*self.values, None)  # the last for UNKNOWN
        return (values[place] for start in range(0, len(self), BLOCK) for place in self._block(start).tolist())

    def _block(self, start: int) -> IntArray:
        return self.places[start : start + BLOCK]

    def table_of(self, codes: Sequence[int]) -> IntArray:
        """Return what a code for each value makes of each row, UNKNOWN where there is none."""
        table = np.array([*codes, UNKNOWN], dtype=np.int32)
        found = empty_array((len(self),), np.int32)
        for start in range(0, len(self), BLOCK):
            found[start : start + BLOCK] = table[self._block(start)]
        return found

    def counts(self) -> IntArray:
        """Return how many rows have each value."""
        counts = np.zeros(len(self.values) + 1, np.int64)  # the first for UNKNOWN
        for start in range(0, len(self), BLOCK):
            counts += np.bincount(self._block(start) + 1, minlength=len(counts))
        return counts[1:]

    def replaced(self, values: Sequence[Any]) -> CodedColumn:
        """Return a column with other values in place of these: the same for some, or None."""
        first: dict[object, int] = {}
        codes = [UNKNOWN if value is None else first.setdefault(value, len(first)) for value in values]
        return CodedColumn(self.table_of(codes), tuple(first))

    def to_arrow(self) -> pa.Array:
        """Return it as Arrow has such columns."""
        places = pa.array(self.places, pa.int32(), mask=np.asarray(self.places == UNKNOWN))
        try:
            values = pa.array(self.values)
        except OverflowError:  # Arrow looks for nothing wider than int64 by itself
            values = pa.array(self.values, pa.uint64())
        return pa.DictionaryArray.from_arrays(places, values)


def code_values(values: Any) -> CodedColumn:
    """Take in labels as they come: an array, a sequence, a column of Arrow's, or one that is coded already."""
    return values if isinstance(values, CodedColumn) else code_blocks(_blocks_of(values), len(values))


def code_blocks(blocks: Iterable[pa.Array | list[Any]], n_rows: int) -> CodedColumn:
    """Take in the values of all rows, block by block: those of Arrow that can be are not made Python's, but counted."""
    places, number, values, start = empty_array((n_rows,), np.int32), dict[object, int](), list[Any](), 0

    def place_of(value: object) -> int:
        if value is None:
            return UNKNOWN
        key = (type(value), value)
        if isinstance(value, (float, np.floating)) and math.isnan(value):
            key = (type(value), "nan")  # which is not equal to itself
        try:
            place = number.setdefault(key, len(values))
        except TypeError:  # no label: whoever wants labels will say so
            place = number.setdefault((type(value), repr(value)), len(values))
        if place == len(values):
            values.append(value)
        return place

    for block in blocks:
        stop = start + len(block)
        if isinstance(block, pa.Array):
            found = block.dictionary_encode()
            table = np.array([*map(place_of, to_python(found.dictionary)), UNKNOWN], dtype=np.int32)
            places[start:stop] = table[found.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)]
        else:
            places[start:stop] = [place_of(value) for value in block]
        start = stop
    return CodedColumn(places, tuple(values))


def arrow_blocks(array: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array | list[Any]]:
    """Go through a column of Arrow's in blocks, as Python's objects where it has types that labels do not."""
    for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
        for start in range(0, len(chunk), BLOCK):
            block = chunk.slice(start, BLOCK)
            if pa.types.is_dictionary(block.type):
                block = block.dictionary_decode()  # there may be more in a dictionary than in a column
            kinds = pa.types
            tests = (kinds.is_string, kinds.is_large_string, kinds.is_integer, kinds.is_boolean)
            is_plain = any(test(block.type) for test in tests) or kinds.is_float32(block.type)
            yield block if is_plain or kinds.is_float64(block.type) else to_python(block)


def _blocks_of(values: Any) -> Iterator[pa.Array | list[Any]]:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        yield from arrow_blocks(values)
    elif isinstance(values, np.ndarray):
        for start in range(0, len(values), BLOCK):
            yield _from_numpy(values[start : start + BLOCK])
    else:
        yield list(values)


def _from_numpy(block: AnyArray) -> pa.Array | list[Any]:
    is_plain = block.ndim == 1 and (block.dtype.kind in "iubU" or block.dtype in (np.float32, np.float64))
    if is_plain and not isinstance(block, np.ma.MaskedArray) and not _has_inner_nul(block):
        try:
            return pa.array(np.ascontiguousarray(block).astype(block.dtype.newbyteorder("="), copy=False))
        except (pa.ArrowException, UnicodeError, TypeError):  # half a character, a width that Arrow has not
            pass
    return list(block.tolist())


def _has_inner_nul(block: AnyArray) -> bool:
    """Whether a text goes on after a character 0, where Arrow takes it to end."""
    if block.dtype.kind != "U" or not block.dtype.itemsize:
        return False
    is_nul = np.ascontiguousarray(block).view(np.uint32).reshape(len(block), -1) == 0
    return bool((is_nul[:, :-1] & ~is_nul[:, 1:]).any())
