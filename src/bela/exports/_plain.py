"""Columns as text files can hold them: no dictionaries, no bytes, times as text."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from bela.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

# Texts stay readable, and what is no number in JSON is an error rather than a file that some programs refuse.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def to_json(value: Any) -> str:
    """Return a value as JSON on one line, whatever a program takes for the end of a line."""
    text = _ENCODER.encode(value)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def undictionary(array: pa.Array) -> pa.Array:
    """Return a column without the types that stand for another one: dictionaries, views, extensions."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind):
        return undictionary(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return undictionary(array.cast(kind.value_type))
    if kind == pa.string_view():
        return array.cast(pa.string())
    return array.cast(pa.binary()) if kind == pa.binary_view() else array


def is_nested(kind: pa.DataType) -> bool:
    """Whether a value of this type is made of others."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return bool(pa.types.is_nested(kind)) and not pa.types.is_run_end_encoded(kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether the values of this type are texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_array_data(schema: pa.Schema) -> bool:
    """Whether there is nothing but lists of numbers, as in an array of images: no columns that people read."""
    return len(schema) > 0 and all(is_nested(kind) and _is_numeric(kind) for kind in schema.types)


def _is_numeric(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _is_numeric(kind.value_type)
    if pa.types.is_struct(kind):  # the places and values of a sparse vector
        return all(_is_numeric(field.type) for field in kind)
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def text_column(array: pa.Array) -> pa.Array:
    """Return a column as CSV can hold it: what is made of others as JSON, bytes in base 64."""
    import pyarrow as pa

    array = undictionary(array)
    if is_nested(array.type):
        return pa.array([None if value is None else to_json(plain(value)) for value in array.to_pylist()], pa.string())
    if _is_bytes(array.type):
        return pa.array([plain(value) for value in array.to_pylist()], pa.string())
    return array


def json_column(array: pa.Array, name: str, start: int) -> list[Any]:
    """Return a column as JSON can hold it; `name` and `start` say where something is that it cannot."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = undictionary(array)
    kind = array.type
    if pa.types.is_floating(kind):
        array = array.cast(pa.float64())
        infinite = pc.index(pc.is_inf(array), pa.scalar(True)).as_py()
        if infinite >= 0:
            raise DataError(_no_infinity(name, start + infinite))
        missing = pa.scalar(None, pa.float64())
        return list(pc.if_else(pc.is_nan(array), missing, array).to_pylist())
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return list(array.cast(pa.string()).to_pylist())
    if pa.types.is_duration(kind):
        return list(array.cast(pa.int64()).to_pylist())
    values: list[Any] = array.to_pylist()
    if _is_bytes(kind) or is_nested(kind) or pa.types.is_decimal(kind):
        return plain_column(values, name, start)
    return values


def plain_column(values: Iterable[Any], name: str, start: int) -> list[Any]:
    """Return values made of nothing but what JSON has."""
    found: list[Any] = []
    try:
        found.extend(map(plain, values))
    except OverflowError:
        raise DataError(_no_infinity(name, start + len(found))) from None
    return found


def plain(value: Any) -> Any:
    """Return a value made of nothing but what JSON has: NaN becomes null, bytes base 64, times ISO 8601."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise OverflowError("JSON has no infinite numbers")
        return None if math.isnan(value) else value
    for kind, convert in _PLAIN.items():
        if isinstance(value, kind):
            return convert(value)
    raise DataError(f"a value of type {type(value).__name__} cannot be written as text: export to Parquet instead")


_PLAIN: dict[type, Callable[[Any], Any]] = {
    bytes: lambda value: base64.b64encode(value).decode("ascii"),
    dict: lambda value: {key: plain(item) for key, item in value.items()},
    list: lambda value: [plain(item) for item in value],
    tuple: lambda value: [plain(item) for item in value],
    decimal.Decimal: str,
    datetime.date: lambda value: value.isoformat(),  # a datetime is one, too
    datetime.time: lambda value: value.isoformat(),
    datetime.timedelta: lambda value: value.total_seconds(),
}


def _is_bytes(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _no_infinity(name: str, row: int) -> str:
    return f"column {name!r} is infinite in row {row}, which JSON cannot say: export to Parquet or CSV instead"
