"""Files that have columns and types of their own: Parquet, Arrow IPC (or Feather), and NumPy's `.npy` and `.npz`."""

import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from bela.data._arrays import columns_of
from bela.data._arrow import check_names, plain_batch
from bela.data._files import check_unpacked
from bela.data._readers import READERS, OpenFile, Reader
from bela.data._store import ARROW, MappedFile, reading
from bela.errors import DataError
from bela.records import AnyArray

_BLOCK_BYTES = 16 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # of a file in a ZIP archive: signature, lengths of its name and extras


def read_parquet(file: OpenFile) -> Iterator[pa.RecordBatch]:
    """Go through the rows of a Parquet file in blocks of some megabytes."""
    import pyarrow.parquet as pq

    with reading(file.path, "Parquet"), pq.ParquetFile(file.path, buffer_size=1 << 20) as table:
        about = table.metadata
        check_names(str(file.path), table.schema_arrow.names)
        n_bytes = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        n_block = min(max(1, _BLOCK_BYTES * about.num_rows // max(1, n_bytes)), 1 << 17)
        for batch in table.iter_batches(batch_size=n_block, use_threads=False):
            file.done += batch.num_rows / max(1, about.num_rows)
            batch.validate(full=True)  # Parquet does not look whether texts are text
            yield plain_batch(batch)


def read_arrow(file: OpenFile) -> Iterator[pa.RecordBatch]:
    """Go through the rows of an Arrow file of any kind."""
    with reading(file.path, ARROW):  # names within types may be no text
        yield from map(plain_batch, MappedFile(file.path, check=True).batches())


def read_npy(path: Path) -> dict[str, AnyArray]:
    """Return the array in a file, where it lies on disk, as columns."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # of a damaged header NumPy raises whatever Python's parser raises
        try:  # an array without values cannot be mapped
            array = np.load(path, allow_pickle=False)
        except Exception:
            raise DataError(f"{path} cannot be read as an array, it may be cut short: {_say(error)}") from None
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path} holds several arrays where one is needed: give it the ending .npz")
    return columns_of(array, str(path))


def read_npz(path: Path) -> dict[str, AnyArray]:
    """Return the arrays with rows in a file: where they lie on disk, or in memory if they are compressed."""
    arrays: dict[str, AnyArray] = {}
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            check_unpacked(sum(member.file_size for member in archive.infolist()), path, path.stat().st_size)
            for member in archive.infolist():
                array = _map_member(path, file, member)
                if array is None:
                    with archive.open(member) as content:
                        array = np.asarray(np.lib.format.read_array(content, allow_pickle=False))
                if array.ndim:
                    arrays[member.filename.removesuffix(".npy")] = array
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path} cannot be read as arrays, it may be cut short: {_say(error)}") from None
    if not arrays:
        raise DataError(f"{path} holds no array with rows")
    return arrays


def _map_member(path: Path, file: IO[bytes], member: zipfile.ZipInfo) -> AnyArray | None:
    """Return an array where it lies in an archive, None if it is compressed or has no values."""
    if member.compress_type != zipfile.ZIP_STORED or member.file_size == 0:
        return None
    file.seek(member.header_offset)
    signature, n_name, n_extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise ValueError(f"{member.filename} is not where the archive says")
    start = file.seek(n_name + n_extra, os.SEEK_CUR)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError(f"{member.filename} holds Python objects")
    if 0 in shape or shape == ():
        return None
    offset = file.tell()
    if offset - start + dtype.itemsize * int(np.prod(shape)) != member.file_size:
        raise ValueError(f"{member.filename} is not as long as it says")
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order="F" if is_fortran else "C")


def _say(error: Exception) -> str:
    if "pickle" in str(error) or "Object arrays" in str(error):
        return "it holds Python objects, which are not read for safety; save numbers or texts"
    return " ".join(str(error).split())[:200] or type(error).__name__


READERS.add("parquet", Reader(endings=(".parquet", ".pq"), read=read_parquet, parts=True))
READERS.add("arrow", Reader(endings=(".arrow", ".feather", ".ipc"), read=read_arrow, parts=True))
READERS.add("npy", Reader(endings=(".npy",), arrays=read_npy))
READERS.add("npz", Reader(endings=(".npz",), arrays=read_npz))
