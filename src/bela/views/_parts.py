"""What is certified of parts of the rows, as people are shown it: by class, and which rows are sure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bela.exports import class_statement, sure_claim, sure_statement
from bela.records import Result
from bela.views._labels import JsonLabel


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPart:
    """The rows that carry a label: how many, and the share of them that is certainly right."""

    label: JsonLabel
    n_rows: int
    lower: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SureRows:
    """How many rows are right to at least a share, how many of them were not answered, and that in words."""

    share: float
    n_rows: int
    n_inferred: int
    covered: float  # of all rows
    claim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsView:
    """Two statements beside the certificate, each with its own `confidence`, and what they are worth in words."""

    confidence: float
    classes: Sequence[ClassPart]  # the least certain first
    by_class_worth: str
    sure: Sequence[SureRows]
    sure_worth: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsNow:
    """What is certified of parts of the rows after so many answers; None before the first, or where nobody says."""

    answers: int
    parts: PartsView | None


def parts_now(result: Result | None) -> PartsNow:
    """Return what is certified of parts of the rows, if there are labels."""
    if result is None:
        return PartsNow(answers=0, parts=None)
    return PartsNow(answers=result.n_asked, parts=parts_of(result))


def parts_of(result: Result) -> PartsView | None:
    """Return what is certified by class, and which rows are sure; None where the method does not say."""
    parts = result.parts
    if parts is None:
        return None
    classes = [ClassPart(label=one.label, n_rows=one.n_rows, lower=float(one.lower)) for one in parts.by_class]
    sure = [
        SureRows(
            share=share, n_rows=one.n_rows, n_inferred=one.n_inferred, covered=one.n_rows / len(one.rows),
            claim=sure_claim(one),
        )
        for share, one in parts.sure.items()
    ]  # fmt: skip
    return PartsView(
        confidence=float(parts.confidence), classes=sorted(classes, key=lambda one: one.lower), sure=sure,
        by_class_worth=class_statement(result.certificate), sure_worth=sure_statement(result.certificate),
    )  # fmt: skip
