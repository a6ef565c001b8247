"""Gathers what a report of a campaign says: from its journal, its labels, and what the page has noted."""

from __future__ import annotations

import base64
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bela.campaign import (
    StoredCampaign,
    find_question,
    flags,
    is_waiting,
    n_said,
    opinions,
    role_and_answer,
    tally,
)
from bela.errors import BelaError
from bela.exports import certificate_document
from bela.records import Event, Forecast, IntArray, Label, Result
from bela.reports import AskedRow, CampaignFacts, ClassFacts, Course, Example
from bela.web._agreement import agreement_of
from bela.web._files import guidelines_html, read_guidelines
from bela.web._labels import Labels
from bela.web._notes import Notes
from bela.web._people import NOBODY
from bela.web._pictures import Pictures
from bela.web._rows import RowView, ShownRow

_EACH = 7  # examples of each kind and class
_MOST_CLASSES = 20  # that have examples
_MOST_QUESTIONS = 400
_LONGEST = 240  # characters of an example
_BINS = 20
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow")


class Reporter:
    """Gathers the facts of a campaign. Whoever calls `look` holds the campaign's lock; `facts` needs none.

    Parameters
    ----------
    stored
        The campaign; it may be one that is only read.
    view, pictures
        Show its rows; made anew where there are none.
    """

    def __init__(
        self, stored: StoredCampaign, *, view: RowView | None = None, pictures: Pictures | None = None
    ) -> None:
        self._stored, self._campaign = stored, stored.campaign
        self._view = view or RowView(stored)
        self._pictures = pictures or Pictures(stored.records, self._view.images)
        self._look: dict[str, Any] = {}

    def look(self, notes: Notes, course: Sequence[Course] = ()) -> None:
        """Take down how things stand just now; nothing that comes later is in the report.

        Without a course of its own, the report has the points that the page has noted.
        """
        campaign, stored = self._campaign, self._stored
        result = campaign.result()
        events = [event for event in stored.journal.events() if event.kind in ("answered", "skipped")]
        self._look = {
            "result": result,
            "about": {"target": campaign.target, "given": stored.given, "n_skipped": campaign.n_skipped},
            "journal": {"events": stored.journal.n_events, "digest": stored.journal.digest},
            "forecast": campaign.forecast,
            "n_corrected": tally(campaign).n_corrected,
            "course": list(course) or _course_of(notes, result),
            "asked": self._asked(events, notes.foretold),
            "n_skips": Counter(_by(event) for event in events if event.kind == "skipped"),
            "n_said": n_said(campaign),
            "agreement": agreement_of(opinions(campaign, at_least=2)),
            "flags": flags(campaign),
            "foretold": [
                (guess, found[1])
                for question, guess in notes.foretold.items()
                if (found := role_and_answer(campaign, question)) is not None
            ],
        }

    def facts(self) -> CampaignFacts:
        """Return what the report says, rows and pictures included."""
        look, stored = self._look, self._stored
        result: Result = look["result"]
        forecast: Forecast | None = look["forecast"]
        document = certificate_document(result, stored.records, **look["about"])
        pairs: list[tuple[Label, Label]] = look["foretold"]
        wrong = Counter(pair for pair in pairs if pair[0] != pair[1])
        bins = np.minimum((result.probability * _BINS).astype(int), _BINS - 1)
        return CampaignFacts(
            name=stored.path.name.removesuffix(".bela"),
            certificate={**document, "journal": look["journal"]},
            expected=float(np.mean(result.probability)),
            forecast=forecast,
            n_corrected=look["n_corrected"],
            course=look["course"],
            classes=self._classes(result, document["classes"]),
            leaves=Labels(seq=0, result=result).leaves,
            sureness=np.bincount(bins, minlength=_BINS).tolist(),
            confusions=[(*pair, n) for pair, n in wrong.most_common()],
            n_foretold=len(pairs),
            n_right=len(pairs) - wrong.total(),
            asked=[self._question(**one) for one in look["asked"]],
            people=[(by or NOBODY, n, look["n_skips"][by or NOBODY]) for by, n in look["n_said"].most_common()],
            agreement=_agreement(look["agreement"]),
            flags=[(str(self._view.show(flag.row).name), flag.comment, flag.by or NOBODY) for flag in look["flags"]],
            guidelines=guidelines_html(read_guidelines(stored.path)),
            data=[
                ("Data", stored.settings.data),
                ("Columns", ", ".join(f"{name} ({kind})" for name, kind in self._view.kinds.items())),
            ],
            versions=_versions(),
            created=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        )

    def _asked(self, events: Sequence[Event], foretold: Mapping[int, Label]) -> list[dict[str, Any]]:
        """Return the questions that are answered or skipped now, thinned out where there are very many."""
        last: dict[int, Event] = {}
        for event in events:
            last[event.data["question"]] = event
        done = [question for question in last if not is_waiting(self._campaign, question)]
        if len(done) > _MOST_QUESTIONS:
            done = [done[int(at)] for at in np.linspace(0, len(done) - 1, _MOST_QUESTIONS)]
        found = []
        for question in done:
            asked, event = find_question(self._campaign, question), last[question]
            answer = role_and_answer(self._campaign, question)
            found.append(
                {
                    "row": asked.row,
                    "role": str(asked.role),
                    "foretold": foretold.get(question),
                    "answer": None if answer is None else answer[1],
                    "by": _by(event),
                    "at": event.at,
                }
            )
        return found

    def _question(self, *, row: int, **rest: Any) -> AskedRow:
        shown = self._view.show(row, _LONGEST)
        return AskedRow(
            name=str(shown.name), text=_text(shown, _LONGEST // 2), pictures=self._thumbnails(shown, 48), **rest
        )

    def _classes(self, result: Result, counts: Sequence[Mapping[str, Any]]) -> list[ClassFacts]:
        exampled = {one["label"] for one in sorted(counts, key=lambda one: -one["rows"])[:_MOST_CLASSES]}
        free = np.flatnonzero(~result.known)
        free = free[np.argsort(-result.probability[free], kind="stable")]
        labels = result.labels[free]
        found = []
        for one in counts:
            rows = free[labels == one["label"]] if one["label"] in exampled else free[:0]
            half = min(_EACH, len(rows) // 2)
            found.append(
                ClassFacts(
                    label=one["label"],
                    n_rows=one["rows"],
                    n_known=one["known"],
                    surest=self._examples(result, rows[: len(rows) if len(rows) <= _EACH else _EACH]),
                    doubtful=self._examples(result, rows[::-1][:half]) if len(rows) > _EACH else (),
                )
            )
        return found

    def _examples(self, result: Result, rows: IntArray) -> list[Example]:
        return [self._example(result, int(row)) for row in rows]

    def _example(self, result: Result, row: int) -> Example:
        shown = self._view.show(row, _LONGEST)
        return Example(
            name=str(shown.name),
            text=_text(shown, _LONGEST),
            pictures=self._thumbnails(shown, 96),
            label=result.labels[row].item(),
            source="inferred",
            probability=float(result.probability[row]),
        )

    def _thumbnails(self, shown: ShownRow, size: int) -> list[str]:
        found = []
        for column in shown.images[:3]:
            try:
                content, kind = self._pictures.thumbnail(shown.row, column, size)
            except BelaError:  # a file that is gone is no reason to have no report
                continue
            found.append(f"data:{kind};base64,{base64.b64encode(content).decode()}")
        return found


def _course_of(notes: Notes, result: Result) -> list[Course]:
    points = [
        Course(answers=point["answers"], lower=point["lower"], expected=point["expected"]) for point in notes.points()
    ]
    now = Course(
        answers=result.n_asked, lower=float(result.certificate.lower), expected=float(np.mean(result.probability))
    )
    return [*(point for point in points if point.answers < now.answers), now]


def _agreement(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    named = [("Cohen's kappa", "cohen"), ("Fleiss' kappa", "fleiss"), ("Krippendorff's alpha", "krippendorff")]
    return [(name, float(found[key])) for name, key in named if found[key] is not None]


def _text(shown: ShownRow, longest: int) -> str:
    """Return the values of a row as lines; one value alone needs no name."""
    values = {name: "" if value is None else str(value) for name, value in shown.record.items()}
    lines = list(values.values()) if len(values) == 1 else [f"{name}: {value}" for name, value in values.items()]
    text = "\n".join(lines)
    return text if len(text) <= longest else f"{text[:longest]}…"


def _by(event: Event) -> str:
    by = event.data.get("by")
    return by if isinstance(by, str) else NOBODY


def _versions() -> list[tuple[str, str]]:
    from bela import __version__

    found = [("BELA", __version__), ("Python", platform.python_version())]
    for name in _PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found
