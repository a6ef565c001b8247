"""How events come about: they are written before they take effect, and revisions are made at once or in a thread."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeAlias

from pydantic import ValidationError

from bela.book import Asked, Began, Book, Event, Revised, events, read_event
from bela.errors import BelaError, JournalError, LabelError, ParameterError, QuestionError
from bela.protocols import ArrayStore, Job, Journal, Method
from bela.records import AnyArray

Progress: TypeAlias = Callable[[int], object]
Witness: TypeAlias = Callable[[Book, Method, Event], None]

_LABELLED = (events.Answered, events.SecondOpinion, events.AnsweredAgain)
_SPOKEN = (*_LABELLED, events.Rejected, events.Skipped)


class Recorder:
    """The only way to change a book: write an event, fold it in, and let the method follow.

    Whoever calls has checked that the event makes sense, as nothing may fail once it is written.
    """

    def __init__(self, book: Book, method: Method) -> None:
        self._book, self._method = book, method
        self._journal: Journal | None = None
        self._pending: list[Event] = []  # applied already, or chosen for good: written with whatever comes next
        self._together: list[Event] | None = None  # what is written when a block ends
        self._interrupted = False  # in the middle of something, so that the journal may say more than the book

    def begin(self, began: Began, journal: Journal | None, progress: Progress | None, witness: Witness | None) -> None:
        """Fold what a journal of this campaign says, and go on with it; without one, or with an empty one, begin."""
        for entry in () if journal is None else journal.events():
            event = read_event(entry.seq, entry.kind, entry.data)
            if entry.seq == 1:
                _check_same(event, began)
            elif witness is not None:
                witness(self._book, self._method, event)
            self._replay(entry.seq, event)
            if progress is not None:
                progress(entry.seq)
        self._journal = journal
        if self._book.began is None:
            self._apply(began)
            self._pending.append(began)

    def _replay(self, seq: int, event: Event) -> None:
        """Fold an event of a journal, which a method may not be able to follow if somebody has tampered with it."""
        change = self._book.replay(seq, event)
        try:
            if change is not None:
                self._method.follow(self._book, change)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise JournalError(f"event {seq} of the journal makes no sense: {event.kind}, {error}") from None

    def make(self, kind: type[Event], **values: object) -> None:
        """Record an event of this kind, if there can be one."""
        try:
            event = kind.model_validate(values)
        except ValidationError as error:
            raise ParameterError(events.what_is_wrong(error)) from None
        self.record(event)

    def record(self, event: Event) -> None:
        """Write an event, then let it take effect; in a block, both when the block ends."""
        if self._together is not None:
            _check_together(event, self._together)
            self._together.append(event)
        else:
            self._record_all([event])

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write all that is recorded in a block when it ends, and let it take effect then."""
        together: list[Event] = []
        self._together = together
        try:
            yield
        finally:
            self._together = None
        if together:
            self._record_all(together)

    def ask(self, asked: Asked) -> None:
        """Record questions. If they cannot be written, nobody has seen them: they are kept, and written first."""
        try:
            self._record_all([asked])
        except BelaError:
            self._apply(asked)
            self._pending.append(asked)
            raise

    def catch_up(self) -> None:
        """Write questions that could not be written before."""
        if any(isinstance(event, Asked) for event in self._pending):
            self._record_all([])

    def _record_all(self, new: Sequence[Event]) -> None:
        if self._interrupted and self._journal is not None:
            raise JournalError("the campaign was interrupted in the middle of something: close it and open it again")
        self._interrupted = True
        if self._journal is not None:
            try:
                unwritten = (*self._pending, *new)
                self._journal.append([(e.kind, e.model_dump(mode="json", exclude_defaults=True)) for e in unwritten])
            except BelaError:  # none of it is written: it may be tried again
                self._interrupted = False
                raise
        self._pending = []
        for event in new:
            self._apply(event)
        self._interrupted = False

    def _apply(self, event: Event) -> None:
        change = self._book.apply(event)
        if change is not None:
            self._method.follow(self._book, change)


def _check_same(event: Event, began: Began) -> None:
    """Refuse a journal that is not about this campaign; when to stop may have been another then."""
    if not isinstance(event, Began):
        raise JournalError("event 1 of the journal makes no sense: a campaign begins with what it is about")
    for name, value in began:
        there = getattr(event, name)
        if name not in ("target", "class_target", "budget") and there != value:
            raise JournalError(f"the journal is that of another campaign: its {name} is {there!r}, not {value!r}")


def _check_together(event: Event, before: Sequence[Event]) -> None:
    """Refuse what might make no sense after what is recorded before it: once written, it would stay."""
    if not isinstance(event, (*_SPOKEN, events.ClassAdded)):
        raise QuestionError("only answers, skips, opinions and new classes can be recorded together")
    for other in before:
        if isinstance(event, events.ClassAdded):
            if isinstance(other, (*_LABELLED, events.ClassAdded)) and other.label == event.label:
                raise LabelError(f"the class {event.label!r} came up in the same block: end that first")
        elif isinstance(other, _SPOKEN) and other.question == event.question:
            raise QuestionError(f"question {event.question} was answered in the same block: end that first")
    said = [
        other.label
        for other in (*before, event)
        if isinstance(other, (*_LABELLED, events.ClassAdded)) and other.label is not None
    ]
    if said and type(said[-1]) is not type(said[0]):
        raise LabelError(f"labels are all of one type: {said[-1]!r} is not of that of {said[0]!r}")


class Revising:
    """Runs the jobs of a method, and takes up what became of them when somebody asks for it.

    Their arrays are safe before `record` gets the event that names them. In the `background`, what is asked meanwhile
    depends on how long they take; what a revision says does not.
    """

    def __init__(
        self, method: Method, book: Book, arrays: ArrayStore, record: Callable[[Revised], None], *, background: bool
    ) -> None:
        self._method, self._book, self._arrays, self._record = method, book, arrays, record
        self._background = background
        self._running: tuple[Job, Future[Sequence[AnyArray]]] | None = None

    @property
    def under_way(self) -> bool:
        """Whether a revision was begun that the book does not have yet."""
        return self._running is not None and not self._running[0].optional

    @property
    def busy(self) -> bool:
        """Whether one is being made just now."""
        return self._running is not None and not self._running[1].done()

    def wait(self) -> None:
        """Wait for what is being made."""
        if self._running is not None:
            self._running[1].exception()  # whatever went wrong is said when it is taken up

    def advance(self) -> None:
        """Take up what is done, and begin what is due; without a thread, until nothing is due any more."""
        while True:
            if self._running is not None:
                job, future = self._running
                if not future.done():
                    return
                self._running = None
                self._take_up(job, future.result())
            job_due = self._method.revise(self._book)
            if job_due is None:
                return
            if self._background:
                self._running = job_due, _in_thread(job_due.compute)
            elif not job_due.optional:
                self._take_up(job_due, job_due.compute())

    def _take_up(self, job: Job, arrays: Sequence[AnyArray]) -> None:
        event = job.decide(self._book, arrays)
        if event is not None:
            self._arrays.save(event.arrays, arrays)
            self._record(event)


def _in_thread(compute: Callable[[], Sequence[AnyArray]]) -> Future[Sequence[AnyArray]]:
    """Compute something in a thread that a process does not wait for when it ends, as it can be computed again."""
    future: Future[Sequence[AnyArray]] = Future()

    def run() -> None:
        try:
            future.set_result(compute())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="bela-revision", daemon=True).start()
    return future
