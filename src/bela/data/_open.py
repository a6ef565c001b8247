"""Data of every kind as tables: files and folders, NumPy, SciPy, pandas, polars, Arrow, Hugging Face, plain Python."""

from __future__ import annotations

import hashlib
import os
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from bela.data._arrays import ArrayTable, SourceRows, columns_of
from bela.data._arrow import ARROW_ERRORS, check_names, is_encodable, to_batch
from bela.data._datasets import load_dataset
from bela.data._digests import U64, combine, digest_array
from bela.data._files import DigestBook, Progress, check_encoding, writing
from bela.data._places import is_address, is_dataset, read_by_workers
from bela.data._readers import READERS, look_into, partition_values
from bela.data._store import TABLE, MappedFile, table_blocks, write_table
from bela.data._table import ArrowTable, digests_of
from bela.errors import DataError, ParameterError
from bela.protocols import Source
from bela.records import AnyArray, Json
from bela.storage import find_kept, keep

_VERSION = 2  # of what is kept of a table
_PYTHON = "give a path, an array, a data frame, or a list of texts or dicts"


def open_table(
    data: object, *, cache: Path | None = None, encoding: str | None = None, progress: Progress | None = None
) -> ArrowTable | ArrayTable:
    """Open data as rows that can be looked at one by one, however many there are.

    Parameters
    ----------
    data
        A path to a file that one of `READERS` reads (CSV, JSON, Parquet, ...; texts also compressed by gzip, bzip2 or
        Zstandard), to a folder of such files with the same columns, to a folder of images, or to a folder that Hugging
        Face `datasets` saved; the name of a dataset; or an address of Parquet files, such as s3://bucket/pets. Or an
        object: a NumPy array, a SciPy sparse matrix, a pandas or polars frame, an Arrow table, a Hugging Face dataset,
        an array or a frame of Dask, a list of texts, dicts or rows of numbers, a source of features, an open table.
    cache
        A folder for what is read from files, so that they open at once the next time. Without it a temporary file
        takes its place. Whatever is in it can be deleted at any time.
    encoding
        That of a text file. By default as its byte order mark says, and UTF-8 if there is none.
    progress
        A function to be told what is being done, and which share of it is done.

    Examples
    --------
    >>> records = open_table([{"text": "meow", "kind": "cat"}, {"text": "woof"}])
    >>> records.n_rows, records.columns, records.record(1)
    (2, ('text', 'kind'), {'text': 'woof', 'kind': None})
    """
    check_encoding(encoding)
    if isinstance(data, (ArrowTable, ArrayTable)):
        return data
    if is_dataset(data):
        return _open_array(load_dataset(str(data)).images, str(data))
    if is_address(data):
        if encoding is not None:
            raise ParameterError(f"an encoding ({encoding}) is for files of text, not for Parquet at an address")
        from bela.data._parts import open_address

        return open_address(str(data), cache)
    if isinstance(data, (str, os.PathLike)):
        return _Opening(str(data), cache, encoding, progress or (lambda *_: None)).table()
    if encoding is not None:
        raise ParameterError(f"an encoding ({encoding}) is for files of text, not for data in memory")
    return _open_memory(data)


class _Opening:
    """All that the opening of files has to hand on from step to step."""

    def __init__(self, name: str, cache: Path | None, encoding: str | None, progress: Progress) -> None:
        self._name, self._contents = name, look_into(Path(name))
        self._cache, self._encoding, self._progress = cache, encoding, progress
        self._book = DigestBook(cache, progress)

    def table(self) -> ArrowTable | ArrayTable:
        contents, encoding = self._contents, self._encoding
        if encoding is not None and (contents.kind == "images" or not READERS[contents.kind].is_text):
            raise ParameterError(f"{self._name} is no text file: an encoding ({encoding}) is for CSV, TSV and JSON")
        if read_by_workers():
            return self._by_workers()
        if contents.kind == "images":
            return self._images()
        if (arrays := READERS[contents.kind].arrays) is not None:
            columns = arrays(contents.files[0].path)
            return ArrayTable(columns, name=self._name, root=contents.root, fingerprint=self._fingerprint)
        if contents.kind == "arrow":
            # Files that have not changed since they were read as a whole were found to be sound then.
            check = any(self._book.known(file) is None for file in contents.files)
            mapped = [MappedFile(file.path, check=check) for file in contents.files]
            if (batches := _in_place(mapped)) is not None:
                return self._table(batches, mapped)
        return self._converted()

    def _by_workers(self) -> ArrowTable:
        """Return a table that the workers of a cluster read."""
        from bela.data._cluster import Cluster
        from bela.data._parts import open_parquet

        contents = self._contents
        if contents.kind != "parquet":
            raise ParameterError(f"{self._name} is not Parquet, which is what Dask workers read: leave out --dask")
        return open_parquet(
            Cluster.current(), [str(file.path.absolute()) for file in contents.files],
            [partition_values(file.name) if contents.is_folder else {} for file in contents.files],
            name=self._name, root=contents.root, fingerprint=self._fingerprint,
        )  # fmt: skip

    def _images(self) -> ArrowTable:
        """Return a row for each image: its path, and the name of its folder; digests are made from what is in them."""
        files, root = self._contents.files, self._contents.root
        paths = [file.name for file in files]
        try:
            batch = to_batch({"path": paths, "folder": [path.rpartition("/")[0].rpartition("/")[2] for path in paths]})
        except UnicodeEncodeError:
            bad = next(path for path in paths if path.encode("utf-8", "replace").decode() != path)
            raise DataError(f"{root} has an image whose name is no text ({bad!a}): rename it") from None

        def digests(_: ArrowTable) -> U64:
            images = np.array([int(digest[:16], 16) for digest in self._book.digests(files)], dtype=np.uint64)
            return combine(len(paths), {"path": digest_array(batch.column(0)), "image": images})

        return ArrowTable([batch], name=self._name, root=root, digests=digests, fingerprint=self._fingerprint)

    def _converted(self) -> ArrowTable:
        """Return the table in the cache, or read the files into it; without a cache, into a temporary folder."""
        if self._cache is not None:
            return self._mapped(*self._kept(self._cache, "table", self._read_into))
        with ExitStack() as stack:
            made = tempfile.TemporaryDirectory(prefix="bela-", ignore_cleanup_errors=True)
            temporary = Path(stack.enter_context(made))
            with writing(temporary, "the table"):
                table = self._mapped(temporary, self._read_into(temporary))
            weakref.finalize(table, stack.pop_all().close)
        return table

    def _read_into(self, folder: Path) -> dict[str, Json]:
        notices: list[str] = []
        blocks = table_blocks(self._contents, self._encoding, notices, self._progress)
        write_table(folder, blocks, loose=READERS[self._contents.kind].loose)
        for file in self._contents.files:
            file.check_unchanged()
        return {"notices": list(dict.fromkeys(notices))}

    def _mapped(self, folder: Path, about: Mapping[str, Json]) -> ArrowTable:
        mapped, notices = MappedFile(folder / TABLE, check=True), about["notices"]
        told = [str(notice) for notice in notices] if isinstance(notices, list) else []
        return self._table(list(mapped.batches()), [mapped], told)

    def _table(self, batches: list[pa.RecordBatch], mapped: list[MappedFile], told: Sequence[str] = ()) -> ArrowTable:
        def release() -> None:
            for file in mapped:
                file.release()

        return ArrowTable(
            batches, name=self._name, root=self._contents.root, typed=READERS[self._contents.kind].typed,
            notices=told, fingerprint=self._fingerprint, digests=self._digests, release=release,
        )  # fmt: skip

    def _fingerprint(self) -> str:
        return self._contents.fingerprint(self._book.digests(self._contents.files))

    def _digests(self, table: ArrowTable) -> U64:
        """Return the digests of the rows, from the cache if they are there."""
        if self._cache is None:
            return digests_of(table)

        def build(folder: Path) -> dict[str, Json]:
            np.save(folder / "rows.npy", digests_of(table))
            return {}

        folder, _ = self._kept(self._cache, "rows", build)
        return np.asarray(np.load(folder / "rows.npy", allow_pickle=False))

    def _kept(self, cache: Path, name: str, build: Callable[[Path], dict[str, Json]]) -> tuple[Path, dict[str, Json]]:
        """Return what is in the cache for these data, built if it is not there."""
        kind = self._contents.kind if name == "table" else name
        key = hashlib.sha256(f"{_VERSION} {self._fingerprint()} {kind} {self._encoding}".encode()).hexdigest()
        if (found := find_kept(cache, name, key)) is not None:
            return found
        with writing(cache, f"the {'digests of the rows' if name == 'rows' else name}"):
            return keep(cache, name, key, build)


def _in_place(mapped: list[MappedFile]) -> list[pa.RecordBatch] | None:
    """Return the batches of Arrow files that can be used where they lie, None if they are packed or differ."""
    if any(not file.schema.equals(mapped[0].schema) for file in mapped):
        return None
    batches = []
    for file in mapped:
        for batch in file.batches():
            if not file.holds(batch):
                return None
            # Without the notes of whoever wrote it, which might be taken for our own.
            batches.append(pa.RecordBatch.from_arrays(batch.columns, names=batch.schema.names))
    return batches


def _open_memory(data: object) -> ArrowTable | ArrayTable:
    """Open an object in memory: its package, known by the name of its type's module, need not be installed."""
    package = type(data).__module__.partition(".")[0]
    if sparse.issparse(data):
        return ArrayTable({"features": data}, name="the sparse matrix")
    if isinstance(data, Source):
        return ArrayTable({"features": SourceRows(data)}, name="the source")
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], (list, tuple, np.ndarray)):
        try:
            data = np.asarray(data)
        except (TypeError, ValueError) as error:
            raise DataError(f"the features must be numbers in rows and columns of equal length: {error}") from None
    if isinstance(data, np.ndarray):
        return _open_array(data, "the array")
    if package in ("dask", "dask_expr"):
        from bela.data._dask import open_collection

        return open_collection(data)
    if package in _PACKAGES:
        name, convert = _PACKAGES[package]
        return ArrowTable(convert(data, name), name=name)
    if isinstance(data, Mapping):
        columns = {str(name): list(values) for name, values in data.items()}
        return ArrowTable(_from_columns(columns, "the dict"), name="the dict")
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return ArrowTable(_from_list(data, "the list"), name="the list")
    raise DataError(f"data of the type {package}.{type(data).__name__} cannot be read: {_PYTHON}")


def _open_array(array: AnyArray, name: str) -> ArrowTable | ArrayTable:
    """Open an array: of numbers as it is, of texts as a column."""
    if array.dtype.kind == "O" and array.ndim == 1:
        return ArrowTable(_from_columns({"text": array.tolist()}, name), name=name)
    if array.dtype.kind == "O" and array.ndim:
        try:
            array = array.astype(np.float32)
        except (TypeError, ValueError):
            n = array.ndim
            raise DataError(f"{name} holds Python objects in {n} dimensions: give a table with named columns") from None
    return ArrayTable(columns_of(array, name), name=name)


def _from_arrow(data: Any, name: str) -> list[pa.RecordBatch]:
    if isinstance(data, pa.RecordBatchReader):
        data = data.read_all()
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table):
        raise DataError(f"data of the type pyarrow.{type(data).__name__} cannot be read: give a pyarrow.Table")
    check_names(name, data.column_names)
    # What a package notes about its columns is not for us, and might be taken for our own notes.
    return list(pa.Table.from_arrays(data.columns, names=data.column_names).to_batches())


def from_pandas(data: Any, name: str) -> list[pa.RecordBatch]:
    """Take a frame column by column, as pyarrow would turn mixed numbers in a column of objects into floats."""
    data = _frame(data, "pandas")
    if any(level is not None for level in data.index.names):
        data = data.reset_index()  # an index with a name is a column
    names = [str(column) for column in data.columns]
    check_names(name, names)
    columns: dict[str, list[Any] | pa.Array] = {}
    for i, column in enumerate(names):
        series = data.iloc[:, i]
        if series.dtype == object:
            missing = series.isna().tolist()
            columns[column] = [None if gone else value for value, gone in zip(series.tolist(), missing, strict=True)]
            continue
        try:
            array = pa.array(series, from_pandas=True)
        except ARROW_ERRORS as error:
            raise DataError(f"{name} has a column {column!r} that cannot be read: {error}") from None
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
            array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
        columns[column] = array
    return _from_columns(columns, name)


def _from_polars(data: Any, name: str) -> list[pa.RecordBatch]:
    data = data.collect() if hasattr(data, "collect") else data
    return _from_arrow(_frame(data, "polars").to_arrow(), name)


def _frame(data: Any, package: str) -> Any:
    """Return a frame as it is, and a series as a frame with one column."""
    if hasattr(data, "columns"):
        return data
    if not hasattr(data, "to_frame"):
        raise DataError(f"data of the type {package}.{type(data).__name__} cannot be read: give a {package}.DataFrame")
    return data.to_frame("text" if data.name in (None, "") else data.name)


def _from_hugging_face(data: Any, name: str) -> list[pa.RecordBatch]:
    if isinstance(data, Mapping):
        splits = list(map(str, data))
        raise DataError(f"{name} has the splits {', '.join(splits)}: choose one, as in data[{splits[0]!r}]")
    if not hasattr(data, "with_format") or not hasattr(data, "__len__"):
        raise DataError(f"{name} is a stream, which has no rows to go back to: load it with streaming=False")
    return _from_arrow(data.with_format("arrow")[:], name) if len(data) else []


def _from_list(data: Sequence[Any], name: str) -> list[pa.RecordBatch]:
    kinds = {type(value) for value in data if value is not None}
    if kinds == {str}:
        return _from_columns({"text": list(data)}, name)
    if kinds and all(issubclass(kind, Mapping) for kind in kinds) and None not in data:
        names = list(dict.fromkeys(str(key) for row in data for key in row))
        return _from_columns({key: [row.get(key) for row in data] for key in names}, name)
    if not data:
        return []
    raise DataError(f"a list of {', '.join(sorted(kind.__name__ for kind in kinds))} cannot be read: {_PYTHON}")


def _from_columns(columns: Mapping[str, Sequence[Any] | pa.Array], name: str) -> list[pa.RecordBatch]:
    check_names(name, list(columns))
    if len({len(values) for values in columns.values()}) > 1:
        raise DataError(f"{name} has columns of different lengths")
    try:
        return [to_batch(columns)]
    except UnicodeEncodeError:
        column = next(column for column, values in columns.items() if not is_encodable(list(values)))
        raise DataError(f"{name} has half a character (a lone surrogate) in column {column!r}") from None
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


_PACKAGES: dict[str, tuple[str, Callable[[Any, str], list[pa.RecordBatch]]]] = {
    "pyarrow": ("the Arrow table", _from_arrow),
    "pandas": ("the pandas frame", from_pandas),
    "polars": ("the polars frame", _from_polars),
    "datasets": ("the Hugging Face dataset", _from_hugging_face),
}
