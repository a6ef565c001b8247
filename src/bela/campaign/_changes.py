"""What becomes of the answers when the data change under a campaign.

It begins anew with a journal of its own, and the answers to rows that are still there are labels that the data bring.
Answers to rows that are gone wait beside them: a row that comes back, as when a file was cut short by mistake, has its
answer again. The settings name all these files; replacing the settings is what makes it happen.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bela._labels import LabelCodes
from bela.campaign._bystander import Bystander
from bela.campaign._deeds import Merged, Renamed
from bela.campaign._durable import write_durably
from bela.campaign._settings import SETTINGS, Settings, write_settings
from bela.campaign._state import State
from bela.errors import DataError, JournalError
from bela.features import plan_features
from bela.journal import SQLiteJournal
from bela.protocols import Records
from bela.records import Label
from bela.sources import known_labels, row_ids

Digests = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer and the digest of its row; the row is None while there is none of that content."""

    row: int | None
    label: Label
    digest: int


@dataclass(frozen=True, slots=True)
class _Carried:
    """Answers, and what classes are called by now that the data bring labels of under other names."""

    answers: list[_Kept]
    names: dict[Label, Label]
    n_kept: int = 0


def read_carried(path: Path, settings: Settings) -> dict[int, Label]:
    """Return the answers from before the data changed, by row; none if they have not."""
    return {kept.row: kept.label for kept in _read(path, settings).answers if kept.row is not None}


def n_carried(path: Path, settings: Settings) -> int:
    """Count the answers that were kept when the data changed; labels that the data brought are not among them."""
    return _read(path, settings).n_kept


def save_digests(path: Path, records: Records) -> None:
    """Keep the digests of the rows, to tell later which have changed."""
    buffer = io.BytesIO()
    np.save(buffer, records.row_digests())
    write_durably(path, buffer.getvalue())


def carry_over(
    path: Path, settings: Settings, records: Records, progress: Callable[[str, float], object] | None
) -> Settings:
    """Begin anew on changed data, with the answers to rows that are the same as before."""
    for column in (settings.id_column, settings.label_column):
        if column is not None and column not in records.columns:
            raise DataError(f"{settings.data} has no column {column!r} any more: put the old data back")
    if settings.id_column is not None:
        row_ids(records, settings.id_column)  # an error, if there is one, before anything is changed
    state = _state_at_the_end(path, settings)
    earlier = _read(path, settings)
    names = _names(state, earlier.names)
    codes = {row: int(state.known[row]) for row in state.asked} | state.volunteered
    before, now = _load_digests(path, settings), records.row_digests()
    answers = [_Kept(row, state.codes.classes[code], int(before[row])) for row, code in codes.items()]
    answers += [replace(kept, label=_by_now(state, kept.label)) for kept in earlier.answers if kept.row not in codes]
    placed = _place(answers, now)
    n_kept, n_answers = sum(kept.row is not None for kept in placed), len(placed)
    classes = None if settings.classes is None else state.codes.names
    placed += _renamed(settings, records, names, {kept.row for kept in placed}, now)
    _check_labels(settings, records, classes, placed)
    number = _next_number(path)
    new = replace(
        settings, fingerprint=records.fingerprint, n_rows=records.n_rows, features=_plan(settings, records),
        journal=f"journal-{number}.sqlite", rows=f"rows-{number}.npy", carried=f"carried-{number}.jsonl",
        budget=None if settings.budget is None else min(settings.budget, records.n_rows), classes=classes,
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


def _state_at_the_end(path: Path, settings: Settings) -> State:
    """Let a journal happen without any method, for what it says about the rows and the classes."""
    codes = LabelCodes(settings.classes)
    state = State(Bystander(), codes, settings.n_rows, target=None, budget=None)
    journal = SQLiteJournal(path / settings.journal, read_only=True)
    try:
        for event in journal.events():
            if event.kind in ("class renamed", "class merged"):
                for name in (event.data.get("old"), event.data.get("into")):
                    if isinstance(name, (str, int)):  # it may be known from labels that the old data brought
                        codes.add(name)
            if event.seq > 1:
                state.happen_again(event.seq, event.kind, event.data)
    finally:
        journal.close()
    return state


def _by_now(state: State, label: Label) -> Label:
    """Return what a class is called by now that had this name in the beginning."""
    for deed in state.history:
        if isinstance(deed, Renamed) and deed.old == label:
            label = deed.new
        elif isinstance(deed, Merged) and deed.old == label:
            return state.codes.classes[state.now(deed.into)]
    return label


def _names(state: State, earlier: dict[Label, Label]) -> dict[Label, Label]:
    """Return what each class that was ever renamed or merged is called by now."""
    names = {label: _by_now(state, name) for label, name in earlier.items()}
    for deed in state.history:
        if isinstance(deed, (Renamed, Merged)):
            names.setdefault(deed.old, _by_now(state, deed.old))
    return names


def _place(answers: list[_Kept], now: Digests) -> list[_Kept]:
    """Find each answer's row again: where it was, or else the first with its content that has no answer yet."""
    n = len(now)
    stay = {kept.row for kept in answers if kept.row is not None and kept.row < n and now[kept.row] == kept.digest}
    wanted = {kept.digest for kept in answers if kept.row not in stay}
    free: dict[int, Iterator[int]] = {}
    if wanted:
        rows = np.flatnonzero(np.isin(now, np.array(sorted(wanted), dtype=np.uint64)))
        by_digest: dict[int, list[int]] = {}
        for row in rows.tolist():
            if row not in stay:
                by_digest.setdefault(int(now[row]), []).append(row)
        free = {digest: iter(places) for digest, places in by_digest.items()}
    found = [
        kept if kept.row in stay else replace(kept, row=next(free.get(kept.digest, iter(())), None)) for kept in answers
    ]
    return sorted(found, key=lambda kept: (kept.row is None, kept.row, kept.digest))


def _renamed(
    settings: Settings, records: Records, names: dict[Label, Label], answered: set[int | None], now: Digests
) -> list[_Kept]:
    """Return the labels that the data bring under a name that their class no longer has."""
    brought = {} if settings.label_column is None else known_labels(records, settings.label_column)
    return [
        _Kept(row, names[label], int(now[row]))
        for row, label in brought.items()
        if names.get(label, label) != label and row not in answered
    ]


def _check_labels(
    settings: Settings, records: Records, classes: tuple[Label, ...] | None, carried: list[_Kept]
) -> None:
    """Raise an error if the campaign could not begin with these labels, before anything is changed."""
    labels: dict[int, Label] = {}
    if settings.label_column is not None:
        labels.update(known_labels(records, settings.label_column))
    labels.update((kept.row, kept.label) for kept in carried if kept.row is not None)
    codes = LabelCodes(classes)
    for label in labels.values():
        codes.encode(label)


def _plan(settings: Settings, records: Records) -> dict[str, Any]:
    """Plan the features of changed data, with columns as they were taken before."""
    columns = dict(settings.features.get("columns", {}))
    plan = plan_features(
        records,
        exclude={name for name in (settings.label_column, *settings.hidden) if name in records.columns},
        kinds={name: kind for name, kind in columns.items() if name in records.columns},
        function=settings.features.get("function"),
        text_model=settings.features.get("text_model"),
    )
    return plan.to_dict()


def _next_number(path: Path) -> int:
    """Return a number for the files of a new beginning that none of them had before."""
    used = [re.fullmatch(r"(?:journal|rows|carried)-(\d+)\..*", entry.name) for entry in path.iterdir()]
    return max([1, *(int(match[1]) for match in used if match)]) + 1


def _load_digests(path: Path, settings: Settings) -> Digests:
    try:
        digests: Digests = np.load(path / settings.rows, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise JournalError(f"{path / settings.rows} cannot be read, so nobody can tell what changed: {error}") from None
    if digests.dtype != np.uint64 or digests.shape != (settings.n_rows,):
        raise JournalError(f"{path / settings.rows} is damaged, so nobody can tell what changed: restore a copy of it")
    return digests


def _read(path: Path, settings: Settings) -> _Carried:
    if settings.carried is None:
        return _Carried([], {})
    file = path / settings.carried
    try:
        head, *lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        carried = _Carried([_Kept(*line) for line in lines], dict(head["names"]), int(head.get("n_kept", 0)))
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise JournalError(f"{file} cannot be read, restore a copy of it: {error}") from None
    labels = [kept.label for kept in carried.answers] + [name for pair in carried.names.items() for name in pair]
    if not all(type(label) in (str, int, bool) for label in labels):
        raise JournalError(f"{file} is damaged: restore a copy of it")
    for kept in carried.answers:
        row_makes_sense = kept.row is None or (type(kept.row) is int and 0 <= kept.row < settings.n_rows)
        if not row_makes_sense or type(kept.digest) is not int:
            raise JournalError(f"{file} is damaged: restore a copy of it")
    return carried
