"""Finding rows among all: by what is in them, by label, source and confidence, and by what people did with them.

Labels and confidences are arrays, so all rows are looked at. Texts are read from the data, block by block and for as
long as there is time: what is found then is said to be that of the first so many rows, and the next call goes on there.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from bela.book import Book, events
from bela.campaign import StoredCampaign
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray, Label
from bela.views._labels import Labels, lowest
from bela.views._matching import match_rows, split_terms
from bela.views._people import NOBODY
from bela.views._rows import LabelledRow, RowView

SOURCES = ("unlabelled", "inferred", "prediction", "oracle", "given", "corrected", "unreadable")
"""Where labels come from: nowhere yet, the method, a prediction that it agrees with, answers, the data, corrections."""

WAITS = "waiting"
"""What stands in the place of a source where somebody is still to say what the row is: it has no label in sight."""

_BLOCK = 4096  # rows between two looks at the clock
_LONG = 1 << 22  # bytes of text, likewise
_FEW = 4  # codes, which are compared one by one
_LAST = 2.0  # in place of a probability, so that a row comes after all others


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows are looked for: all that is said must hold.

    `text` are words, in quotes where they belong together; `below` and `above` bound the confidence of labels that
    nobody has given, `person` has answered, corrected or given an opinion.
    """

    text: str = ""
    labels: Sequence[Label] = ()
    sources: Sequence[str] = ()
    below: float | None = None
    above: float | None = None
    person: str | None = None
    flagged: bool = False
    skipped: bool = False

    @property
    def tells_labels(self) -> bool:
        """Whether being found tells something about the label of a row."""
        return bool(self.labels or self.sources) or self.below is not None or self.above is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlace:
    """Where to go on: after a row, and after all that are surer where the least certain come first."""

    row: int
    probability: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagNote:
    """Why somebody wants a row to be looked at."""

    comment: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow(LabelledRow):
    """A row that was found, with what people did with it.

    Where somebody is still to say what it is, `waits` tells for what ("answer", "opinion" or "again"), and neither
    label nor probability nor people are there. For whoever is to see no labels of "others", all these rows are alike.
    """

    waits: str | None
    people: Sequence[str]
    flags: Sequence[FlagNote]
    skipped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """Rows that were found, and where to go on if there may be more.

    `n_looked` rows were looked at so far, this time and before. `n_found` is how many there are in all, None where not
    all were looked at. Without `by_doubt` they are in the order of the data.
    """

    rows: Sequence[FoundRow]
    next: FoundPlace | None
    n_looked: int
    n_found: int | None
    by_doubt: bool


class Finder:
    """Finds rows of a campaign; the lock is held while it looks into that, and not while it reads texts."""

    def __init__(
        self, stored: StoredCampaign, view: RowView, lock: AbstractContextManager[object] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:  # fmt: skip
        self._records, self._view, self._lock, self._clock = stored.records, view, lock or nullcontext(), clock
        self._book, self._predictions = stored.campaign.book, stored.campaign.predictions

    def find(
        self, wanted: Wanted, labels: Labels | None, *, waits: Mapping[int, str], after: FoundPlace | None = None,
        limit: int = 60, seconds: float | None = None, own: str | None = None,
    ) -> FoundRows:  # fmt: skip
        """Return at most `limit` rows that are wanted, from some place on.

        `waits` are rows that somebody is still to say something about, and what. These are shown without what is known
        of them, and never found by it; so are all rows whose labels are not their `own`, where somebody is to see no
        others, and they see neither flags nor names of others. With `seconds`, texts are looked through for about as
        long.
        """
        terms = split_terms(wanted.text)
        with self._lock:
            facts = _Facts(self._book, labels)
            deeds = _Deeds(self._book, own)
            of_person = set[int]() if wanted.person is None else deeds.rows_of(self._book, wanted.person)
            seen = None if own is None else deeds.labelled_by(self._book, own)
        facts.join(labels, [one.codes for one in self._predictions.values()])
        blind = _among(waits, len(facts.codes))
        if seen is not None:
            blind |= ~_among(seen, len(blind))
            of_person &= seen
        chosen = _choose(wanted, facts, deeds, of_person, blind)
        if terms:
            rows, place, n_looked = self._read(chosen, terms, after, limit, seconds)
            n_found = len(rows) if place is None and after is None else None
        else:
            rows, place, n_found = _least_certain(chosen, facts.probability, blind, after, limit)
            n_looked = len(chosen)
        with self._lock:
            people = {row: [own] if own is not None else _people(self._book, deeds, row) for row in rows}
        # Which rows wait follows from how others answered.
        unseen = {row: "others" if own is not None else waits[row] for row in rows if blind[row]}
        shown = [self._show(row, facts, deeds, people[row], unseen.get(row)) for row in rows]
        return FoundRows(rows=shown, next=place, n_looked=n_looked, n_found=n_found, by_doubt=not terms)

    def _read(
        self, chosen: BoolArray, terms: Sequence[str], after: FoundPlace | None, limit: int, seconds: float | None
    ) -> tuple[list[int], FoundPlace | None, int]:
        """Return rows with these words among those that are chosen, where to go on, and how many were looked at."""
        start, n_rows, found = 0 if after is None else after.row + 1, len(chosen), list[int]()
        columns, end = self._view.searched, None if seconds is None else self._clock() + seconds
        left = np.flatnonzero(chosen[start:])
        if not columns or not len(left):
            return [], None, n_rows
        start += int(left[0])
        for batch in self._records.batches(columns, start=start, most=_BLOCK):
            step = max(1, int(batch.num_rows * _LONG / max(batch.nbytes, _LONG)))
            for at in range(0, batch.num_rows, step):
                part = batch.slice(at, step)
                rows = np.flatnonzero(chosen[start : start + part.num_rows])
                if len(rows):
                    some = part if len(rows) == part.num_rows else part.take(rows)
                    matched = match_rows(some, terms, self._view.filed).to_numpy(zero_copy_only=False)
                    found += (rows[matched] + start).tolist()
                start += part.num_rows
                if len(found) >= limit:
                    found = found[:limit]
                    return found, FoundPlace(row=found[-1]), found[-1] + 1
                if end is not None and self._clock() >= end and start < n_rows:
                    return found, FoundPlace(row=start - 1), start
        return found, None, n_rows

    def _show(self, row: int, facts: "_Facts", deeds: "_Deeds", people: list[str], waits: str | None) -> FoundRow:
        shown, flags = asdict(self._view.show(row)), deeds.flags.get(row, ())
        if waits is not None:
            return FoundRow(
                **shown, label=None, source=WAITS, probability=None, waits=waits, people=(), flags=flags, skipped=False
            )
        label = facts.label(row)
        return FoundRow(
            **shown, label=label, source=SOURCES[facts.source[row]], waits=None, people=people, flags=flags,
            probability=None if label is None else float(facts.probability[row]), skipped=row in deeds.skipped,
        )  # fmt: skip


class _Facts:
    """The labels of all rows as class codes, where they come from and how sure they are, at one moment.

    What the book says is taken down when it is made, and joined with what the method says later, without the lock.
    """

    def __init__(self, book: Book, labels: Labels | None) -> None:
        self._classes, self._known, self._corrections = book.codes.classes, book.known.copy(), dict(book.corrections)
        self._given, self._aside = list(book.given), list(book.set_aside)
        self._now = np.array([*(book.code_now(code) for code in range(len(self._classes))), UNKNOWN], dtype=np.int32)
        # A label may be of a class that was renamed or merged since: then the rows have none until they are made anew.
        found = {} if labels is None else {label: book.codes.find(label) for label in labels.counts}
        self._of_labels = np.array([UNKNOWN if code is None else code for code in found.values()], dtype=np.int32)
        self._find = book.codes.find

    def join(self, labels: Labels | None, predictions: Sequence[IntArray]) -> None:
        """Work out label, source and probability of each row."""
        known, rows = self._known, np.array(list(self._corrections), dtype=np.int64)
        n = len(known)
        self.codes: IntArray = np.full(n, UNKNOWN, np.int32) if labels is None else self._of_labels[labels.codes]
        self.source: npt.NDArray[np.int8] = np.where(self.codes == UNKNOWN, *_at("unlabelled", "inferred"))
        self.probability: FloatArray = np.ones(n) if labels is None else np.array(labels.result.probability)
        for predicted in predictions:
            said = self._now[predicted]
            self.source[(said == self.codes) & (said != UNKNOWN)] = SOURCES.index("prediction")
        is_known = known != UNKNOWN
        np.copyto(self.codes, known, where=is_known)
        np.copyto(self.source, SOURCES.index("oracle"), where=is_known)
        self.source[self._given] = SOURCES.index("given")
        self.source[self._aside] = SOURCES.index("unreadable")
        self.codes[rows], self.source[rows] = list(self._corrections.values()), SOURCES.index("corrected")
        is_known[rows] = True
        self.probability[is_known] = 1.0

    def label(self, row: int) -> Label | None:
        """Return the label of a row, None where it has none."""
        code = int(self.codes[row])
        return None if code == UNKNOWN else self._classes[code]

    def codes_of(self, labels: Sequence[Label]) -> list[int]:
        """Return the codes of classes, without those that there are not."""
        return [code for label in labels if (code := self._find(label)) is not None]


def _at(*names: str) -> tuple[np.int8, ...]:
    return tuple(np.int8(SOURCES.index(name)) for name in names)


class _Deeds:
    """What people did with rows and did not take back: flagged or skipped them, or said what they are."""

    def __init__(self, book: Book, own: str | None) -> None:
        self.flags: dict[int, list[FlagNote]] = {}
        self.relabelled: dict[int, str] = {}
        for step in book.steps:
            match step.event:
                case events.Flagged(row=row, comment=comment, by=by) if own is None or own == (by or NOBODY):
                    self.flags.setdefault(row, []).append(FlagNote(comment=comment, by=by or NOBODY))
                case events.Relabelled(row=row, by=by):
                    self.relabelled[row] = by or NOBODY
        declined = set(np.flatnonzero(book.declined).tolist())
        self.skipped = declined.difference(book.set_aside, book.rejected, book.corrections)

    def rows_of(self, book: Book, person: str) -> set[int]:
        """Return the rows that somebody has said something about."""
        names = {person, None} if person == NOBODY else {person}
        rows = {row for row, number in book.answered.items() if names & book.said[number].keys()}
        return rows.union(row for row, by in self.relabelled.items() if by == person)

    def labelled_by(self, book: Book, person: str) -> set[int]:
        """Return the rows that have the label which somebody gave them."""
        names = {person, None} if person == NOBODY else {person}
        rows = {row for row, number in book.answered.items() if next(iter(book.said[number])) in names}
        return {row for row in rows.union(self.relabelled) if self.relabelled.get(row, person) == person}


def _people(book: Book, deeds: _Deeds, row: int) -> list[str]:
    """Return who has said something about a row, the first at first."""
    said = book.said.get(book.answered.get(row, -1), {})
    found = [by or NOBODY for by in said]
    return list(dict.fromkeys([*found, *([deeds.relabelled[row]] if row in deeds.relabelled else ())]))


def _choose(wanted: Wanted, facts: _Facts, deeds: _Deeds, of_person: set[int], blind: BoolArray) -> BoolArray:
    """Return which rows are wanted, whatever stands in them."""
    chosen: BoolArray = np.ones(len(facts.codes), dtype=bool)
    if wanted.labels:
        chosen &= _one_of(facts.codes, facts.codes_of(wanted.labels))
    if wanted.sources:
        chosen &= _one_of(facts.source, [SOURCES.index(name) for name in wanted.sources if name in SOURCES])
    if wanted.below is not None or wanted.above is not None:
        chosen &= _one_of(facts.source, _at("inferred", "prediction"))
        chosen &= facts.probability < (_LAST if wanted.below is None else wanted.below)
        chosen &= facts.probability >= (0.0 if wanted.above is None else wanted.above)
    if wanted.tells_labels:
        chosen &= ~blind
    for applies, rows in (
        (wanted.flagged, deeds.flags), (wanted.skipped, deeds.skipped), (wanted.person is not None, of_person)
    ):  # fmt: skip
        if applies:
            chosen &= _among(rows, len(chosen))
    return chosen


def _one_of(codes: IntArray | npt.NDArray[np.int8], wanted: Sequence[int | np.int8]) -> BoolArray:
    """Return which codes are wanted, by a table: `np.isin` takes several times as long."""
    if len(wanted) <= _FEW:
        found: BoolArray = np.zeros(len(codes), dtype=bool)
        for code in wanted:
            found |= codes == code
        return found
    table = np.zeros(max(wanted) + 2, dtype=bool)
    table[np.asarray(wanted)] = True
    return table[np.minimum(codes, len(table) - 1)]  # UNKNOWN, which is -1, is the last one, which is not wanted


def _among(rows: Collection[int], n_rows: int) -> BoolArray:
    found = np.zeros(n_rows, dtype=bool)
    found[list(rows)] = True
    return found


def _least_certain(
    chosen: BoolArray, probability: FloatArray, blind: BoolArray, after: FoundPlace | None, limit: int
) -> tuple[list[int], FoundPlace | None, int]:
    """Return the chosen rows that are least certain after some place, the next place, and how many there are in all.

    Those that wait come last, as their place would tell how sure their label is.
    """
    rows, n_found = np.flatnonzero(chosen), int(np.count_nonzero(chosen))
    doubt = probability[rows]
    doubt[blind[rows]] = _LAST
    if after is not None and after.probability is not None:
        later = (doubt > after.probability) | ((doubt == after.probability) & (rows > after.row))
        rows, doubt = rows[later], doubt[later]
    taken = lowest(doubt, limit)
    found = rows[taken].tolist()
    more = len(rows) > len(found)
    return found, FoundPlace(row=found[-1], probability=float(doubt[taken[-1]])) if more else None, n_found
