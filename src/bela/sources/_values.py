"""Python values to Arrow columns, with no digit lost and no number turned into another kind.

A column whose values are all of one simple kind (texts, whole numbers, numbers, booleans, lists of one of these)
gets the Arrow type for it. Any other column, such as one with numbers and texts, with whole numbers and fractions, or
with objects, is *coded*: each value is kept as its JSON text, from which it comes back exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from bela.errors import DataError
from bela.sources._arrow import ARROW_ERRORS, plain, to_python

if TYPE_CHECKING:
    import pyarrow as pa

_CODED = {b"bela": b"json"}
_JSON_KINDS = {str, int, float, bool, list, dict}
_EXACT = 2**53  # whole numbers up to here are the same as floats


def is_coded(field: pa.Field) -> bool:
    """Whether the values of a column are kept as JSON texts."""
    return bool(field.metadata) and field.metadata.get(b"bela") == b"json"


def coded_field(name: str) -> pa.Field:
    """Return the field of a column whose values are kept as JSON texts."""
    import pyarrow as pa

    return pa.field(name, pa.large_string(), metadata=_CODED)


def to_column(name: str, values: Sequence[Any]) -> tuple[pa.Field, pa.Array]:
    """Return a column of Python values; None is no value."""
    import pyarrow as pa

    values = _from_numpy(values)
    kind = _simple_type(values)
    if kind is not None:
        try:
            return pa.field(name, kind), pa.array(values, kind)
        except OverflowError:  # whole numbers beyond 64 bits
            pass
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= _JSON_KINDS:
        return coded_field(name), code(values)
    try:
        array = plain(pa.array(values))
    except ARROW_ERRORS + (OverflowError,):  # noqa: RUF005 - mypy cannot follow the other way to write it
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"column {name!r} holds values that no table can hold, of the type(s) {found}") from None
    return pa.field(name, array.type), array


def code(values: Iterable[Any]) -> pa.Array:
    """Return values as JSON texts."""
    import pyarrow as pa

    try:
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    except (TypeError, ValueError) as error:
        raise DataError(f"a value cannot be kept: {error}") from None
    return pa.array(texts, pa.large_string())


def code_array(array: pa.Array) -> pa.Array:
    """Return the values of an Arrow array as JSON texts."""
    return code(to_python(array))


def decode(texts: Iterable[str | None]) -> list[Any]:
    """Return the values that were kept as JSON texts."""
    return [None if text is None else json.loads(text) for text in texts]


def as_texts(array: pa.Array) -> pa.Array:
    """Return coded values as people write them: texts without quotes, all else as JSON."""
    import pyarrow as pa

    texts = [json.loads(text) if text is not None and text[0] == '"' else text for text in array.to_pylist()]
    return pa.array(texts, pa.large_string())


def _from_numpy(values: Sequence[Any]) -> Sequence[Any]:
    """Return what NumPy made of Python's own kinds as those kinds; dates, which are finer, stay."""
    own = {kind for kind in set(map(type, values)) if issubclass(kind, (np.generic, np.ndarray))}
    own = {kind for kind in own if not issubclass(kind, (np.datetime64, np.timedelta64))}
    return [value.tolist() if type(value) in own else value for value in values] if own else values


def _simple_type(values: Iterable[Any]) -> pa.DataType | None:
    """Return the one Arrow type of all values, None if there is no such."""
    import pyarrow as pa

    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pa.null()
    if kinds == {list}:
        element = _element_type([value for value in values if value])
        return None if element is None else pa.large_list(element)
    simple = {str: pa.large_string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return simple.get(kinds.pop()) if len(kinds) == 1 else None


def _element_type(lists: Sequence[list[Any]]) -> pa.DataType | None:
    """Return the type of what is in lists. In a vector, whole numbers and fractions are the same kind of number."""
    import pyarrow as pa

    kinds = set(map(type, chain.from_iterable(lists)))
    if kinds == {int, float}:
        whole = (value for value in chain.from_iterable(lists) if type(value) is int)
        return pa.float64() if all(-_EXACT <= value <= _EXACT for value in whole) else None
    if kinds == {list}:
        return _simple_type(list(chain.from_iterable(lists)))
    return None if type(None) in kinds else _simple_type(chain.from_iterable(lists))
