"""The document that goes with an export: what is certified, on what grounds, for which data and labels."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bela.book import Again, Help
from bela.errors import DataError, ExportError
from bela.exports._formats import SOURCES, label_sources
from bela.exports._parts import kept_document, parts_document
from bela.labels import label_to_text
from bela.protocols import Table
from bela.records import AnyArray, BoolArray, Label, Result, Role

SCHEMA = 1  # the version of the document's layout
_BLOCK = 1 << 18  # labels that are looked at at once
_PASSING = {"created", "export", "versions", "statement"}  # what may differ between two accounts of the same labels
_LATER = {
    "class_target",
    "by_class",
    "sure",
    "kept",
    "cost",
    "language_model",
    "helper",
}  # what older documents do not have
_UNSAID = {"with_suggestion": {"draws": 0, "others": 0}, "again": {"asked": 0, "agreed": 0}}  # by earlier versions
PARTS_LISTING = "_parts.sha256"
"""The digest of each part of an export that is a folder of them, as `sha256sum` prints it."""


def certificate_document(
    result: Result, records: Table, *, target: float | None = None, class_target: float | None = None,
    given: BoolArray | None = None, n_skipped: int = 0,
    n_suggested: Mapping[Role, int] | None = None, again: Again | None = None, cost: float = 0.0,
    language_model: tuple[str, int] | None = None, helper: Help | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Say all that a report must say about labels and their certificate, ready for JSON.

    `target` is the share of right labels that was asked for, `class_target` that of each class, `given` tells which
    labels the data brought, `n_skipped` how many questions the oracle would not answer, `n_suggested` how many answers
    of each role were given with a suggestion in sight, `again` how often people were asked about the same draw twice,
    `cost` what all answers have cost, `language_model` which one has answered, if one has, and how often, and `helper`
    what somebody said who taught and was not believed.
    """
    from bela import __version__

    certificate = result.certificate
    n_given = int((label_sources(result, given) == SOURCES.index("given")).sum())
    statement = f"{certificate.claim} {certificate.guarantee.sentence} Right means: what the oracle would say."
    if n_given:
        statement += f" The {n_given:,} labels that the data brought are taken for what it would say."
    if result.unreadable:
        statement += f" {len(result.unreadable):,} row(s) cannot be read: they are not labelled, and count as wrong."
    kept = kept_document(result)
    if kept is not None:
        statement += f" That is about the labels of all rows, of which {kept['blank']:,} are left blank here."
    suggested = {"draws": 0, "others": 0, **_by_use(n_suggested or {})}
    if suggested["draws"]:
        statement += f" {suggestion_sentence(suggested['draws'])}"
    if language_model is not None and language_model[1]:
        statement += " {1:,} of the answers were given by the language model {0}: the oracle is that.".format(
            *language_model
        )
    rows, known = count_labels(result.labels), count_labels(result.labels[result.known])
    return {
        **certificate.to_json(),
        "statement": statement,
        "target": target,
        "class_target": class_target,
        "method": result.method,
        "seed": result.seed,
        "stop_reason": str(result.stop_reason),
        "data": {"fingerprint": records.fingerprint, "columns": list(records.columns)},
        "counts": {
            "rows": len(result.labels), "asked": result.n_asked, "training": certificate.n_training,
            "bounds": certificate.n_bounds, "given": n_given, "skipped": n_skipped, "leaves": len(result.leaf_lower),
        },
        "with_suggestion": suggested,
        "again": {"asked": 0, "agreed": 0} if again is None else asdict(again),
        "cost": cost,
        "language_model": None if language_model is None else dict(
            zip(("model", "answers"), language_model, strict=True)
        ),
        "helper": None if helper is None or not helper.said else {
            "name": helper.last, "answers": helper.n_answers, "declined": len(helper.said) - helper.n_answers,
            "cost": helper.cost,
        },
        "unreadable": list(result.unreadable),
        "classes": [{"label": label, "rows": rows[label], "known": known[label]} for label in result.classes],
        **parts_document(result),
        "kept": kept,
        "labels_sha256": labels_digest(result.labels),
        "versions": {"bela": __version__, "schema": SCHEMA},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip


def suggestion_sentence(n_draws: int) -> str:
    """Say what it means for a certificate that so many draws were not answered blind."""
    return (
        f"{n_draws:,} of the answers to rows drawn at random were given with a suggested label in sight. People agree "
        "more often with a label that they see, so some labels may count as right that they would not have given."
    )


def _by_use(n_suggested: Mapping[Role, int]) -> dict[str, int]:
    return {"draws" if role is Role.BOUNDS else "others": n for role, n in n_suggested.items()}


def labels_digest(labels: Iterable[Label | None]) -> str:
    """Return the SHA-256 of all labels in the order of the rows.

    Labels count as they are written in a CSV file: the label 1 is the label "1", and true and false have no capital.
    None stands for a label that is left blank.

    >>> labels_digest([1, 2]) == labels_digest(["1", "2"]) != labels_digest(["12"])
    True
    """

    @lru_cache(typed=True)  # 1 and True are not the same label
    def line(label: Label | None) -> bytes:
        return json.dumps(label_to_text(label)).encode() + b"\n"

    digest = hashlib.sha256()
    for some in _lists(labels) if isinstance(labels, np.ndarray) else [labels]:
        digest.update(b"".join(map(line, some)))
    return digest.hexdigest()


def count_labels(labels: AnyArray) -> Counter[Label | None]:
    """Count the rows of each label."""
    counts: Counter[Label | None] = Counter()
    for some in _lists(labels):
        counts.update(some)
    return counts


def _lists(labels: AnyArray) -> Iterator[list[Label | None]]:
    """Go through labels as Python has them, no more than some at once."""
    for start in range(0, len(labels), _BLOCK):
        yield labels[start : start + _BLOCK].tolist()


def certificate_path(to: Path) -> Path:
    """Return where the certificate of an export stands: in its folder, or beside its file.

    Amid the parts of a table its name begins with an underscore, as readers of such folders skip those.
    """
    if (to / PARTS_LISTING).is_file():
        return to / "_certificate.json"
    return to / "certificate.json" if to.is_dir() else to.with_name(f"{to.name}.certificate.json")


def read_certificate(to: Path) -> dict[str, Any]:
    """Return the certificate that goes with an export, be that a file or a folder."""
    path = certificate_path(Path(to))
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


def certificate_differences(document: Mapping[str, object], again: Mapping[str, object]) -> list[str]:
    """Say in what two documents disagree about data, labels or bound; the time of writing is none of it.

    >>> certificate_differences({"lower": 0.95, "created": "today"}, {"lower": 0.9, "created": "yesterday"})
    ['lower: 0.95, not 0.9']
    """
    return [
        f"{name}: {json.dumps(document.get(name))}, not {json.dumps(again.get(name))}"
        for name in {**document, **again}
        if name not in _PASSING
        and document.get(name, _UNSAID.get(name)) != again.get(name, _UNSAID.get(name))
        and (name in document or name not in _LATER)
    ]
