"""Parquet in parts, on this machine or at any address that fsspec knows, read by the workers of a cluster."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pyarrow as pa

from bela.data._arrow import ARROW_ERRORS, check_names, plain_batch
from bela.data._cluster import Cluster
from bela.data._dask import About, open_parts, stack_batches
from bela.data._files import check_unpacked
from bela.data._places import is_address
from bela.data._readers import READERS, kind_of, partition_values
from bela.data._table import ArrowTable
from bela.errors import DataError, ParameterError
from bela.storage import read_checked, write_checked

_KEPT, _READ_ROWS = "addresses.json", 1 << 16


def open_address(address: str, cache: Path | None = None) -> ArrowTable:
    """Open a Parquet file, or a folder of them, at an address; the digests of the files are kept in the cache."""
    cluster = Cluster.current()
    fs, root = _file_system(address)
    try:
        is_folder = fs.isdir(root)
        found = (
            [file for file in sorted(fs.find(root)) if _is_part(file, root)] if is_folder else [fs.info(root)["name"]]
        )
    except FileNotFoundError:
        raise DataError(f"there is no file or folder {address}") from None
    except Exception as error:  # every file system has errors of its own
        raise DataError(f"{address} cannot be read: {_said(error)}") from None
    if not found or kind_of(found[0]) != "parquet":
        raise DataError(f"{address} has no Parquet files in it, which is what is read from an address")
    names = [_inside(file, root) for file in found] if is_folder else [found[0].rpartition("/")[2]]
    places = [fs.unstrip_protocol(file) for file in found]

    def fingerprint() -> str:
        marks = [str(fs.ukey(file)) for file in found]
        digests = _digests(cluster, places, marks, cache)
        if not is_folder:
            return digests[0]
        listing = "".join(f"{digest}  {name}\n" for name, digest in zip(names, digests, strict=True))
        return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()

    stated = [partition_values(name) if is_folder else {} for name in names]
    return open_parquet(cluster, places, stated, name=address, root=None, fingerprint=fingerprint)


def open_parquet(
    cluster: Cluster, places: Sequence[str], stated: Sequence[dict[str, str | None]], *, name: str, root: Path | None,
    fingerprint: Callable[[], str],
) -> ArrowTable:  # fmt: skip
    """Open Parquet files as one table, each with what its folders say of its rows: a task for each group of rows."""
    files = cluster.results([cluster.task(_groups_of, *pair) for pair in zip(places, stated, strict=True)])
    parts, about = list[Any](), list[About]()
    for place, said, groups in zip(places, stated, files, strict=True):
        for i, one in enumerate(groups):
            parts.append(cluster.task(_read_group, place, i, said))
            about.append(one)
    return open_parts(
        cluster, parts, about, name=name, root=root, loose=READERS["parquet"].loose, fingerprint=fingerprint
    )


def _groups_of(place: str, stated: dict[str, str | None]) -> list[About]:
    """Return how many rows and bytes each group of rows of a file has, and its schema."""
    with _parquet(place) as file:
        check_names(place, file.schema_arrow.names)
        nothing = [pa.array([], field.type) for field in file.schema_arrow]
        empty = _with_stated(plain_batch(pa.RecordBatch.from_arrays(nothing, file.schema_arrow.names)), stated)
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        return [(group.num_rows, group.total_byte_size, empty.schema) for group in groups]


def _read_group(place: str, group: int, stated: dict[str, str | None]) -> pa.RecordBatch:
    """Return one group of rows of a file, in plain types."""
    with _open(place) as content:
        size = content.seek(0, os.SEEK_END)
    batches, n_bytes = list[pa.RecordBatch](), 0
    with _parquet(place) as file:
        for batch in file.iter_batches(batch_size=_READ_ROWS, row_groups=[group], use_threads=False):
            n_bytes += batch.nbytes
            check_unpacked(n_bytes, place, size)  # Parquet can say the same a million times in a few bytes
            batch.validate(full=True)  # and it does not look whether texts are text
            batches.append(plain_batch(batch))
    return _with_stated(stack_batches(batches), stated)


class _parquet:  # noqa: N801 - used as a function
    """A Parquet file that is open, with errors in one sentence."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> Any:
        import pyarrow.parquet as pq

        self._file = _open(self._place)
        try:
            return pq.ParquetFile(self._file)
        except BaseException as error:
            self.__exit__(type(error), error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        self._file.close()
        if isinstance(error, ARROW_ERRORS) and not isinstance(error, (DataError, MemoryError)):
            raise DataError(f"{self._place} cannot be read as Parquet, it may be cut short: {_said(error)}") from None


def _with_stated(batch: pa.RecordBatch, stated: dict[str, str | None]) -> pa.RecordBatch:
    """Add what the folders of a file say about all its rows."""
    for name, value in stated.items():
        if name not in batch.schema.names:
            column = pa.array([value] * batch.num_rows, pa.large_string())
            batch = batch.append_column(pa.field(name, pa.large_string()), column)
    return batch


def _open(place: str) -> IO[bytes]:
    if not is_address(place):
        try:
            return open(place, "rb")
        except OSError as error:
            raise DataError(f"{place} cannot be read by a Dask worker: {error.strerror or error}") from None
    fs, path = _file_system(place)
    try:
        file: IO[bytes] = fs.open(path, "rb")
    except Exception as error:  # every file system has errors of its own
        raise DataError(f"{place} cannot be read: {_said(error)}") from None
    return file


def _file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    import fsspec

    if urlsplit(address).password:
        raise ParameterError(
            "an address of data must have no password in it: put it where the file system looks for it"
        )
    try:
        fs, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DataError(f"{address} cannot be read: {_said(error)}") from None
    except Exception as error:
        raise DataError(f"there is no way to {address}: {_said(error)}") from None
    return fs, str(path)


def _is_part(file: str, root: str) -> bool:
    """Whether a file is one of the parts; Spark and its kin keep notes in names that begin with an underscore."""
    inside = _inside(file, root)
    return kind_of(file) == "parquet" and not any(part.startswith(("_", ".")) for part in inside.split("/"))


def _inside(file: str, root: str) -> str:
    return file.strip("/").removeprefix(root.strip("/")).strip("/")


def _digests(cluster: Cluster, places: Sequence[str], marks: Sequence[str], cache: Path | None) -> list[str]:
    """Return the SHA-256 of each file, made by the workers for those whose mark was another when it was made last."""
    path = None if cache is None else cache / _KEPT
    kept = (None if path is None else read_checked(path)) or {}
    known = {place: kept.get(place) for place in places}
    new = [(place, mark) for place, mark in zip(places, marks, strict=True) if not _is_of(known[place], mark)]
    found = cluster.results([cluster.task(_sha256, place) for place, _ in new])
    known |= {place: [mark, digest] for (place, mark), digest in zip(new, found, strict=True)}
    if path is not None and new:
        with suppress(OSError):  # they are made anew the next time
            path.parent.mkdir(parents=True, exist_ok=True)
            write_checked(path, known)
    return [str(pair[1]) if isinstance(pair, list) else "" for pair in known.values()]


def _is_of(pair: object, mark: str) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and pair[0] == mark


def _sha256(place: str) -> str:
    digest = hashlib.sha256()
    with _open(place) as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def _said(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
