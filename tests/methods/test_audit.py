"""Audits of given labels: exact enumeration, peeking, skips, undo, and the twins that must fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bela import Campaign
from bela.book import Asked
from bela.bounds import errors_upper, errors_upper_one_look, share_lower
from bela.campaign import _inputs as inputs
from bela.data import ArraySource
from bela.errors import DataError, ParameterError, ReplayError
from bela.methods import make_method
from bela.methods.audit import Bins, ScoredEvidence, UniformEvidence, find_mistakes
from bela.protocols import Setup
from bela.records import UNKNOWN, Assessment, Prediction, Proposal, Question, Role
from bela.storage import MemoryArrays

ALPHA = 0.2
CERTIFIED, REFUTED, UNDECIDED = "certified", "refuted", "undecided"
SCORES = np.random.default_rng(5).random(60)

Audit = Callable[..., Any]


@pytest.fixture(scope="session")
def audit(play: Any) -> Audit:
    """Whatever begins the audit of labels against a truth."""

    def begin(labels: Any, truth: Any = None, **options: Any) -> Any:
        labels = np.asarray(labels)
        options = {"target": 0.95, **options}
        truth = labels if truth is None else np.asarray(truth)
        return play("audit", np.zeros((len(labels), 1)), truth, labels=labels, **options)

    return begin


def verdict(game: Any) -> str:
    """What an audit has shown."""
    now: Assessment = game.assessment
    assert not (now.reached and now.refuted)
    return CERTIFIED if now.reached else REFUTED if now.refuted else UNDECIDED


def run(game: Any, batch: int = 1, budget: int | None = None) -> Any:
    """Audit until there is a verdict, or nothing left to ask."""
    budget = len(game.y) if budget is None else budget
    while verdict(game) == UNDECIDED and game.book.n_asked < budget and (questions := game.ask(batch)):
        for question in questions:
            game.tell(question)
    return game


def looks(audit: Audit, wrong: np.ndarray, n: int | None = None, **options: Any) -> Iterator[tuple[Any, bool]]:
    """Audit labels of which some are wrong, and yield after each of n answers, with the answer."""
    game = audit(np.zeros(len(wrong), int), wrong.astype(int), **options)
    for _ in range(len(wrong) if n is None else n):
        [question] = game.ask()
        game.tell(question)
        yield game, bool(wrong[question.row])


def made_up(audit: Audit, n_rows: int, n_wrong: int, seed: int, **options: Any) -> Any:
    """An audit of labels of which so many are wrong, wherever."""
    wrong = np.random.default_rng(seed).permutation(np.arange(n_rows) < n_wrong)
    return audit(wrong.astype(int), np.zeros(n_rows, int), seed=seed, **options)


# --------------------------------------------------------------------------------------------- the guarantee


@pytest.mark.parametrize("alpha", [0.15, 0.3])  # with either prior for the refutation
def test_every_order_of_seven_rows(alpha: float, audit: Audit) -> None:
    """Over all draws, looking after each: a bound on either side ever fails with probability alpha at most.

    The twin, an exact bound for one look, fails more often when it is looked at after every draw.
    """
    n_rows = 7
    one_look = cache(lambda n, found: errors_upper_one_look(n, found, population=n_rows, alpha=alpha))
    order = np.array([question.row for question in audit(np.zeros(n_rows, int)).ask(n_rows)])
    counts = np.zeros((n_rows + 1, 4))
    for pattern in product((False, True), repeat=n_rows):
        wrong = np.zeros(n_rows, dtype=bool)
        wrong[order] = pattern
        errors = int(wrong.sum())
        failed = np.zeros(3, dtype=bool)
        for n, (game, _) in enumerate(looks(audit, wrong, target=0.7, confidence=1 - alpha), start=1):
            share, now = 1 - errors / n_rows, game.assessment
            found = sum(pattern[:n])
            failed |= [
                now.as_given.lower > share + 1e-12,
                now.upper < share - 1e-12,
                one_look(n, found) < errors,
            ]
            truly = CERTIFIED if share >= 0.7 else REFUTED
            assert verdict(game) in (truly, UNDECIDED) or failed[:2].any()
        assert now.as_given.lower == now.upper == pytest.approx(share)  # all is known in the end
        counts[errors] += [*failed, 1]
    chances = counts[:, :3] / counts[:, 3:]
    assert chances[:, :2].max() <= alpha + 1e-12
    assert chances[:, 0].max() > 0.04
    assert chances[:, 2].max() > 1.3 * alpha


def too_often(n_failed: int, n_runs: int) -> bool:
    """Whether a failure probability of alpha is all but out of the question."""
    return bool(binom.sf(n_failed - 1, n_runs, ALPHA) < 0.005)


def test_peeking_at_uniform_draws(audit: Audit) -> None:
    """Stopped at the best moment, a certificate one error short of the target is false with probability alpha at most.

    The twin is the bound by Clopper and Pearson, looked at after every draw: it must be seen to fail.
    """
    n_runs, n_rows, n_allowed = 150, 300, 30
    honest = peeked = 0
    for seed in range(n_runs):
        wrong = np.arange(n_rows) <= n_allowed  # sorted rows: the draws alone are random
        history = list(looks(audit, wrong, 80, target=0.9, confidence=1 - ALPHA, seed=seed))
        honest += verdict(history[-1][0]) == CERTIFIED
        outcomes, n = [is_wrong for _, is_wrong in history], np.arange(1, 81)
        peeked += bool((share_lower(n, np.cumsum(outcomes), alpha=ALPHA) >= 0.9).any())
    assert not too_often(honest, n_runs)
    assert honest > 0
    assert too_often(peeked, n_runs)


def test_peeking_for_a_refutation(audit: Audit) -> None:
    """Labels that just meet the target are refuted with probability alpha at most; by Clopper and Pearson, more."""
    n_runs, n_rows, n_allowed = 150, 300, 30
    honest = peeked = 0
    for seed in range(n_runs):
        wrong = np.arange(n_rows) < n_allowed
        history = list(looks(audit, wrong, 80, target=0.9, confidence=1 - ALPHA, seed=seed))
        honest += verdict(history[-1][0]) == REFUTED
        outcomes, n = [is_wrong for _, is_wrong in history], np.arange(1, 81)
        peeked += bool((share_lower(n, n - np.cumsum(outcomes), alpha=ALPHA) > 0.1).any())
    assert not too_often(honest, n_runs)
    assert honest > 0
    assert too_often(peeked, n_runs)


@pytest.mark.parametrize("side", [CERTIFIED, REFUTED])
def test_misleading_scores(side: str) -> None:
    """With scores and weights that are wrong on purpose, a verdict is false with probability alpha at most.

    For the certificate the errors sit where draws are rare, for the refutation where they are frequent. The twin takes
    the same draws for uniform ones.
    """
    n_runs, n_rows, n_allowed = 50, 160, 32
    n_errors = n_allowed + (side == CERTIFIED)
    weights, even = (5.0,) * 12 + (0.5,) * 8, (1.0,) * 20
    failed = np.zeros(2, dtype=int)
    for seed in range(n_runs):
        scores = np.random.default_rng(seed).permutation(n_rows).astype(float)
        wrong = scores >= n_rows - n_errors if side == CERTIFIED else scores < n_errors
        bins = Bins(n_rows, np.arange(n_rows), scores, key=seed)
        honest, broken = (ScoredEvidence(bins, alpha=ALPHA, tuned_to=n_allowed) for _ in range(2))
        taken = np.zeros_like(bins.sizes)
        for number in range(40):
            row = bins.draw(weights, taken, float(np.random.default_rng([seed, 2, number]).random()))
            for evidence, recorded in ((honest, weights), (broken, even)):
                evidence.observe(row, recorded, bool(wrong[row]))
        if side == CERTIFIED:  # bounds are kept, so that the last look sees all
            failed += [honest.errors_upper <= n_allowed, broken.errors_upper <= n_allowed]
        else:
            failed += [honest.errors_lower > n_allowed, broken.errors_lower > n_allowed]
    assert not too_often(failed[0], n_runs)
    assert too_often(failed[1], n_runs)


def test_hard_rows_skipped(audit: Audit) -> None:
    """Somebody who skips every wrong row certifies nothing false; with skipped rows ignored, they always would."""
    wrong = np.arange(200) % 4 == 0
    honest, broken = audit(np.zeros(200, int), wrong.astype(int), target=0.9), audit(np.zeros(150, int), target=0.9)
    while verdict(honest) == UNDECIDED and (questions := honest.ask()):
        if wrong[questions[0].row]:
            honest.skip(questions[0])
        else:
            honest.tell(questions[0])
            if verdict(broken) == UNDECIDED:
                broken.tell(broken.ask()[0])
    assert verdict(honest) == UNDECIDED
    assert honest.assessment.as_given.lower == 0.75
    assert verdict(broken) == CERTIFIED


def test_more_wrong_rows_never_help() -> None:
    """With every prior in use, one draw more that counts as wrong raises the bound or leaves it.

    So rows skipped by somebody who knows the truth cannot make the certificate false: docs/certify.md has the proof.
    """
    for n_rows, allowed, alpha in product((5, 9, 14), (0, 1, 3), (0.01, 0.05, 0.18, 0.2, 0.5)):
        evidence = UniformEvidence(n_rows, alpha=alpha, tuned_to=allowed)
        for a, b in (evidence.prior, evidence.mirrored_prior):
            for n in range(n_rows + 1):
                upper = errors_upper(n, np.arange(n + 1), population=n_rows, alpha=alpha, a=a, b=b)
                assert np.all(np.diff(upper) >= 0)


@given(st.lists(st.sampled_from([0, 1]), min_size=15, max_size=15), st.sets(st.integers(0, 14)))
@settings(max_examples=15)
def test_skipping_never_helps(audit: Audit, outcomes: list[int], skipped: set[int]) -> None:
    """Whichever rows are skipped, both bounds are weaker than if they had been answered; late answers make it up."""
    full, holed = (audit(np.zeros(20, int), target=0.8) for _ in range(2))
    for i, outcome in enumerate(outcomes):
        [question] = full.ask()
        full.tell(question, outcome)
        assert holed.ask() == [question]
        if i in skipped:
            holed.skip(question)
        else:
            holed.tell(question, outcome)
        assert holed.assessment.as_given.lower <= full.assessment.as_given.lower
        assert holed.assessment.upper >= full.assessment.upper
    for i in sorted(skipped):  # answered in the end, nothing is lost
        holed.relabel(full.book.questions[i].row, outcomes[i])
    assert bounds(holed) == bounds(full)


def bounds(game: Any) -> tuple[Any, ...]:
    """What an audit says about the labels, apart from how many answers that took."""
    now = game.assessment
    mistakes = find_mistakes(game.book, game.setup.predictions["audited"].codes)
    return now.as_given.lower, now.certificate.lower, now.upper, now.reached, now.refuted, mistakes


# ----------------------------------------------------------------------------------------------- what happens


@given(st.lists(st.sampled_from(["right", "wrong", "unsaid", "skip", "undo", "late", "ask"]), max_size=40))
@settings(max_examples=40)
@pytest.mark.parametrize("scores", [None, SCORES], ids=["uniform", "scores"])
def test_the_state_is_its_record(audit: Audit, scores: np.ndarray | None, program: list[str]) -> None:
    """Whatever was told, skipped, undone or answered late: it equals an audit of the same draws told what is known."""
    game = audit(np.zeros(60, int), target=0.9, scores=scores, seed=3)
    book = game.book
    for step in program:
        if step == "undo":
            if book.steps:
                game.undo()
        elif step == "ask":
            game.ask(3)
        elif step == "late":
            if skipped := np.flatnonzero(book.declined).tolist():
                game.relabel(skipped[-1], 0)
        else:
            question = min(book.open.values(), key=lambda q: q.id) if book.open else game.ask()[0]
            settle(game, question, step)
    assert game.again().state == game.state
    straight = audit(np.zeros(60, int), target=0.9, scores=scores, seed=3)
    for question in book.questions:
        proposal = Proposal(row=question.row, role=question.role, weights=question.weights)
        straight.record(Asked(version=straight.book.version, n=1, questions=(proposal,)))
    for question in (q for q in book.questions if q.id not in book.open):
        known = book.corrections.get(question.row, int(book.known[question.row]))
        unsaid = "unsaid" if question.row in book.rejected else "skip"
        settle(straight, question, unsaid if known == UNKNOWN else "wrong" if known else "right")
    assert bounds(straight) == bounds(game)


def settle(game: Any, question: Question, step: str) -> None:
    """Answer or skip a question."""
    if step == "skip":
        game.skip(question)
    elif step == "unsaid":
        game.reject(question)
    else:
        game.tell(question, {"right": 0, "wrong": 1}[step])


@pytest.mark.parametrize("scores", [None, SCORES], ids=["uniform", "scores"])
def test_the_verdict_is_what_the_bounds_say(audit: Audit, scores: np.ndarray | None) -> None:
    """Certified at the first moment when the lower bound is at the target, refuted when the upper one is below."""
    for n_wrong, expected in ((2, CERTIFIED), (30, REFUTED)):
        wrong = np.random.default_rng(1).permutation(np.arange(60) < n_wrong)
        seen = UNDECIDED
        for game, _ in looks(audit, wrong, target=0.85, scores=scores):
            now = game.assessment
            if seen == UNDECIDED:
                certified, refuted = now.as_given.lower >= 0.85, now.upper < 0.85
                assert not (certified and refuted)
                seen = CERTIFIED if certified else REFUTED if refuted else seen
            assert verdict(game) == seen
        assert seen == expected
        assert now.as_given.lower == now.upper == 1 - n_wrong / 60
        assert now.certificate.lower == 1.0


def test_answers_in_another_order(audit: Audit) -> None:
    """Questions may be answered in any order: the bound uses the longest prefix of the draws that has outcomes."""
    game, straight = (audit(np.zeros(100, int), target=0.8) for _ in range(2))
    questions = game.ask(5)
    for question in reversed(questions[1:]):
        game.tell(question)
    assert (game.lower, game.assessment.certificate.n_bounds) == (0.0, 4)
    game.tell(questions[0])
    for question in straight.ask(5):
        straight.tell(question)
    assert game.state == straight.state


def test_corrected_mistakes(audit: Audit) -> None:
    """Only mistakes whose right label was said are corrected; skipped and rejected rows are not."""
    game = audit(np.zeros(50, int), target=0.5)
    for step in ("wrong", "unsaid", "skip", *["right"] * 5):
        settle(game, game.ask()[0], step)
    now = game.assessment
    rows = [question.row for question in game.book.questions]
    assert now.certificate.lower == pytest.approx(now.as_given.lower + 1 / 50)
    assert find_mistakes(game.book, np.zeros(50, int)) == rows[:2]
    assert now.labelling.codes[rows[:3]].tolist() == [1, 0, 0]
    assert (now.certificate.n_bounds, game.book.n_skipped) == (7, 1)
    game.relabel(rows[1], 3)  # what is right is said later
    assert game.lower == pytest.approx(now.as_given.lower + 2 / 50)


def test_an_undone_answer_is_judged_anew(audit: Audit) -> None:
    """A verdict that rested on an answer goes with it, and so does one that rested on a label changed since."""
    game = run(audit(np.zeros(500, int), target=0.9))
    assert verdict(game) == CERTIFIED
    row = game.book.questions[0].row
    game.relabel(row, 1)
    assert verdict(game) == UNDECIDED
    game.undo()
    assert verdict(game) == CERTIFIED
    game.undo()
    assert verdict(game) == UNDECIDED


def test_the_verdict_stays(audit: Audit) -> None:
    """Certified is certified, whatever later draws find; the bounds go on."""
    wrong = np.zeros(200, int)
    game = run(audit(wrong, target=0.9))
    assert verdict(game) == CERTIFIED
    for _ in range(40):
        game.tell(game.ask()[0], 1)
    assert verdict(game) == CERTIFIED
    assert game.assessment.upper < 0.9


def test_going_on_with_another_target(audit: Audit) -> None:
    """Answers given for one target count for another, and the bounds stay what they were."""
    game = run(audit(np.zeros(2000, int), target=0.9))
    before = game.assessment
    game.set_target(0.95)
    assert game.assessment.certificate == before.certificate
    assert game.assessment.as_given == before.as_given
    assert verdict(game) == UNDECIDED
    [question] = game.ask()
    assert question.row not in [earlier.row for earlier in game.book.questions[:-1]]


def test_without_a_target_nothing_is_decided(audit: Audit) -> None:
    """The bounds are there without a target, the verdict is not."""
    game = audit(np.zeros(300, int), target=None)
    game.answer(300)
    assert game.lower == game.assessment.as_given.lower == 1.0
    assert verdict(game) == UNDECIDED


def test_given_labels_are_no_draws(audit: Audit) -> None:
    """Rows whose right label was given are not drawn; their mistakes are counted, and corrected, as what they are."""
    truth = np.zeros(400, int)
    labels = (np.arange(400) < 30).astype(int)
    game = run(audit(labels, truth, target=0.9, given=dict.fromkeys(range(60), 0)))
    now = game.assessment
    assert not set(range(60)) & {question.row for question in game.book.questions}
    assert verdict(game) == CERTIFIED
    assert 0.9 <= now.as_given.lower <= now.upper <= 1 - 30 / 400
    assert now.certificate.lower == pytest.approx(now.as_given.lower + 30 / 400)
    hopeless = audit(labels, truth, target=0.95, given=dict.fromkeys(range(60), 0))
    assert verdict(hopeless) == REFUTED
    everything = audit(labels, truth, target=0.92, given=dict.fromkeys(range(400), 0))
    assert verdict(everything) == CERTIFIED


def test_merged_classes_are_no_way_out(audit: Audit) -> None:
    """Whoever merges the classes that were found confused certifies no more, and nothing is refuted by it either.

    The bound goes on as if they were apart. A merge that is taken back leaves no trace.
    """
    wrong = np.random.default_rng(0).permutation(300) < 120
    game = audit(np.zeros(300, int), wrong.astype(int), target=0.9)
    game.answer(30)
    before = game.assessment
    assert verdict(game) == REFUTED
    game.merge(1, 0)
    after = game.assessment
    assert verdict(game) == UNDECIDED
    assert after.as_given == before.as_given
    assert after.upper == 1.0
    assert (after.labelling.codes == 0).all()
    assert find_mistakes(game.book, np.zeros(300, int)) == []
    for _ in range(30):
        game.tell(game.ask()[0], 0)  # as they are one class now
    assert game.again().state == game.state
    for _ in range(31):
        game.undo()
    assert bounds(game)[:5] == (before.as_given.lower, before.certificate.lower, before.upper, False, True)


# ------------------------------------------------------------------------------------------- how long it takes


def test_how_many_answers_it_takes(audit: Audit) -> None:
    """10,000 labels at 0.95: hardly more than the 59 right ones of one exact look, some 130 with 1 % wrong."""
    assert run(made_up(audit, 10_000, 0, 0)).book.n_asked <= 81
    certified = [run(made_up(audit, 10_000, 100, seed)) for seed in range(9)]
    assert all(verdict(game) == CERTIFIED and game.assessment.as_given.lower >= 0.95 for game in certified)
    assert np.median([game.book.n_asked for game in certified]) <= 220
    refuted = [run(made_up(audit, 10_000, 2000, seed)) for seed in range(9)]
    assert all(verdict(game) == REFUTED and game.assessment.upper < 0.95 for game in refuted)
    assert np.median([game.book.n_asked for game in refuted]) <= 80


def test_good_scores_save_answers(audit: Audit) -> None:
    """Where the doubtful labels are the wrong ones, scores take fewer answers than uniform draws, over a few seeds."""
    n_rows, spent = 5000, np.zeros(2)
    for seed in range(5):
        scores = np.random.default_rng(seed).random(n_rows)
        wrong = np.argsort(np.argsort(scores)) < 0.03 * n_rows
        for i, used in enumerate((None, scores)):
            game = run(audit(wrong.astype(int), np.zeros(n_rows, int), scores=used, seed=seed))
            assert verdict(game) == CERTIFIED
            spent[i] += game.book.n_asked
    assert spent[1] < 0.8 * spent[0]


def test_several_at_once_and_none_at_all(audit: Audit) -> None:
    """A batch takes hardly more answers; where nobody answers, nothing is known."""
    truth = np.arange(500) % 3
    labels = np.where(np.arange(500) % 50 == 0, 7, truth)
    single, batched = (run(audit(labels, truth, target=0.9), batch=batch) for batch in (1, 10))
    assert 0 <= batched.book.n_asked - single.book.n_asked < 10
    silent = audit(labels, truth, target=0.9)
    while questions := silent.ask(50):
        for question in questions:
            silent.skip(question)
    now = silent.assessment
    assert (verdict(silent), silent.book.n_asked, silent.book.n_skipped) == (UNDECIDED, 0, 500)
    assert (now.as_given.lower, now.certificate.lower, now.upper) == (0.0, 0.0, 1.0)


def test_small_and_extreme_audits(audit: Audit) -> None:
    """One row, a target of all rows, a budget of none: each ends, and says what it may."""
    assert verdict(run(audit([0], [0]))) == CERTIFIED
    assert verdict(run(audit([0], [1]))) == REFUTED
    every = run(audit([0] * 30, target=1.0))
    assert (verdict(every), every.book.n_asked) == (CERTIFIED, 29)  # an error would be last with a chance of 1/30
    assert verdict(run(made_up(audit, 30, 3, 0, target=1.0))) == REFUTED
    assert verdict(run(made_up(audit, 30, 1, 0), budget=0)) == UNDECIDED
    assert verdict(run(audit([1] * 30, scores=[0.5] * 30))) == CERTIFIED


def test_bad_input() -> None:
    """What cannot be audited is refused with a sentence that says why."""
    setup = {"source": ArraySource(np.zeros((2, 1))), "arrays": MemoryArrays()}
    fine = Prediction(codes=np.array([0, 1]))
    for predictions in ({}, {"a": fine, "b": fine}):
        with pytest.raises(ParameterError, match="one set of labels"):
            make_method("audit", Setup(**setup, predictions=predictions))
    with pytest.raises(DataError, match="1 row"):
        make_method("audit", Setup(**setup, predictions={"a": Prediction(codes=np.array([0, UNKNOWN]))}))


def test_records_of_another_audit_are_refused(audit: Audit) -> None:
    """A draw that this audit could not have made is not taken from a record."""
    uniform = audit([0] * 60)
    row = uniform.ask()[0].row
    weights = audit([0] * 60, scores=SCORES).ask()[0].weights
    scored_row = audit([0] * 60, scores=SCORES).ask()[0].row
    for scores, wrong in (
        (None, Proposal(row=(row + 1) % 60, role=Role.BOUNDS)),
        (None, Proposal(row=row, role=Role.BOUNDS, weights=(1.0,))),
        (None, Proposal(row=row, role=Role.TRAINING)),
        (SCORES, Proposal(row=scored_row, role=Role.BOUNDS)),
        (SCORES, Proposal(row=(scored_row + 1) % 60, role=Role.BOUNDS, weights=weights)),
        (SCORES, Proposal(row=scored_row, role=Role.BOUNDS, weights=weights[1:])),
    ):
        game = audit([0] * 60, scores=scores)
        with pytest.raises(ReplayError):
            game.record(Asked(version=1, n=1, questions=(wrong,)))


def test_another_key_meets_other_draws(audit: Audit) -> None:
    """Whoever corrects what an audit found, and audits again, has another key, and is asked about other rows."""
    first, same, other = ({q.row for q in audit(np.zeros(2000, int), seed=seed).ask(100)} for seed in (0, 0, 1))
    assert first == same
    assert len(first & other) < 20


def is_false_after_scores_were_remade(seed: int) -> bool:
    """Audit labels, make scores by what was drawn, and audit the same labels with the same seed."""
    rng = np.random.default_rng(seed)
    n_rows, labels = 2000, np.zeros(2000, dtype=int)
    truth = (rng.random(n_rows) < 0.2).astype(int)

    def begin(scores: np.ndarray | None) -> Campaign:
        said = {"labels": (labels, scores)}
        return Campaign(np.zeros((n_rows, 1)), method="audit", predictions=said, seed=seed, target=0.95, classes=[0, 1])

    first = begin(None)
    for question in first.ask(600):
        first.tell(question.id, int(truth[question.row]))
    drawn = np.array([question.row for question in first.book.questions])
    scores = rng.random(n_rows)
    scores[drawn[truth[drawn] == 1]] = 2.0  # whatever was found wrong is the surest of all, and hardly drawn
    second = begin(scores)
    while second.stop_reason is None and second.n_asked < 400:
        for question in second.ask(10):
            second.tell(question.id, int(truth[question.row]))
        if second.assessment.as_given.lower > 1 - truth.mean():
            return True
    return False


@pytest.mark.parametrize("broken", [False, True])
def test_scores_that_were_remade_meet_other_draws(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key has the scores in it; without, whoever makes them anew after a first audit chooses what is drawn."""
    if broken:
        whole = inputs.draw_key

        def without_scores(source: Any, seed: int, given: Any, predictions: Any, fingerprint: Any) -> str:
            labels = {name: (said, None) for name, (said, _) in predictions.items()}
            return whole(source, seed, given, labels, fingerprint)

        monkeypatch.setattr(inputs, "draw_key", without_scores)
    n_false = sum(is_false_after_scores_were_remade(seed) for seed in range(8))
    assert n_false >= 5 if broken else n_false <= 2
