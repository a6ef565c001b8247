"""What a format of exports is, and what it is written from: the rows of a dataset with their labels, block by block."""

import fnmatch
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bela._registry import Registry
from bela.errors import DataError, ExportError, LabelError, ParameterError
from bela.exports._history import History
from bela.protocols import Table
from bela.records import BoolArray, Result

# Its leaf, an answer, the data, a row nobody can read, or a label that is left blank as it is not sure.
SOURCES = ("inferred", "oracle", "given", "unreadable", "withheld")
_OURS = ("label", "label_source", "leaf", "confidence")
_SAID = ("answered_by", "answered_at", "opinions", "flags")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which columns an export has: those of the data, then ours, by the names that they got."""

    columns: tuple[str, ...]
    names: Mapping[str, str]

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that come after those of the data."""
        return tuple(name for name in self.names.values() if name not in self.columns)

    @property
    def notes(self) -> list[str]:
        """What somebody who knows the usual names should be told."""
        renamed = [(usual, name) for usual, name in self.names.items() if usual != name in self.added]
        return [f"the data have a column {usual!r} of their own: ours is called {name!r}" for usual, name in renamed]


def plan_columns(columns: Sequence[str], label_column: str | None = None, *, with_history: bool = False) -> Layout:
    """Choose names for our columns that the data do not have; with their history, rows have some more.

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
    for usual in (*_OURS, *(_SAID if with_history else ())):
        names[usual] = label_column if usual == "label" and label_column else free_name(usual, taken)
        taken.add(names[usual])
    return Layout(columns=tuple(columns), names=names)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with as many underscores as it takes to be a new one."""
    while name in taken:
        name += "_"
    return name


class LabelledRows:
    """Every row with its label, where that comes from, its leaf and its confidence; parameters as for `export`."""

    def __init__(
        self, records: Table, result: Result, *, given: BoolArray | None = None, label_column: str | None = None,
        ids: Sequence[object] | None = None, progress: Callable[[int, int], object] | None = None,
        excel_safe: bool = False, history: History | None = None, leave_out: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.records, self.result, self.ids, self.excel_safe = records, result, ids, excel_safe
        self.history = history
        self.notes: list[str] = []  # what a format has to say about what it wrote
        self.n_rows = records.n_rows
        if len(result.labels) != self.n_rows:
            raise DataError(f"there are labels for {len(result.labels)} rows, but the data have {self.n_rows}")
        if ids is not None and len(ids) != self.n_rows:
            raise ParameterError(f"ids must have one entry for each of the {self.n_rows} rows, not {len(ids)}")
        self.source = label_sources(result, given)
        kept = [name for name in records.columns if name not in leave_out or name == label_column]
        if not kept:
            raise ExportError("all columns of the data are hidden, so there is nothing to export: ask for hidden ones")
        self.layout = plan_columns(kept, label_column, with_history=history is not None)
        self._label_type = _label_type(result)
        self._progress = progress

    def id_of(self, row: int) -> object:
        """Return what a row is called: its number where nothing else is known."""
        if self.ids is None:
            return row
        name = self.ids[row]
        return name.item() if isinstance(name, np.generic) else name

    def blocks(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Go through the data as they are: the first row of each block, and the block."""
        start = 0
        is_whole = self.layout.columns == self.records.columns
        for batch in self.records.batches(None if is_whole else self.layout.columns):
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

    def labelled(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Go through the data with our columns; there is at least one block, if an empty one."""
        if not self.n_rows:
            columns = {name: pa.array([], self.records.column(name).type) for name in self.layout.columns}
            yield 0, self._with_ours(pa.RecordBatch.from_pydict(columns), 0)
        for start, batch in self.blocks():
            yield start, self._with_ours(batch, start)

    def ours(self, start: int, stop: int) -> dict[str, pa.Array]:
        """Return our columns for some rows, by the names that they got."""
        result = self.result
        try:
            labels = pa.array(result.labels[start:stop].tolist(), type=self._label_type)
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError) as error:
            raise LabelError(f"a label in rows {start} to {stop - 1} cannot be written: {error}") from error
        source = pa.array(np.array(SOURCES)[self.source[start:stop]])
        leaf = pa.array(np.asarray(result.leaf[start:stop], dtype=np.int64))
        confidence = pa.array(np.asarray(result.probability[start:stop], dtype=np.float64))
        said = () if self.history is None else self.history.columns(start, stop)
        return dict(zip(self.layout.names.values(), (labels, source, leaf, confidence, *said), strict=True))

    def _with_ours(self, batch: pa.RecordBatch, start: int) -> pa.RecordBatch:
        return with_columns(batch, self.ours(start, start + batch.num_rows))

    def done(self, n: int) -> None:
        """Say how many rows are written, for formats that do not go through the blocks here."""
        if self._progress is not None:
            self._progress(n, self.n_rows)


def with_columns(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return a batch with further columns, or others in place of those with the same name."""
    for name, array in columns.items():
        place = batch.schema.get_field_index(name)
        batch = batch.append_column(name, array) if place < 0 else batch.set_column(place, name, array)
    return batch


def label_sources(result: Result, given: BoolArray | None) -> npt.NDArray[np.int8]:
    """Return, for each row, the place in SOURCES of where its label comes from."""
    source = np.asarray(result.known).astype(np.int8)
    if given is not None:
        given = np.asarray(given, dtype=bool)
        if given.shape != source.shape:
            raise ParameterError(f"given must have one entry for each of the {len(source)} rows, not {given.shape}")
        if len(unknown := np.flatnonzero(given & (source == 0))):
            raise ParameterError(f"row {unknown[0]} has a label by the data, but the result does not know of it")
        source[given] = SOURCES.index("given")
    source[list(result.unreadable)] = SOURCES.index("unreadable")
    if result.only_sure is not None:
        blank = np.array([label is None for label in result.labels.tolist()], dtype=bool)
        source[blank & (source == 0)] = SOURCES.index("withheld")
    return source


def _label_type(result: Result) -> pa.DataType:
    """Return how labels are written: they are all strings, all integers or all booleans."""
    for label in result.classes:  # half of a surrogate pair, mostly from a broken encoding
        try:
            str(label).encode()
        except UnicodeError:
            raise LabelError(f"the label {label!r} is not valid Unicode and cannot be written: rename it") from None
    first = next((label for label in (*result.labels[:1].tolist(), *result.classes) if label is not None), "")
    types = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
    if type(first) not in types:
        raise LabelError(f"a label is a string, an integer or a boolean, not {first!r}")
    return types[type(first)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """A format that labelled data are written in.

    Parameters
    ----------
    title, description
        What people call it, and what it is good for, in a few words.
    write
        Called with the rows and a path where nothing is. It writes there; the file is made durable and put into place
        afterwards. It may return the texts of further files, by what their names have after that of the first.
    endings
        Endings of names that ask for the format; the first is that of a file whose name nobody chose.
    files
        Where the format is a folder: the names of what `write` puts into it, that with the rows first.
    parts
        Where it has any number of further files in it: a pattern of their names.
    is_table
        Whether it is a table of the data's columns and ours that BELA reads back; `bela verify` compares its labels.
    for_spreadsheets
        Whether spreadsheets open it, and `LabelledRows.excel_safe` can be wanted.
    needs
        Packages that it takes beyond those of BELA, by the names that they are imported by.
    """

    title: str
    description: str
    write: Callable[[LabelledRows, Path], Mapping[str, str] | None]
    endings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    parts: str = ""
    is_table: bool = False
    for_spreadsheets: bool = False
    needs: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether a file of this name in a folder is one of the format's."""
        return name in self.files or (bool(self.parts) and fnmatch.fnmatchcase(name, self.parts))


EXPORTS: Registry[ExportFormat] = Registry("export format", "bela.exports", package="bela.exports.formats")
"""The formats by name."""


def choose_format(to: str | os.PathLike[str], name: str | None) -> tuple[str, ExportFormat]:
    """Return the format of this name, or that which the ending of a path asks for; without an ending, "hf"."""
    text = os.fspath(to)
    if name is None:
        name = _by_ending(Path(text).name, is_folder=text.endswith(("/", os.sep)) or os.path.isdir(text))
    chosen = EXPORTS[name]
    if missing := [package for package in chosen.needs if find_spec(package) is None]:
        raise ExportError(f"the format {name!r} needs the package {missing[0]!r}, which is not installed: install it")
    return name, chosen


def loaded_formats() -> dict[str, ExportFormat]:
    """Return the formats by name, without those of other packages that cannot be imported."""
    found = {}
    for name in EXPORTS:
        with suppress(ParameterError):  # which says so when it is asked for
            found[name] = EXPORTS[name]
    return found


def _by_ending(file: str, *, is_folder: bool) -> str:
    endings: dict[str, str] = {}
    for name, kind in loaded_formats().items():
        for ending in kind.endings if kind.files or not is_folder else ():
            endings.setdefault(ending, name)
    if matching := [ending for ending in endings if file.lower().endswith(ending)]:
        return endings[max(matching, key=len)]  # .label-studio.json rather than .json
    if is_folder or not Path(file).suffix:
        return "hf"
    known = f"use one of {', '.join(endings)}, or say the format ({', '.join(EXPORTS)})"
    raise ParameterError(f"the ending of {file} names no format: {known}")
