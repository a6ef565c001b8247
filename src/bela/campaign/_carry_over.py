"""What becomes of the answers when the data change under a campaign.

It begins anew with a journal of its own, and the answers to rows that are still there are labels that the data bring.
Answers to rows that are gone wait beside them: a row that comes back, as when a file was cut short by mistake, has its
answer again. The settings name all these files; replacing the settings is what makes it happen.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field, StrictInt, TypeAdapter

from bela.book import Book, ClassDeleted, ClassMerged, ClassRenamed, events, read_event
from bela.campaign._settings import SETTINGS, Settings, columns_apart, groups_now, write_durably, write_settings
from bela.data import given_labels, row_ids
from bela.errors import DataError, JournalError
from bela.features import FeaturePlan, pin_plan, plan_features
from bela.labels import LabelCodes, label_to_text
from bela.protocols import Table
from bela.records import Json, Label
from bela.storage import SQLiteJournal

Digests = npt.NDArray[np.uint64]
_BLOCK = 1 << 19  # digests that are written at once


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer and the digest of its row; the row is None while there is none of that content."""

    row: int | None
    label: Label
    digest: int


class _Carried(BaseModel):
    """Answers, and what classes are called by now that the data bring labels of under other names.

    In its file, names and count are the first line, and each answer is a further one.
    """

    names: list[tuple[events.LabelValue, events.LabelValue]]
    n_kept: int = 0
    answers: list[_Kept] = []


_LINE = TypeAdapter(tuple[Annotated[int, Field(strict=True, ge=0)] | None, events.LabelValue, StrictInt])


def read_carried(path: Path, settings: Settings) -> dict[int, Label]:
    """Return the answers from before the data changed, by row; none if they have not."""
    return {kept.row: kept.label for kept in _read(path, settings).answers if kept.row is not None}


def n_carried(path: Path, settings: Settings) -> int:
    """Count the answers that were kept when the data changed; labels that the data brought are not among them."""
    return _read(path, settings).n_kept


def brought_labels(records: Table, column: str | None) -> dict[int, Label]:
    """Return the labels that the data bring, by row; none without a column for them."""
    return {} if column is None else given_labels(records, column)


def save_digests(path: Path, records: Table) -> None:
    """Keep the digests of the rows, to tell later which have changed."""
    digests, header = records.row_digests(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(digests))
    blocks = (digests[start : start + _BLOCK].tobytes() for start in range(0, len(digests), _BLOCK))
    write_durably(path, chain([header.getvalue()], blocks))


def carry_over(
    path: Path, settings: Settings, records: Table, progress: Callable[[str, float], object] | None
) -> Settings:
    """Begin anew on changed data, with the answers to rows that are the same as before."""
    predicted = (name for names in settings.predictions for name in names)
    for column in (settings.id_column, settings.label_column, settings.prediction, settings.score, *predicted):
        if column is not None and column not in records.columns:
            raise DataError(f"{settings.data} has no column {column!r} any more: put the old data back")
    if settings.brought and records.fingerprint != settings.fingerprint:
        what = "whose rows are those of the old data: put these back, or begin another campaign with --campaign"
        raise DataError(f"{settings.data} has changed, and there are predictions in a file of their own, {what}")
    if settings.id_column is not None:
        row_ids(records, settings.id_column)  # an error, if there is one, before anything is changed
    book = _book_at_the_end(path, settings)
    earlier = _read(path, settings)
    names = _names(book, dict(earlier.names))
    codes = {row: int(book.known[row]) for row in book.answered} | book.corrections
    before, now = _load_digests(path, settings), records.row_digests()
    answers = [_Kept(row, book.codes.classes[code], int(before[row])) for row, code in codes.items()]
    answers += [replace(kept, label=_by_now(book, kept.label)) for kept in earlier.answers if kept.row not in codes]
    placed = _place(answers, now)
    labels = {kept.row: kept.label for kept in placed if kept.row is not None}
    n_kept, n_answers = len(labels), len(placed)
    brought = brought_labels(records, settings.label_column)
    for row, label in brought.items():
        if row not in labels and names.get(label, label) != label:  # a name that its class no longer has
            placed.append(_Kept(row, names[label], int(now[row])))
            labels[row] = names[label]
    classes = None if settings.classes is None else book.codes.names
    allowed = LabelCodes(classes)
    for label in (brought | labels).values():
        allowed.encode(label)  # an error, too
    number = _next_number(path)
    new = settings.model_copy(
        update={
            "fingerprint": records.fingerprint, "n_rows": records.n_rows, "features": _plan(settings, records),
            "journal": f"journal-{number}.sqlite", "rows": f"rows-{number}.npy", "carried": f"carried-{number}.jsonl",
            "budget": None if settings.budget is None else min(settings.budget, records.n_rows), "classes": classes,
            "groups": {label_to_text(name): group for name, group in groups_now(settings, book.codes).items()},
        }
    )  # fmt: skip
    SQLiteJournal(path / new.journal, create=True).close()
    lines = [json.dumps({"names": list(names.items()), "n_kept": n_kept}) + "\n"]
    lines += [json.dumps([kept.row, kept.label, kept.digest]) + "\n" for kept in placed]
    write_durably(path / str(new.carried), "".join(lines).encode())
    save_digests(path / new.rows, records)
    write_settings(path / SETTINGS, new)
    if progress is not None:
        progress(f"{n_kept} of {n_answers} answers are about rows that are the same", 1.0)
    return new


def _book_at_the_end(path: Path, settings: Settings) -> Book:
    """Fold a journal, for what it says about the rows and the classes."""
    book = Book(settings.n_rows, classes=settings.classes)
    with closing(SQLiteJournal(path / settings.journal, read_only=True)) as journal:
        for entry in journal.events():
            event = read_event(entry.seq, entry.kind, entry.data)
            if isinstance(event, (ClassRenamed, ClassMerged)):
                for name in (event.old, event.into) if isinstance(event, ClassMerged) else (event.old,):
                    book.codes.add(name)  # it may be known from labels that the old data brought
            elif isinstance(event, ClassDeleted):
                book.codes.add(event.label)
            book.replay(entry.seq, event)
    return book


def _by_now(book: Book, label: Label) -> Label:
    """Return what a class is called by now that had this name in the beginning."""
    for step in book.steps:
        if isinstance(step.event, ClassRenamed) and step.event.old == label:
            label = step.event.new
        elif isinstance(step.event, ClassMerged) and step.event.old == label:
            return book.codes.classes[book.code_now(step.into)]
    return label


def _names(book: Book, earlier: dict[Label, Label]) -> dict[Label, Label]:
    """Return what each class that was ever renamed or merged is called by now."""
    names = {label: _by_now(book, name) for label, name in earlier.items()}
    for step in book.steps:
        if isinstance(step.event, (ClassRenamed, ClassMerged)):
            names.setdefault(step.event.old, _by_now(book, step.event.old))
    return names


def _place(answers: list[_Kept], now: Digests) -> list[_Kept]:
    """Find each answer's row again: where it was, or else the first with its content that has no answer yet."""
    n = len(now)
    stay = {kept.row for kept in answers if kept.row is not None and kept.row < n and now[kept.row] == kept.digest}
    wanted = np.array([kept.digest for kept in answers if kept.row not in stay], dtype=np.uint64)
    free: dict[int, list[int]] = {digest: [] for digest in wanted.tolist()}
    for row in reversed(np.flatnonzero(np.isin(now, wanted)).tolist()):
        if row not in stay:
            free[int(now[row])].append(row)

    def place(kept: _Kept) -> _Kept:
        return kept if kept.row in stay else replace(kept, row=free[kept.digest].pop() if free[kept.digest] else None)

    return sorted(map(place, answers), key=lambda kept: (kept.row is None, kept.row, kept.digest))


def _plan(settings: Settings, records: Table) -> dict[str, Json]:
    """Plan the features of changed data, with columns as they were taken before."""
    before = FeaturePlan.from_dict(settings.features)
    exclude = {name for name in columns_apart(settings) if name in records.columns}
    kinds = {name: kind for name, kind in before.columns.items() if name in records.columns}
    now = plan_features(
        records, exclude=exclude, kinds=kinds, features=before.features, embed="none", needed=not settings.predictions
    )
    models = {name: model for name, model in before.embed.items() if now.columns.get(name) == before.columns[name]}
    now = pin_plan(replace(now, embed=models), records.n_rows)
    return now.to_dict()  # rows that are the same keep their vectors


def _next_number(path: Path) -> int:
    """Return a number for the files of a new beginning that none of them had before."""
    used = [re.fullmatch(r"(?:journal|rows|carried)-(\d+)\..*", entry.name) for entry in path.iterdir()]
    return max([1, *(int(match[1]) for match in used if match)]) + 1


def _load_digests(path: Path, settings: Settings) -> Digests:
    try:
        digests: Digests = np.load(path / settings.rows, allow_pickle=False)
        if digests.dtype != np.uint64 or digests.shape != (settings.n_rows,):
            raise ValueError("it is damaged, restore a copy of it")
    except (OSError, ValueError, EOFError) as error:
        raise JournalError(f"{path / settings.rows} cannot be read, so nobody can tell what changed: {error}") from None
    return digests


def _read(path: Path, settings: Settings) -> _Carried:
    if settings.carried is None:
        return _Carried(names=[])
    file = path / settings.carried
    try:
        head, *lines = file.read_bytes().splitlines()
        carried = _Carried.model_validate_json(head)
        carried.answers = [_Kept(*_LINE.validate_json(line)) for line in lines]
        if any(kept.row is not None and kept.row >= settings.n_rows for kept in carried.answers):
            raise ValueError("there is no such row")
    except OSError as error:
        raise JournalError(f"{file} cannot be read, restore a copy of it: {error.strerror or error}") from None
    except ValueError:  # among them whatever makes no sense
        raise JournalError(f"{file} is damaged: restore a copy of it") from None
    return carried
