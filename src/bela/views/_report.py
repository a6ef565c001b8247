"""What a report of a campaign says, gathered from its journal, its labels, and what the page has noted.

Nothing in it is HTML, and whoever writes it escapes it.
"""

from __future__ import annotations

import base64
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bela.book import again, count, flags, n_said
from bela.campaign import StoredCampaign, audit_result, audited_label
from bela.errors import BelaError
from bela.exports import certificate_document
from bela.records import Entry, Forecast, IntArray, Json, Label, Result
from bela.views._labels import ChartPoint, Labels, LeafView, chart_point
from bela.views._notes import Notes, guidelines_html, read_guidelines
from bela.views._people import NOBODY, Agreement, agreement_of, name_in
from bela.views._pictures import Pictures
from bela.views._rows import RowView, ShownRow
from bela.views._status import AuditStatus, audit_status

_EACH = 7  # examples of each kind and class
_MOST_CLASSES = 20  # that have examples
_MOST_QUESTIONS = 400
_LONGEST = 240  # characters of an example
_BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A row as a report shows it: its values cut to a length that can be printed, its pictures as `data:` addresses."""

    name: str
    text: str
    pictures: Sequence[str]
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRow:
    """A question of a campaign: the row, what it was asked for, what was predicted, who said what and when.

    The answer is None where the question was skipped, or the label under audit `rejected` without the right one.
    """

    name: str
    text: str
    pictures: Sequence[str]
    role: str
    predicted: Label | None
    answer: Label | None
    by: str
    at: float
    rejected: bool = False


_MakeAsked = Callable[..., AskedRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFacts:
    """A class: how many rows have it, how many of them are known, the surest of the others and the least sure."""

    label: Label
    n_rows: int
    n_known: int
    surest: Sequence[Example] = ()
    doubtful: Sequence[Example] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts:
    """All that a report of a campaign says."""

    name: str
    certificate: Mapping[str, Any]  # the document that goes with its exports
    expected: float | None  # the share of labels that the model expects to be right
    forecast: Forecast | None
    n_corrected: int  # rows whose label somebody corrected without being asked
    course: Sequence[ChartPoint]
    classes: Sequence[ClassFacts]
    leaves: Sequence[LeafView]  # the largest first
    sureness: Sequence[int]  # how many rows have labels of which probability, from 0 to 1 in equal steps
    confusions: Sequence[tuple[Label, Label, int]]  # predicted, answered, how often; the most common first
    n_predicted: int  # answers that the labels of that time had predicted, rightly or not
    n_right: int
    asked: Sequence[AskedRow]  # in their order; where there are very many, some of them
    people: Sequence[tuple[str, int, int]]  # name, answers, skipped
    agreement: Sequence[tuple[str, float]]  # measure and value, where several spoke about the same rows
    flags: Sequence[tuple[str, str, str]]  # the row's name, the comment, by whom
    guidelines: str  # as Markdown made them: harmless HTML that is well-formed XML
    data: Sequence[tuple[str, str]]  # what is known of the data, and its value
    versions: Sequence[tuple[str, str]]
    created: str
    audit: AuditStatus | None = None
    mistakes: Sequence[tuple[str, Label, Label | None]] = ()  # in an audit: row, its label, the right one if known


def result_of(stored: StoredCampaign) -> tuple[Result, Callable[..., dict[str, Json]]]:
    """Return the labels of this moment, and what describes them, or those that were kept, which takes longer."""
    result, book = stored.campaign.result(), stored.campaign.book
    at: dict[str, Json] = {"events": stored.journal.n_events, "digest": stored.journal.digest}
    describe = partial(
        certificate_document, records=stored.records, target=book.target, class_target=book.class_target,
        given=stored.given, n_skipped=book.n_skipped,
        n_suggested=dict(book.n_suggested), again=again(book), cost=book.cost,
        language_model=stored.language_model, helper=book.help,
    )  # fmt: skip
    return result, lambda kept=result: {**describe(kept), "journal": at}


class Reporter:
    """Gathers the facts of a campaign, which may be one that is only read."""

    def __init__(self, stored: StoredCampaign, view: RowView | None = None, pictures: Pictures | None = None) -> None:
        self._stored, self._campaign = stored, stored.campaign
        self._view = view or RowView.of(stored)
        self._pictures = pictures or Pictures(stored.records, self._view.images)

    def look(self, notes: Notes, course: Sequence[ChartPoint] = ()) -> Callable[[], CampaignFacts]:
        """Take down how things are just now, with the campaign's lock held; return what gathers the facts without it.

        Nothing that comes later is in them. Without a course of its own, a report has the points that the page noted.
        """
        campaign, stored, book = self._campaign, self._stored, self._campaign.book
        result, describe = result_of(stored)
        events = [event for event in stored.journal.events() if event.kind in ("answered", "rejected", "skipped")]
        n_skips = Counter(name_in(event) for event in events if event.kind == "skipped")
        audit = audit_status(stored)
        predicted, mistakes = dict(notes.predicted), audit_result(campaign).mistakes if audit else ()
        if audit:
            predicted = {question.id: audited_label(campaign, question.row) for question in book.questions}
        asked, people, marked = self._asked(events, predicted), n_said(book).most_common(), flags(book)
        forecast, n_corrected, agreement = campaign.forecast, count(book).n_corrected, agreement_of(book)
        now = chart_point(campaign, result)
        points = list(course) or [*(point for point in notes.points() if point.answers < now.answers), now]
        answered = {question: book.answer_to(question) for question in predicted}
        pairs = [(predicted[question], found) for question, found in answered.items() if found is not None]

        def gather() -> CampaignFacts:
            wrong = Counter(pair for pair in pairs if pair[0] != pair[1])
            bins = np.minimum((result.probability * _BINS).astype(int), _BINS - 1)
            rows, known = Counter(result.labels.tolist()), Counter(result.labels[result.known].tolist())
            counts = [(label, rows[label], known[label]) for label in result.classes]
            columns = ", ".join(f"{name} ({kind})" for name, kind in self._view.kinds.items())
            return CampaignFacts(
                name=stored.path.name.removesuffix(".bela"), certificate=describe(), expected=now.expected,
                forecast=forecast, n_corrected=n_corrected, course=points, audit=audit,
                classes=self._classes(result, counts, 0 if audit else _MOST_CLASSES),
                leaves=() if audit else Labels(seq=0, result=result, point=now).leaves,
                sureness=() if audit else np.bincount(bins, minlength=_BINS).tolist(),
                confusions=[(*pair, n) for pair, n in wrong.most_common()],
                n_predicted=len(pairs), n_right=len(pairs) - wrong.total(),
                asked=[self._question(row, make) for row, make in asked],
                people=[(by or NOBODY, n, n_skips[by or NOBODY]) for by, n in people],
                agreement=_named_agreement(agreement),
                flags=[(str(self._view.show(flag.row).name), flag.comment, flag.by or NOBODY) for flag in marked],
                guidelines=guidelines_html(read_guidelines(stored.path)),
                data=[("Data", stored.settings.data), ("Columns", columns)], versions=_versions(),
                created=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
                mistakes=[(str(self._view.show(one.row).name), one.label, one.answer) for one in mistakes],
            )  # fmt: skip

        return gather

    def _asked(self, events: Sequence[Entry], predicted: Mapping[int, Label]) -> list[tuple[int, _MakeAsked]]:
        """Return the rows that are answered or skipped now, and what makes of how they look what a report says of each.

        Where there are very many, they are thinned out.
        """
        book = self._campaign.book
        last = {int(str(event.data["question"])): event for event in events}
        done = [question for question in last if question not in book.open]
        if len(done) > _MOST_QUESTIONS:
            done = [done[int(at)] for at in np.linspace(0, len(done) - 1, _MOST_QUESTIONS)]
        found: list[tuple[int, _MakeAsked]] = []
        for number in done:
            question, event = book.questions[number], last[number]
            found += [(question.row, partial(
                AskedRow, role=str(question.role), predicted=predicted.get(number), answer=book.answer_to(number),
                by=name_in(event), at=event.at, rejected=event.kind == "rejected",
            ))]  # fmt: skip
        return found

    def _question(self, row: int, make: _MakeAsked) -> AskedRow:
        shown = self._view.show(row, _LONGEST)
        pictures = self._thumbnails(shown, 48)
        return make(name=str(shown.name), text=_text(shown, _LONGEST // 2), pictures=pictures)

    def _classes(self, result: Result, counts: Sequence[tuple[Label, int, int]], n_exampled: int) -> list[ClassFacts]:
        """Return the classes, the largest with examples, given their labels, rows and known rows."""
        exampled = {label for label, *_ in sorted(counts, key=lambda one: -one[1])[:n_exampled]}
        free = np.flatnonzero(~result.known)
        free = free[np.argsort(-result.probability[free], kind="stable")]
        labels = result.labels[free]
        found = []
        for label, n_rows, n_known in counts:
            rows = free[labels == label] if label in exampled else free[:0]
            half = min(_EACH, len(rows) // 2)
            surest = self._examples(result, rows[:_EACH])
            doubtful = self._examples(result, rows[::-1][:half]) if len(rows) > _EACH else []
            found.append(ClassFacts(label=label, n_rows=n_rows, n_known=n_known, surest=surest, doubtful=doubtful))
        return found

    def _examples(self, result: Result, rows: IntArray) -> list[Example]:
        found = []
        for row in rows:
            shown = self._view.show(int(row), _LONGEST)
            pictures, probability = self._thumbnails(shown, 96), float(result.probability[row])
            name, text = str(shown.name), _text(shown, _LONGEST)
            found.append(Example(name=name, text=text, pictures=pictures, probability=probability))
        return found

    def _thumbnails(self, shown: ShownRow, size: int) -> list[str]:
        found = []
        for column in shown.images[:3]:
            with suppress(BelaError):  # a file that is gone is no reason to have no report
                content, kind = self._pictures.thumbnail(shown.row, column, size)
                found.append(f"data:{kind};base64,{base64.b64encode(content).decode()}")
        return found


def _named_agreement(found: Agreement) -> list[tuple[str, float]]:
    values = {"Cohen's kappa": found.cohen, "Fleiss' kappa": found.fleiss, "Krippendorff's alpha": found.krippendorff}
    return [(name, value) for name, value in values.items() if value is not None]


def _text(shown: ShownRow, longest: int) -> str:
    """Return the values of a row as lines; one value alone needs no name."""
    values = {name: "" if value is None else str(value) for name, value in shown.record.items()}
    text = "\n".join(value if len(values) == 1 else f"{name}: {value}" for name, value in values.items())
    return text if len(text) <= longest else f"{text[:longest]}…"


def _versions() -> list[tuple[str, str]]:
    from bela import __version__

    found = [("BELA", __version__), ("Python", platform.python_version())]
    for name in ("numpy", "scipy", "scikit-learn", "pyarrow"):
        with suppress(PackageNotFoundError):
            found.append((name, version(name)))
    return found
