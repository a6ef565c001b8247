"""Arrow arrays in plain types: one kind of text, no dictionaries, views or extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bela.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

ARROW_ERRORS: tuple[type[Exception], ...] = (ValueError, OSError, TypeError, NotImplementedError, KeyError, MemoryError)
"""What pyarrow raises: its own errors derive from these."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values of a type are handed out: large_string for every kind of text, and so on."""
    import pyarrow as pa

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if types.is_string(kind) or _is(kind, "string_view"):
        return pa.large_string()
    if types.is_binary(kind) or _is(kind, "binary_view"):
        return pa.large_binary()
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind) or _is(kind, "large_list_view"):
        return pa.large_list(_plain_field(kind.value_field))
    if types.is_list(kind) or _is(kind, "list_view"):
        return pa.list_(_plain_field(kind.value_field))
    if types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(i)) for i in range(kind.num_fields)])
    return kind


def plain(array: Any) -> Any:
    """Return an array, or a chunked one, in its plain type; as it is where it has that already."""
    import pyarrow as pa

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
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=batch.schema.names)


def to_python(array: pa.Array) -> list[Any]:
    """Return values as Python objects, the same whichever packages are installed.

    Nanoseconds, which Python's own times do not have, and times outside its calendar become text.
    """
    import pyarrow as pa

    kind = array.type
    if getattr(kind, "unit", None) == "ns":
        finer = {"timestamp": pa.timestamp("us", getattr(kind, "tz", None)), "duration": pa.duration("us")}
        try:
            array = array.cast(finer.get(str(kind).partition("[")[0], pa.time64("us")))
        except ARROW_ERRORS:
            return list(array.cast(pa.string()).to_pylist())
    try:
        return list(array.to_pylist())
    except (ValueError, OverflowError):
        return list(array.cast(pa.string()).to_pylist())


def _plain_field(field: pa.Field) -> pa.Field:
    import pyarrow as pa

    return pa.field(field.name, plain_type(field.type))


def _is(kind: pa.DataType, name: str) -> bool:
    return str(kind).partition("<")[0] == name  # older versions of pyarrow have no test for views
