"""Looks at a hold-out: how many there are, and what each may spend."""

import numpy as np
import pytest

from bela.records import Guarantee, Role

pytestmark = pytest.mark.parametrize("name", ["random", "margin"])


@pytest.fixture
def noisy(blobs):
    """Clusters with labels that no classifier gets all right."""
    X, y = blobs
    return X, np.where(np.random.default_rng(0).random(400) < 0.1, (y + 1) % 3, y)


def test_one_look_is_one_look(name, noisy, play):
    """With a budget, the hold-out is looked at when it is used up; a budget that grows brings no second look."""
    game = play(name, *noisy, budget=90)
    game.answer(89)
    assert game.lower == 89 / 400
    game.answer(1)
    predicted, lower = game.method._predicted, game.lower
    assert game.lower > 0.5
    assert game.assessment.certificate.guarantee is Guarantee.ONE_LOOK
    _, _, alpha = game.method._look
    assert alpha == pytest.approx(0.05)
    game.set_target(None, budget=200)
    game.answer(60)
    assert game.method._predicted is predicted
    assert game.lower == lower  # until more rows are known than that
    assert (game.codes[list(game.book.answered)] == game.y[list(game.book.answered)]).all()


def test_skipped_rows_do_not_bring_the_look_forward(name, noisy, play):
    """Skips use up nothing: the one look comes after the last answer, and skipped rows in it count as wrong."""
    game = play(name, *noisy, budget=60)
    game.answer(79, skip=4)
    assert game.book.n_asked == 60
    looked_at, _, _ = game.method._look
    held_out = [question.row for question in game.book.questions if question.role is Role.BOUNDS]
    assert set(held_out) == set(looked_at.tolist())
    assert game.book.declined[held_out].any()
    earlier = play(name, *noisy, budget=60)
    earlier.answer(70, skip=4)
    assert earlier.method._look is None


def test_looks_share_what_one_may_spend(name, noisy, play):
    """With a target there is a look after each fit, and all of them together spend no more than one would."""
    game = play(name, *noisy, target=0.99)
    spent = []
    for _ in range(150):
        game.answer(1)
        look = game.method._look
        if look is not None and (not spent or look is not spent[-1]):
            spent.append(look)
    assert len(spent) > 2
    alphas = [alpha for _, _, alpha in spent]
    assert sum(alphas) < 0.05
    assert game.assessment.certificate.guarantee is Guarantee.LOOKS
    game.set_target(None, budget=200)  # a last look, by its share as well
    game.answer(50)
    _, _, alpha = game.method._look
    assert alpha < alphas[-1]
    assert game.assessment.certificate.guarantee is Guarantee.LOOKS
