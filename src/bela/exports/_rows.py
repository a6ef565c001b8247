"""The rows of a dataset with their labels, block by block: what every format is written from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError, LabelError, ParameterError
from bela.protocols import Records
from bela.records import BoolArray, Label, Result

if TYPE_CHECKING:
    import pyarrow as pa

SOURCES = ("inferred", "oracle", "given")
"""Where a label comes from: its leaf, an answer, or the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which columns an export has: those of the data, then the names that ours got."""

    columns: tuple[str, ...]
    label: str
    label_source: str
    leaf: str
    confidence: str

    @property
    def in_place(self) -> bool:
        """Whether the labels stand where the data had some of them already."""
        return self.label in self.columns

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that come after those of the data."""
        ours = (self.label, self.label_source, self.leaf, self.confidence)
        return ours[1:] if self.in_place else ours

    @property
    def notes(self) -> list[str]:
        """What somebody who knows the usual names should be told."""
        wanted = ("label", "label_source", "leaf", "confidence")
        got = (self.label, self.label_source, self.leaf, self.confidence)
        return [
            f"the data have a column {usual!r} of their own: ours is called {name!r}"
            for usual, name in zip(wanted, got, strict=True)
            if name != usual and not (usual == "label" and self.in_place)
        ]


def plan_columns(columns: Sequence[str], label_column: str | None = None) -> Layout:
    """Choose names for our columns that the data do not have.

    Examples
    --------
    >>> plan_columns(["text", "leaf"]).added
    ('label', 'label_source', 'leaf_', 'confidence')
    >>> plan_columns(["text", "species"], "species").added
    ('label_source', 'leaf', 'confidence')
    """
    taken = set(columns)
    if len(taken) < len(columns):
        twice = next(name for name in columns if list(columns).count(name) > 1)
        raise DataError(f"two columns of the data are called {twice!r}: rename one of them")
    if label_column is not None and label_column not in taken:
        raise ParameterError(f"the data have no column {label_column!r} to put the labels into")
    names = {}
    for usual in ("label", "label_source", "leaf", "confidence"):
        name = label_column if usual == "label" and label_column is not None else free_name(usual, taken)
        taken.add(name)
        names[usual] = name
    return Layout(columns=tuple(columns), **names)


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, with as many underscores as it takes to be a new one."""
    while name in taken:
        name += "_"
    return name


class LabelledRows:
    """Every row with its label, where that comes from, its leaf and its confidence.

    Parameters
    ----------
    records
        The data.
    result
        Their labels.
    given
        Which labels the data brought with them; None for none.
    label_column
        The column of the data that has these labels and is to be completed.
    ids
        What the rows are called where no column says so; None for their numbers.
    progress
        Called with the number of rows done and that of all rows.
    """

    def __init__(
        self,
        records: Records,
        result: Result,
        *,
        given: BoolArray | None = None,
        label_column: str | None = None,
        ids: Sequence[Any] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.records, self.result = records, result
        self.n_rows = records.n_rows
        if len(result.labels) != self.n_rows:
            raise DataError(f"there are labels for {len(result.labels)} rows, but the data have {self.n_rows}")
        if ids is not None and len(ids) != self.n_rows:
            raise ParameterError(f"ids must have one entry for each of the {self.n_rows} rows, not {len(ids)}")
        self.ids = ids
        self.source = label_sources(result, given)
        self.layout = plan_columns(records.columns, label_column)
        _check_classes(result.classes)
        self._label_type = _label_type(result.labels)
        self._progress = progress

    def id_of(self, row: int) -> Any:
        """Return what a row is called: its number where nothing else is known."""
        if self.ids is None:
            return row
        name = self.ids[row]
        return name.item() if isinstance(name, np.generic) else name

    def blocks(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Go through the data as they are: the first row of each block, and the block."""
        start = 0
        for batch in self.records.batches():
            if tuple(batch.schema.names) != self.layout.columns:
                raise DataError("the columns of the data have changed since they were opened: open them again")
            stop = start + batch.num_rows
            if stop > self.n_rows:
                break
            yield start, batch
            start = stop
            if self._progress is not None:
                self._progress(start, self.n_rows)
        if start != self.n_rows:
            raise DataError(f"the data had {self.n_rows} rows when they were opened and no longer do: open them again")

    def labelled(self) -> Iterator[pa.RecordBatch]:
        """Go through the data with our columns; there is at least one block, if an empty one."""
        import pyarrow as pa

        empty = True
        for start, batch in self.blocks():
            empty = False
            yield self._with_ours(batch, start)
        if empty:
            columns = [pa.array([], self.records.column(name).type) for name in self.layout.columns]
            yield self._with_ours(pa.RecordBatch.from_arrays(columns, names=list(self.layout.columns)), 0)

    def ours(self, start: int, stop: int) -> dict[str, pa.Array]:
        """Return our columns for some rows, by the names that they got."""
        import pyarrow as pa

        layout, result = self.layout, self.result
        try:
            labels = pa.array(result.labels[start:stop].tolist(), type=self._label_type)
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError) as error:
            raise LabelError(f"a label in rows {start} to {stop - 1} cannot be written: {error}") from error
        return {
            layout.label: labels,
            layout.label_source: pa.DictionaryArray.from_arrays(
                pa.array(self.source[start:stop]), pa.array(SOURCES)
            ).cast(pa.string()),
            layout.leaf: pa.array(np.asarray(result.leaf[start:stop], dtype=np.int64)),
            layout.confidence: pa.array(np.asarray(result.probability[start:stop], dtype=np.float64)),
        }

    def _with_ours(self, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        import pyarrow as pa

        ours = self.ours(start, start + batch.num_rows)
        fields, arrays = [], []
        for field, array in zip(batch.schema, batch.columns, strict=True):
            replaced = ours.pop(field.name, None)
            fields.append(field if replaced is None else pa.field(field.name, replaced.type))
            arrays.append(array if replaced is None else replaced)
        for name, array in ours.items():
            fields.append(pa.field(name, array.type))
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))


def label_sources(result: Result, given: BoolArray | None) -> npt.NDArray[np.int8]:
    """Return, for each row, the place in SOURCES of where its label comes from."""
    source = np.asarray(result.known).astype(np.int8)
    if given is not None:
        given = np.asarray(given, dtype=bool)
        if given.shape != source.shape:
            raise ParameterError(f"given must have one entry for each of the {len(source)} rows, not {given.shape}")
        if (given & (source == 0)).any():
            row = int(np.flatnonzero(given & (source == 0))[0])
            raise ParameterError(f"row {row} has a label by the data, but the result does not know of it")
        source[given] = 2
    return source


def _check_classes(classes: tuple[Label, ...]) -> None:
    """Raise an error for a label that no file can hold: half of a surrogate pair, mostly from a broken encoding."""
    for label in classes:
        try:
            str(label).encode()
        except UnicodeError:
            raise LabelError(f"the label {label!r} is no valid Unicode and cannot be written: rename it") from None


def _label_type(labels: npt.NDArray[Any]) -> pa.DataType:
    """Return how labels are written: they are all strings, all integers or all booleans."""
    import pyarrow as pa

    first = labels[0] if len(labels) else ""
    if isinstance(first, np.generic):
        first = first.item()
    types = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
    if type(first) not in types:
        raise LabelError(f"a label is a string, an integer or a boolean, not {first!r}")
    return types[type(first)]
