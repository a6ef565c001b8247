"""How many draws a certificate will take, before they are made: for deciding what to ask next, never for a claim."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bela.bounds._betting import ErrorBets
from bela.bounds._projection import tilt
from bela.records import FloatArray

_HESITATION = 1.0  # nats that bets lose while they learn where the errors are


def growth(share: FloatArray, guess: FloatArray, level: FloatArray) -> FloatArray:
    """Expected growth of log M a draw, against "a share `level` is wrong", if the guess is right.

    Parameters
    ----------
    share
        Of the rows, the share of each bin.
    guess
        The share of errors in each bin; one row a case.
    level
        The hypothesis of each case. The growth is zero where the guess itself is as large.
    """
    spread = np.sqrt(guess * (1.0 - guess))
    result = np.zeros(len(level))
    if not share.any():
        return result
    weight = 0.5 + 0.5 * spread / np.maximum(spread @ share, 1e-12)[:, None]
    case = np.flatnonzero((level > guess @ share) & (level < 1.0))
    if len(case):
        x, g, r = weight[case], np.clip(guess[case], 1e-9, 1 - 1e-9), level[case]
        nu = tilt(share, x, g, r, np.zeros(len(case)), steps=8)[:, None]
        s = np.sqrt((x - nu) ** 2 + 4.0 * nu * x * g)
        right = np.clip(2.0 * x * (1.0 - g) / (s + x + nu), 1e-12, 1 - 1e-12)  # 1 - p
        gain = g * np.log(g / (1.0 - right)) + (1.0 - g) * np.log((1.0 - g) / right)
        result[case] = np.maximum((gain * x) @ share, 0.0)
    return result


def draws_needed(
    share: FloatArray, guess: FloatArray, level: FloatArray, alpha: npt.ArrayLike, won: npt.ArrayLike = 0.0
) -> FloatArray:
    """Expected draws until each case of `growth` is ruled out, having won so many nats; infinite if never."""
    rate = growth(share, guess, level)
    nats = np.maximum(np.log(1.0 / np.asarray(alpha)) + _HESITATION - np.asarray(won), 0.0)
    result: FloatArray = np.where(rate > 0, nats / np.maximum(rate, 1e-300), math.inf)
    return result


def level_reached(share: FloatArray, guess: FloatArray, n_draws: float, alpha: float) -> float:
    """Smallest share of errors that so many draws are expected to rule out."""
    mean = float(guess @ share)
    levels = mean + (1.0 - mean) * np.linspace(0.0, 1.0, 101)[1:-1] ** 2
    rate = growth(share, np.broadcast_to(guess, (len(levels), len(guess))), levels)
    ruled_out = n_draws * rate >= math.log(1.0 / alpha) + _HESITATION
    return float(levels[ruled_out.argmax()]) if ruled_out.any() else 1.0


def likely_shares(bets: ErrorBets, quantiles: FloatArray) -> FloatArray:
    """Shares of errors in each bin, one row a quantile of the overall share, as the bets see it by now."""
    curves = bets._curves
    mean: FloatArray = curves.guess(np.ones(1))[0]
    weight = np.exp(curves._log_weight - curves._log_weight.max()).sum(axis=1)
    below = np.cumsum(weight) / weight.sum()
    overall = float(weight @ curves.levels) / float(weight.sum())
    levels = curves.levels[np.minimum(np.searchsorted(below, quantiles), len(curves.levels) - 1)]
    result: FloatArray = np.clip(mean * (levels / overall)[:, None], 1e-5, 0.98)
    return result


def nats_won(bets: ErrorBets, n_errors: int) -> float:
    """Return what the bets have won against "there are at least so many errors", in nats."""
    place = int(np.searchsorted(bets._grid, n_errors))
    return float(bets._log_m[place]) if place < len(bets._grid) else math.inf
