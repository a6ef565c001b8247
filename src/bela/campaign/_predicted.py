"""Labels that others have predicted: columns of the data, or of a file of its own beside them, row by row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from bela.campaign._settings import write_durably
from bela.data import CodedColumn, coded_labels, open_table, row_ids
from bela.errors import DataError, JournalError, ParameterError
from bela.protocols import Table
from bela.records import UNKNOWN, FloatArray, IntArray
from bela.storage import empty_array

Names: TypeAlias = tuple[str, ...]  # of the column with the labels, and perhaps of one with scores
Labelled: TypeAlias = tuple[CodedColumn, FloatArray | None]  # a label for each row or None, and perhaps a score

_FEW = 20  # labels, of which nobody can tell whether they are classes
_NO_CLASSES = 0.5  # different labels a row, with which they are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Which columns of the data were predicted, and columns that came in files, with a value for each row."""

    columns: tuple[Names, ...] = ()
    brought: tuple[Names, ...] = ()
    values: Mapping[str, CodedColumn | FloatArray] = field(default_factory=dict)
    notices: tuple[str, ...] = ()  # of files that say nothing of some rows

    def __bool__(self) -> bool:
        return bool(self.columns or self.brought)

    @property
    def apart(self) -> list[str]:
        """The columns of the data that are no features."""
        return [name for names in self.columns for name in names]

    def read(self, table: Table, *, new: bool = False) -> dict[str, Labelled]:
        """Return the labels and scores of all of them; `new` is as for `read_predictions`."""
        brought = read_predictions(open_table(self.to_arrow()), self.brought, new=new) if self.values else {}
        return read_predictions(table, self.columns, new=new) | brought

    def to_arrow(self) -> pa.Table:
        """Return the columns that came in files."""
        columns = {name: values.to_arrow() if isinstance(values, CodedColumn) else pa.array(values)
                   for name, values in self.values.items()}  # fmt: skip
        return pa.table(columns)


def find_predictions(table: Table, said: Iterable[str], *, id_column: str | None = None) -> Predictions:
    """Find what is named as COLUMN[:SCORE] or FILE:COLUMN[:SCORE]; columns and files may have : in their names.

    Rows of a file are those of the data in their order, or, where both have the `id_column`, those with the same id.
    """
    columns, brought, values = list[Names](), list[Names](), dict[str, CodedColumn | FloatArray]()
    notices: list[str] = []
    for name in said:
        file = None if _columns_of(table, name) else _file_of(name)
        if file is None:
            found = _columns_of(table, name)
            if found is None:
                before, _, after = name.rpartition(":")
                missing = after if before in table.columns else before or name
                there = f"there are {', '.join(table.columns)}"
                raise ParameterError(f"there is no column {missing!r}, and no such file: {there}")
            columns.append(found)
        else:
            names, kept = _read_file(table, file, name[len(str(file)) + 1 :], id_column, notices)
            brought.append(names)
            values |= kept
    first = [names[0] for names in (*columns, *brought)]
    for name in first:
        if first.count(name) > 1:
            raise ParameterError(f"the prediction {name!r} is named twice: once will do")
    return Predictions(columns=tuple(columns), brought=tuple(brought), values=values, notices=tuple(notices))


def plain_name(said: str) -> str:
    """Return how a prediction is named in the settings of a campaign: without the folder of its file."""
    file = _file_of(said)
    return said if file is None else f"{Path(file).name}{said[len(file) :]}"


def write_brought(path: Path, found: Predictions) -> None:
    """Keep what came in files with a campaign: its draws follow from that, and the files may change."""
    import pyarrow.parquet as pq

    if found.brought:
        content = pa.BufferOutputStream()
        pq.write_table(found.to_arrow(), content)
        write_durably(path, content.getvalue().to_pybytes())


def read_brought(path: Path, names: Sequence[Names], n_rows: int) -> dict[str, Labelled]:
    """Return what was kept of files with predictions."""
    if not names:
        return {}
    try:
        table = open_table(path)
    except DataError as error:
        raise JournalError(f"{path} cannot be read, restore a copy of it: {error}") from None
    if table.n_rows != n_rows or not {name for some in names for name in some} <= set(table.columns):
        raise JournalError(f"{path} is not what the campaign began with: restore a copy of it")
    return read_predictions(table, names)


def read_predictions(table: Table, names: Iterable[Sequence[str]], *, new: bool = False) -> dict[str, Labelled]:
    """Return the labels of predictions, None where there is none, and scores where a second column has them.

    Columns that hold neither are refused, unless the rows are `new` to a campaign: these may be few, and lack scores.
    """
    found = {}
    for column, *score in names:
        labels = coded_labels(table, column)
        n_classes, n_labels = len(labels.values), int(labels.counts().sum())
        if not new and not n_labels:
            raise DataError(f"the prediction {column!r} has no label for any row: leave it out, or name another column")
        if not new and n_labels >= _FEW and n_classes > _NO_CLASSES * n_labels:
            what = f"{n_classes:,} different values in {n_labels:,} rows, so it holds no classes"
            raise DataError(f"the prediction {column!r} has {what}: name the column that has the labels")
        numbers = _numbers(table, score[0]) if score else None
        if not new and numbers is not None and np.isnan(numbers).all():
            raise DataError(f"column {score[0]!r} has no numbers, which scores are: write them as 0.93, 93 or 93 %")
        found[column] = labels, numbers
    return found


def _columns_of(table: Table, name: str) -> Names | None:
    """Return the columns that are named as COLUMN or COLUMN:SCORE; None where there is one that is not there."""
    if name in table.columns:
        return (name,)
    column, _, score = name.rpartition(":")
    return (column, score) if column in table.columns and score in table.columns else None


def _file_of(name: str) -> str | None:
    """Return the file that is named before the first : after which there is one."""
    ends = [place for place, letter in enumerate(name) if letter == ":"]
    return next((name[:end] for end in (*ends, len(name)) if name[:end] and Path(name[:end]).is_file()), None)


def _read_file(
    table: Table, path: str, columns: str, id_column: str | None, notices: list[str]
) -> tuple[Names, dict[str, CodedColumn | FloatArray]]:
    """Return how the columns of a file are called from now on, and their values in the order of the data's rows."""
    file, name = open_table(path), Path(path).name
    found = _columns_of(file, columns) if columns else (file.columns[0],) if len(file.columns) == 1 else None
    if found is None:
        there = f"{name} has {', '.join(file.columns)}"
        raise ParameterError(
            f"--prediction {path}:{columns} names no column: write FILE:COLUMN or FILE:COLUMN:SCORE, {there}"
        )
    place = _by_id(table, file, id_column) if id_column is not None and id_column in file.columns else None
    if place is None and file.n_rows != table.n_rows:
        how = "they must be as many, in the same order, or have the ids that --id names in a column of the same name"
        raise DataError(f"{path} has {file.n_rows:,} rows and the data have {table.n_rows:,}: {how}")
    labels, scores = coded_labels(file, found[0]), [_numbers(file, score) for score in found[1:]]
    if place is not None:
        there = place != UNKNOWN
        found_rows = int(there.sum())
        if found_rows < max(table.n_rows, file.n_rows):
            strange = f"; {file.n_rows - found_rows:,} more that no row has" if file.n_rows > found_rows else ""
            notices.append(f"{name} has the ids of {found_rows:,} of {table.n_rows:,} rows{strange}")
        labels = CodedColumn(np.where(there, labels.places[place], UNKNOWN), labels.values)
        scores = [np.where(there, numbers[place], np.nan) for numbers in scores]
    names = tuple(":".join((name, *found[: i + 1])) for i in range(len(found)))
    return names, dict(zip(names, (labels, *scores), strict=True))


def _by_id(table: Table, file: Table, column: str) -> IntArray:
    """Return for each row of the data the row of a file that has the same id, UNKNOWN where there is none."""
    there = {str(name): row for row, name in enumerate(row_ids(file, column))}
    found = np.array([there.get(str(name), UNKNOWN) for name in row_ids(table, column)], dtype=np.int64)
    if (found == UNKNOWN).all():
        raise DataError(f"none of the ids in column {column!r} of the data is in that column of the prediction's file")
    return found


def _numbers(table: Table, column: str) -> FloatArray:
    """Return the numbers of a column, NaN where there is none: block by block, as there may be very many."""
    found, start = empty_array((table.n_rows,), float), 0
    for batch in table.batches([column]):
        values, stop = batch.column(0), start + batch.num_rows
        if pa.types.is_integer(values.type) or pa.types.is_float32(values.type) or pa.types.is_float64(values.type):
            numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            found[start:stop] = np.where(np.isfinite(numbers), numbers, np.nan)
        else:
            found[start:stop] = [_number(value) for value in values.to_pylist()]
        start = stop
    return found


def _number(value: object) -> float:
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
