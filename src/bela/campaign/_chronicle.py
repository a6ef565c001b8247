"""What happens in a campaign is written down before it takes effect, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bela.campaign._sense import check_sense
from bela.campaign._state import State
from bela.errors import BelaError, JournalError, LabelError, ParameterError, QuestionError
from bela.protocols import Journal

Happening = tuple[str, dict[str, Any]]


class Chronicle:
    """The only way to change a campaign's state: write down what happens, then let it happen.

    Parameters
    ----------
    state
        What the events change. Whoever calls has checked that they make sense, as nothing may fail once it is written.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._journal: Journal | None = None
        self._due: list[Happening] = []  # to be written down before, and with, whatever happens next
        self._together: list[Happening] | None = None  # what happens when a block ends
        self._interrupted = False  # in the middle of something, so that the journal may say more than the state

    def do(self, kind: str, data: dict[str, Any]) -> None:
        """Write down what happens, then let it happen."""
        try:
            check_sense(data, len(self._state.known))  # as whoever reads it will
        except ValueError as error:
            raise ParameterError(f"nothing can be {kind} with {error}") from None
        if self._together is not None:
            _check_together(kind, data, self._together)
            self._together.append((kind, data))
            return
        with self.whole():
            self._write((kind, data))
            self._state.happen(kind, data)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write down all that happens in a block when it ends, and let it happen then."""
        together: list[Happening] = []
        self._together = together
        try:
            yield
        finally:
            self._together = None
        if together:
            with self.whole():
                self._write(*together)
                for kind, data in together:
                    self._state.happen(kind, data)

    def owe(self, kind: str, data: dict[str, Any]) -> None:
        """Note what has happened already, to be written down by `catch_up`, or with whatever happens next."""
        self._due.append((kind, data))

    def catch_up(self) -> None:
        """Write down what was asked, which the method has chosen for good: without it nothing later could be replayed.

        If that fails, the questions are open but nobody has seen them; they are written before anything else happens.
        """
        with self.whole():
            if any(kind == "asked" for kind, _ in self._due):
                self._write()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Do something that must not end half-way, in a campaign that can be opened again if it does."""
        if self._interrupted and self._journal is not None:
            raise JournalError("the campaign was interrupted in the middle of something: close it and open it again")
        self._interrupted = True
        yield
        self._interrupted = False

    def replay(self, journal: Journal, about: dict[str, Any], progress: Callable[[int], object] | None) -> None:
        """Let everything happen again that a journal of this campaign says, and go on with it."""
        state = self._state
        begun = None
        for event in journal.events():
            if event.seq == 1:
                begun = event.data.get("about") if event.kind == "begun" else {}
                if begun != about:
                    raise JournalError(f"the journal belongs to another campaign: it began with {begun}, not {about}")
                state.happen_again(1, "aimed", {key: event.data.get(key) for key in ("target", "budget")})
            else:
                state.happen_again(event.seq, event.kind, event.data)
            if progress is not None:
                progress(event.seq)
        self._journal = journal
        if begun is None:
            self._due = [("begun", {"about": about, "target": state.target, "budget": state.budget})]

    def _write(self, *events: Happening) -> None:
        if self._journal is not None:
            try:
                self._journal.append([*self._due, *events])
            except BelaError:  # none of it is written: it may be tried again
                self._interrupted = False
                raise
        self._due = []


def _check_together(kind: str, data: dict[str, Any], before: list[Happening]) -> None:
    """Refuse what might make no sense after what is to happen before it: once written down, it would stay."""
    if kind not in ("answered", "skipped", "opinion"):
        raise QuestionError("only answers, skips and opinions can be written down together")
    if any(data["question"] == other["question"] for _, other in before):
        raise QuestionError(f"question {data['question']} was answered in the same block: end that first")
    labels = [other["label"] for _, other in before if "label" in other]
    if labels and "label" in data and type(data["label"]) is not type(labels[0]):  # the first labels of all
        raise LabelError(f"labels are all of one type: {data['label']!r} is not of that of {labels[0]!r}")
