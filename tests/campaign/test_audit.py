"""The audit of labels in one call: whoever answers, extreme audits, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bela.campaign import Campaign, Verdict, audit_result, begin_audit, certify
from bela.errors import DataError, LabelError, ParameterError


def test_oracles() -> None:
    """An array, a callable and a callable asked for several rows at once give the same draws; None skips a row."""
    truth = np.arange(500) % 3
    labels = np.where(np.arange(500) % 50 == 0, 7, truth)
    expected = certify(labels, truth, target=0.9)
    assert certify(labels.tolist(), lambda rows: truth[rows].tolist(), target=0.9) == expected
    batched = certify(labels, truth, target=0.9, batch=10)
    assert 0 <= batched.n_asked - expected.n_asked < 10
    silent = certify(labels, lambda rows: [None] * len(rows), target=0.9)
    assert (silent.verdict, silent.n_asked, silent.n_skipped) == (Verdict.UNDECIDED, 0, 500)
    assert (silent.certificate.lower, silent.upper) == (0.0, 1.0)


def test_small_and_extreme_audits() -> None:
    """One row, a target of all rows, a budget of none: each ends, and says what it may."""
    assert certify(["a"], ["a"]).verdict is Verdict.CERTIFIED
    assert certify(["a"], ["b"]).verdict is Verdict.REFUTED
    every = certify(["a"] * 30, ["a"] * 30, target=1.0)
    assert (every.verdict, every.n_asked) == (Verdict.CERTIFIED, 29)  # an error would be last with a chance of 1/30
    assert certify(["a"] * 30, ["a"] * 27 + ["b"] * 3, target=1.0).verdict is Verdict.REFUTED
    assert certify(["a"] * 30, ["a"] * 29 + ["b"], budget=0).verdict is Verdict.UNDECIDED
    assert certify([1] * 30, [1] * 30, scores=[0.5] * 30).verdict is Verdict.CERTIFIED


def test_corrected_mistakes() -> None:
    """Mistakes whose right label was told count as corrected in the second certificate only; late answers count."""
    campaign = begin_audit(["a"] * 100, target=0.5)
    first, second, third, fourth = campaign.ask(4)
    campaign.tell(first.id, "b")
    campaign.reject(second.id)
    campaign.skip(third.id)
    campaign.tell(fourth.id, "a")
    found = audit_result(campaign)
    assert (found.n_asked, found.n_skipped, found.verdict) == (3, 1, Verdict.UNDECIDED)
    assert [(mistake.row, mistake.label, mistake.answer) for mistake in found.mistakes] == [
        (first.row, "a", "b"), (second.row, "a", None)
    ]  # fmt: skip
    assert found.corrected.lower == pytest.approx(found.certificate.lower + 1 / 100)
    campaign.relabel(third.row, "a")
    later = audit_result(campaign)
    assert (later.n_asked, later.n_skipped) == (4, 0)
    assert later.certificate.lower > found.certificate.lower


def test_what_is_not_an_audit() -> None:
    """Only audits have a verdict."""
    with pytest.raises(ParameterError, match="audits no labels"):
        audit_result(Campaign(np.zeros((5, 2)), method="random"))


@pytest.mark.parametrize(
    ("labels", "options", "error", "says"),
    [
        ([], {}, DataError, "no rows"),
        ([[1, 2]], {}, LabelError, "a label is"),
        (["a", None], {}, DataError, "1 row"),
        (["a"], {"target": 0}, ParameterError, "target"),
        (["a"], {"target": 1.1}, ParameterError, "target"),
        (["a"], {"confidence": 1.0}, ParameterError, "confidence"),
        (["a"], {"budget": 2}, ParameterError, "budget"),
        (["a"], {"seed": -1}, ParameterError, "seed"),
        (["a", "b"], {"scores": [1.0]}, DataError, "scores"),
        (["a", "b"], {"scores": [1.0, float("nan")]}, DataError, "no score"),
        (["a", "b"], {"scores": ["x", "y"]}, DataError, "numbers"),
        (["a", "b"], {"scores": [[1.0], [1.0, 2.0]]}, DataError, "numbers"),
    ],
)
def test_bad_input(labels: Any, options: dict[str, Any], error: type[Exception], says: str) -> None:
    """What cannot be audited is said."""
    with pytest.raises(error, match=says):
        certify(labels, labels, **options)
