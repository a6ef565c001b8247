"""Who answers, how much and how fast, and how far people agree: Cohen's and Fleiss' kappa, Krippendorff's alpha."""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from statistics import fmean, median

from bela.book import Book, Opinions, opinions
from bela.records import Entry
from bela.views._labels import JsonLabel
from bela.views._rows import RowView, ShownRow

NOBODY = "me"  # what somebody is called who gave no name
_PAUSE = 180.0  # seconds without an answer that are no part of the pace
_RECENT = 300.0  # seconds that answers a minute are counted over
_QUICKEST = 0.05  # seconds for an answer, below which it was no person
_ANSWERS = 60  # answers that the pace is taken from
_MOST_PEOPLE = 30  # whose pairs are compared

Ratings = Mapping[str, Hashable]
"""What people said about one thing: person to label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who answers; `last` is the time of their last answer, `pace_seconds` what one usually takes them."""

    name: str
    answers: int
    skipped: int
    per_minute: float
    last: float | None
    pace_seconds: float | None


@dataclass(slots=True)
class _Counts:
    skipped: int = 0
    last: float | None = None
    times: deque[float] = field(default_factory=lambda: deque(maxlen=500))
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=_ANSWERS))


class People:
    """Counts of each person, from the journal and then as answers come in."""

    def __init__(self) -> None:
        self._people: dict[str, _Counts] = {}

    def read(self, events: Iterable[Entry]) -> None:
        """Take in what a journal says."""
        for event in events:
            name = name_in(event)
            if event.kind in ("answered", "rejected", "second opinion", "answered again"):
                self.answered(name, event.at)
            elif event.kind == "skipped":
                self.skipped(name)

    def answered(self, name: str, at: float) -> None:
        """Count an answer."""
        person = self._people.setdefault(name, _Counts())
        if person.last is not None and 0 <= at - person.last < _PAUSE:
            person.gaps.append(at - person.last)
        person.last = at
        person.times.append(at)

    def skipped(self, name: str) -> None:
        """Count a skip."""
        self._people.setdefault(name, _Counts()).skipped += 1

    def pace(self, name: str | None = None) -> float | None:
        """Return the seconds that an answer usually takes, of one person or of all; None if nobody can tell."""
        people = list(self._people.values()) if name is None else [self._people.get(name, _Counts())]
        gaps = [gap for person in people for gap in person.gaps]
        if len(gaps) < 3:
            return None
        pace = median(gaps)
        if pace < _QUICKEST:  # rows of a grid come in at the same moment
            pace = fmean(gaps)
        return pace if pace >= _QUICKEST else None

    def list(self, now: float, answers: Mapping[str | None, int]) -> list[Person]:
        """Return all people, those with the most answers first; `answers` are those that were not taken back."""
        names = [*self._people, *(name for name in answers if name is not None and name not in self._people)]
        found = []
        for name in names:
            counts = self._people.get(name, _Counts())
            recent = [at for at in counts.times if now - at <= _RECENT]
            span = max(now - recent[0], 20.0) if recent else _RECENT
            n_answers = answers.get(name, 0) + (answers.get(None, 0) if name == NOBODY else 0)
            found += [Person(
                name=name, answers=n_answers, skipped=counts.skipped, per_minute=round(60 * len(recent) / span, 2),
                last=counts.last, pace_seconds=self.pace(name),
            )]  # fmt: skip
        return sorted(found, key=lambda person: (-person.answers, person.name))


def name_in(event: Entry) -> str:
    """Return who did what an event of the journal tells."""
    by = event.data.get("by")
    return by if isinstance(by, str) else NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """How far two people agree."""

    people: tuple[str, str]
    n: int
    agreement: float
    cohen: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far people agree beyond chance, each pair and all together, on what they said at first."""

    n_shared: int
    n_differ: int
    cohen: float | None
    fleiss: float | None
    krippendorff: float | None
    pairs: Sequence[PairAgreement]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionView:
    """What somebody said."""

    by: str
    label: JsonLabel


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement(ShownRow):
    """A row that people see differently, and the label that counts."""

    question: int
    opinions: Sequence[OpinionView]
    label: JsonLabel
    settled: bool
    settled_by: str | None


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return the agreement of two people beyond chance; None where chance cannot be told from agreement.

    >>> round(cohen_kappa([("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15), 3)
    0.4
    """
    n = len(pairs)
    if not n:
        return None
    observed = sum(one == other for one, other in pairs) / n
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    expected = sum(first[label] * second[label] for label in first) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def fleiss_kappa(items: Iterable[Ratings]) -> float | None:
    """Return the agreement of several people beyond chance, on the things that most often so many spoke about.

    Fleiss' kappa takes the same number of opinions for each thing: those with another number are left out.
    """
    rated = [Counter(item.values()) for item in items if len(item) > 1]
    if not rated:
        return None
    numbers = Counter(counts.total() for counts in rated)
    m = max(numbers, key=lambda number: (numbers[number], number))
    rated = [counts for counts in rated if counts.total() == m]
    observed = sum(sum(k * (k - 1) for k in counts.values()) / (m * (m - 1)) for counts in rated) / len(rated)
    totals = sum(rated, Counter[Hashable]())
    n = totals.total()
    expected = sum((k / n) ** 2 for k in totals.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(items: Iterable[Ratings]) -> float | None:
    """Return Krippendorff's alpha for labels without order: any number of people, and not all need speak.

    >>> items = [{"A": 1, "B": 1}, {"A": 1, "B": 2}, {"A": 2, "B": 2, "C": 2}, {"A": 3}]
    >>> round(krippendorff_alpha(items), 3)
    0.5
    """
    totals: Counter[Hashable] = Counter()
    disagreement = 0.0
    for item in items:
        counts = Counter(item.values())
        m = counts.total()
        if m < 2:
            continue
        disagreement += (m**2 - sum(k * k for k in counts.values())) / (m - 1)
        totals += counts
    n = totals.total()
    expected = (n**2 - sum(k * k for k in totals.values())) / (n - 1) if n > 1 else 0.0
    return None if expected == 0 else 1 - disagreement / expected


def agreement_of(book: Book) -> Agreement:
    """Return how far the people of a campaign agree."""
    shared = opinions(book, at_least=2)
    items = [{by or NOBODY: label for by, label in found.said.items()} for found in shared]
    names = sorted({name for item in items for name in item})[:_MOST_PEOPLE]
    pairs = []
    for one, other in combinations(names, 2):
        said = [(item[one], item[other]) for item in items if one in item and other in item]
        if said:
            same = sum(first == second for first, second in said) / len(said)
            pairs.append(PairAgreement(people=(one, other), n=len(said), agreement=same, cohen=cohen_kappa(said)))
    return Agreement(
        n_shared=len(items), n_differ=sum(found.differ for found in shared), pairs=pairs, fleiss=fleiss_kappa(items),
        cohen=pairs[0].cohen if len(pairs) == 1 else None, krippendorff=krippendorff_alpha(items),
    )  # fmt: skip


def differing(book: Book) -> list[Opinions]:
    """Return the questions that people see differently."""
    return [found for found in opinions(book, at_least=2) if found.differ]


def disagreements(book: Book, view: RowView, *, settled: bool, offset: int, limit: int) -> list[Disagreement]:
    """Return rows that people see differently, the latest first: those that somebody has settled, or the others."""
    found = sorted((one for one in differing(book) if one.settled == settled), key=lambda one: -one.question)
    return [
        Disagreement(
            **asdict(view.show(one.row)), question=one.question, label=one.label,
            opinions=[OpinionView(by=by or NOBODY, label=label) for by, label in one.said.items()],
            settled=one.settled, settled_by=one.settled_by,
        )
        for one in found[offset : offset + limit]
    ]  # fmt: skip
