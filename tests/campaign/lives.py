"""Whole lives of campaigns, as a list of things to do, and all that can be seen of a campaign at one moment."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from bela import Campaign
from bela.book import Book, count, describe_undo
from bela.errors import BelaError, JournalError, LabelError
from bela.learning import Fit, Picks
from bela.records import Entry, Json
from bela.storage import MemoryArrays, MemoryJournal

N_ROWS = 40
PEOPLE = (None, "Ann", "Bob")
LABELS = ("a", "b", "c", "d")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - where forcing files to disk is quick


def data(seed: int) -> tuple[np.ndarray, list[str]]:
    """Three clusters that overlap, and their names."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, N_ROWS)
    return rng.normal(size=(N_ROWS, 2)) + 2.5 * np.array([(0, 0), (1, 0), (0, 1)])[y], [LABELS[k] for k in y]


class Gate:
    """Lets fits through, or holds them up until somebody opens it: what is asked meanwhile is no matter of luck."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def pass_through(self) -> None:
        assert self._open.wait(60)


class Neighbours:
    """A learner that labels each row by the answers near it: deterministic, and in no time."""

    def __init__(self, X: np.ndarray, gate: Gate) -> None:
        self._near = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) + 1e-6
        self._gate = gate

    def prepare(self) -> None:
        """Nothing needs to be made."""

    def first_questions(self) -> np.ndarray:
        return np.arange(0, N_ROWS, 8)

    def fit(self, rows: np.ndarray, codes: np.ndarray, *, helped: object = None) -> Fit:
        self._gate.pass_through()
        classes, y = np.unique(codes, return_inverse=True)
        votes = np.eye(len(classes))[y]
        others = self._near[np.ix_(rows, rows)] * (1.0 - np.eye(len(rows)))
        proba = self._near[:, rows] @ votes
        left_out = others @ votes + 1e-9
        return Fit(
            rows=rows,
            classes=classes,
            proba=proba / proba.sum(axis=1, keepdims=True),
            out_of_fold=left_out / left_out.sum(axis=1, keepdims=True),
            loss=0.0,
            weights={},
        )

    def next_questions(
        self, fit: Fit, asked: np.ndarray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        rest = np.flatnonzero(~asked)
        rest = rest[np.argsort(fit.proba[rest].max(axis=1), kind="stable")][:n]
        return Picks(rows=rest, uniform=rng.random(len(rest)) < uniform_share)


class Crash(BaseException):
    """The end of the process, as far as a campaign can tell."""


class Full(MemoryJournal):
    """A journal on a disk that is full now and then, or whose process ends as soon as something is safe."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        super().__init__()
        self.full = self.crashes = False
        if entries:
            self.append([(entry.kind, entry.data) for entry in entries])

    def append(self, events: Sequence[tuple[str, Mapping[str, Json]]]) -> list[Entry]:
        if self.full:
            raise JournalError("there is no room on the disk")
        written = super().append(events)
        if self.crashes:
            raise Crash
        return written

    def plain(self) -> list[tuple[str, dict[str, Json]]]:
        return [(entry.kind, entry.data) for entry in self.events()]


@dataclass
class Life:
    """A campaign with its journal, and everything that it takes to make it again."""

    method: str
    seed: int = 0
    background: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.X, self.y = data(self.seed)
        self.gate = Gate()
        self.journal, self.arrays = Full(), MemoryArrays()
        self.campaign = self._make(self.journal, self.arrays, self.gate)

    def _make(
        self, journal: Full, arrays: Any, gate: Gate, *, background: bool | None = None, witness: Any = None
    ) -> Campaign:
        options = dict(self.options)
        if self.method == "bela":
            options["learner"] = Neighbours(self.X, gate)
        options.setdefault("target", 0.9)
        return Campaign(
            self.X, method=self.method, seed=self.seed, journal=journal, arrays=arrays,
            background=self.background if background is None else background, witness=witness, **options,
        )  # fmt: skip

    def twin(self, *, background: bool | None = None) -> Life:
        """Return another life that goes on with what the journal has, as after a crash; nothing is shared."""
        twin = replace(self)
        twin.journal, twin.arrays = Full(list(self.journal.events())), deepcopy(self.arrays)
        twin.campaign = twin._make(twin.journal, twin.arrays, twin.gate, background=background)
        return twin

    def again(self, *, background: bool | None = None) -> Campaign:
        """Return the campaign as the journal has it."""
        return self.twin(background=background).campaign

    def restart(self) -> None:
        """Go on with what the journal has, as after a crash."""
        self.settle()
        twin = self.twin()
        self.gate, self.journal, self.arrays, self.campaign = twin.gate, twin.journal, twin.arrays, twin.campaign
        self.settle()

    def settle(self) -> None:
        """Wait for a fit in the background."""
        self.gate.release()
        settle(self.campaign)

    def do(self, action: tuple[Any, ...]) -> bool:
        """Do something; whether it was possible. What is not possible changes nothing."""
        before = self.journal.plain()
        try:
            do(self, *action)
            if self.gate.is_open:
                self.settle()  # what is asked next is no matter of luck
        except BelaError:
            if action[0] not in ("answer", "ask", "together"):  # which are several actions
                assert self.journal.plain() == before
            return False
        assert self.journal.plain()[: len(before)] == before
        return True


def settle(campaign: Campaign) -> None:
    """Wait for a revision in the background."""
    campaign._revising.wait()


def do(life: Life, kind: str, *how: Any) -> None:
    """Do one thing in the life of a campaign."""
    campaign = life.campaign
    if kind == "hold":
        life.gate.hold()
    elif kind == "release":
        life.settle()
    elif kind == "restart":
        life.restart()
    elif kind == "ask":
        campaign.ask(how[0], wait=life.gate.is_open)
    elif kind == "answer":  # rightly
        for question in campaign.ask(how[0], wait=life.gate.is_open):
            campaign.tell(question.id, life.y[question.row], by=how[1])
    elif kind == "together":
        with campaign.together():
            for question in campaign.ask(how[0], wait=life.gate.is_open):
                campaign.tell(question.id, life.y[question.row], by=how[1])
    elif kind in ("tell", "skip", "reject"):
        place, label, by = how
        questions = campaign.open_questions or campaign.ask(wait=life.gate.is_open)
        if questions:
            question = questions[place % len(questions)]
            if kind == "tell":
                campaign.tell(question.id, label, by=by, cost=0.25)
            elif kind == "skip":
                campaign.skip(question.id, by=by, cost=0.5)
            else:
                campaign.reject(question.id, by=by)
    elif kind == "opine":
        campaign.opine(how[0], how[1], by=how[2] or "Eve")
    elif kind == "again":
        campaign.tell_again(how[0], how[1], by=how[2])
    elif kind == "set_target":
        campaign.set_target(target=how[0], budget=how[1])
    else:  # undo, relabel, flag and what is done to classes
        *arguments, by = how
        getattr(campaign, kind)(*arguments, by=by)


labels, people = st.sampled_from(LABELS), st.sampled_from(PEOPLE)
places = st.integers(0, N_ROWS - 1)
actions = st.one_of(
    *[st.tuples(st.just("answer"), st.integers(1, 9), people)] * 4,
    st.tuples(st.just("ask"), st.integers(1, 6)),
    st.tuples(st.just("together"), st.integers(1, 6), people),
    st.tuples(st.sampled_from(["tell", "skip", "reject"]), places, labels, people),
    *[st.tuples(st.just("undo"), people)] * 2,
    st.tuples(st.just("relabel"), places, labels, people),
    st.tuples(st.just("opine"), places, labels, people),
    st.tuples(st.just("again"), places, labels, people),
    st.tuples(st.just("flag"), places, st.just("look"), people),
    st.tuples(st.just("add_class"), st.sampled_from(["d", "e"]), people),
    st.tuples(st.just("delete_class"), labels, people),
    st.tuples(st.sampled_from(["rename_class", "merge_class"]), labels, st.sampled_from([*LABELS, "e"]), people),
    st.tuples(st.just("set_target"), st.sampled_from([None, 0.5, 0.9, 0.99]), st.none() | st.integers(0, N_ROWS)),
    st.just(("restart",)),
)
"""Anything that people do in a campaign."""

with_gate = st.one_of(*[actions] * 4, st.sampled_from([("hold",), ("release",)]))
"""The same, while revisions in the background take their time."""


def book_view(book: Book) -> dict[str, Any]:
    """Return all of the state that events fold into, as values that can be compared."""
    plain = {name: value for name, value in vars(book).items() if name != "codes"}
    for name in ("known", "declined", "asked"):
        plain[name] = plain[name].tolist()
    for name in ("open", "answered", "corrections", "given", "said"):
        plain[name] = list(plain[name].items())  # the order counts
    plain["codes"] = (book.codes.classes, book.codes.names, book.codes.closed)
    plain["undo"] = describe_undo(book)
    plain["count"] = count(book)
    return plain


def view(campaign: Campaign) -> dict[str, Any]:
    """Return all that can be seen of a campaign."""
    book = campaign.book
    seen = book_view(book) | {
        "stop": campaign.stop_reason,
        "open": campaign.open_questions,
        "certificate": campaign.certificate,
        "forecast": campaign.forecast,
        "batch": campaign.assessment.batch,
        "n_asked": campaign.n_asked,
        "answers": [book.label(row) for row in range(campaign.n_rows)],
    }
    try:
        result = campaign.result()
    except LabelError:
        return seen
    for name in ("labels", "known", "leaf", "probability", "leaf_lower"):
        seen[f"result.{name}"] = getattr(result, name).tolist()
    return seen


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs between two views, for a test to show."""
    keys = one.keys() | other.keys()
    return {key: (one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)}
