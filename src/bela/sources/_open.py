"""Data of every kind as records."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bela.errors import DataError, ParameterError
from bela.sources._array_records import ArrayRecords, column_name
from bela.sources._columnar import MappedFile
from bela.sources._files import DataFile, DigestBook, Progress, joint_digest
from bela.sources._folders import Contents, look_into
from bela.sources._images import image_records
from bela.sources._memory import batches_of
from bela.sources._npy import main_array, read_npy, read_npz
from bela.sources._parts import UNTYPED, loose, table_blocks
from bela.sources._store import TableStore, load_digests, save_digests
from bela.sources._table import TableRecords, digests_of
from bela.sources._text import check_encoding

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS = ("csv", "tsv", "jsonl", "json")


def open_records(
    data: Any, *, cache: Path | None = None, encoding: str | None = None, progress: Progress | None = None
) -> TableRecords | ArrayRecords:
    """Open data as rows that can be looked at one by one, however many there are.

    Parameters
    ----------
    data
        A path to a file (CSV, TSV, JSONL, JSON, Parquet, Arrow or Feather, `.npy`, `.npz`; texts also compressed by
        gzip, bzip2 or Zstandard), to a folder of such files with the same columns, to a folder of images, or to a
        folder that Hugging Face `datasets` saved. Or an object in memory: a NumPy array, a SciPy sparse matrix, a
        pandas or polars frame, an Arrow table, a Hugging Face dataset, a list of dicts or of texts.
    cache
        A folder for what is read from files, so that they open at once the next time. Without it a temporary file
        takes its place. Whatever is in it can be deleted at any time.
    encoding
        That of a text file. By default as its byte order mark says, and UTF-8 if there is none.
    progress
        A function to be told what is being done, and which share of it is done.

    Examples
    --------
    >>> records = open_records([{"text": "meow", "kind": "cat"}, {"text": "woof"}])
    >>> records.n_rows, records.columns, records.record(1)
    (2, ('text', 'kind'), {'text': 'woof', 'kind': None})
    """
    check_encoding(encoding)
    if isinstance(data, (str, os.PathLike)):
        contents = look_into(Path(data))
        if encoding is not None and contents.kind not in _TEXTS:
            raise ParameterError(f"{data} is no text file: an encoding ({encoding}) is for CSV, TSV and JSON")
        return _Opening(str(data), contents, cache, encoding, progress).records()
    if encoding is not None:
        raise ParameterError(f"an encoding ({encoding}) is for files of text, not for data in memory")
    return _open_memory(data)


def _open_memory(data: Any) -> TableRecords | ArrayRecords:
    if sparse.issparse(data):
        return ArrayRecords({"features": data}, main="features", name="the sparse matrix")
    if isinstance(data, np.ndarray):
        return _open_array(data, "the array")
    batches, name = batches_of(data)
    return TableRecords(batches, name=name)


def _open_array(array: npt.NDArray[Any], name: str, **known: Any) -> TableRecords | ArrayRecords:
    if array.dtype.names is not None:  # a structured array is a table
        fields = {key: array[key] for key in array.dtype.names}
        return ArrayRecords(fields, main=array.dtype.names[0], name=name, **known)
    if array.ndim == 0:
        raise DataError(f"{name} has no rows: it is a single value")
    column = column_name(array)
    if array.dtype.kind == "O":
        if array.ndim > 1:
            raise DataError(f"{name} holds Python objects in {array.ndim} dimensions: give a table with named columns")
        batches, _ = batches_of({column: array.tolist()})
        return TableRecords(batches, name=name)
    return ArrayRecords({column: array}, main=column, name=name, **known)


class _Opening:
    """All that the opening of files has to hand on from step to step."""

    def __init__(
        self, name: str, contents: Contents, cache: Path | None, encoding: str | None, progress: Progress | None
    ) -> None:
        self._name, self._contents, self._cache = name, contents, cache
        self._encoding, self._progress = encoding, progress
        self._book = DigestBook(cache)

    def records(self) -> TableRecords | ArrayRecords:
        contents = self._contents
        if contents.kind == "images":
            return image_records(self._name, contents, self._book, self._progress)
        if contents.kind == "npy":
            [file] = contents.files
            return _open_array(read_npy(file.path), self._name, root=contents.root, fingerprint=self._fingerprint)
        if contents.kind == "npz":
            return self._npz(contents.files[0])
        if contents.kind == "arrow":
            # Files that have not changed since they were read as a whole were found to be sound then.
            check = any(self._book.known(file) is None for file in contents.files)
            mapped = [MappedFile(file.path, check=check) for file in contents.files]
            batches = self._in_place(mapped)
            if batches is not None:
                return self._table(batches, mapped)
        return self._converted()

    def _npz(self, file: DataFile) -> TableRecords | ArrayRecords:
        arrays = {name: array for name, array in read_npz(file.path).items() if array.ndim}
        if not arrays:
            raise DataError(f"{self._name} holds no array with rows")
        main = main_array(file.path, arrays) or next(iter(arrays))
        return ArrayRecords(arrays, main=main, name=self._name, root=self._contents.root, fingerprint=self._fingerprint)

    def _in_place(self, mapped: list[MappedFile]) -> list[pa.RecordBatch] | None:
        """Return the batches of Arrow files that can be used where they lie, None if they are packed or differ."""
        schema = mapped[0].schema
        if any(not file.schema.equals(schema) for file in mapped):
            return None
        batches = []
        for file in mapped:
            for batch in file.batches():
                if not file.holds(batch):
                    return None
                batches.append(_bare(batch))
        return batches

    def _converted(self) -> TableRecords:
        """Return the table in the cache, or read the files into it."""
        contents = self._contents
        options = f"{contents.kind} {self._encoding}"
        if self._cache is not None and TableStore(self._cache).holds_something():
            mapped = TableStore(self._cache).find(self._fingerprint(), options)
            if mapped is not None:
                return self._table(list(mapped.batches()), [mapped])
        if self._cache is not None:
            return self._read_into(TableStore(self._cache), options)
        folder = tempfile.mkdtemp(prefix="bela-")
        try:
            records = self._read_into(TableStore(Path(folder), durable=False), options)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(records, shutil.rmtree, folder, ignore_errors=True)
        return records

    def _read_into(self, store: TableStore, options: str) -> TableRecords:
        blocks = table_blocks(self._contents, self._book, self._encoding, self._progress)
        partial, about = store.write(blocks, loose=loose(self._contents.kind))
        for file in self._contents.files:
            file.check_unchanged()
        path = store.keep(partial, about, self._fingerprint(), options)
        mapped = MappedFile(path, check=False)
        return self._table(list(mapped.batches()), [mapped])

    def _table(self, batches: list[pa.RecordBatch], mapped: list[MappedFile]) -> TableRecords:
        def release() -> None:
            for file in mapped:
                file.release()

        return TableRecords(
            batches, name=self._name, root=self._contents.root, typed=self._contents.kind not in UNTYPED,
            fingerprint=self._fingerprint, digests=self._digests, release=release,
        )  # fmt: skip

    def _fingerprint(self) -> str:
        contents = self._contents
        digests = self._book.digests(contents.files, self._progress)
        self._book.save(contents.files)
        return joint_digest(contents.files, digests, is_folder=contents.is_folder)

    def _digests(self, records: TableRecords) -> npt.NDArray[np.uint64]:
        """Return the digests of the rows, from the cache if they are there."""
        if self._cache is None:
            return digests_of(records)
        key = f"{records.fingerprint[:32]}-{self._encoding or 'plain'}"
        found = load_digests(self._cache, key, records.n_rows)
        if found is None:
            found = digests_of(records)
            save_digests(self._cache, key, found)
        return found


def _bare(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without the notes of whoever wrote it, which might be taken for our own."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(batch.columns, names=batch.schema.names)
