"""The status of a campaign: some of it at every moment, and what takes longer a little later."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath

from bela.book import count, label_source, n_said
from bela.campaign import StoredCampaign, Verdict, audit_result, groups_now, other_ways
from bela.errors import LabelError
from bela.records import Forecast, Question, Rung, StopReason
from bela.views._find import WAITS
from bela.views._labels import (
    ChartPoint,
    ClassCounts,
    ClassOverview,
    Labels,
    LeafView,
    chart_point,
    class_counts,
    class_overview,
)
from bela.views._notes import Notes
from bela.views._parts import PartsNow, parts_now
from bela.views._people import People, Person
from bela.views._rows import LONGEST_ALONE, LabelledRow, RowView, ShownRow

_OFTEN = 0.2  # seconds between two forecasts
_SELDOM = 1.0  # between two labellings of all rows
_BUSY = 0.05  # share of the time that labelling all rows may take
_RESTS_ON = (
    "The certificate rests on the first answer to each question, or on what was said when people settled it; further "
    "opinions only tell how far people agree."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStatus:
    """What is known of the labels under audit: the column that they are in, the verdict, and more of it in words.

    At most the share `upper` of them is right, and once the mistakes are put right at least `corrected` will be.
    """

    column: str
    verdict: Verdict
    upper: float
    corrected: float
    n_mistakes: int
    claim: str
    details: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStatus:
    """The status of a campaign as people are shown it.

    `claim` says in words what is known of the labels, `word` is "certified", or "estimated" where that is not a
    guarantee, `worth` says what it is worth, and `rests_on` on which answers it rests; `advice` says what else to try
    where more cannot be had by asking.
    With `suggest_draws`, labels are suggested for single rows too, be they drawn at random or not.
    Of a row the columns `shown` are shown; those `left_out` are in the data, and say nothing that is learned from.
    Besides, `n_hidden` columns were hidden on purpose.
    `seq` is the number of events so far: of two statuses, the one with more is the later one. With `withheld`, what
    depends on how rows were answered is left out, for those who must not know it.
    """

    campaign: str
    n_rows: int
    answers: int
    training: int
    bounds: int
    skipped: int
    given: int
    corrected: int
    helped: int
    helper_cost: float
    target: float | None
    class_target: float | None
    budget: int | None
    confidence: float
    lower: float
    claim: str
    word: str
    worth: str
    expected: float | None
    forecast: Forecast | None
    ladder: Sequence[Rung]
    advice: str | None
    stop_reason: StopReason | None
    classes: Sequence[ClassCounts]
    revising: bool
    n_revisions: int
    shown: Sequence[str]
    left_out: Sequence[str]
    n_hidden: int
    kinds: Mapping[str, str]
    team: bool
    suggest_draws: bool
    people: Sequence[Person]
    seq: int
    pace_seconds: float | None
    rests_on: str
    audit: AuditStatus | None
    withheld: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _CloserLook:
    """What takes some milliseconds to count and foresee, as of the event number `seq`."""

    seq: int
    n_given: int
    n_corrected: int
    forecast: Forecast | None
    ladder: Sequence[Rung]
    advice: str | None
    classes: Sequence[ClassCounts]
    people: Sequence[Person]
    pace_seconds: float | None


def audit_status(stored: StoredCampaign) -> AuditStatus | None:
    """Return what is known of the labels under audit, None in a campaign that audits none."""
    column = stored.settings.prediction
    if column is None:
        return None
    found = audit_result(stored.campaign)
    claim, *details = found.in_words(PurePath(stored.settings.data).name)
    return AuditStatus(
        column=column, verdict=found.verdict, upper=found.upper, corrected=float(found.corrected.lower),
        n_mistakes=len(found.mistakes), claim=claim, details=details,
    )  # fmt: skip


class Monitor:
    """Keeps the status and the labels that people are shown up to date; may be called from several threads.

    What takes long, such as labelling all rows, is done by `refresh`, which somebody calls now and then. The lock is
    held by whoever looks into the campaign or changes it.
    """

    def __init__(
        self, stored: StoredCampaign, view: RowView, lock: threading.RLock, *, team: bool = False,
        suggest_draws: bool = False, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._stored, self._campaign, self._book = stored, stored.campaign, stored.campaign.book
        self._view, self._lock, self._revising = view, lock, False
        self._team, self._suggest_draws, self._clock, self._now = team, suggest_draws, clock, now
        self._notes = Notes(stored.path / "cache")
        self.labels: Labels | None = None
        self._people = People()
        self._people.read(stored.journal.events())
        self._new: list[tuple[Question, str, float, bool]] = []  # answers that are not in people and notes yet
        self._labels_at = self._looked_at = float("-inf")
        self._pause = 0.0  # until all rows are labelled again
        self._look: _CloserLook | None = None
        self._told: tuple[object, ...] = ()

    @property
    def notes(self) -> Notes:
        """What the page remembers, up to now."""
        with self._lock:
            self._count_new()
            return self._notes

    def status(self, *, closely: bool = True) -> CampaignStatus:
        """Return the status; unless `closely`, with forecast, people and counts of classes as of a moment ago."""
        with self._lock:
            campaign, book, view, look, labels = self._campaign, self._book, self._view, self._look, self.labels
            if look is None or (closely and look.seq != book.version and self._clock() - self._looked_at >= _OFTEN):
                look = self._look_closer()
            if closely:
                self._revising = campaign.revising
            assessment, reason = campaign.assessment, campaign.stop_reason
            certificate = assessment.as_given or assessment.certificate
            audit = None if assessment.as_given is None else audit_status(self._stored)
            forecast = Forecast(answers=0, low=0, high=0) if reason is StopReason.TARGET else look.forecast
            return CampaignStatus(
                campaign=self._stored.path.name, n_rows=book.n_rows, seq=book.version, team=self._team,
                suggest_draws=self._suggest_draws,
                answers=book.n_asked, training=certificate.n_training, bounds=certificate.n_bounds,
                skipped=book.n_skipped, given=look.n_given, corrected=look.n_corrected,
                helped=book.help.n_answers, helper_cost=book.help.cost,
                target=book.target, class_target=book.class_target, budget=book.budget,
                confidence=campaign.confidence, lower=float(certificate.lower),
                claim=certificate.claim if audit is None else audit.claim, word=certificate.guarantee.word,
                worth=certificate.guarantee.sentence, expected=None if labels is None else labels.point.expected,
                forecast=forecast, ladder=look.ladder, advice=look.advice, stop_reason=reason, revising=self._revising,
                n_revisions=book.n_revisions, classes=look.classes, shown=view.columns, left_out=view.left_out,
                n_hidden=len(self._stored.settings.hidden), kinds=view.kinds, people=look.people,
                pace_seconds=look.pace_seconds, rests_on=_RESTS_ON, audit=audit,
            )  # fmt: skip

    def answered(self, question: Question, by: str, *, first: bool) -> None:
        """Take note of an answer, or of an opinion where it is not the first; it is counted when somebody looks."""
        self._new.append((question, by, self._now(), first))

    def skipped(self, by: str) -> None:
        """Take note of a question that somebody skipped."""
        self._people.skipped(by)

    def forget(self) -> None:
        """Look closer the next time, whenever that was done last."""
        self._looked_at = float("-inf")

    def refresh(self) -> bool:
        """Label all rows anew if it is time for that; whether anything has changed since the last time."""
        with self._lock:
            seq = -1 if self.labels is None else self.labels.seq
            due = seq != self._book.version and self._clock() - self._labels_at >= self._pause
            labels = self._label_all() if due else None
        if labels is not None:
            _ = labels.counts, labels.leaves  # made while others go on
        with self._lock:
            self._take_up(labels)
            shown = None if self.labels is None else self.labels.seq
            told = (self._book.version, self._book.n_revisions, self._campaign.revising, shown)
            changed, self._told = told != self._told, told
        return changed

    def history(self) -> list[ChartPoint]:
        """Return what was certain after how many answers."""
        with self._lock:
            return self._notes.points()

    def leaves(self) -> list[LeafView]:
        """Return the leaves, the largest first."""
        labels = self.present()
        return [] if labels is None else labels.leaves

    def leaf_rows(self, leaf: int, offset: int, limit: int) -> list[LabelledRow]:
        """Return rows of a leaf with their labels, those in doubt first, and none that waits for an answer."""
        labels = self.present()
        with self._lock:
            waiting = self._waiting()  # in a leaf, a row has the label of the leaf
        rows = () if labels is None else labels.rows(leaf, offset, limit, without=waiting)
        return [self._labelled(self._view.show(int(row)), labels) for row in rows]

    def row(self, row: int) -> LabelledRow:
        """Return all there is to see of a row."""
        return self._labelled(self._view.show(row, LONGEST_ALONE), self.present())

    def classes(self) -> ClassOverview:
        """Return how the classes fare."""
        with self._lock:
            return class_overview(self._campaign.book, self.labels, self.notes.predicted)

    def parts(self) -> PartsNow:
        """Return what is certified by class and which rows are sure, of the labels that people are shown."""
        labels = self.present()
        return parts_now(None if labels is None else labels.result)  # which takes a while: nobody waits for the lock

    def present(self) -> Labels | None:
        """Return the labels of all rows, made anew if they are of the past and that does not take long."""
        with self._lock:
            quick = self._pause <= _SELDOM
            if self.labels is None or (self.labels.seq != self._book.version and quick):
                self._take_up(self._label_all())
            return self.labels

    def _labelled(self, shown: ShownRow, labels: Labels | None) -> LabelledRow:
        row = shown.row
        with self._lock:
            known, source = self._book.label(row), label_source(self._campaign.book, row)
            waits = known is None and row in self._waiting()
        if waits:  # it may be a draw, which is answered blind
            return LabelledRow(**asdict(shown), label=None, source=WAITS, probability=None)
        label = known if known is not None or labels is None else labels.label(row)
        probability = 1.0 if known is not None else None if labels is None else labels.probability(row)
        return LabelledRow(**asdict(shown), label=label, source=source, probability=probability)

    def _waiting(self) -> set[int]:
        return {question.row for question in self._book.open.values()}

    def _label_all(self) -> Labels | None:
        began = time.perf_counter()
        try:
            result = self._campaign.result()
        except LabelError:  # nothing was answered yet, or not any more
            self.labels = None
            return None
        self._labels_at = self._clock()
        self._pause = max(_SELDOM, (time.perf_counter() - began) / _BUSY)
        return Labels(seq=self._book.version, result=result, point=chart_point(self._campaign, result))

    def _take_up(self, labels: Labels | None) -> None:
        """Let these be the labels that people are shown, if there are any and none later."""
        if labels is None or (self.labels is not None and labels.seq < self.labels.seq):
            return
        self._count_new()
        self.labels = labels
        self._look = None  # its counts of labels are of the past
        self._notes.mark(replace(labels.point, at=self._now()))

    def _count_new(self) -> None:
        """Count answers for those who gave them, and keep what the labels of that time had said about their rows."""
        for question, by, at, first in self._new:
            self._people.answered(by, at)
            if first and self.labels is not None and self._book.n_revisions:
                self._notes.predict(question.id, self.labels.label(question.row))
        self._new.clear()

    def _look_closer(self) -> _CloserLook:
        self._count_new()
        campaign, forecast = self._campaign, self._campaign.forecast
        book, ladder = campaign.book, campaign.ladder
        counts, groups = count(book), groups_now(self._stored.settings, book.codes)
        if forecast is not None:
            forecast = Forecast(answers=int(forecast.answers), low=int(forecast.low), high=int(forecast.high))
        self._looked_at = self._clock()
        self._look = _CloserLook(
            seq=self._book.version, n_given=counts.n_given, n_corrected=counts.n_corrected, forecast=forecast,
            ladder=ladder, advice=other_ways(ladder, book.n_rows, predicted=bool(self._stored.campaign.predictions)),
            classes=class_counts(counts.known, self.labels, groups), pace_seconds=self._people.pace(),
            people=self._people.list(self._now(), n_said(book)),
        )  # fmt: skip
        return self._look
