"""Arrow columns: what they are called, their plain types, Python values in them, and blocks made to fit each other.

A type is plain if it is the only one of its kind: one kind of text, no dictionaries, views or extensions. A column
whose Python values are all of one simple kind (texts, whole numbers, numbers, booleans, lists of one of these) gets the
Arrow type for it. Any other, such as one of numbers and texts, of whole numbers and fractions, or of objects, is
*coded*: each value is kept as its JSON text, from which it comes back exactly.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from bela.errors import DataError

ARROW_ERRORS = (ValueError, OSError, TypeError, NotImplementedError, KeyError, MemoryError, OverflowError)
"""What pyarrow raises: its own errors derive from these."""
UNNAMED = "Unnamed: 0"  # a first column without a name, as pandas calls it, which writes its index so
_INDEXES = (UNNAMED, "__index_level_0__")  # the latter in Parquet files
_JSON_KINDS = {str, int, float, bool, list, dict}
_EXACT = 2**53  # whole numbers up to here are the same as floats


def index_column(columns: Sequence[str]) -> str | None:
    """Return the column that is the index of whoever wrote the data: no feature, but good as the id of rows."""
    return next((name for name in columns if name in _INDEXES), None)


def check_names(where: str, names: Sequence[str]) -> None:
    """Refuse columns without a name, or two with the same.

    >>> check_names("pets.csv", ["name", "kind", "name"])
    Traceback (most recent call last):
    ...
    bela.errors.DataError: pets.csv names a column twice: 'name' is column 1 and column 3, so give each its own name
    """
    if not names:
        raise DataError(f"{where} has no columns: each row needs at least one named value")
    seen: dict[str, int] = {}
    for i, name in enumerate(names, start=1):
        if not name:
            raise DataError(f"{where} has no name for column {i}: give it one, or leave the column out")
        if "\0" in name:
            raise DataError(f"{where} has a zero byte in the name of column {i}: it is no text in the encoding assumed")
        if (first := seen.setdefault(name, i)) != i:
            places = f"column {first} and column {i}"
            raise DataError(f"{where} names a column twice: {name!r} is {places}, so give each its own name")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values of a type are handed out: large_string for every kind of text, and so on."""
    types, family = pa.types, str(kind).partition("<")[0]  # older versions of pyarrow have no test for views
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if family in ("string", "string_view"):
        return pa.large_string()
    if family in ("binary", "binary_view"):
        return pa.large_binary()
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if family in ("list", "list_view", "large_list", "large_list_view"):
        return (pa.large_list if family.startswith("large") else pa.list_)(_plain_field(kind.value_field))
    if types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(i)) for i in range(kind.num_fields)])
    return kind


def _plain_field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, plain_type(field.type))


def plain(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return an array, or a chunked one, in its plain type; as it is where it has that already."""
    kind = plain_type(array.type)
    if kind == array.type:
        return array
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([plain(chunk) for chunk in array.chunks], kind)
    if isinstance(array.type, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_dictionary(array.type):
        return plain(array.dictionary_decode())
    try:
        return array.cast(kind)
    except ARROW_ERRORS as error:
        raise DataError(f"values of the Arrow type {array.type} cannot be used: {error}") from None


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with every column in its plain type, and nothing but names and types in its schema."""
    return pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=batch.schema.names)


def to_python(array: pa.Array) -> list[Any]:
    """Return values as Python objects: nanoseconds, which its own times have not, and times it cannot tell as text."""
    kind = array.type
    try:
        if getattr(kind, "unit", None) == "ns":
            coarser = {"timestamp": pa.timestamp("us", getattr(kind, "tz", None)), "duration": pa.duration("us")}
            array = array.cast(coarser.get(str(kind).partition("[")[0], pa.time64("us")))
        return list(array.to_pylist())
    except ARROW_ERRORS:
        return list(array.cast(pa.string()).to_pylist())


def is_coded(field: pa.Field) -> bool:
    """Whether the values of a column are kept as JSON texts."""
    return bool(field.metadata) and field.metadata.get(b"bela") == b"json"


def to_batch(columns: Mapping[str, Sequence[Any] | pa.Array]) -> pa.RecordBatch:
    """Return columns of Python values (None is no value) or of Arrow's; half a character is a UnicodeEncodeError."""
    made = [_to_column(name, values) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays([array for _, array in made], schema=pa.schema([field for field, _ in made]))


def is_encodable(value: object) -> bool:
    """Whether there is no half a character (a lone surrogate) in a value."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _to_column(name: str, values: Sequence[Any] | pa.Array) -> tuple[pa.Field, pa.Array]:
    if isinstance(values, pa.Array):
        return pa.field(name, values.type), values
    values = _from_numpy(values)
    if (kind := _simple_type(values)) is not None:
        with suppress(OverflowError):  # whole numbers beyond 64 bits
            return pa.field(name, kind), pa.array(values, kind)
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= _JSON_KINDS:
        return _coded_field(name), _code(values)
    try:
        array = plain(pa.array(values))
    except ARROW_ERRORS:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"column {name!r} holds values that no table can hold, of the type(s) {found}") from None
    return pa.field(name, array.type), array


def as_texts(array: pa.Array) -> pa.Array:
    """Return coded values as people write them: texts without quotes, all else as JSON."""
    texts = [json.loads(text) if text is not None and text[0] == '"' else text for text in array.to_pylist()]
    return pa.array(texts, pa.large_string())


def _coded_field(name: str) -> pa.Field:
    return pa.field(name, pa.large_string(), metadata={b"bela": b"json"})


def _code(values: Iterable[object]) -> pa.Array:
    try:
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    except (TypeError, ValueError) as error:
        raise DataError(f"a value cannot be kept: {error}") from None
    return pa.array(texts, pa.large_string())


def _from_numpy(values: Sequence[Any]) -> Sequence[Any]:
    """Return what NumPy made of Python's own kinds as those kinds; dates, which are finer, stay."""
    finer, kinds = (np.datetime64, np.timedelta64), set(map(type, values))
    own = {kind for kind in kinds if issubclass(kind, (np.generic, np.ndarray)) and not issubclass(kind, finer)}
    return [value.tolist() if type(value) in own else value for value in values] if own else values


def _simple_type(values: Iterable[Any]) -> pa.DataType | None:
    """Return the one Arrow type of all values, None if there is no such."""
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
    kinds = set(map(type, chain.from_iterable(lists)))
    if kinds == {int, float}:
        whole = (value for value in chain.from_iterable(lists) if type(value) is int)
        return pa.float64() if all(-_EXACT <= value <= _EXACT for value in whole) else None
    if kinds == {list}:
        return _simple_type(list(chain.from_iterable(lists)))
    return None if type(None) in kinds else _simple_type(chain.from_iterable(lists))


def widen(schema: pa.Schema | None, other: pa.Schema, *, where: str, loose: bool) -> pa.Schema:
    """Return a schema that holds the values of both; `where` names the file of the other.

    Only in `loose` tables may columns be missing in some blocks, or change their kind: such a column is coded.
    """
    if schema is None or schema.equals(other, check_metadata=True):
        return other
    if not loose and set(schema.names) != set(other.names):
        few, many = set(other.names) - set(schema.names), set(schema.names) - set(other.names)
        differ = {"it has": sorted(few)[:5], "it has not": sorted(many)[:5]}
        found = "; ".join(f"{what} {', '.join(names)}" for what, names in differ.items() if names)
        raise DataError(f"{where} has other columns than the files before it: {found}")
    fields = []
    for field in schema:
        new = other.field(field.name) if field.name in other.names else field
        is_mixed = is_coded(field) or is_coded(new)
        kind = None if is_mixed else _merge_types(field.type, new.type)
        fields.append(_coded_field(field.name) if kind is None else pa.field(field.name, kind))
        if kind is None and not is_mixed and not loose:
            found = f"{where} has values of the type {new.type} in column {field.name!r}"
            raise DataError(f"{found} where the files before it have {field.type}: make them alike")
    return pa.schema([*fields, *(field for field in other if field.name not in schema.names)])


def _merge_types(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds values of both exactly, None if there is none."""
    types = pa.types
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    for is_alike in (types.is_signed_integer, types.is_unsigned_integer, types.is_floating):
        if is_alike(one) and is_alike(other):
            return max(one, other, key=lambda kind: kind.bit_width)
    if types.is_integer(one) and types.is_integer(other):
        return None if pa.uint64() in (one, other) else pa.int64()
    if types.is_large_list(one) and types.is_large_list(other):
        pair = {one.value_type, other.value_type}
        inner = pa.float64() if pair == {pa.int64(), pa.float64()} else _merge_types(one.value_type, other.value_type)
        return None if inner is None else pa.large_list(inner)
    return None


def fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of a wider schema."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = []
    for field in schema:
        i = batch.schema.get_field_index(field.name)
        if i < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
        elif is_coded(field) and not is_coded(batch.schema.field(i)):
            columns.append(_code(to_python(batch.column(i))))
        else:
            try:
                columns.append(batch.column(i).cast(field.type))
            except ARROW_ERRORS as error:  # whole numbers in vectors that are too large for a float
                raise DataError(f"column {field.name!r} mixes numbers that have no type in common: {error}") from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)
