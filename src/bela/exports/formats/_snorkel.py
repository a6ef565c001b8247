"""A label matrix with abstentions, in the shape that Snorkel takes."""

import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from bela.exports._formats import EXPORTS, ExportFormat, LabelledRows
from bela.labels import label_to_text
from bela.records import AnyArray, Label

DENSE_LIMIT = 1 << 30  # bytes of a matrix beyond which it is written sparse
_BLOCK = 1 << 24


def write_snorkel(rows: LabelledRows, path: Path) -> None:
    """Write an .npz file with one labelling function for each leaf, and one more for the answers.

    ``LabelModel(cardinality=len(f["classes"])).fit(L_train=f["L"])`` is how Snorkel takes it.

    ``L`` has a row for each row of the data and a column for each function: the place of a label in ``classes``, or -1
    where the function abstains. A leaf votes on its rows that were not asked, the last function on those that were.
    ``leaf_lower`` is a lower bound on the share of right labels in each leaf, of the certificate's kind.

    Above a gigabyte ``L`` is sparse: `scipy.sparse.load_npz` reads it from the same file, one added to each code, so
    that abstentions are the zeros.
    """
    result = rows.result
    place: dict[Label | None, int] = {label: code for code, label in enumerate(result.classes)}
    code_type = np.min_scalar_type(-len(place) - 1)  # signed, with room for one more
    place[None] = -1  # a label that is left blank: its leaf abstains
    codes = np.array([place[label] for label in result.labels.tolist()], dtype=code_type)
    n_leaves = len(result.leaf_lower)
    function = np.where(result.known, n_leaves, result.leaf)
    shape = (rows.n_rows, n_leaves + 1)
    arrays: dict[str, AnyArray] = {
        "classes": np.array([label_to_text(label) for label in result.classes], dtype=str),
        "functions": np.array([*(f"leaf {i}" for i in range(n_leaves)), "answers"], dtype=str),
        "leaf_lower": np.asarray(result.leaf_lower, dtype=np.float64),
        "ids": _ids(rows),
    }
    dense = shape[0] * shape[1] * codes.itemsize <= DENSE_LIMIT
    if not dense:
        arrays |= {
            "format": np.array(b"csr"), "shape": np.array(shape, dtype=np.int64), "data": codes + 1,
            "indices": function.astype(np.int64), "indptr": np.arange(shape[0] + 1, dtype=np.int64),
        }  # fmt: skip
    with path.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        if dense:
            with archive.open("L.npy", "w", force_zip64=True) as entry:
                _write_dense(entry, codes, function, shape)


def _ids(rows: LabelledRows) -> AnyArray:
    """Return what the rows are called: integers, else texts, never objects, which only pickle could write."""
    names = [rows.id_of(row) for row in range(rows.n_rows)]
    whole = all(type(name) is int and abs(name) < 1 << 63 for name in names)
    return np.array(names, dtype=np.int64 if whole else str)


def _write_dense(entry: IO[bytes], codes: AnyArray, function: AnyArray, shape: tuple[int, int]) -> None:
    """Write the matrix a few rows at a time."""
    header = {"descr": np.lib.format.dtype_to_descr(codes.dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(entry, header)
    step = max(1, _BLOCK // (shape[1] * codes.itemsize))
    for start in range(0, shape[0], step):
        stop = min(start + step, shape[0])
        block = np.full((stop - start, shape[1]), -1, dtype=codes.dtype)
        block[np.arange(stop - start), function[start:stop]] = codes[start:stop]
        entry.write(block.tobytes())


EXPORTS.add("snorkel", ExportFormat(
    title="Label matrix", description="For weak supervision, as Snorkel takes it", write=write_snorkel,
    endings=(".npz",),
))  # fmt: skip
