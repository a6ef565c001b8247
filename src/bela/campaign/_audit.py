"""The audit of labels that exist already, and what it comes to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa

from bela.campaign._campaign import Campaign
from bela.campaign._run import run_campaign
from bela.data import open_table
from bela.display import card, draw_share
from bela.errors import DataError, ParameterError
from bela.features import without_features
from bela.methods.audit import find_mistakes
from bela.oracles import make_oracle
from bela.records import AnyArray, Certificate, Label
from bela.shares import percent_text, share_text


class Verdict(StrEnum):
    """What an audit has shown."""

    CERTIFIED = "certified"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A label that was found to be wrong; `answer` is the right one, None if nobody said."""

    row: int
    label: Label
    answer: Label | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What an audit came to.

    `certificate` is about the labels as they are, `corrected` about the same labels once the mistakes found with their
    right label are put right. `upper` bounds the share of right labels as they are from above: lower and upper bound
    each hold with the stated confidence on their own.
    """

    verdict: Verdict
    target: float | None
    certificate: Certificate
    corrected: Certificate
    upper: float
    mistakes: tuple[Mistake, ...]
    n_rows: int
    n_asked: int
    n_skipped: int
    seed: int

    def __repr__(self) -> str:
        return f"<AuditResult: {self.verdict}, {len(self.mistakes):,} mistakes found. {self.certificate.claim}>"

    def _repr_html_(self) -> str:
        facts = [("mistakes found", len(self.mistakes)), ("answers", f"{self.n_asked:,}"), *self.certificate.facts()]
        title, drawing = f"Audit: {self.verdict}", draw_share(self.certificate.lower, self.target)
        return card(title, self.certificate.claim, [drawing], facts)

    def in_words(self, name: str) -> list[str]:
        """Say in plain words what the audit of a file came to: first the verdict, then what it rests on."""
        n_mistakes = len(self.mistakes)
        target, sure = percent_text(self.target or 1.0), f"(confidence {percent_text(self.certificate.confidence)})"
        after = f"after {_count(self.n_asked, 'answer')}, {_count(n_mistakes, 'mistake')} found"
        of = f"of the {self.n_rows:,} labels are right"
        lines = [
            {
                Verdict.CERTIFIED: f"Certified: at least {target} {of} {sure}, {after}.",
                Verdict.REFUTED: f"Refuted: fewer than {target} {of} {sure}, {after}.",
                Verdict.UNDECIDED: f"Not decided: whether at least {target} {of} is still open, {after}.",
            }[self.verdict],
            f"{name} as it is: at least {share_text(self.certificate.lower)} right, "
            f"at most {share_text(self.upper, up=True)}, each {sure}.",
        ]
        n_known = sum(mistake.answer is not None for mistake in self.mistakes)
        if n_known:
            what = "the mistake found" if n_known == 1 else f"the {n_known:,} mistakes found"
            lines.append(f"With {what} corrected: at least {share_text(self.corrected.lower)} right.")
        if n_known < n_mistakes:
            lines.append(f"Of {_count(n_mistakes - n_known, 'mistake')} nobody said what would be right.")
        if self.n_skipped:
            lines.append(f"{_count(self.n_skipped, 'row')} without an answer counted as wrong.")
        return lines


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def audited_label(campaign: Campaign, row: int) -> Label:
    """Return the label of a row that is under audit."""
    [prediction] = campaign.predictions.values()
    return campaign.book.codes.classes[campaign.book.code_now(int(prediction.codes[row]))]


def audit_result(campaign: Campaign) -> AuditResult:
    """Return what is known of the labels under audit as things stand."""
    book, assessment = campaign.book, campaign.assessment
    if assessment.as_given is None or assessment.upper is None or len(campaign.predictions) != 1:
        raise ParameterError(f"the method {campaign.method_name!r} audits no labels: choose `audit`")
    [prediction] = campaign.predictions.values()
    verdict = Verdict.REFUTED if assessment.refuted else Verdict.UNDECIDED
    late = sum(bool(book.declined[row]) for row in book.corrections)  # answers to questions that were skipped before
    return AuditResult(
        verdict=Verdict.CERTIFIED if assessment.reached else verdict, target=campaign.target,
        certificate=assessment.as_given, corrected=assessment.certificate, upper=assessment.upper,
        mistakes=tuple(
            Mistake(row=row, label=audited_label(campaign, row), answer=book.label(row))
            for row in find_mistakes(book, prediction.codes)
        ),
        n_rows=campaign.n_rows, n_asked=campaign.n_asked + late, n_skipped=book.n_skipped - late, seed=campaign.seed,
    )  # fmt: skip


def begin_audit(labels: Sequence[Label] | AnyArray, scores: object = None, **options: Any) -> Campaign:
    """Begin the audit of labels in memory; options are those of `Campaign`."""
    n_rows = len(labels)
    if n_rows < 1:
        raise DataError("there are no rows: give at least one label")
    prepared = without_features(open_table(pa.table({"row": np.arange(n_rows)})))
    said = {"label": (labels, scores)}  # which tells one audit from another, without a fingerprint
    return Campaign(prepared, method="audit", predictions=said, fingerprint="", **options)


def certify(
    labels: Sequence[Label] | AnyArray, oracle: object, *, target: float = 0.95, confidence: float = 0.95,
    scores: object = None, budget: int | None = None, seed: int = 0, batch: int = 1,
    progress: Callable[[Campaign], object] | None = None,
) -> AuditResult:  # fmt: skip
    """Certify or refute that enough of given labels are right, by asking the oracle about a few of them.

    Parameters
    ----------
    labels, oracle
        The labels to audit, one a row, whoever made them; and an array of true labels, or a callable from an array of
        rows to labels (None for a row that it will not answer), which is asked for `batch` rows at once.
    target, budget, confidence, seed, progress
        As for a campaign; the share of right labels that is to be certified or refuted, each with this confidence.
    scores
        How sure whoever made the labels was of each; only the order counts. Doubtful rows are then drawn more often,
        which takes fewer answers if the order is any good, and is as valid if it is not. None to draw uniformly.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.arange(10_000) % 7
    >>> labels = np.where(np.arange(10_000) % 100 == 0, 8, truth)  # 1 % are wrong
    >>> result = certify(labels, truth, target=0.95)
    >>> str(result.verdict), result.certificate.lower >= 0.95, result.n_asked < 400
    ('certified', True, True)
    """
    campaign = begin_audit(labels, scores, target=target, confidence=confidence, budget=budget, seed=seed)
    run_campaign(campaign, make_oracle(oracle, campaign.n_rows), batch=batch, every=None, progress=progress)
    return audit_result(campaign)
