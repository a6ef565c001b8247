"""A label matrix with abstentions, in the shape that Snorkel takes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bela.exports._certificate import label_text
from bela.exports._place import durable
from bela.exports._rows import LabelledRows
from bela.records import Result

DENSE_LIMIT = 1 << 30
"""The most bytes that a dense matrix may have; beyond, it is written sparse."""

_BLOCK = 1 << 24


def write_snorkel(rows: LabelledRows, path: Path) -> dict[str, str]:
    """Write an .npz file with one labelling function for each leaf, and one more for the answers.

    ``L`` has a row for each row of the data and a column for each function: the place of a label in ``classes``, or -1
    where the function abstains. A leaf votes on its rows that were not asked, the last function on those that were.
    ``leaf_lower`` is a lower bound on the share of right labels in each leaf, of the certificate's kind.

    Above a gigabyte ``L`` is sparse: `scipy.sparse.load_npz` reads it from the same file, one added to each code, so
    that abstentions are the zeros.
    """
    result = rows.result
    classes = np.array([label_text(label) for label in result.classes], dtype=str)
    n_leaves = len(result.leaf_lower)
    codes = _codes(result).astype(_code_type(len(classes)))
    function = np.where(result.known, n_leaves, result.leaf)
    shape = (rows.n_rows, n_leaves + 1)
    arrays: dict[str, npt.NDArray[Any]] = {
        "classes": classes,
        "functions": np.array([*(f"leaf {i}" for i in range(n_leaves)), "answers"], dtype=str),
        "leaf_lower": np.asarray(result.leaf_lower, dtype=np.float64),
        "ids": _ids(rows),
    }
    dense = shape[0] * shape[1] * codes.itemsize <= DENSE_LIMIT
    if not dense:
        arrays |= {
            "format": np.array(b"csr"),
            "shape": np.array(shape, dtype=np.int64),
            "data": codes + 1,
            "indices": function.astype(np.int64),
            "indptr": np.arange(shape[0] + 1, dtype=np.int64),
        }
    with durable(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        if dense:
            with archive.open("L.npy", "w", force_zip64=True) as entry:
                _write_dense(entry, codes, function, shape)
    return {}


def _codes(result: Result) -> npt.NDArray[np.int64]:
    """Return the place of each row's label among the classes."""
    place = {label: code for code, label in enumerate(result.classes)}
    labels, inverse = np.unique(result.labels, return_inverse=True)
    codes: npt.NDArray[np.int64] = np.array([place[label] for label in labels.tolist()], dtype=np.int64)[inverse]
    return codes


def _ids(rows: LabelledRows) -> npt.NDArray[Any]:
    """Return what the rows are called: integers, else texts, never objects, which only pickle could write."""
    if rows.ids is None:
        return np.arange(rows.n_rows)
    names = [rows.id_of(row) for row in range(rows.n_rows)]
    array = np.array(names) if all(type(name) is int for name in names) else np.array(names, dtype=str)
    return array.astype(str) if array.dtype.hasobject else array


def _code_type(n_classes: int) -> npt.DTypeLike:
    return next(kind for kind in (np.int8, np.int16, np.int32) if n_classes < np.iinfo(kind).max)


def _write_dense(entry: IO[bytes], codes: npt.NDArray[Any], function: npt.NDArray[Any], shape: tuple[int, int]) -> None:
    """Write the matrix a few rows at a time."""
    header = {"descr": np.lib.format.dtype_to_descr(codes.dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(entry, header)
    step = max(1, _BLOCK // (shape[1] * codes.itemsize))
    for start in range(0, shape[0], step):
        stop = min(start + step, shape[0])
        block = np.full((stop - start, shape[1]), -1, dtype=codes.dtype)
        block[np.arange(stop - start), function[start:stop]] = codes[start:stop]
        entry.write(block.tobytes())
