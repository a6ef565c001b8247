"""What a report of a campaign says, gathered beforehand: nothing in it is HTML, and whoever writes it escapes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bela.records import Forecast, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A row as a report shows it.

    Parameters
    ----------
    name
        What the row is called.
    text
        Its texts and values, cut to a length that can be printed.
    pictures
        Its pictures, as addresses that hold the content themselves.
    label, source
        Its label, and where that comes from: oracle, given, corrected or inferred.
    probability
        How likely the label is right.
    """

    name: str
    text: str
    pictures: Sequence[str]
    label: Label
    source: str
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRow:
    """A question of a campaign: the row, what it was asked for, what was foretold, who said what and when.

    The answer is None where the question was skipped.
    """

    name: str
    text: str
    pictures: Sequence[str]
    role: str
    foretold: Label | None
    answer: Label | None
    by: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFacts:
    """A class: how many rows have it, how many of them are known, the surest of the others and the least sure."""

    label: Label
    n_rows: int
    n_known: int
    surest: Sequence[Example] = ()
    doubtful: Sequence[Example] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Where a campaign stood after so many answers; `expected` is None where that was not kept."""

    answers: int
    lower: float
    expected: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts:
    """All that a report of a campaign says.

    Parameters
    ----------
    name
        What the campaign is called.
    certificate
        The document that goes with its exports (`bela.exports.certificate_document`).
    expected
        The share of labels that the model expects to be right.
    forecast
        How many answers the target still takes, where somebody can tell.
    n_corrected
        Rows whose label somebody corrected without being asked.
    course
        What was certain after how many answers.
    classes, leaves
        What there is: classes in their order, leaves with the largest first (`leaf`, `label`, `size`, `known`,
        `lower`, `probability`).
    sureness
        How many rows have labels of which probability, in tenths of the way from 0 to 1.
    confusions
        Answers that were not as foretold: (foretold, answered, how often), the most common first.
    n_foretold, n_right
        How many answers were foretold, and how many of these as they came.
    asked
        The questions, the first at first; where there are very many, some of them.
    people
        Who answered: name, answers, skipped.
    agreement
        How far they agree, where several spoke about the same rows: (what, value).
    flags
        Rows that were marked for later: (row's name, comment, by whom).
    guidelines
        What people were told to go by, as Markdown made it: harmless HTML that is well-formed XML.
    data
        What is known of the data: (what, value).
    versions
        What made the labels and this report: (what, version).
    created
        When the report was written.
    """

    name: str
    certificate: Mapping[str, Any]
    expected: float | None
    forecast: Forecast | None
    n_corrected: int
    course: Sequence[Course]
    classes: Sequence[ClassFacts]
    leaves: Sequence[Mapping[str, Any]]
    sureness: Sequence[int]
    confusions: Sequence[tuple[Label, Label, int]]
    n_foretold: int
    n_right: int
    asked: Sequence[AskedRow]
    people: Sequence[tuple[str, int, int]]
    agreement: Sequence[tuple[str, float]]
    flags: Sequence[tuple[str, str, str]]
    guidelines: str
    data: Sequence[tuple[str, str]]
    versions: Sequence[tuple[str, str]]
    created: str
