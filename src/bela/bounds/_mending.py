"""How draws put a labelling right as they certify it: where errors are many, finding them is half of the way.

Nothing here is a bound: these are proposals and forecasts, as good as the guess that they are made from.
"""

import math

import numpy as np

from bela.records import FloatArray, IntArray

POWERS: FloatArray = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 6.0])  # of the guess, that weights may be proportional to
EVEN = 0.1  # of the draws, spread over all rows alike
HESITATION = 1.0  # nats that bets lose while they learn where the errors are
_TIMES: FloatArray = np.concatenate([[0.0], np.geomspace(0.02, 20.0, 27)])
_MANY = 0.7  # of the errors that may stay: with fewer, there is nothing to put right


def draws_to_mend(left: FloatArray, guess: FloatArray, allowed: int, nats: FloatArray) -> FloatArray:
    """Expect how many draws it takes until no more than the `allowed` errors stay, and bets have won so many nats.

    Each case has a row of `left`, the rows of each bin, and of `guess`, their shares of errors. A row is drawn in
    proportion to a power of its guess; what is returned has a column for each power. After the time t a share exp(-x t)
    of a bin with weight x is left. Bets against "so many errors that one too many stays" win, to second order, D² / 2 V
    nats in the time 1, where D is how far the errors that stay are below that, and V the sum of g (1 - g) / x over all
    rows left: the variance of an estimate that weighs each draw by 1 / x.
    """
    g = np.clip(guess, 1e-5, 0.98)[:, None, :]
    rows = np.asarray(left, dtype=float)[:, None, :]
    n_left = np.maximum(rows.sum(axis=2), 1.0)
    weight = mending_weights(rows, g, POWERS[None, :, None])
    staying = rows[..., None] * np.exp(-weight[..., None] * _TIMES)
    drawn = n_left[..., None] - staying.sum(axis=2)
    wrong = np.einsum("cpbt,cpb->cpt", staying, np.broadcast_to(g, weight.shape))
    rate = 0.5 / np.maximum(np.einsum("cpbt,cpb->cpt", staying, g * (1.0 - g) / weight), 1e-12)
    steps = 0.5 * (rate[..., 1:] + rate[..., :-1]) * np.diff(_TIMES)
    information = np.concatenate([np.zeros((*steps.shape[:2], 1)), np.cumsum(steps, axis=2)], axis=2)
    below = np.maximum(allowed + 1.0 - wrong, 0.0)
    found_all = np.maximum((g * rows).sum(axis=2)[..., None], 1e-9)
    won = below**2 * information / np.sqrt(1.0 + below / found_all)  # under the hypothesis there are more to vary
    need = np.broadcast_to(np.asarray(nats, dtype=float)[:, None], won.shape[:2])
    enough = won >= need[..., None]
    last = np.maximum(enough.argmax(axis=2), 1)
    low, high = (np.take_along_axis(won, (last - i)[..., None], 2)[..., 0] for i in (1, 0))
    least, most = (np.take_along_axis(drawn, (last - i)[..., None], 2)[..., 0] for i in (1, 0))
    draws = least + np.clip((need - low) / np.maximum(high - low, 1e-12), 0.0, 1.0) * (most - least)
    draws = np.where(enough[..., 0], 0.0, np.where(enough.any(axis=2), draws, math.inf))
    return np.asarray(np.minimum(draws, np.maximum(n_left - allowed, 0.0)))  # nearly all rows are enough


def mending_weights(rows: FloatArray | IntArray, guess: FloatArray, power: FloatArray | float) -> FloatArray:
    """Return weights in proportion to a power of the guess, some of them spread evenly, of mean 1 over the rows."""
    weight = guess**power
    mean = (weight * rows).sum(axis=-1, keepdims=True) / np.maximum(rows.sum(axis=-1, keepdims=True), 1.0)
    return np.asarray(EVEN + (1.0 - EVEN) * weight / np.maximum(mean, 1e-12))


def needs_mending(left: IntArray, guess: FloatArray, allowed: int) -> bool:
    """Whether so many errors are expected that finding them matters."""
    return float(np.asarray(guess) @ np.asarray(left)) > _MANY * (allowed + 1)


def best_power(left: IntArray, guess: FloatArray, allowed: int, nats: float) -> float:
    """Return the power of the guess with which the fewest draws are expected."""
    draws = draws_to_mend(np.asarray(left, dtype=float)[None], np.asarray(guess)[None], allowed, np.array([nats]))
    return float(POWERS[int(draws[0].argmin())])
