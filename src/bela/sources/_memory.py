"""Tables that are in memory, of whatever package: pandas, polars, Arrow, Hugging Face, plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bela.errors import DataError
from bela.sources._arrow import ARROW_ERRORS
from bela.sources._names import check_names
from bela.sources._values import to_column

if TYPE_CHECKING:
    import pyarrow as pa

_PYTHON = "give a path, an array, a data frame, or a list of dicts"


def batches_of(data: Any) -> tuple[list[pa.RecordBatch], str]:
    """Return the rows of an object in memory, and what to call it.

    The package that it comes from is known by the name of its type's module, and so need not be installed.
    """
    package = type(data).__module__.partition(".")[0]
    convert = _PACKAGES.get(package)
    if convert is not None:
        return convert(data)
    if isinstance(data, Mapping):
        return _from_columns({str(name): list(values) for name, values in data.items()}, "the dict"), "the dict"
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _from_list(data)
    raise DataError(f"data of the type {package}.{type(data).__name__} cannot be read: {_PYTHON}")


def _from_arrow(data: Any) -> tuple[list[pa.RecordBatch], str]:
    import pyarrow as pa

    name = "the Arrow table"
    if isinstance(data, pa.RecordBatchReader):
        data = data.read_all()
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table):
        raise DataError(f"data of the type pyarrow.{type(data).__name__} cannot be read: give a pyarrow.Table")
    return _from_table(data, name), name


def _from_pandas(data: Any) -> tuple[list[pa.RecordBatch], str]:
    """Take a frame column by column, as pyarrow would turn mixed numbers in a column of objects into floats."""
    import pyarrow as pa

    name = "the pandas frame"
    if not hasattr(data, "columns"):
        if not hasattr(data, "to_frame"):
            raise DataError(f"data of the type pandas.{type(data).__name__} cannot be read: give a pandas.DataFrame")
        data = data.to_frame("text" if data.name is None else data.name)
    if any(level is not None for level in data.index.names):
        data = data.reset_index()  # an index with a name is a column
    names = [str(column) for column in data.columns]
    check_names(name, names)
    fields, columns = [], []
    for i, column in enumerate(names):
        series = data.iloc[:, i]
        if series.dtype == object:
            missing = series.isna().tolist()
            values = [None if gone else value for value, gone in zip(series.tolist(), missing, strict=True)]
            field, array = _column(name, column, values)
        else:
            try:
                array = pa.array(series, from_pandas=True)
            except ARROW_ERRORS as error:
                raise DataError(f"{name} has a column {column!r} that cannot be read: {error}") from None
            if isinstance(array, pa.ChunkedArray):
                array = array.combine_chunks()
                array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
            field = pa.field(column, array.type)
        fields.append(field)
        columns.append(array)
    return [pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))], name


def _from_polars(data: Any) -> tuple[list[pa.RecordBatch], str]:
    name = "the polars frame"
    if hasattr(data, "collect"):
        data = data.collect()
    if not hasattr(data, "columns"):
        if not hasattr(data, "to_frame"):
            raise DataError(f"data of the type polars.{type(data).__name__} cannot be read: give a polars.DataFrame")
        data = data.to_frame(data.name or "text")
    return _from_table(data.to_arrow(), name), name


def _from_hugging_face(data: Any) -> tuple[list[pa.RecordBatch], str]:
    name = "the Hugging Face dataset"
    if isinstance(data, Mapping):
        splits = list(map(str, data))
        raise DataError(f"{name} has the splits {', '.join(splits)}: choose one, as in data[{splits[0]!r}]")
    if not hasattr(data, "with_format") or not hasattr(data, "__len__"):
        raise DataError(f"{name} is a stream, which has no rows to go back to: load it with streaming=False")
    if not len(data):
        raise DataError(f"{name} has no rows: there is nothing to label")
    return _from_table(data.with_format("arrow")[:], name), name


def _from_list(data: Sequence[Any]) -> tuple[list[pa.RecordBatch], str]:
    name = "the list"
    kinds = {type(value) for value in data if value is not None}
    if kinds == {str}:
        return _from_columns({"text": list(data)}, name), name
    if kinds and all(issubclass(kind, Mapping) for kind in kinds) and None not in data:
        names = list(dict.fromkeys(str(key) for row in data for key in row))
        return _from_columns({key: [row.get(key) for row in data] for key in names}, name), name
    if not data:
        raise DataError(f"{name} has no rows: there is nothing to label")
    raise DataError(f"a list of {', '.join(sorted(kind.__name__ for kind in kinds))} cannot be read: {_PYTHON}")


def _from_columns(columns: dict[str, list[Any]], name: str) -> list[pa.RecordBatch]:
    import pyarrow as pa

    check_names(name, list(columns))
    if len({len(values) for values in columns.values()}) > 1:
        raise DataError(f"{name} has columns of different lengths")
    made = [_column(name, column, values) for column, values in columns.items()]
    return [pa.RecordBatch.from_arrays([array for _, array in made], schema=pa.schema([field for field, _ in made]))]


def _column(name: str, column: str, values: list[Any]) -> tuple[pa.Field, pa.Array]:
    try:
        return to_column(column, values)
    except UnicodeEncodeError:
        raise DataError(f"{name} has half a character (a lone surrogate) in column {column!r}") from None
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _from_table(table: pa.Table, name: str) -> list[pa.RecordBatch]:
    import pyarrow as pa

    check_names(name, table.column_names)
    # What a package notes about its columns is not for us, and might be taken for our own notes.
    bare = pa.schema([pa.field(field.name, field.type) for field in table.schema])
    return list(pa.Table.from_arrays(table.columns, schema=bare).to_batches())


_PACKAGES: dict[str, Callable[[Any], tuple[list[pa.RecordBatch], str]]] = {
    "pyarrow": _from_arrow,
    "pandas": _from_pandas,
    "polars": _from_polars,
    "datasets": _from_hugging_face,
}
