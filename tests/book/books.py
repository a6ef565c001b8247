"""Sensible events of any kind, chosen as a book goes along, and a slow model of what they come to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from bela.book import (
    Answered,
    AnsweredAgain,
    Asked,
    Began,
    Book,
    Change,
    ClassAdded,
    ClassDeleted,
    ClassMerged,
    ClassRenamed,
    Deleted,
    Event,
    Flagged,
    Helped,
    HelperBegan,
    HelperEnded,
    Merged,
    Rejected,
    Relabelled,
    Revised,
    RowChanged,
    SecondOpinion,
    Skipped,
    TargetSet,
    Undeleted,
    Undone,
    Unmerged,
    again,
    count,
    describe_undo,
)
from bela.errors import BelaError
from bela.records import UNKNOWN, Proposal, Role

N_ROWS = 9
GIVEN = {0: "a", 3: "b", 5: "a"}
LABELS = ("a", "b", "c", "d")
PEOPLE = (None, "Ann", "Bob")
KINDS = (
    "asked", "answered", "skipped", "rejected", "second opinion", "answered again", "relabelled", "flagged",
    "class added", "class renamed", "class merged", "class deleted", "target set", "revised", "undone",
    "helper began", "helped", "helper ended",
)  # fmt: skip


def make_script(seed: int) -> list[tuple[Any, ...]]:
    """Return what people might do, some kinds of things more often than others; the book says what comes of it.

    Drawn by a generator and not by Hypothesis, whose lists are short and alike: what goes wrong takes a long story.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret
    often = [rng.random() ** 2 for _ in KINDS]
    often[KINDS.index("asked")] += 0.3
    often[KINDS.index("answered")] += 0.3
    script = [
        (kind, rng.randrange(10**6), rng.choice(LABELS), rng.choice(LABELS), rng.choice(PEOPLE))
        for kind in rng.choices(KINDS, often, k=rng.randrange(20, 80))
    ]
    return script + [undo(rng.choice(PEOPLE[1:])) for _ in range(rng.randrange(20))]


def undo(by: str | None = None) -> tuple[Any, ...]:
    """Return the wish to take something back."""
    return "undone", 0, "", "", by


scripts = st.integers(0, 2**32).map(make_script)


def new_book() -> Book:
    """Return a book that has begun, with some labels given."""
    book = Book(N_ROWS, given=GIVEN)
    book.apply(Began(method="bela", n_rows=N_ROWS, confidence=0.95, seed=0, key="k", n_given=len(GIVEN)))
    return book


def make_event(book: Book, choice: tuple[Any, ...]) -> Event | None:
    """Return an event that makes sense as things are; None where that kind of event cannot be."""
    kind, number, label, other, by = choice
    questions = [*book.open]
    place = questions[number % len(questions)] if questions else 0
    names = book.codes.names
    match kind:
        case "asked":
            rows = [row for row in range(N_ROWS) if not book.asked[row] and book.known[row] == UNKNOWN]
            rows = rows[number % 3 :][: 1 + number % 3]
            roles = [Role.TRAINING, Role.BOUNDS]
            plan = [Proposal(row=row, role=roles[(number + row) % 2], weights=(1.0, 0.5)) for row in rows]
            return Asked(version=book.version, n=3, questions=tuple(plan), exhausted=not plan)
        case "answered" if questions:
            return Answered(question=place, label=label, by=by, cost=0.25, suggested=number % 2 == 1)
        case "skipped" if questions:
            return Skipped(question=place, by=by)
        case "rejected" if questions:
            return Rejected(question=place, by=by, cost=1.0, suggested=number % 3 == 1)
        case "second opinion" if book.answered:
            question = [*book.answered.values()][number % len(book.answered)]
            return (
                None
                if by is None or by in book.said[question]
                else SecondOpinion(question=question, label=label, by=by)
            )
        case "answered again":
            draws = [one for one in book.answered.values() if book.questions[one].role is Role.BOUNDS]
            draws = [one for one in draws if one not in book.again]
            said = None if number % 5 == 0 else label
            return AnsweredAgain(question=draws[number % len(draws)], label=said, by=by) if draws else None
        case "relabelled":
            return Relabelled(row=number % N_ROWS, label=label, by=by)
        case "flagged":
            return Flagged(row=number % N_ROWS, comment="look", by=by)
        case "class added" if label not in names:
            return ClassAdded(label=label, by=by)
        case "class renamed" if label in names and other not in names:
            return ClassRenamed(old=label, new=other, by=by)
        case "class merged" if label in names and other in names and label != other:
            return ClassMerged(old=label, into=other, by=by)
        case "class deleted" if label in names and len(names) > 1 and book.code_of(label) not in book.given.values():
            return ClassDeleted(label=label, by=by)
        case "target set":
            return TargetSet(target=0.9 if number % 2 else None, budget=number % N_ROWS)
        case "revised":
            return Revised(version=book.version, n_answers=book.n_known, arrays="r", digest="0", method_version=1)
        case "helper began" if book.help.name is None:
            return HelperBegan(name=("x", "y")[number % 2])
        case "helped" if book.help.name is not None:
            rows = tuple(row for row in range(N_ROWS) if row not in book.help.said)[: number % 4]
            return Helped(rows=rows, labels=(label, None, other, "unheard of")[: len(rows)], cost=0.5)
        case "helper ended" if book.help.name is not None:
            return HelperEnded(reason="tired")
        case "undone":
            try:
                book.step_to_undo(by)
            except BelaError:
                return None
            return Undone(by=by)
        case _:
            return None


def live(book: Book, script: Sequence[tuple[Any, ...]]) -> list[Event]:
    """Let a script happen; return the events."""
    events = []
    for choice in script:
        event = make_event(book, choice)
        if event is not None:
            book.apply(event)
            events.append(event)
    return events


def state(book: Book, *, facts: bool = True) -> dict[str, Any]:
    """Return all that a book holds, as values that can be compared; without facts what undo can take back."""
    names = book.codes.classes
    found = {
        "labels": {row: book.label(row) for row in range(N_ROWS)},
        "declined": book.declined.tolist(),
        "given": {row: names[code] for row, code in book.given.items()},
        "open": set(book.open),
        "answered": list(book.answered.items()),
        "rejected": book.rejected,
        "corrections": {row: names[code] for row, code in book.corrections.items()},
        "said": {q: {by: names[book.code_now(code)] for by, code in said.items()} for q, said in book.said.items()},
        "steps": [step.event for step in book.steps],
        "n_answers": book.n_answers,
        "n_suggested": book.n_suggested,
        "again": {
            q: tuple(None if code == UNKNOWN else names[book.code_now(code)] for code in pair)
            for q, pair in book.again.items()
        },
        "undo": describe_undo(book),
    }
    if facts:
        found |= {
            "known": book.known.tolist(), "codes": (names, book.codes.names), "asked": book.asked.tolist(),
            "questions": book.questions, "revisions": book.revisions, "began": book.began, "cost": book.cost,
            "limits": (book.target, book.budget, book.exhausted), "version": book.version, "count": count(book),
            "n_again": again(book), "help": book.help, "helped": book.help.codes(book.codes, book.steps),
            "steps": book.steps,
        }  # fmt: skip
    return found


# --------------------------------------------------------------------------------------------------- the slow model


class Gone(str):
    """The name of a class that was deleted: another may have the same."""


@dataclass
class Slow:
    """Keeps the events that were not taken back, and begins again from the first whenever somebody wants to know."""

    events: list[Event] = field(default_factory=list)
    struck: dict[int, tuple[list[Event], list[Event]]] = field(default_factory=dict)  # by the place of a deletion

    def apply(self, event: Event) -> None:
        """Take an event in; an undo strikes out another one, and a deletion all that was said about its rows."""
        if isinstance(event, ClassDeleted):
            self.struck[id(event)] = [*self.events], self._strike(str(event.label))
        if not isinstance(event, Undone):
            self.events.append(event)
            return
        personal = (Answered, Skipped, Rejected, SecondOpinion, AnsweredAgain, Flagged, Relabelled)
        classes = (ClassAdded, ClassRenamed, ClassMerged, ClassDeleted)
        for place in range(len(self.events) - 1, -1, -1):
            other = self.events[place]
            mine = isinstance(other, personal) and other.by == event.by
            if mine or (event.by is None and isinstance(other, personal + classes)):
                del self.events[place]
                if isinstance(other, ClassDeleted):
                    before, back = self.struck.pop(id(other))
                    rest = [one for one in self.events if not any(one is old for old in before)]
                    kept = [one for one in before if any(one is old for old in (*self.events, *back))]
                    self.events = [*kept, *rest]
                return

    def _strike(self, label: str) -> list[Event]:
        now, rows = (
            self.state(),
            [question.row for event in self.events for question in getattr(event, "questions", ())],
        )
        of_it = {row for row, one in now["labels"].items() if one == label}
        open_ = {row for row, _ in now["answered"]} & of_it

        def is_struck(event: Event) -> bool:
            if isinstance(event, (Answered, SecondOpinion, AnsweredAgain)):
                return rows[event.question] in open_
            return isinstance(event, Relabelled) and event.row in of_it

        back = [event for event in self.events if is_struck(event)]
        self.events = [event for event in self.events if not is_struck(event)]
        return back

    def state(self) -> dict[str, Any]:
        """Return what the events come to, by names of classes."""
        questions: list[Proposal] = []
        labels: dict[int, str] = dict(GIVEN)
        corrections: dict[int, str] = {}
        answered: dict[int, int] = {}
        said: dict[int, dict[str | None, str]] = {}
        waiting, declined, rejected = set(), set(), set()
        n_answers, n_suggested = dict.fromkeys(Role, 0), dict.fromkeys(Role, 0)
        repeated: dict[int, dict[int, str | None]] = {}  # question to what was said at first, and then

        def rename(old: object, new: Any) -> None:
            for held in (labels, corrections, *said.values(), *repeated.values()):
                held.update(  # type: ignore[attr-defined]
                    {key: new for key, label in held.items() if label == old and not isinstance(label, Gone)}
                )

        for event in self.events:
            match event:
                case Asked():
                    waiting |= set(range(len(questions), len(questions) + len(event.questions)))
                    questions += event.questions
                case Answered() | Skipped() | Rejected():
                    row, role = questions[event.question].row, questions[event.question].role
                    waiting.remove(event.question)
                    if isinstance(event, Answered):
                        labels[row] = str(event.label)
                        corrections.pop(row, None)
                        answered[row] = event.question
                        said.setdefault(event.question, {})[event.by] = str(event.label)
                    else:
                        declined.add(row)
                    if isinstance(event, Rejected):
                        rejected.add(row)
                    if not isinstance(event, Skipped):
                        n_answers[role] += 1
                        n_suggested[role] += event.suggested
                case SecondOpinion():
                    said.setdefault(event.question, {})[event.by] = str(event.label)
                case AnsweredAgain(question=question, label=second, by=by):
                    first = said[question].get(by, next(iter(said[question].values())))
                    repeated[question] = {0: first, 1: None if second is None else str(second)}
                case Relabelled(row=row, label=label):
                    (labels if row in labels else corrections)[row] = str(label)
                case ClassRenamed(old=old, new=new):
                    rename(old, new)
                case ClassMerged(old=old, into=into):
                    rename(old, into)
                case ClassDeleted(label=label):
                    rename(label, Gone(label))
                case _:
                    pass
        return {
            "labels": {row: labels.get(row, corrections.get(row)) for row in range(N_ROWS)},
            "corrections": corrections,
            "answered": list(answered.items()),
            "said": said,
            "open": waiting,
            "declined": [row in declined for row in range(N_ROWS)],
            "rejected": rejected,
            "given": {row: labels[row] for row in GIVEN},
            "n_answers": n_answers,
            "n_suggested": n_suggested,
            "again": {question: tuple(pair.values()) for question, pair in repeated.items()},
        }


class Follower:
    """What a method knows that looks at nothing but changes."""

    def __init__(self, book: Book) -> None:
        self.known, self.declined = book.known.copy(), book.declined.copy()

    def follow(self, change: Change | None) -> None:
        """Take a change in; it says what was before."""
        match change:
            case RowChanged():
                assert self.known[change.row] == change.before
                assert self.declined[change.row] == change.was_declined
                self.known[change.row], self.declined[change.row] = change.code, change.declined
            case Merged() | Unmerged() | Deleted() | Undeleted():
                if not isinstance(change, Unmerged):
                    assert change.known.tolist() == self.known.tolist()
                    assert change.declined.tolist() == self.declined.tolist()
                for row in change.rows:
                    self.follow(row)
            case _:
                pass
