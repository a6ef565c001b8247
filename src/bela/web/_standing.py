"""Where a campaign stands: some of it at every moment, and what takes longer a little later."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bela.campaign import StoredCampaign, n_said, tally
from bela.errors import LabelError
from bela.records import Question, StopReason
from bela.web._labels import Labels
from bela.web._notes import Notes
from bela.web._people import People
from bela.web._rows import RowView

_OFTEN = 0.2  # seconds between two forecasts
_SELDOM = 1.0  # between two labellings of all rows
_BUSY = 0.05  # share of the time that labelling all rows may take
_RESTS_ON = (
    "The certificate rests on the first answer to each question, or on what was said when people settled it; further "
    "opinions only tell how far people agree."
)


class Standing:
    """Makes the state that people are shown. Whoever calls it holds the campaign's lock.

    Parameters
    ----------
    stored, view, people
        The campaign, its rows, and who answers.
    team
        Whether people have names.
    clock, now
        Tell the seconds that pass, and the time of day.
    """

    def __init__(
        self,
        stored: StoredCampaign,
        view: RowView,
        people: People,
        *,
        team: bool,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._stored, self._campaign, self._view, self._people = stored, stored.campaign, view, people
        self._team, self._clock, self._now = team, clock, now
        self.notes = Notes(stored.path / "cache")
        self.labels: Labels | None = None
        self._labels_at = self._slow_at = float("-inf")
        self._pause = 0.0  # until all rows are labelled again
        self._slow: dict[str, Any] = {"classes": ()}
        self._slow_of = -1
        self._told: tuple[object, ...] = ()

    @property
    def revising(self) -> bool:
        """Whether a revision is being made."""
        return bool(getattr(self._campaign.method, "revising", False))

    @property
    def history(self) -> list[dict[str, Any]]:
        """The points of the chart."""
        return self.notes.points()

    @property
    def foretold(self) -> dict[int, Any]:
        """What the labels said about each question before it was answered."""
        return self.notes.foretold

    @property
    def _seq(self) -> int:
        return self._stored.journal.n_events

    def state(self) -> dict[str, Any]:
        """Say where the campaign stands."""
        campaign = self._campaign
        due = self._clock() - self._slow_at >= _OFTEN or len(campaign.classes) != len(self._slow["classes"])
        if self._slow_of != self._seq and due:
            self._look_closer()
        certificate, reason = campaign.certificate, campaign.stop_reason
        there = {"forecast": {"answers": 0, "low": 0, "high": 0}} if reason is StopReason.TARGET else {}
        return {
            **self._slow,
            **there,
            "answers": campaign.n_asked,
            "training": certificate.n_training,
            "bounds": certificate.n_bounds,
            "skipped": campaign.n_skipped,
            "target": campaign.target,
            "budget": campaign.budget,
            "lower": float(certificate.lower),
            "expected": None if self.labels is None else self.labels.expected,
            "stop_reason": None if reason is None else str(reason),
            "revising": self.revising,
            "n_revisions": campaign.method.n_revisions,
            "seq": self._seq,
        }

    def forget(self) -> None:
        """Look closer the next time, whenever that was done last."""
        self._slow_at = float("-inf")

    def label_if_due(self) -> Labels | None:
        """Label all rows anew, if something has happened since the last time and that was a while ago."""
        seq = -1 if self.labels is None else self.labels.seq
        if seq == self._seq or self._clock() - self._labels_at < self._pause:
            return None
        return self._label_all()

    def take_up(self, labels: Labels) -> None:
        """Let these be the labels that people are shown, unless there are later ones."""
        if self.labels is None or labels.seq >= self.labels.seq:
            self.labels = labels
            self._slow_of = -1
            certificate = labels.result.certificate
            self.notes.mark(
                answers=labels.result.n_asked,
                lower=float(certificate.lower),
                expected=labels.expected,
                at=self._now(),
            )

    def present(self) -> Labels | None:
        """Return the labels of all rows, made anew if they are of the past and that does not take long."""
        quick = self._pause <= _SELDOM
        if self.labels is None or (self.labels.seq != self._seq and quick):
            labels = self._label_all()
            if labels is not None:
                self.take_up(labels)
        return self.labels

    def has_news(self) -> bool:
        """Whether anything has changed since this was last called, so that people should be told."""
        labels = None if self.labels is None else self.labels.seq
        told = (self._seq, self._campaign.method.n_revisions, self.revising, labels)
        changed = told != self._told
        self._told = told
        return changed

    def foretold_by_labels(self, question: Question) -> None:
        """Take note of what the labels said about a question that was answered since they were made."""
        if self.labels is not None and self._campaign.method.n_revisions:
            self.notes.foretell(question.id, self.labels.label(question.row))

    def _label_all(self) -> Labels | None:
        began = time.perf_counter()
        try:
            result = self._campaign.result()
        except LabelError:  # nothing was answered yet, or not any more
            self.labels = None
            return None
        self._labels_at = self._clock()
        self._pause = max(_SELDOM, (time.perf_counter() - began) / _BUSY)
        return Labels(seq=self._seq, result=result)

    def _look_closer(self) -> None:
        """Count and foresee: some milliseconds."""
        campaign, view = self._campaign, self._view
        counts = tally(campaign)
        forecast = campaign.forecast
        n_labels = {} if self.labels is None else self.labels.counts
        self._slow_of, self._slow_at = self._seq, self._clock()
        self._slow = {
            "campaign": self._stored.path.name,
            "n_rows": campaign.n_rows,
            "given": counts.n_given,
            "corrected": counts.n_corrected,
            "confidence": campaign.confidence,
            "kind": campaign.certificate.kind,
            "forecast": forecast
            and {"answers": int(forecast.answers), "low": int(forecast.low), "high": int(forecast.high)},
            "classes": [
                {"label": label, "n_answers": known, "n_labels": n_labels.get(label, 0)}
                for label, known in counts.known.items()
            ],
            "shown": list(view.columns),
            "kinds": view.kinds,
            "team": self._team,
            "people": self._people.list(self._now(), n_said(campaign)),
            "pace_seconds": self._people.pace(),
            "rests_on": _RESTS_ON,
        }
