"""Text files that other programs read back as they were: comma- and tab-separated values, JSON lines, JSON.

CSV: UTF-8. Texts are in quotes and numbers are not; a missing value is nothing at all, an empty text is `""`. Values
made of others are JSON, bytes are in base 64. Of an array there is nothing but `row` and our columns. Labels such as
"nan" or "None" are read by pandas with ``keep_default_na=False``, and floats to the last bit with
``float_precision="round_trip"``. Texts are not altered, and it is said how many a spreadsheet would take for formulas;
where `excel_safe` is wanted, a `'` stands before each of these, as spreadsheets themselves have it.

JSON: NaN becomes null, times ISO 8601, bytes base 64; infinite numbers are refused, as JSON has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv
from pyarrow import types

from bela._plain import to_plain
from bela.data._arrow import plain_batch
from bela.errors import DataError
from bela.exports._formats import EXPORTS, ExportFormat, LabelledRows, free_name
from bela.exports._spreadsheets import Formulas
from bela.records import Json

# Texts stay readable, and what is no number in JSON is an error rather than a file that some programs refuse.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def write_csv(rows: LabelledRows, path: Path, *, delimiter: str) -> None:
    """Write a line for each row."""
    # Arrow quotes every text and no number: an empty text is "" and a missing one nothing, the label "1" has quotes
    # and the label 1 has none.
    options = pyarrow.csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    found = Formulas(rows.excel_safe)
    blocks = (found.escape(_as_text(rows, plain_batch(batch), start)) for start, batch in rows.labelled())
    first = next(blocks)
    with path.open("xb") as file, pyarrow.csv.CSVWriter(file, first.schema, write_options=options) as writer:
        for block in chain([first], blocks):
            writer.write_batch(block)
    rows.notes += found.notes


def write_jsonl(rows: LabelledRows, path: Path) -> None:
    """Write an object for each row, each on a line of its own."""
    with path.open("xb") as file:
        for block in _objects(rows):
            file.write("".join(f"{text}\n" for text in block).encode())


def write_json(rows: LabelledRows, path: Path) -> None:
    """Write one list with an object for each row."""
    with path.open("xb") as file:
        write_list(_objects(rows), file)


def write_list(blocks: Iterator[list[str]], file: BinaryIO) -> None:
    """Write a JSON list, an entry a line, without ever holding all of it."""
    separator = "[\n"
    for block in filter(None, blocks):
        file.write((separator + ",\n".join(block)).encode())
        separator = ",\n"
    file.write(b"[]\n" if separator == "[\n" else b"\n]\n")


def to_json(value: object) -> str:
    """Return a value as JSON on one line, whatever a program takes for the end of a line."""
    text = _ENCODER.encode(value)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def json_blocks(rows: LabelledRows) -> Iterator[tuple[int, pa.RecordBatch, dict[str, list[Json]]]]:
    """Go through the data as JSON can hold them: the first row of each block, the block, and its columns.

    Data that come from JSON may have columns that no table has, with values of several kinds or objects; a table shows
    them as text, and `iter_records` gives each row as it was.
    """
    exact = rows.records.iter_records()
    for start, block in rows.blocks():
        batch = plain_batch(block)
        texts = {field.name for field in batch.schema if pa.types.is_large_string(field.type)}
        given = list(islice(exact, batch.num_rows)) if texts else []
        columns = {}
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            values = [row[name] for row in given] if name in texts else _values(array)
            columns[name] = _plain_column(values, name, start)
        yield start, batch, columns


def is_array_data(schema: pa.Schema) -> bool:
    """Whether there is nothing but lists of numbers, as in an array of images: no columns that people read."""

    def is_numeric(kind: pa.DataType) -> bool:
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            return is_numeric(kind.value_type)
        if types.is_struct(kind):  # the places and values of a sparse vector
            return all(is_numeric(field.type) for field in kind)
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))

    return len(schema) > 0 and all(types.is_nested(kind) and is_numeric(kind) for kind in schema.types)


def is_made_of_others(kind: pa.DataType) -> bool:
    """Whether the values of a plain type are lists, objects or bytes, which no cell of a table can show."""
    return bool(types.is_nested(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _objects(rows: LabelledRows) -> Iterator[list[str]]:
    for start, batch, columns in json_blocks(rows):
        for name, array in rows.ours(start, start + batch.num_rows).items():
            columns[name] = _plain_column(_values(array), name, start)  # in its place if it was there
        names = list(columns)
        yield [to_json(dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]


def _as_text(rows: LabelledRows, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
    """Return a block as CSV can hold it; of an array there is nothing to show but which row it is."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if is_array_data(pa.schema([batch.schema.field(name) for name in rows.layout.columns])):
        ids = pa.array([rows.id_of(row) for row in range(start, start + batch.num_rows)])
        added = {name: columns[name] for name in rows.layout.added}
        columns = {free_name("row", added): ids, **added}
    for name, array in columns.items():
        if is_made_of_others(array.type):
            values = _plain_column(array.to_pylist(), name, start)
            texts = [value if value is None or isinstance(value, str) else to_json(value) for value in values]
            columns[name] = pa.array(texts, pa.string())
    return pa.RecordBatch.from_pydict(columns)


def _values(array: pa.Array) -> list[object]:
    """Return values as Python's, times as texts that have every digit."""
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int64() if pa.types.is_duration(array.type) else pa.string())
    return list(array.to_pylist())


def _plain_column(values: Iterable[object], name: str, start: int) -> list[Json]:
    """Return values made of nothing but what JSON has; `name` and `start` say where there is something else."""
    found: list[Json] = []
    try:
        found.extend(to_plain(value, exact=True) for value in values)
    except OverflowError:
        where = f"column {name!r} is infinite in row {start + len(found)}"
        raise DataError(f"{where}, which JSON cannot say: export to Parquet instead") from None
    return found


EXPORTS.add("csv", ExportFormat(
    title="CSV", description="Opens in any spreadsheet", write=partial(write_csv, delimiter=","), endings=(".csv",),
    is_table=True, for_spreadsheets=True,
))  # fmt: skip
EXPORTS.add("tsv", ExportFormat(
    title="TSV", description="The same, with tabs between the values", write=partial(write_csv, delimiter="\t"),
    endings=(".tsv", ".tab"), is_table=True, for_spreadsheets=True,
))  # fmt: skip
EXPORTS.add("jsonl", ExportFormat(
    title="JSON lines", description="One row a line", write=write_jsonl, endings=(".jsonl", ".ndjson"), is_table=True,
))  # fmt: skip
EXPORTS.add("json", ExportFormat(
    title="JSON", description="One list of all rows", write=write_json, endings=(".json",), is_table=True,
))  # fmt: skip
