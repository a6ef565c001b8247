"""Writing a labelled dataset to a file or a folder, with its certificate."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from bela.errors import BelaError, DataError, ExportError, ParameterError
from bela.exports._certificate import (
    PARTS_LISTING,
    certificate_document,
    certificate_path,
    labels_digest,
    read_certificate,
)
from bela.exports._formats import EXPORTS, ExportFormat, LabelledRows, choose_format
from bela.exports._history import History
from bela.protocols import Table
from bela.records import BoolArray, Result
from bela.storage import placed_together

_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def export(
    records: Table, result: Result, to: str | os.PathLike[str], *,
    format: str | None = None,  # noqa: A002 - the word that everybody knows
    ids: Sequence[object] | None = None, given: BoolArray | None = None, label_column: str | None = None,
    certificate: Mapping[str, object] | None = None, history: History | None = None, leave_out: Collection[str] = (),
    overwrite: bool = False, excel_safe: bool = False,
    progress: Callable[[int, int], object] | None = None, note: Callable[[str], object] | None = None,
) -> Path:  # fmt: skip
    """Write every row with its label, and the certificate of the labels with them.

    What is written is there whole or not at all, whenever the process is killed. It is read and written block by
    block, however large the data are.

    Parameters
    ----------
    records, result
        The data and their labels.
    to
        The file, or for "hf" the folder. What is there is replaced if it is an earlier export of the same data.
    format
        One of EXPORTS; None to go by the ending, or "hf" where there is none.
    ids
        What the rows are called, for the formats that name them ("label-studio", "snorkel", and "csv" of an array);
        None for their numbers.
    given
        Which labels the data brought with them: their source is "given" rather than "oracle".
    label_column
        The column of the data that has some of the labels: it is completed, and there is no further one for them.
    certificate
        What `certificate_document` returned for the same labels; None to make one.
    history
        Who said what about the rows, and when: four more columns.
    leave_out
        Columns that are not to be in it, such as those that were hidden from whoever answered; not that of the labels.
    overwrite
        Replace whatever file is there. A folder is replaced only if it is an export.
    excel_safe
        In CSV and TSV, write a ' before each text that a spreadsheet would run as a formula.
    progress
        Called with the number of rows done and that of all rows.
    note
        Called with each sentence that the user should read, such as that a column got another name.

    Returns
    -------
    The file or folder, with all links followed.
    """
    name, kind = choose_format(to, format)
    target = Path(os.path.realpath(to))
    if excel_safe and not kind.for_spreadsheets:
        raise ParameterError(f"spreadsheets do not read {name} as it is: excel-safe is for CSV and TSV")
    rows = LabelledRows(
        records, result, given=given, label_column=label_column, ids=ids, progress=progress, excel_safe=excel_safe,
        history=history, leave_out=leave_out,
    )  # fmt: skip
    document = dict(certificate_document(result, records, given=given) if certificate is None else certificate)
    if document.get("labels_sha256") != labels_digest(result.labels):
        raise ParameterError("the certificate is about other labels than those to be exported: make it from the result")
    if not target.parent.is_dir():
        raise ExportError(f"there is no folder {target.parent} to export to: make it first")
    if note is not None:
        if left_out := [name for name in records.columns if name not in rows.layout.columns]:
            note(f"hidden columns are left out: {', '.join(left_out)}")
        for sentence in rows.layout.notes if kind.is_table else ():
            note(sentence)
    try:
        with placed_together(target) as new:
            _check_free(target, kind, records.fingerprint, overwrite)
            data = new / target.name
            texts = {f"{data.name}{ending}": text for ending, text in (kind.write(rows, data) or {}).items()}
            document["export"] = {
                "format": name, "sha256": _digest(data, kind), "columns": dict(rows.layout.names),
                **({"excel_safe": True} if excel_safe else {}),
            }  # fmt: skip
            texts[certificate_path(data).name] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
            for beside, text in texts.items():
                certificate_path(data).with_name(beside).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _write_error(error, target) from error
    except pa.ArrowException as error:
        raise DataError(f"the data cannot be written as {name}: {error}") from error
    if note is not None:
        for sentence in rows.notes:
            note(sentence)
    return target


def check_export(to: str | os.PathLike[str]) -> list[str]:
    """Say what is wrong with an export: changed since it was written, or without its certificate; else nothing."""
    path = Path(to)
    try:
        about = read_certificate(path).get("export", {})
        found = _digest(path, EXPORTS[about["format"]])
    except FileNotFoundError:
        return [f"{path} is not there"]
    except BelaError as error:
        return [str(error)]
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror or error}"]
    changed = about.get("sha256") != found or not all(map(_is_as_listed, *_listed(path)))
    return [f"{path} has been changed since its certificate was written"] if changed else []


def _listed(path: Path) -> tuple[list[Path], list[str]]:
    """Return the parts of an export that is a folder of them, and the digest that each had."""
    listing = path / PARTS_LISTING
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else []
    pairs = [line.partition("  ") for line in lines]
    return [path / name for _, _, name in pairs], [digest for digest, _, _ in pairs]


def _is_as_listed(part: Path, digest: str) -> bool:
    if not part.is_file():
        return False
    with part.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _check_free(target: Path, kind: ExportFormat, fingerprint: str, overwrite: bool) -> None:
    """Raise an error where something would be lost that is no earlier export of the same data."""
    if not os.path.lexists(target):
        return
    if bool(kind.files) != target.is_dir() or not (target.is_dir() or target.is_file()):
        is_now, wanted = "a folder" if target.is_dir() else "no folder", "a folder" if kind.files else "a file"
        raise ExportError(f"{target} is {is_now}, and this format is written to {wanted}: choose another name")
    if kind.files:
        names = {name for name in os.listdir(target) if not name.startswith("cache-")}  # those of `datasets`
        about = certificate_path(target).name
        if names and (about not in names or any(not kind.has(name) for name in names - {about})):
            raise ExportError(f"the folder {target} holds other things than an export: choose another name")
        is_empty = not names
    else:
        is_empty = target.stat().st_size == 0
    if is_empty or overwrite:
        return
    with suppress(BelaError):
        if read_certificate(target).get("data", {}).get("fingerprint") == fingerprint:
            return
    raise ExportError(
        f"{target} is there and is no earlier export of these data: choose another name, or ask to overwrite it"
    )


def _digest(path: Path, kind: ExportFormat) -> str:
    """Return the SHA-256 of the file with the rows."""
    with (path / kind.files[0] if kind.files else path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_error(error: OSError, target: Path) -> ExportError:
    if isinstance(error, BlockingIOError):
        return ExportError(f"another export is just being written to {target}: wait for it to end")
    if error.errno in _NO_ROOM:
        return ExportError(f"there is not enough room on the disk to write {target}: make some, or export elsewhere")
    return ExportError(f"{target} could not be written: {error.strerror or error}")
