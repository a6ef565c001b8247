"""What a helper has said: whatever answers and is not believed. It teaches, and it never certifies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bela.book import _events as events
from bela.book._steps import Step, codes_by_name
from bela.labels import LabelCodes, label_to_text
from bela.records import UNKNOWN, Label


@dataclass(kw_only=True)
class Help:
    """Who helps, if anybody does, what it said about each row (None: it could not tell), and what all that has cost."""

    name: str | None = None
    said: dict[int, Label | None] = field(default_factory=dict)
    cost: float = 0.0
    ended: str = ""  # why nobody helps any more
    last: str | None = None  # who has helped, though perhaps not any more
    salt: int = 0  # what draws follow from besides their key, since somebody has helped

    @property
    def n_answers(self) -> int:
        """How many rows it has given a label to."""
        return sum(label is not None for label in self.said.values())

    def begin(self, event: events.HelperBegan) -> events.HelperBegan:
        """Have somebody help; what another helper has said is forgotten, as it was worth something else."""
        if self.name is not None:
            raise ValueError(f"{self.name} helps already")
        if event.name != self.last:
            self.said = {}
        self.name = self.last = event.name
        self.salt = event.salt
        return event

    def take(self, event: events.Helped, n_rows: int) -> events.Helped:
        """Take in what the helper says; the first word about a row stands."""
        if self.name is None or len(event.rows) != len(event.labels):
            raise ValueError("a helper gives a label for each row, while it helps")
        if len(set(event.rows)) < len(event.rows) or any(row >= n_rows or row in self.said for row in event.rows):
            raise ValueError("a helper is asked once about a row")
        self.said.update(zip(event.rows, event.labels, strict=True))
        self.cost += event.cost
        return event

    def end(self, event: events.HelperEnded) -> events.HelperEnded:
        """Have nobody help any more."""
        if self.name is None:
            raise ValueError("nobody helps")
        self.name, self.ended = None, event.reason
        return event

    def codes(self, codes: LabelCodes, steps: Iterable[Step]) -> Mapping[int, int]:
        """Return the classes of the rows: by what classes are called now, or were before they were renamed or merged.

        A label that is no class is left out; 3 and "3" are the same.
        """
        names = codes_by_name(codes, steps)
        told = ((row, label_to_text(label)) for row, label in self.said.items() if label is not None)
        return {row: names[text] for row, text in told if names.get(text, UNKNOWN) != UNKNOWN}
