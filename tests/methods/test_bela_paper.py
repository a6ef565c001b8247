"""Algorithm 1 of the paper."""

import numpy as np
import pytest

from bela.bounds import AdaptiveHoeffding
from bela.errors import ParameterError
from bela.methods.paper import RowState
from bela.records import UNKNOWN, Role


@pytest.fixture(scope="session")
def paper(play):
    """Whatever begins a game of the paper's method."""
    return lambda X, y, **options: play("bela-paper", X, y, **options)


def check_counts(game) -> None:
    """Compare all counts that are kept along the way with counts from scratch."""
    method, book = game.method, game.book
    seen = np.zeros(book.n_rows, dtype=int)
    for leaf in method._leaves.values():
        rows = leaf.rows
        assert len(rows)
        seen[rows] += 1
        assert (method._leaf_of[rows] == leaf.id).all()
        known, state = book.known[rows], method._state[rows]
        assert leaf.n_known == (known != UNKNOWN).sum()
        assert leaf.n_open == (state == RowState.OPEN).sum()
        in_bounds = known[state == RowState.BOUNDS]
        assert sum(leaf.counts) == len(in_bounds)
        assert all(n == (in_bounds == code).sum() for code, n in enumerate(leaf.counts))
        assert sorted(leaf.training) == sorted(rows[state == RowState.TRAINING].tolist())
        assert not set(leaf.training) & set(rows[state == RowState.BOUNDS].tolist())
        value = method.bound.rows(len(rows), leaf.n_known, max(leaf.counts, default=0), sum(leaf.counts))
        assert method._values[leaf.id] == pytest.approx(value)
        if leaf.candidate is not None:
            places = method._child_of[rows]
            assert leaf.candidate.sizes == np.bincount(places).tolist()
            fresh = method._candidate(leaf, places.astype(int), np.unique(places), book.known)
            assert leaf.candidate.total == pytest.approx(fresh.total)
    assert (seen == 1).all()
    assert sorted(q.row for q in book.open.values()) == np.flatnonzero(method._state == RowState.OPEN).tolist()


@pytest.mark.parametrize("splitter", ["svm", "nb", "kmeans"])
def test_the_counts_kept_are_the_counts_that_are(splitter, digits, paper):
    """After splits, free draws and answers, L, B, T, candidates and bounds equal a count from scratch."""
    game = paper(*digits, splitter=splitter)
    for _ in range(7):
        assert len(game.answer(100)) == 100
        check_counts(game)
    assert game.n_leaves > 3


@pytest.mark.parametrize("to_the_letter", [False, True])
def test_counts_survive_second_thoughts(to_the_letter, digits, paper):
    """Answers taken back, changed, skipped, merged and given late leave the counts right."""
    game = paper(*digits, to_the_letter=to_the_letter)
    rng = np.random.default_rng(0)
    for i in range(600 if to_the_letter else 900):
        game.ask(2)
        opened = list(game.book.open.values())
        question = opened[int(rng.integers(len(opened)))]  # late answers, in any order
        what = rng.random()
        if what < 0.05:
            game.skip(question)
        else:
            game.tell(question, game.book.code_now(int(game.y[question.row])))
        if what > 0.95:
            answered = list(game.book.answered)
            game.relabel(answered[int(rng.integers(len(answered)))], int(rng.integers(1, 10)))
        elif what > 0.9:
            for _ in range(int(rng.integers(5))):
                game.undo()
        if i == 500:
            check_counts(game)
            game.merge(0, 8)
            check_counts(game)
    assert game.n_leaves > 3
    check_counts(game)
    assert game.again().state == game.state


def test_the_decision_is_the_greedy_one(blobs, paper):
    """The leaf that is asked has the largest gain by labelling, and no cut at hand gains more."""
    game = paper(*blobs)
    method = game.method
    bound = method.bound
    for _ in range(150):
        [question] = game.ask()
        gains = {}
        for leaf in method._leaves.values():
            n_open = leaf.n_open  # the question just drawn has not been answered
            assert n_open == (1 if method._leaf_of[question.row] == leaf.id else 0)
            size, known, majority, n = len(leaf.rows), leaf.n_known, max(leaf.counts, default=0), sum(leaf.counts)
            now = bound.rows(size, known, majority, n)
            gains[leaf.id] = bound.rows(size, known + 1, majority + 1, n + 1) - now if known < size else -np.inf
            if leaf.candidate is not None and not method._due(leaf):
                assert leaf.candidate.total - now <= max(gains[leaf.id], 1.0) + 1e-9 or max(gains.values()) > 0
        assert gains[int(method._leaf_of[question.row])] == pytest.approx(max(gains.values()))
        game.tell(question)


def test_a_split_forgets_training_answers_and_reuses_them_for_nothing(digits, paper):
    """T is emptied by a split; rows forgotten are drawn again without the oracle, so draws outnumber questions."""
    game = paper(*digits)
    assert len(game.answer(10_000)) == len(game.y)
    assert game.method._n_draws > len(game.y)
    assert sum(leaf.cursor for leaf in game.method._leaves.values()) > 0
    assert (game.method._state == RowState.FREE).any()


def test_roles_are_a_fair_coin(digits, paper):
    """Answers are training with probability tau."""
    for tau in (0.3, 0.5):
        game = paper(*digits, training_share=tau)
        game.answer(600)
        assert abs(game.assessment.certificate.n_training / 600 - tau) < 0.07


def test_children_draw_in_an_order_of_their_own(digits, paper):
    """After a split the forgotten training rows are no more likely to come first than any other row."""
    game = paper(*digits)
    while game.n_leaves == 1:
        game.answer(1)
    known = game.book.known != UNKNOWN
    for leaf in game.method._leaves.values():
        if len(leaf.rows) > 60:
            leaf.next(game.method._state, game.setup.key)
            share = known[leaf.rows].mean()
            first = known[np.array(leaf.order)[: len(leaf.rows) // 3]].mean()
            assert abs(first - share) < 0.2


def share_above_the_truth(bound: AdaptiveHoeffding, digits, paper) -> float:
    """Return the share of checkpoints, over seeds, at which the bound was above the share of right labels."""
    above = []
    for seed in range(4):
        game = paper(*digits, seed=seed, bound=bound)
        for i in range(600):
            game.answer(1)
            if i < 30 or i % 20 == 0:  # with few answers there is most to be wrong about
                above.append(game.lower > game.accuracy)
    return float(np.mean(above))


def test_the_bound_is_rarely_above_the_truth(digits, paper):
    """Over seeds and checkpoints the paper's bound, corrected, is above the truth in hardly any."""
    assert share_above_the_truth(AdaptiveHoeffding(), digits, paper) <= 0.05


def test_as_printed_the_bound_is_often_above_the_truth(digits, paper):
    """Broken as it is printed, with t = |V - L|, the same count finds it out."""
    assert share_above_the_truth(AdaptiveHoeffding(1.2, 1.1, as_printed=True), digits, paper) > 0.3


@pytest.mark.parametrize(
    "options", [{"training_share": 0}, {"training_share": 1}, {"growth": 1.0}, {"min_answers": 0}, {"splitter": "axe"}]
)
def test_parameters_have_ranges(options, paper):
    """Shares lie strictly between 0 and 1, growth is above 1, and a leaf has at least one answer."""
    with pytest.raises(ParameterError):
        paper(np.ones((3, 2)), np.zeros(3, int), **options)


def test_the_role_is_fixed_before_the_answer(blobs, paper):
    """Two oracles that differ in one answer get the same role for that question."""
    roles: list[list[Role]] = []
    for flip in (0, 1):
        game = paper(*blobs, seed=5)
        for i in range(40):
            [question] = game.ask()
            game.tell(question, int(game.y[question.row]) ^ (flip if i == 39 else 0))
        roles.append([question.role for question in game.book.questions])
    assert roles[0] == roles[1]


# ------------------------------------------------------------------------------- to the letter, and the other ending


def test_to_the_letter_a_cut_is_fitted_to_every_training_answer(digits, paper):
    """From the second class on, the cut that decides was fitted to all training answers; ours waits for more."""
    letter, ours = (paper(*digits, to_the_letter=flag) for flag in (True, False))
    fits = {}
    for game in (letter, ours):
        method, fit = game.method, game.method.splitter.fit
        sizes = fits[game] = []

        def watch(X, y, seed, fit=fit, sizes=sizes):
            sizes.append((len(y), len(np.unique(y))))
            return fit(X, y, seed)

        method.splitter.fit = watch
        game.answer(120)
        for leaf in method._leaves.values():
            if leaf.candidate is not None and not method._due(leaf):
                assert game is ours or leaf.n_fitted == len(leaf.training)
    assert min(n for n, _ in fits[letter]) < 10
    assert all(n_classes > 1 for _, n_classes in fits[letter])
    # 20 for each class, or a sixteenth of the rows
    assert all(n >= min(20 * n_classes, len(digits[1]) / 16) for n, n_classes in fits[ours])
    assert letter.n_leaves > ours.n_leaves


def test_to_the_letter_runs_to_the_end(blobs, paper):
    """With all answers given, all labels are right, to the letter as well."""
    game = paper(*blobs, to_the_letter=True)
    assert len(game.answer(10_000)) == 400
    assert game.accuracy == game.lower == 1.0


def test_to_the_letter_a_cut_goes_with_an_answer_it_was_fitted_to(blobs, paper):
    """A training answer that is changed or taken back leaves no cut behind that was fitted to it."""
    game = paper(*blobs, to_the_letter=True)
    while not any(leaf.candidate for leaf in game.method._leaves.values()) or game.n_leaves > 1:
        game.answer(1)
    [leaf] = [leaf for leaf in game.method._leaves.values() if leaf.candidate]
    game.relabel(leaf.training[0], 5)
    assert leaf.candidate is None
    assert game.method._due(leaf)


@pytest.mark.parametrize("to_the_letter", [False, True])
def test_the_other_ending_comes_when_every_leaf_has_its_answers(to_the_letter, blobs, paper):
    """It ends at the first moment when so many answers were drawn from each leaf, or all of its rows are known."""
    game = paper(*blobs, to_the_letter=to_the_letter, min_answers=25)
    n = 0
    while not game.assessment.reached:
        assert game.assessment.reached is None
        leaves = game.method._leaves.values()
        assert any(_n_drawn(leaf) < 25 and leaf.n_known < len(leaf.rows) for leaf in leaves)
        n += len(game.answer(1))
    assert 25 <= n < 400
    leaves = game.method._leaves.values()
    assert all(_n_drawn(leaf) >= 25 or leaf.n_known == len(leaf.rows) for leaf in leaves)
    assert game.again().assessment.reached
    game.undo()
    while game.n_leaves > 1 and game.book.steps:  # the tree stays, its answers go
        game.undo()
    assert game.assessment.reached is None


def test_without_a_minimum_only_the_bound_ends_it(blobs, paper):
    """Unless a minimum is set, whether the target is reached is for the certificate to say."""
    game = paper(*blobs)
    game.answer(400)
    assert game.assessment.reached is None


def _n_drawn(leaf):
    """How many answers were drawn from a leaf."""
    return sum(leaf.counts) + len(leaf.training)
