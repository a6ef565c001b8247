"""Writing a labelled dataset to a file or a folder, with its certificate."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bela.errors import BelaError, DataError, ExportError, ParameterError
from bela.exports._arrow import HF_DATA, write_hugging_face, write_parquet
from bela.exports._certificate import certificate_document, certificate_path, labels_digest, read_certificate
from bela.exports._csv import write_csv, write_tsv
from bela.exports._json import write_json, write_jsonl
from bela.exports._label_studio import write_label_studio
from bela.exports._place import durable, place, staged, write_error
from bela.exports._rows import LabelledRows
from bela.exports._snorkel import write_snorkel
from bela.protocols import Records
from bela.records import BoolArray, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    """How a format is written, and which endings ask for it.

    `write` gets the rows and a path where nothing is, and returns the texts of further files by what their names have
    after that of the first.
    """

    write: Callable[[LabelledRows, Path], dict[str, str]]
    endings: tuple[str, ...] = ()
    folder: bool = False


_FORMATS = {
    "csv": _Format(write=write_csv, endings=(".csv",)),
    "tsv": _Format(write=write_tsv, endings=(".tsv", ".tab")),
    "parquet": _Format(write=write_parquet, endings=(".parquet", ".pq")),
    "jsonl": _Format(write=write_jsonl, endings=(".jsonl", ".ndjson")),
    "json": _Format(write=write_json, endings=(".json",)),
    "hf": _Format(write=write_hugging_face, folder=True),
    "label-studio": _Format(write=write_label_studio),
    "snorkel": _Format(write=write_snorkel, endings=(".npz",)),
}
FORMATS = tuple(_FORMATS)
"""The names of the formats."""

_HF_FILES = {HF_DATA, "state.json", "dataset_info.json", "certificate.json"}


def export(
    records: Records,
    result: Result,
    to: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word that everybody knows
    ids: Sequence[Any] | None = None,
    given: BoolArray | None = None,
    label_column: str | None = None,
    certificate: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], object] | None = None,
    note: Callable[[str], object] | None = None,
) -> Path:
    """Write every row with its label, and the certificate of the labels with them.

    What is written is there whole or not at all, whenever the process is killed. It is read and written block by
    block, however large the data are.

    Parameters
    ----------
    records
        The data.
    result
        Their labels.
    to
        The file, or for "hf" the folder. What is there is replaced if it is an earlier export of the same data.
    format
        One of FORMATS; None to go by the ending, or "hf" where there is none.
    ids
        What the rows are called, for the formats that name them ("label-studio", "snorkel", and "csv" of an array);
        None for their numbers.
    given
        Which labels the data brought with them: their source is "given" rather than "oracle".
    label_column
        The column of the data that has some of the labels: it is completed, and there is no further one for them.
    certificate
        What `certificate_document` returned for the same labels; None to make one.
    overwrite
        Replace whatever file is there. A folder is replaced only if it is an export.
    progress
        Called with the number of rows done and that of all rows.
    note
        Called with each sentence that the user should read, such as that a column got another name.

    Returns
    -------
    The file or folder, with all links followed.
    """
    import pyarrow as pa

    name, kind = _choose_format(to, format)
    target = Path(os.path.realpath(to))
    rows = LabelledRows(records, result, given=given, label_column=label_column, ids=ids, progress=progress)
    document = dict(certificate_document(result, records, given=given) if certificate is None else certificate)
    if document.get("labels_sha256") != labels_digest(result.labels):
        raise ParameterError("the certificate is about other labels than those to be exported: make it from the result")
    if not target.parent.is_dir():
        raise ExportError(f"there is no folder {target.parent} to export to: make it first")
    if note is not None and name not in ("label-studio", "snorkel"):  # those two add no columns
        for sentence in rows.layout.notes:
            note(sentence)
    try:
        with staged(target) as new:
            _check_free(target, kind, records.fingerprint, overwrite)
            data = new / target.name
            beside = kind.write(rows, data)
            document["export"] = {
                "format": name,
                "sha256": _digest(data / HF_DATA if kind.folder else data),
                "columns": {usual: getattr(rows.layout, usual) for usual in ("label", "label_source", "leaf")}
                | {"confidence": rows.layout.confidence},
            }
            texts = {data.with_name(data.name + ending): text for ending, text in beside.items()}
            texts[certificate_path(data, folder=kind.folder)] = (
                json.dumps(document, indent=2, ensure_ascii=False) + "\n"
            )
            for path, text in texts.items():
                with durable(path) as file:
                    file.write(text.encode())
            place(new, target, [] if kind.folder else [path.name for path in texts])
    except BelaError:
        raise
    except OSError as error:
        raise write_error(error, target) from error
    except pa.ArrowException as error:
        raise DataError(f"the data cannot be written as {name}: {error}") from error
    return target


def check_export(to: str | os.PathLike[str]) -> list[str]:
    """Say what is wrong with an export: changed since it was written, or without its certificate; else nothing."""
    path = Path(to)
    try:
        written = read_certificate(path).get("export", {}).get("sha256")
        found = _digest(path / HF_DATA if path.is_dir() else path)
    except FileNotFoundError:
        return [f"{path} is not there"]
    except BelaError as error:
        return [str(error)]
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror or error}"]
    return [] if written == found else [f"{path} has been changed since its certificate was written"]


def _choose_format(to: str | os.PathLike[str], format: str | None) -> tuple[str, _Format]:  # noqa: A002
    text = os.fspath(to)
    if format is not None:
        if format not in _FORMATS:
            raise ParameterError(f"there is no format {format!r}: the formats are {', '.join(FORMATS)}")
        return format, _FORMATS[format]
    ending = Path(text).suffix.lower()
    if not ending or text.endswith(("/", os.sep)) or os.path.isdir(text):
        return "hf", _FORMATS["hf"]
    for name, kind in _FORMATS.items():
        if ending in kind.endings:
            return name, kind
    endings = ", ".join(ending for kind in _FORMATS.values() for ending in kind.endings)
    raise ParameterError(
        f"the ending of {Path(text).name} names no format: use one of {endings}, or say the format "
        f"({', '.join(FORMATS)})"
    )


def _check_free(target: Path, kind: _Format, fingerprint: str, overwrite: bool) -> None:
    """Raise an error where something would be lost that is no earlier export of the same data."""
    if not os.path.lexists(target):
        return
    if kind.folder != target.is_dir() or not (target.is_dir() or target.is_file()):
        raise ExportError(
            f"{target} is {'a folder' if target.is_dir() else 'no folder'}, and this format is written to "
            f"{'a folder' if kind.folder else 'a file'}: choose another name"
        )
    if kind.folder:
        names = {name for name in os.listdir(target) if not name.startswith("cache-")}  # those of `datasets`
        if not names:
            return
        if "certificate.json" not in names or names - _HF_FILES:
            raise ExportError(f"the folder {target} holds other things than an export: choose another name")
    elif target.stat().st_size == 0:
        return
    if overwrite:
        return
    try:
        same = read_certificate(target).get("data", {}).get("fingerprint") == fingerprint
    except BelaError:
        same = False
    if not same:
        raise ExportError(
            f"{target} is there and is no earlier export of these data: choose another name, or ask to overwrite it"
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
