"""Who said what about which rows, and when: what a book knows, with the times that a journal has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from bela.book import Answered, Book, Event, Flagged, Relabelled, SecondOpinion
from bela.labels import label_to_text
from bela.records import Entry

Said = Mapping[str, str | None]
_KINDS = {event.kind for event in (Answered, Flagged, Relabelled, SecondOpinion)}
_Key = tuple[str, frozenset[tuple[str, object]]]
_TEXT = pa.string()
_OPINIONS = pa.list_(pa.struct({"by": _TEXT, "at": _TEXT, "label": _TEXT}))
_FLAGS = pa.list_(pa.struct({"by": _TEXT, "at": _TEXT, "comment": _TEXT}))


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What people did with rows and did not take back.

    For each row: who gave its label and when, what else was said of it (each opinion with its label, as text), and
    why it was flagged.
    """

    answers: Mapping[int, Said]
    opinions: Mapping[int, Sequence[Said]]
    flags: Mapping[int, Sequence[Said]]

    def columns(self, start: int, stop: int) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
        """Return, for some rows, who answered, when, further opinions, and flags; nothing where there is nothing."""
        rows = range(start, stop)
        by, at = ([self.answers.get(row, {}).get(name) for row in rows] for name in ("by", "at"))
        opinions, flags = ([found.get(row) for row in rows] for found in (self.opinions, self.flags))
        return pa.array(by, _TEXT), pa.array(at, _TEXT), pa.array(opinions, _OPINIONS), pa.array(flags, _FLAGS)


def history_of(book: Book, entries: Iterable[Entry]) -> History:
    """Put together what a book and its journal say about each row.

    Whoever changed a label, or corrected it, has given it; then what was answered before is an opinion.
    """
    times = {_key(one.kind, one.data): one.at for one in entries if one.kind in _KINDS}
    answers: dict[int, Said] = {}
    flags: dict[int, list[Said]] = {}
    said_at: dict[tuple[int, str | None], str | None] = {}
    changed: set[int] = set()
    for step in book.steps:
        event, at = step.event, _moment(times, step.event)
        match event:
            case Answered(question=question, by=by):
                row = book.questions[question].row
                if by is not None or row not in changed:  # or a row was asked that somebody had corrected
                    answers[row] = {"by": by, "at": at}
                changed.discard(row)
                said_at[question, by] = at
            case SecondOpinion(question=question, by=by):
                said_at[question, by] = at
            case Relabelled(row=row, by=by):
                answers[row] = {"by": by, "at": at}
                changed.add(row)
            case Flagged(row=row, by=by, comment=comment):
                flags.setdefault(row, []).append({"by": by, "at": at, "comment": comment})
    names, opinions = book.codes.classes, dict[int, list[Said]]()
    for row, question in book.answered.items():
        for place, (by, code) in enumerate(book.said[question].items()):
            if place or row in changed:
                label, at = label_to_text(names[book.code_now(code)]), said_at.get((question, by))
                opinions.setdefault(row, []).append({"by": by, "at": at, "label": label})
    return History(answers=answers, opinions=opinions, flags=flags)


def _key(kind: str, data: Mapping[str, object]) -> _Key:
    return kind, frozenset(data.items())


def _moment(times: Mapping[_Key, float], event: Event) -> str | None:
    """Return when an event was written last, as it may have been taken back and done again."""
    at = times.get(_key(event.kind, event.model_dump(exclude_defaults=True))) if event.kind in _KINDS else None
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
