"""Blocks of one table whose columns differ a little: what they have in common, and how they are made to fit it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bela.errors import DataError
from bela.sources._arrow import ARROW_ERRORS
from bela.sources._values import code_array, coded_field, is_coded

if TYPE_CHECKING:
    import pyarrow as pa


def widen(schema: pa.Schema | None, other: pa.Schema, *, where: str, loose: bool) -> pa.Schema:
    """Return a schema that holds the values of both.

    Parameters
    ----------
    schema, other
        That of the blocks before, None at the start, and that of the next block.
    where
        The file that the next block is from, for the message.
    loose
        Whether columns may be missing in some blocks, and may change their kind: such a column is coded. Otherwise
        both are an error.
    """
    import pyarrow as pa

    if schema is None or schema.equals(other, check_metadata=True):
        return other
    if not loose and set(schema.names) != set(other.names):
        few, many = set(other.names) - set(schema.names), set(schema.names) - set(other.names)
        found = "; ".join(
            f"{what} {', '.join(sorted(names)[:5])}"
            for what, names in (("it has", few), ("it has not", many))
            if names
        )  # fmt: skip
        raise DataError(f"{where} has other columns than the files before it: {found}")
    fields = []
    for field in schema:
        if field.name not in other.names:
            fields.append(field)
            continue
        new = other.field(field.name)
        kind = None if is_coded(field) or is_coded(new) else merge_types(field.type, new.type)
        if kind is not None:
            fields.append(pa.field(field.name, kind))
        elif loose:
            fields.append(coded_field(field.name))
        else:
            raise DataError(
                f"{where} has values of the type {new.type} in column {field.name!r} where the files before it have "
                f"{field.type}: make them alike"
            )
    fields += [field for field in other if field.name not in schema.names]
    return pa.schema(fields)


def merge_types(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds values of both exactly, None if there is none."""
    import pyarrow as pa

    types = pa.types
    if one == other:
        return one
    if types.is_null(one) or types.is_null(other):
        return other if types.is_null(one) else one
    if types.is_signed_integer(one) and types.is_signed_integer(other):
        return one if one.bit_width > other.bit_width else other
    if types.is_unsigned_integer(one) and types.is_unsigned_integer(other):
        return one if one.bit_width > other.bit_width else other
    if types.is_integer(one) and types.is_integer(other):
        return None if pa.uint64() in (one, other) else pa.int64()
    if types.is_floating(one) and types.is_floating(other):
        return one if one.bit_width > other.bit_width else other
    if types.is_large_list(one) and types.is_large_list(other):
        pair = {one.value_type, other.value_type}
        inner = pa.float64() if pair == {pa.int64(), pa.float64()} else merge_types(one.value_type, other.value_type)
        return None if inner is None else pa.large_list(inner)
    return None


def fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of a wider schema."""
    import pyarrow as pa

    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = []
    for field in schema:
        i = batch.schema.get_field_index(field.name)
        if i < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
        elif is_coded(field) and not is_coded(batch.schema.field(i)):
            columns.append(code_array(batch.column(i)))
        else:
            try:
                columns.append(batch.column(i).cast(field.type))
            except ARROW_ERRORS as error:  # whole numbers in vectors that are too large for a float
                raise DataError(f"column {field.name!r} mixes numbers that have no type in common: {error}") from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)
