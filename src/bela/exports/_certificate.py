"""The document that goes with an export: what is certified, on what grounds, for which data and labels."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bela.errors import DataError, ExportError
from bela.exports._rows import label_sources
from bela.protocols import Records
from bela.records import BoolArray, Certificate, Result

SCHEMA = 1
"""The version of the document's layout."""

_PASSING = {"created", "export", "versions", "statement"}  # what may differ between two accounts of the same labels


def certificate_document(
    result: Result,
    records: Records,
    *,
    target: float | None = None,
    given: BoolArray | None = None,
    n_skipped: int = 0,
) -> dict[str, Any]:
    """Say all that a report must say about labelled data, ready for JSON.

    Parameters
    ----------
    result
        The labels and their certificate.
    records
        The data that they belong to.
    target
        The share of right labels that was asked for.
    given
        Which labels the data brought with them.
    n_skipped
        How many questions the oracle would not answer.
    """
    from bela import __version__

    certificate = result.certificate
    source = label_sources(result, given)
    return {
        "bound": certificate.lower,
        "confidence": certificate.confidence,
        "kind": certificate.kind,
        "statement": _statement(certificate, n_given=int((source == 2).sum())),
        "target": target,
        "method": result.method,
        "seed": result.seed,
        "stop_reason": str(result.stop_reason),
        "data": {"fingerprint": records.fingerprint, "columns": list(records.columns)},
        "counts": {
            "rows": len(result.labels),
            "asked": result.n_asked,
            "training": certificate.n_training,
            "bounds": certificate.n_bounds,
            "given": int((source == 2).sum()),
            "skipped": n_skipped,
            "leaves": len(result.leaf_lower),
        },
        "classes": _class_counts(result),
        "labels_sha256": labels_digest(result.labels),
        "versions": {"bela": __version__, "schema": SCHEMA},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def labels_digest(labels: Iterable[Any]) -> str:
    """Return the SHA-256 of all labels in the order of the rows.

    Labels count as they are written in a CSV file: the label 1 is the label "1", and true and false have no capital.

    Examples
    --------
    >>> labels_digest([1, 2]) == labels_digest(["1", "2"]) != labels_digest(["12"])
    True
    """
    digest = hashlib.sha256()
    lines: dict[Any, bytes] = {}
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    for label in values:
        key = (label, type(label))  # 1 and True are the same key otherwise
        line = lines.get(key)
        if line is None:
            line = lines[key] = json.dumps(label_text(label)).encode() + b"\n"
        digest.update(line)
    return digest.hexdigest()


def label_text(label: Any) -> str:
    """Return a label as text files have it."""
    if isinstance(label, np.generic):
        label = label.item()
    return str(label).lower() if isinstance(label, bool) else str(label)


def certificate_path(to: Path, *, folder: bool) -> Path:
    """Return where the certificate of an export stands: in its folder, or beside its file."""
    return to / "certificate.json" if folder else to.with_name(f"{to.name}.certificate.json")


def read_certificate(to: Path) -> dict[str, Any]:
    """Return the certificate that goes with an export, be that a file or a folder."""
    path = certificate_path(Path(to), folder=Path(to).is_dir())
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExportError(f"there is no certificate {path}: export again") from None
    except (OSError, ValueError) as error:
        raise DataError(f"the certificate {path} cannot be read: {error}") from error
    if not isinstance(document, dict) or not isinstance(versions := document.get("versions"), dict):
        raise DataError(f"{path} is no certificate of BELA's")
    if not isinstance(schema := versions.get("schema"), int) or schema > SCHEMA:
        raise DataError(f"the certificate {path} was written by a newer BELA ({versions.get('bela')}): update this one")
    return document


def certificate_differences(document: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Say in what two documents disagree about data, labels or bound; the time of writing is none of it.

    Examples
    --------
    >>> certificate_differences({"bound": 0.95, "created": "today"}, {"bound": 0.9, "created": "yesterday"})
    ['bound: 0.95, not 0.9']
    """
    names = [name for name in {**document, **again} if name not in _PASSING]
    return [
        f"{name}: {json.dumps(document.get(name))}, not {json.dumps(again.get(name))}"
        for name in names
        if document.get(name) != again.get(name)
    ]


def _class_counts(result: Result) -> list[dict[str, Any]]:
    """Return how many rows each class has, and how many of them are known, in the order of the classes."""
    rows: dict[Any, int] = {}
    known: dict[Any, int] = {}
    for counts, labels in ((rows, result.labels), (known, result.labels[result.known])):
        values, n = np.unique(labels, return_counts=True)
        counts.update(zip(values.tolist(), n.tolist(), strict=True))
    return [{"label": label, "rows": rows.get(label, 0), "known": known.get(label, 0)} for label in result.classes]


def _statement(certificate: Certificate, n_given: int) -> str:
    said = _said(certificate)
    return f"{said} The {n_given:,} labels that the data brought are taken for what it would say." if n_given else said


def _said(certificate: Certificate) -> str:
    lower = f"{math.floor(1e4 * certificate.lower) / 100:g} %"  # never more than is certified
    confidence = f"{100 * certificate.confidence:.10g} %"
    if certificate.kind == "anytime":
        return (
            f"With probability at least {confidence} over the random draws, whenever one stops, at least {lower} "
            "of the rows carry the label that the oracle would give."
        )
    if certificate.kind == "one-look":
        return (
            f"With probability at least {confidence} over the random draws, for one look at a moment fixed "
            f"beforehand, at least {lower} of the rows carry the label that the oracle would give."
        )
    return (
        f"The published bound of kind {certificate.kind!r} is {lower}; under adaptive choices it is no guarantee, "
        f"and the confidence of {confidence} is the one asked for."
    )
