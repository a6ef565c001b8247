"""The labels of all rows as they were a moment ago, and the classes: what people are shown beside the answering."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import WithJsonSchema

from bela.book import Book, count
from bela.campaign import Campaign
from bela.records import FloatArray, IntArray, Label, Result

_SCHEMA = {"anyOf": [{"type": "integer"}, {"type": "boolean"}, {"type": "string"}]}
JsonLabel: TypeAlias = Annotated[Label, WithJsonSchema(_SCHEMA)]
"""A label in a value that is sent as JSON."""

_RARE = 0.01  # a class with a smaller share of the rows is called rare
_FEW = 5  # or one with fewer answers
_LAST = 2.0  # in place of a probability, so that a row comes after all others


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """What was certain, and what was expected, after so many answers; None where that was not kept."""

    answers: int
    lower: float
    expected: float | None
    at: float | None = None


def chart_point(campaign: Campaign, result: Result) -> ChartPoint:
    """Return where a campaign is on its chart; in an audit as to the labels as given, of which nothing is expected."""
    given, expected = campaign.assessment.as_given, float(np.mean(result.probability))
    lower = float((given or result.certificate).lower)
    return ChartPoint(answers=result.n_asked, lower=lower, expected=None if given else expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafView:
    """Rows that share a place and, unless they are known, a label; `probability` is that of its labels, on average."""

    leaf: int
    label: JsonLabel
    size: int
    known: int
    lower: float
    probability: float


@dataclass(frozen=True, kw_only=True)
class Labels:
    """A result, the number of events so far, its point of the chart, and what is made of it when it is looked at."""

    seq: int
    result: Result
    point: ChartPoint

    def label(self, row: int) -> Label:
        """Return the label of a row."""
        value: Label = self.result.labels[row].item()
        return value

    def probability(self, row: int) -> float:
        """Return how likely the label of a row is right."""
        return float(self.result.probability[row])

    @cached_property
    def counts(self) -> dict[Label, int]:
        """How many rows have each label."""
        names, codes = self._coded
        return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))

    @property
    def codes(self) -> IntArray:
        """The place of each row's label in `counts`."""
        return self._coded[1]

    @cached_property
    def leaves(self) -> list[LeafView]:
        """The leaves, the largest first."""
        result = self.result
        n = len(result.leaf_lower)
        size = np.bincount(result.leaf, minlength=n)
        known = np.bincount(result.leaf[result.known], minlength=n)
        likely = np.bincount(result.leaf, weights=result.probability, minlength=n) / np.maximum(size, 1)
        labels = self._leaf_labels()
        return [
            LeafView(
                leaf=int(leaf), label=labels[leaf], size=int(size[leaf]), known=int(known[leaf]),
                lower=float(np.clip(result.leaf_lower[leaf], 0.0, 1.0)), probability=float(likely[leaf]),
            )
            for leaf in np.argsort(-size, kind="stable")
            if size[leaf]
        ]  # fmt: skip

    def rows(self, leaf: int, offset: int, limit: int, without: Collection[int] = ()) -> IntArray:
        """Return rows of a leaf, those in doubt first and those that are known last."""
        chosen = self.result.leaf == leaf
        chosen[list(without)] = False
        rows: IntArray = np.flatnonzero(chosen)
        doubt = self.result.probability[rows]
        doubt[self.result.known[rows]] = _LAST
        return rows[lowest(doubt, offset + limit)[offset:]]

    @cached_property
    def _coded(self) -> tuple[list[Label], IntArray]:
        """The labels that there are, and the place of each row's among them; sorting texts would take longer."""
        if self.result.labels.dtype.kind in "iub":  # beside which others can go on
            found, codes = np.unique(self.result.labels, return_inverse=True)
            return found.tolist(), codes
        places: dict[Label, int] = {}
        labels = self.result.labels.tolist()
        codes = np.fromiter((places.setdefault(label, len(places)) for label in labels), np.int64, len(labels))
        return list(places), codes

    def _leaf_labels(self) -> dict[int, Label]:
        """Return the label that most rows of each leaf have."""
        names, codes = self._coded
        pairs, counts = _counted(self.result.leaf.astype(np.int64) * len(names) + codes)
        ordered = pairs[np.argsort(counts, kind="stable")].tolist()  # of each leaf, the last one counts
        return {pair // len(names): names[pair % len(names)] for pair in ordered}


def lowest(values: FloatArray, n: int) -> IntArray:
    """Return the places of the n lowest values in their order, the first of those that are alike; not all are sorted.

    >>> lowest(np.array([0.5, 0.1, 0.5, 0.9]), 2).tolist()
    [1, 0]
    """
    taken: IntArray = np.arange(len(values))
    if len(values) > n:
        edge = np.partition(values, n - 1)[n - 1]
        first, tied = np.flatnonzero(values < edge), np.flatnonzero(values == edge)
        taken = np.concatenate([first, tied[: n - len(first)]])
    return taken[np.lexsort((taken, values[taken]))]


def _counted(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return which whole numbers there are, and how often; without sorting where they are no more than their places."""
    if len(values) <= int(values.max(initial=0)):
        return np.unique(values, return_counts=True)
    counts = np.bincount(values)
    found = np.flatnonzero(counts)
    return found, counts[found]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCounts:
    """A class: rows that are known to be of it, and rows that have its label."""

    label: JsonLabel
    n_answers: int
    n_labels: int
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often one class was predicted where another was answered, or the same."""

    role: str
    predicted: JsonLabel
    answered: JsonLabel
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOverview:
    """The classes, what was predicted against what was answered, and which classes are rare."""

    classes: Sequence[ClassCounts]
    confusions: Sequence[Confusion]
    rare: Sequence[JsonLabel]


def class_counts(
    known: Mapping[Label, int], labels: Labels | None, groups: Mapping[Label, str] | None = None
) -> list[ClassCounts]:
    """Return the counts of classes, of which so many rows are known, with the groups that they are in."""
    n_labels, groups = {} if labels is None else labels.counts, groups or {}
    return [
        ClassCounts(label=label, n_answers=n, n_labels=n_labels.get(label, 0), group=groups.get(label, ""))
        for label, n in known.items()
    ]


def class_overview(book: Book, labels: Labels | None, predicted: Mapping[int, Label]) -> ClassOverview:
    """Say how the classes of a campaign fare; whoever calls it holds the campaign's lock."""
    pairs: Counter[tuple[str, Label, Label]] = Counter()
    for question, guess in predicted.items():
        answer = book.answer_to(question)
        if answer is not None:
            pairs[str(book.questions[question].role), guess, answer] += 1
    classes = class_counts(count(book).known, labels)
    least = 0 if labels is None else _RARE * book.n_rows
    confusions = [Confusion(role=role, predicted=guess, answered=answer, n=n)
                  for (role, guess, answer), n in pairs.most_common()]  # fmt: skip
    rare = [one.label for one in classes if one.n_answers < _FEW or one.n_labels < least]
    return ClassOverview(classes=classes, confusions=confusions, rare=rare)
