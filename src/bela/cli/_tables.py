"""Rows and labels from files: arrays, tables, folders of images."""

from __future__ import annotations

import csv
import importlib
import json
import os
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bela.datasets import DATASETS, load_dataset
from bela.errors import DataError, ParameterError

Array: TypeAlias = npt.NDArray[Any]

_IMAGE_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}


def read_data(data: str, truth: str | None, features: str = "auto") -> tuple[Array, Array]:
    """Return the rows and the true labels of a dataset by its name, or of a file or folder.

    Images come as images, so that the method can choose features for them, unless the features are to be "raw".
    """
    path = Path(data)
    if data in DATASETS and not path.is_file():
        dataset = load_dataset(data)
        X, y = dataset.images if features == "auto" else dataset.X, dataset.y
        if truth is not None:
            y = _read_truth(truth, f"{data} brings its own labels")
    else:
        if not path.exists():
            raise DataError(f"there is no file or folder {data}, and no dataset of that name: {', '.join(DATASETS)}")
        if truth is None:
            raise ParameterError("--truth is missing: give a .npy file of labels, or the name of the label column")
        read = _read_folder if path.is_dir() else _READERS.get(path.suffix.lower())
        if read is None:
            raise DataError(f"{data} ends in none of {', '.join(_READERS)}: convert it to one of them")
        X, y = read(path, truth)
    if features == "raw":
        X = X.reshape(len(X), -1)
    if y.ndim != 1 or len(y) != len(X):
        raise DataError(f"the truth must be one label for each of the {len(X)} rows, not an array of shape {y.shape}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"the truth has no label for {int((~np.isfinite(y)).sum())} row(s): fill or drop them first")
    return X, y


def _read_truth(truth: str, otherwise: str) -> Array:
    if not truth.endswith(".npy"):
        raise ParameterError(f"--truth {truth} is no .npy file with one label for each row, and {otherwise}")
    return _load(Path(truth))


def _load(path: Path) -> Array:
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path} cannot be read as an array, it may be cut short: {error}") from None
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path} holds several arrays where one is needed")
    return array


def _read_npy(path: Path, truth: str) -> tuple[Array, Array]:
    return _load(path), _read_truth(truth, "a .npy file has no columns")


def _read_npz(path: Path, truth: str) -> tuple[Array, Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read as arrays, it may be cut short: {error}") from None
    if truth in arrays:
        y = arrays.pop(truth)
    elif truth.endswith(".npy"):
        y = _load(Path(truth))
    else:
        raise ParameterError(f"{path} has no array {truth!r}: it has {', '.join(arrays)}")
    if "X" in arrays:
        return arrays["X"], y
    tables = [array for array in arrays.values() if array.ndim >= 2]
    if len(tables) != 1:
        raise DataError(
            f"{path} must have its features in an array named X, as {len(tables)} of its arrays could be them"
        )
    return tables[0], y


def _read_csv(path: Path, truth: str) -> tuple[Array, Array]:
    csv.field_size_limit(sys.maxsize if os.name != "nt" else 2**31 - 1)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter)
            header = next(lines, None)
            if header is None:
                raise DataError(f"{path} is empty: its first line must name the columns")
            rows = []
            for line in lines:
                if not line:
                    continue
                if len(line) != len(header):
                    raise DataError(
                        f"{path} has {len(line)} value(s) in line {lines.line_num} where its header names "
                        f"{len(header)} columns: the file may be cut short"
                    )
                rows.append(line)
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a text file in UTF-8") from None
    if len(set(header)) != len(header):
        raise DataError(f"{path} names a column twice: give each a name of its own")
    columns = dict(zip(header, zip(*rows, strict=True) if rows else [()] * len(header), strict=True))
    return _from_columns(path, columns, truth)


def _read_jsonl(path: Path, truth: str) -> tuple[Array, Array]:
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise DataError(f"{path} has no object in line {number}")
                if n_rows and record.keys() != columns.keys():
                    raise DataError(f"{path} has other fields in line {number} than before: {', '.join(record)}")
                for name, value in record.items():
                    columns.setdefault(name, []).append(value)
                n_rows += 1
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a text file in UTF-8") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path} has no JSON in line {number}, it may be cut short: {error.msg}") from None
    return _from_columns(path, columns, truth)


def _read_parquet(path: Path, truth: str) -> tuple[Array, Array]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(f"{path} needs the package pyarrow to be read: pip install pyarrow") from None
    try:
        table = parquet.read_table(path)
    except (ValueError, OSError) as error:  # pyarrow's own errors are one or the other
        raise DataError(f"{path} cannot be read as Parquet, it may be cut short: {error}") from None
    return _from_columns(path, {name: table.column(name).to_pylist() for name in table.column_names}, truth)


def _from_columns(path: Path, columns: Mapping[str, Sequence[Any]], truth: str) -> tuple[Array, Array]:
    """Take one column for the labels, and the others for the features."""
    features = dict(columns)
    if truth in features:
        y = _labels(path, truth, features.pop(truth))
    elif truth.endswith(".npy"):
        y = _load(Path(truth))
    else:
        raise ParameterError(f"{path} has no column {truth!r}: it has {', '.join(columns)}")
    if not features:
        raise DataError(f"{path} has no column besides {truth!r}: there is nothing to tell rows apart by")
    blocks = [_numbers(path, name, values) for name, values in features.items()]
    return np.concatenate(blocks, axis=1), y


def _numbers(path: Path, name: str, values: Sequence[Any]) -> Array:
    try:
        block = np.array([np.nan if value is None else value for value in values], dtype=np.float32)
    except (TypeError, ValueError):
        bad = next((value for value in values if not _is_number(value)), "a list of another length")
        raise DataError(
            f"{path} has {bad!r} in column {name!r} where a number is needed: drop the column, or turn it into numbers"
        ) from None
    return block.reshape(len(block), -1) if block.size else block.reshape(len(block), 1)


def _is_number(value: Any) -> bool:
    try:
        np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        return False
    return True


def _labels(path: Path, name: str, values: Sequence[Any]) -> Array:
    missing = sum(value is None or value == "" for value in values)
    if missing:
        raise DataError(f"{path} has no label in column {name!r} for {missing} row(s): fill or drop them first")
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        raise DataError(
            f"{path} has labels of mixed types in column {name!r}: {', '.join(sorted(k.__name__ for k in kinds))}"
        )
    if kinds == {str}:
        try:
            return np.array([int(value) for value in values])
        except ValueError:
            pass
    return np.array(values)


def _read_folder(path: Path, truth: str) -> tuple[Array, Array]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise DataError(f"the images in {path} need the package Pillow to be read: pip install pillow") from None
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _IMAGE_ENDINGS)
    if not files:
        raise DataError(f"{path} has no images in it")
    pictures = []
    for file in files:
        try:
            with Image.open(file) as image:
                colour = "L" if image.mode in ("1", "L", "I", "I;16", "F") else "RGB"
                pictures.append(np.asarray(image.convert(colour), dtype=np.float32) / 255)
        except (UnidentifiedImageError, OSError) as error:
            raise DataError(f"{file} is no image that can be read, it may be cut short: {error}") from None
        if pictures[-1].shape != pictures[0].shape:
            raise DataError(f"{file} has another size or number of colours than {files[0]}: make all images alike")
    X = np.stack(pictures)
    if truth == "folder":
        return X, np.array([file.parent.name for file in files])
    return X, _read_truth(truth, "'folder' is what takes the name of each image's folder as its label")


_READERS: dict[str, Callable[[Path, str], tuple[Array, Array]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
