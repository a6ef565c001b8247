"""Audits of given labels: exact enumeration, peeking, skips, undo, and the twins that must fail."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bela.audit import Audit, AuditResult, Draw, Verdict, certify
from bela.audit._evidence import ScoredPlan, UniformPlan
from bela.bounds import share_lower
from bela.bounds._hypergeometric import errors_upper_one_look
from bela.bounds._prior_posterior import errors_upper
from bela.errors import DataError, LabelError, ParameterError, QuestionError

ALPHA = 0.2


def looks(wrong: np.ndarray, **options: Any) -> Iterator[tuple[Audit, bool]]:
    """Audit labels of which some are wrong, and yield after each answer, with the answer.

    The labels are always the same, as the order of the draws depends on them.
    """
    audit = Audit(np.zeros(len(wrong), int), **options)
    for _ in range(len(wrong) if audit.budget is None else audit.budget):
        [question] = audit.ask()
        audit.tell(question.id, int(wrong[question.row]))
        yield audit, bool(wrong[question.row])


# --------------------------------------------------------------------------------------------- the guarantee


@pytest.mark.parametrize("alpha", [0.15, 0.3])  # with either prior for the refutation
def test_every_order_of_seven_rows(alpha: float) -> None:
    """Over all draws, looking after each: a bound on either side ever fails with probability alpha at most.

    The twin, an exact bound for one look, fails more often when it is looked at after every draw.
    """
    n_rows = 7
    one_look = cache(lambda n, found: errors_upper_one_look(n, found, population=n_rows, alpha=alpha))
    order = np.array([Audit(np.zeros(n_rows, int)).ask(n_rows)[i].row for i in range(n_rows)])
    counts = np.zeros((n_rows + 1, 4))
    for pattern in product((False, True), repeat=n_rows):
        wrong = np.zeros(n_rows, dtype=bool)
        wrong[order] = pattern
        errors = int(wrong.sum())
        failed = np.zeros(3, dtype=bool)
        for n, (audit, _) in enumerate(looks(wrong, target=0.7, confidence=1 - alpha), start=1):
            share = 1 - errors / n_rows
            found = sum(pattern[:n])
            failed |= [
                audit.certificate.lower > share + 1e-12,
                audit.upper < share - 1e-12,
                one_look(n, found) < errors,
            ]
            truly = Verdict.CERTIFIED if share >= 0.7 else Verdict.REFUTED
            assert audit.verdict in (truly, Verdict.UNDECIDED) or failed[:2].any()
        assert audit.certificate.lower == audit.upper == pytest.approx(share)  # all is known in the end
        counts[errors] += [*failed, 1]
    chances = counts[:, :3] / counts[:, 3:]
    assert chances[:, :2].max() <= alpha + 1e-12
    assert chances[:, 0].max() > 0.04
    assert chances[:, 2].max() > 1.3 * alpha


def too_often(n_failed: int, n_runs: int) -> bool:
    """Whether a failure probability of alpha is all but out of the question."""
    return bool(binom.sf(n_failed - 1, n_runs, ALPHA) < 0.005)


def test_peeking_at_uniform_draws() -> None:
    """Stopped at the best moment, a certificate one error short of the target is false with probability alpha at most.

    The twin is the bound by Clopper and Pearson, looked at after every draw: it must be seen to fail.
    """
    n_runs, n_rows, n_allowed = 150, 300, 30
    honest = peeked = 0
    for seed in range(n_runs):
        wrong = np.arange(n_rows) <= n_allowed  # sorted rows: the draws alone are random
        history = list(looks(wrong, target=0.9, confidence=1 - ALPHA, seed=seed, budget=80))
        honest += history[-1][0].verdict is Verdict.CERTIFIED
        outcomes, n = [is_wrong for _, is_wrong in history], np.arange(1, 81)
        peeked += bool((share_lower(n - np.cumsum(outcomes), n, ALPHA) >= 0.9).any())
    assert not too_often(honest, n_runs)
    assert honest > 0
    assert too_often(peeked, n_runs)


def test_peeking_for_a_refutation() -> None:
    """Labels that just meet the target are refuted with probability alpha at most; by Clopper and Pearson, more."""
    n_runs, n_rows, n_allowed = 150, 300, 30
    honest = peeked = 0
    for seed in range(n_runs):
        wrong = np.arange(n_rows) < n_allowed
        history = list(looks(wrong, target=0.9, confidence=1 - ALPHA, seed=seed, budget=80))
        honest += history[-1][0].verdict is Verdict.REFUTED
        outcomes, n = [is_wrong for _, is_wrong in history], np.arange(1, 81)
        peeked += bool((share_lower(np.cumsum(outcomes), n, ALPHA) > 0.1).any())
    assert not too_often(honest, n_runs)
    assert honest > 0
    assert too_often(peeked, n_runs)


@pytest.mark.parametrize("side", [Verdict.CERTIFIED, Verdict.REFUTED])
def test_misleading_scores(side: Verdict) -> None:
    """With scores and weights that are wrong on purpose, a verdict is false with probability alpha at most.

    For the certificate the errors sit where draws are rare, for the refutation where they are frequent. The twin takes
    the same draws for uniform ones.
    """
    n_runs, n_rows, n_allowed = 50, 160, 32
    n_errors = n_allowed + (side is Verdict.CERTIFIED)
    weights, even = (5.0,) * 12 + (0.5,) * 8, (1.0,) * 20
    failed = np.zeros(2, dtype=int)
    for seed in range(n_runs):
        scores = np.random.default_rng(seed).permutation(n_rows).astype(float)
        wrong = scores >= n_rows - n_errors if side is Verdict.CERTIFIED else scores < n_errors
        plan = ScoredPlan(scores, alpha=ALPHA, allowed=n_allowed, tuned_to=n_allowed, seed=seed)
        honest, broken = plan.open(), plan.open()
        for index in range(40):
            row = plan.draw(index, weights).row
            for evidence, recorded in ((honest, weights), (broken, even)):
                evidence.observe(Draw(row, recorded), bool(wrong[row]))
        if side is Verdict.CERTIFIED:  # bounds are kept, so that the last look sees all
            failed += [honest.certifies(), broken.certifies()]
        else:
            failed += [honest.refutes(), broken.refutes()]
    assert not too_often(failed[0], n_runs)
    assert too_often(failed[1], n_runs)


def test_hard_rows_skipped() -> None:
    """Somebody who skips every wrong row certifies nothing false; with skipped rows ignored, they always would."""
    wrong = np.arange(200) % 4 == 0
    honest, broken = Audit(wrong.astype(int), target=0.9), Audit([0] * 150, target=0.9)
    while not honest.finished:
        [question] = honest.ask()
        if wrong[question.row]:
            honest.skip(question.id)
        else:
            honest.confirm(question.id)
            if not broken.finished:
                broken.confirm(broken.ask()[0].id)
    assert honest.verdict is Verdict.UNDECIDED
    assert honest.certificate.lower == 0.75
    assert broken.verdict is Verdict.CERTIFIED


def test_more_wrong_rows_never_help() -> None:
    """With every prior in use, one draw more that counts as wrong raises the bound or leaves it.

    So rows skipped by somebody who knows the truth cannot make the certificate false: docs/certify.md has the proof.
    """
    for n_rows, allowed, alpha in product((5, 9, 14), (0, 1, 3), (0.01, 0.05, 0.18, 0.2, 0.5)):
        plan = UniformPlan(n_rows, alpha=alpha, allowed=allowed, tuned_to=allowed, seed=0)
        for a, b in (plan.prior, plan.mirrored_prior):
            for n in range(n_rows + 1):
                upper = errors_upper(n, np.arange(n + 1), population=n_rows, alpha=alpha, a=a, b=b)
                assert np.all(np.diff(upper) >= 0)


@given(st.lists(st.sampled_from(["right", "wrong"]), min_size=15, max_size=15), st.sets(st.integers(0, 14)))
@settings(max_examples=15)
def test_skipping_never_helps(outcomes: list[str], skipped: set[int]) -> None:
    """Whichever rows are skipped, both bounds are weaker than if they had been answered."""
    full, holed = (Audit(["right"] * 20, target=0.8) for _ in range(2))
    for i, outcome in enumerate(outcomes):
        [question] = full.ask()
        full.tell(question.id, outcome)
        [same] = holed.ask()
        assert same == question
        if i in skipped:
            holed.skip(same.id)
        else:
            holed.tell(same.id, outcome)
        assert holed.certificate.lower <= full.certificate.lower
        assert holed.upper >= full.upper
    for question in holed.skipped:  # answered in the end, nothing is lost
        holed.tell(question.id, outcomes[question.id])
    assert holed.result() == full.result()


# --------------------------------------------------------------------------------------------- ask and tell

SCORES = np.random.default_rng(5).random(60)


@given(st.lists(st.sampled_from(["right", "wrong", "unsaid", "skip", "undo", "late", "ask"]), max_size=40))
@settings(max_examples=40)
@pytest.mark.parametrize("scores", [None, SCORES], ids=["uniform", "scores"])
def test_the_state_is_its_record(scores: np.ndarray | None, program: list[str]) -> None:
    """Whatever was told, skipped, undone or answered late: the audit equals one restored from draws and outcomes."""
    audit = Audit(["right"] * 60, target=0.9, scores=scores, seed=3)
    last: dict[int, str] = {}
    history: list[tuple[int, str | None]] = []
    for step in program:
        if step == "undo":
            if not history:
                with pytest.raises(QuestionError, match="nothing to undo"):
                    audit.undo()
                continue
            question_id, before = history.pop()
            assert audit.undo().id == question_id
            if before is None:
                del last[question_id]
            else:
                last[question_id] = before
        elif step == "ask":
            assert audit.ask(3) == audit.ask(3)  # asking again gives the same questions
        else:
            if step == "late":
                if not audit.skipped:
                    continue
                question, step = audit.skipped[-1], "right"  # noqa: PLW2901
            else:
                [question] = audit.ask()
            history.append((question.id, last.get(question.id)))
            settle(audit, question.id, step)
            last[question.id] = step
    again = Audit(["right"] * 60, target=0.9, scores=scores, seed=3)
    for draw in audit.draws:
        again.restore(draw)
    for question_id, step in sorted(last.items()):
        settle(again, question_id, step)
    assert again.result() == audit.result()
    assert audit.n_asked == sum(step != "skip" for step in last.values())


def settle(audit: Audit, question_id: int, step: str) -> None:
    """Answer or skip a question."""
    if step == "skip":
        audit.skip(question_id)
    elif step == "unsaid":
        audit.reject(question_id)
    else:
        audit.tell(question_id, step)


@pytest.mark.parametrize("scores", [None, SCORES], ids=["uniform", "scores"])
def test_the_verdict_is_what_the_bounds_say(scores: np.ndarray | None) -> None:
    """Certified at the first moment when the lower bound is at the target, refuted when the upper one is below."""
    for n_wrong, expected in ((2, Verdict.CERTIFIED), (30, Verdict.REFUTED)):
        wrong = np.random.default_rng(1).permutation(np.arange(60) < n_wrong)
        seen = Verdict.UNDECIDED
        for audit, _ in looks(wrong, target=0.85, scores=scores):
            if seen is Verdict.UNDECIDED:
                certified, refuted = audit.certificate.lower >= 0.85, audit.upper < 0.85
                assert not (certified and refuted)
                seen = Verdict.CERTIFIED if certified else Verdict.REFUTED if refuted else seen
            assert audit.verdict is seen
        assert seen is expected
        assert audit.certificate.lower == audit.upper == 1 - n_wrong / 60


def test_answers_in_another_order() -> None:
    """Questions may be answered in any order: the bound uses the longest prefix of the draws that has outcomes."""
    audit = Audit(["a"] * 100, target=0.8)
    questions = audit.ask(5)
    assert [question.id for question in questions] == [0, 1, 2, 3, 4]
    for question in reversed(questions[1:]):
        audit.tell(question.id, "a")
    assert (audit.certificate.lower, audit.n_asked) == (0.0, 4)
    audit.confirm(0)
    straight = Audit(["a"] * 100, target=0.8)
    for question in straight.ask(5):
        straight.confirm(question.id)
    assert audit.result() == straight.result()


def test_telling_twice() -> None:
    """The same answer twice is harmless, another one is an error, and so is a question that was not asked."""
    audit = Audit(["a"] * 10)
    [question] = audit.ask()
    audit.tell(question.id, "b")
    audit.tell(question.id, "b")
    assert (audit.n_asked, audit.n_mistakes) == (1, 1)
    for change in (lambda: audit.tell(question.id, "a"), lambda: audit.reject(question.id)):
        with pytest.raises(QuestionError, match="undo"):
            change()
    with pytest.raises(QuestionError, match="undo"):
        audit.skip(question.id)
    with pytest.raises(QuestionError, match="ask first"):
        audit.tell(7, "a")
    audit.undo()
    with pytest.raises(LabelError, match="one type"):
        audit.tell(question.id, 3)
    audit.tell(question.id, "a")
    assert (audit.n_asked, audit.n_mistakes) == (1, 0)


def test_corrected_mistakes() -> None:
    """Only mistakes whose right label was said are corrected; skipped rows are not."""
    audit = Audit(["a"] * 50, target=0.5)
    for step in ("wrong", "unsaid", "skip", *["right"] * 5):
        [question] = audit.ask()
        settle(audit, question.id, {"wrong": "b", "right": "a"}.get(step, step))
    assert audit.corrected.lower == pytest.approx(audit.certificate.lower + 1 / 50)
    assert [mistake.answer for mistake in audit.mistakes] == ["b", None]
    assert audit.result().n_skipped == 1


def test_going_on_with_another_target() -> None:
    """With `tuned_to`, answers given for one target count for another, and the bounds stay what they were."""
    wrong = np.zeros(2000, dtype=int)
    first = Audit(wrong, target=0.9)
    while not first.finished:
        first.confirm(first.ask()[0].id)
    second = Audit(wrong, target=0.95, tuned_to=0.9)
    for i, draw in enumerate(first.draws):
        second.restore(draw)
        second.confirm(i)
    assert second.certificate == first.certificate
    assert (first.verdict, second.verdict) == (Verdict.CERTIFIED, Verdict.UNDECIDED)
    assert second.ask()[0].row != first.draws[-1].row


# -------------------------------------------------------------------------------------------------- certify


def run(n_rows: int, n_wrong: int, seed: int, **options: Any) -> AuditResult:
    wrong = np.random.default_rng(seed).permutation(np.arange(n_rows) < n_wrong)
    return certify(np.where(wrong, "cat", "dog"), np.full(n_rows, "dog"), seed=seed, **options)


def test_how_many_answers_it_takes() -> None:
    """10,000 labels at 0.95: hardly more than the 59 right ones of one exact look, some 130 with 1 % wrong."""
    assert run(10_000, 0, 0).n_asked <= 81
    asked = [run(10_000, 100, seed) for seed in range(9)]
    assert all(result.verdict is Verdict.CERTIFIED and result.certificate.lower >= 0.95 for result in asked)
    assert np.median([result.n_asked for result in asked]) <= 220
    refuted = [run(10_000, 2000, seed) for seed in range(9)]
    assert all(result.verdict is Verdict.REFUTED and result.upper < 0.95 for result in refuted)
    assert np.median([result.n_asked for result in refuted]) <= 80


def test_good_scores_save_answers() -> None:
    """Where the doubtful labels are the wrong ones, scores take fewer answers than uniform draws, over a few seeds."""
    n_rows, spent = 5000, np.zeros(2)
    for seed in range(5):
        scores = np.random.default_rng(seed).random(n_rows)
        wrong = np.argsort(np.argsort(scores)) < 0.03 * n_rows
        for i, used in enumerate((None, scores)):
            result = certify(wrong.astype(int), np.zeros(n_rows, int), scores=used, seed=seed)
            assert result.verdict is Verdict.CERTIFIED
            spent[i] += result.n_asked
    assert spent[1] < 0.8 * spent[0]


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
    assert run(30, 3, 0, target=1.0).verdict is Verdict.REFUTED
    assert run(30, 1, 0, budget=0).verdict is Verdict.UNDECIDED
    assert certify([1] * 30, [1] * 30, scores=[0.5] * 30).verdict is Verdict.CERTIFIED
    # 0.95 of 100 is 95, whatever the binary digits of 0.95 say
    assert (Audit([1] * 100, target=0.95).n_allowed, Audit([1] * 100, target=0.29).n_allowed) == (5, 71)


@pytest.mark.parametrize(
    ("labels", "options", "error", "says"),
    [
        ([], {}, DataError, "no rows"),
        ([[1, 2]], {}, LabelError, "a label is"),
        (np.zeros((2, 2)), {}, DataError, "shape"),
        (["a", None], {}, DataError, "1 row"),
        (["a"], {"target": 0}, ParameterError, "target"),
        (["a"], {"target": 1.1}, ParameterError, "target"),
        (["a"], {"confidence": 1.0}, ParameterError, "confidence"),
        (["a"], {"budget": 2}, ParameterError, "budget"),
        (["a"], {"seed": -1}, ParameterError, "seed"),
        (["a", "b"], {"scores": [1.0]}, DataError, "scores"),
        (["a", "b"], {"scores": [1.0, float("nan")]}, DataError, "no score"),
        (["a", "b"], {"scores": ["x", "y"]}, DataError, "numbers"),
    ],
)
def test_bad_input(labels: Any, options: dict[str, Any], error: type[Exception], says: str) -> None:
    """What cannot be audited is refused with a sentence that says why."""
    with pytest.raises(error, match=says):
        certify(labels, ["a"] * len(labels), **options)


def test_records_of_another_audit_are_refused() -> None:
    """A draw that this audit could not have made is not taken from a record."""
    uniform = Audit(["a"] * 60)
    with pytest.raises(QuestionError, match="is row"):
        uniform.restore(Draw((uniform.ask()[0].row + 1) % 60))
    scored = Audit(["a"] * 60, scores=SCORES)
    [question] = scored.ask()
    weights = scored.draws[0].weights
    for draw in (Draw(1), Draw(99, weights), Draw(question.row, weights), Draw(1, (0.0,) * 20)):
        with pytest.raises(QuestionError):
            scored.restore(draw)


def test_mended_labels_meet_other_draws() -> None:
    """Whoever corrects what an audit found, and audits again with the same seed, is asked about other rows."""
    labels = np.zeros(2000, int)
    first = {question.row for question in Audit(labels).ask(100)}
    assert {question.row for question in Audit(labels).ask(100)} == first
    labels[min(first)] = 1
    again = {question.row for question in Audit(labels).ask(100)}
    assert len(first & again) < 20
