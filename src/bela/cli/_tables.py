"""Rows and true labels for simulations, from whatever data there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bela.cli._rows import open_watched
from bela.datasets import DATASETS, load_dataset
from bela.errors import DataError, ParameterError
from bela.protocols import Records
from bela.sources import ArrayRecords, brought_labels, open_records

Array: TypeAlias = npt.NDArray[Any]


def read_data(data: str, truth: str | None, features: str = "auto") -> tuple[Any, Array]:
    """Return the rows and the true labels of a dataset by its name, or of a file or folder.

    Images come as images, so that the method can choose features for them, unless the features are to be "raw".
    """
    path = Path(data)
    X: Any
    if data in DATASETS and not path.is_file():
        dataset = load_dataset(data)
        X, y = dataset.images if features == "auto" else dataset.X, dataset.y
        if truth is not None:
            y = _read_array(truth, f"{data} brings its own labels")
    else:
        if not path.exists():
            raise DataError(f"there is no file or folder {data}, and no dataset of that name: {', '.join(DATASETS)}")
        if truth is None:
            raise ParameterError("--truth is missing: give a .npy file of labels, or the name of the label column")
        records = open_watched(path)
        y = _read_truth(records, truth)
        X = feature_matrix(records, without=truth)
    if features == "raw" and isinstance(X, np.ndarray):
        X = X.reshape(len(X), -1)
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise DataError(
            f"the truth must be one label for each of the {X.shape[0]} rows, not an array of shape {y.shape}"
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"the truth has no label for {int((~np.isfinite(y)).sum())} row(s): fill or drop them first")
    return X, y


def feature_matrix(records: Records, *, without: str) -> Any:
    """Return the rows as numbers: arrays as they are, images of one size, columns of numbers and vectors side by side.

    Parameters
    ----------
    records
        The rows.
    without
        The label column, which is no feature.
    """
    if isinstance(records, ArrayRecords):
        if without == records.main:
            raise DataError(f"{records.name} has no array besides {without!r}: there is nothing to tell rows apart by")
        return records.array
    if records.columns == ("path", "folder") and records.root is not None:
        return _read_images(records, records.root)
    names = [name for name in records.columns if name != without]
    if not names:
        raise DataError(f"{_name(records)} has no column besides {without!r}: there is nothing to tell rows apart by")
    return np.concatenate([_numbers(records, name) for name in names], axis=1)


def _read_truth(records: Records, truth: str) -> Array:
    if truth in records.columns:
        labels = brought_labels(records, truth)
        n_missing = records.n_rows - len(labels)
        if n_missing:
            raise DataError(
                f"{_name(records)} has no label in column {truth!r} for {n_missing} row(s): fill or drop them first"
            )
        return np.array(list(labels.values()))
    if isinstance(records, ArrayRecords):
        return _read_array(truth, f"{records.name} has no array {truth!r}: it has {', '.join(records.columns)}")
    if not truth.endswith(".npy"):
        records.column(truth)  # which says that there is none
    return _read_array(truth, "")


def _read_array(truth: str, otherwise: str) -> Array:
    if not truth.endswith(".npy"):
        raise ParameterError(f"--truth {truth} is no .npy file with one label for each row, and {otherwise}")
    labels = open_records(truth)
    return np.asarray(labels.array) if isinstance(labels, ArrayRecords) else np.empty((0, 0))


def _numbers(records: Records, name: str) -> Array:
    """Return a column of numbers, or of vectors of equal length, as the columns of a matrix."""
    import pyarrow as pa

    column = records.column(name)
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.to_numpy()).astype(np.float32)[:, None]
    values = column.to_pylist()
    try:
        block = np.array([np.nan if value is None else value for value in values], dtype=np.float32)
    except (TypeError, ValueError):
        bad = next((value for value in values if not _is_number(value)), "a list of another length")
        raise DataError(
            f"{_name(records)} has {bad!r} in column {name!r} where a number is needed: drop the column, or turn it "
            f"into numbers"
        ) from None
    return block.reshape(len(block), -1) if block.size else block.reshape(len(block), 1)


def _is_number(value: Any) -> bool:
    try:
        np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        return False
    return True


def _read_images(records: Records, root: Path) -> Array:
    from PIL import Image, UnidentifiedImageError

    files = [root / path for path in records.column("path").to_pylist()]
    pictures: list[Array] = []
    for file in files:
        try:
            with Image.open(file) as image:
                colour = "L" if image.mode in ("1", "L", "I", "I;16", "F") else "RGB"
                pictures.append(np.asarray(image.convert(colour), dtype=np.float32) / 255)
        except (UnidentifiedImageError, OSError) as error:
            raise DataError(f"{file} is no image that can be read, it may be cut short: {error}") from None
        if pictures[-1].shape != pictures[0].shape:
            raise DataError(f"{file} has another size or number of colours than {files[0]}: make all images alike")
    return np.stack(pictures)


def _name(records: Records) -> str:
    return str(getattr(records, "name", "the data"))
