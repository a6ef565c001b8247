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
    """With a budget, its last third is drawn after the last fit; a budget that grows brings no second look."""
    game = play(name, *noisy, budget=90)
    game.answer(60)
    assert game.lower == 60 / 400
    game.answer(30)
    assert [question.role for question in game.book.questions] == [Role.TRAINING] * 60 + [Role.BOUNDS] * 30
    [look] = game.method._looks
    assert look.alpha == pytest.approx(0.05)
    assert game.assessment.certificate.guarantee is Guarantee.ONE_LOOK
    lower = game.lower
    assert lower > 0.5
    game.set_target(None, budget=200)
    game.answer(60)
    game.set_target(0.99, budget=300)
    game.answer(60)
    assert game.method._looks == [look]
    assert game.lower >= lower  # mistakes that are found are mended
    assert game.accuracy >= game.lower
    assert (game.codes[list(game.book.answered)] == game.y[list(game.book.answered)]).all()


@pytest.mark.parametrize("batch", [7, 90])
def test_a_batch_leaves_the_draws_to_the_look(name, batch, noisy, play):
    """However many questions are asked at once, those of the look come after the fit."""
    game = play(name, *noisy, budget=90)
    while game.book.n_asked < 90:
        for question in game.ask(min(batch, 90 - game.book.n_asked)):
            game.tell(question)
    assert [question.role for question in game.book.questions] == [Role.TRAINING] * 60 + [Role.BOUNDS] * 30


def test_draws_come_after_the_labels(name, noisy, play):
    """No row of a sample was asked before the labels were made, and skips use up nothing: they count as wrong."""
    game = play(name, *noisy, budget=60)
    while not game.method._looks:
        game.answer(1, skip=len(game.book.questions) % 3 == 2)
    [look] = game.method._looks
    before, skipped = game.book.asked.copy(), set(np.flatnonzero(game.book.declined))
    assert not before[look.sample].any()
    assert len(look.sample) == 60 - game.book.n_asked
    assert look.population == 400 - before.sum()
    labels = look.labels.copy()
    game.answer(len(look.sample), skip=5)
    assert set(np.flatnonzero(game.book.declined)) > skipped
    assert look.wrong[look.sample].sum() >= len(look.sample) // 5
    assert (look.labels == labels).all()
    assert game.lower <= 1 - game.book.n_skipped / 400


def test_looks_share_what_one_may_spend(name, noisy, play):
    """With a target there is a look after a fit, and all of them together spend no more than one would."""
    game, looks = play(name, *noisy, target=0.93), []
    for _ in range(260):
        game.answer(1)
        looks += [look for look in game.method._looks if look not in looks]
    assert len(looks) > 1
    assert [look.alpha for look in looks] == pytest.approx([0.05 / (j * (j + 1)) for j in range(1, len(looks) + 1)])
    assert game.assessment.certificate.guarantee is Guarantee.LOOKS
    game.set_target(None, budget=400)  # a last look, with what is left
    while (last := game.method._looks[-1]) in looks:
        assert game.answer(1)
    assert last.alpha == pytest.approx(0.05 / (len(looks) + 1))
    assert sum(look.alpha for look in [*looks, last]) <= 0.05 + 1e-12
    assert game.assessment.certificate.guarantee is Guarantee.LOOKS
