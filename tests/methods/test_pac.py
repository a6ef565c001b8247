"""Probably approximately correct labels: the three phases, and the one look."""

import numpy as np

from bela.records import Role


def test_phases_and_their_roles(blobs, play):
    """Training first, then the sample, then the rows that are not certain enough; all in the sizes that were set."""
    X, y = blobs
    game = play("pac", X, y, target=0.9, n_training=20, n_calibration=60)
    while game.lower == game.book.n_asked / 400:
        game.answer(1)
    roles = [question.role for question in game.book.questions]
    n_sampled = 60 - sum(game.book.questions[i].row in game.method._calibration for i in range(20))
    assert roles == [Role.TRAINING] * 20 + [Role.BOUNDS] * n_sampled + [Role.TRAINING]
    assert game.lower >= 0.9
    assert game.accuracy >= game.lower


def test_the_look_is_for_the_target_of_its_time(blobs, play):
    """A target that is set later changes nothing about what the one look has shown."""
    X, y = blobs
    noisy = np.where(np.random.default_rng(0).random(400) < 0.03, (y + 1) % 3, y)
    game = play("pac", X, noisy, target=0.9, n_training=20, n_calibration=60)
    game.answer(100)
    before = game.assessment.certificate
    game.set_target(0.999)
    assert game.assessment.certificate == before
    assert game.again().state == game.state
