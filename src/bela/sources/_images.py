"""Folders of images as records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bela.errors import DataError
from bela.sources._digests import combine, digest_array
from bela.sources._files import DigestBook, Progress, joint_digest
from bela.sources._folders import Contents
from bela.sources._table import TableRecords


def image_records(name: str, contents: Contents, book: DigestBook, progress: Progress | None) -> TableRecords:
    """Return a row for each image: its path from the folder on, and the name of the folder that it lies in.

    The rows are in the order of their paths. Images that lie in the outermost folder have an empty folder name, which
    as a label stands for none.

    Digests are made from what is in the images, not from their times, as copies of a folder are the same data. What was
    read is remembered by size and time of change, where there is a cache.
    """
    import pyarrow as pa

    paths = [file.name for file in contents.files]
    folders = [(path.rpartition("/")[0]).rpartition("/")[2] for path in paths]
    try:
        batch = pa.RecordBatch.from_pydict(
            {"path": pa.array(paths, pa.large_string()), "folder": pa.array(folders, pa.large_string())}
        )
    except UnicodeEncodeError:
        bad = next(path for path in paths if path.encode("utf-8", "replace").decode() != path)
        raise DataError(f"{contents.root} has an image whose name is no text ({bad!a}): rename it") from None

    def digests() -> list[str]:
        found = book.digests(contents.files, progress)
        book.save(contents.files)
        return found

    def row_digests(records: TableRecords) -> npt.NDArray[np.uint64]:
        images = np.array([int(digest[:16], 16) for digest in digests()], dtype=np.uint64)
        return combine(len(paths), {"path": digest_array(batch.column(0)), "image": images})

    return TableRecords(
        [batch],
        name=name,
        root=contents.root,
        fingerprint=lambda: joint_digest(contents.files, digests(), is_folder=True),
        digests=row_digests,
    )
