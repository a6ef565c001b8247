"""How the failure probability is divided over revisions, and, for planning only, how many draws certificates take."""

import math

import numpy as np

from bela.bounds._betting import ErrorBets
from bela.bounds._mending import HESITATION
from bela.bounds._projection import tilt
from bela.bounds._registry import ROUNDING, Counts, check_inside
from bela.errors import ParameterError
from bela.records import FloatArray


class AlphaBudget:
    """An allowed failure probability, of all revisions together, that is handed out in parts and never exceeded.

    >>> budget = AlphaBudget(0.05)
    >>> budget.spend(), budget.spend(), budget.left
    (0.025, 0.0125, 0.0125)

    Guarantee
    ---------
    If each part goes to one bound that fails with at most the probability of its part, the probability that any of
    them ever fails is at most alpha, whichever of them is reported and whenever.

    Assumes
    -------
    Each bound counts draws from after its part was handed out only; then anything may decide on the part. A bound that
    replays old draws must not get its part because of what those showed: see docs/guarantees.md, "Several revisions".
    What is given back was worth no more than that to its bound (`ErrorBets.worth`), which then says nothing new: see
    "What bets are worth" there.
    """

    def __init__(self, alpha: float) -> None:
        check_inside("alpha", alpha)
        self.alpha = self.left = alpha  # `left` has not been handed out
        self._firm = alpha  # what would be left of it if nothing had ever been given back

    def take(self, alpha: float) -> float:
        """Hand out what somebody has decided on; return the share of it that would be there if nothing had come back.

        Statements of which nobody knows what their bounds are worth may spend that share.
        """
        if not 0.0 <= alpha <= self.left * (1.0 + ROUNDING):  # parts that add up to all may exceed it in the last digit
            raise ParameterError(f"there is {self.left} left to spend, not {alpha}")
        firm = self._firm / self.left if self.left else 1.0
        self.left, self._firm = max(self.left - alpha, 0.0), max(self._firm - firm * alpha, 0.0)
        return firm

    def give_back(self, alpha: float, firm: float = 0.0) -> None:
        """Take back what a bound has not lost; `firm`, if it has counted no draw, and nobody will ever be shown it."""
        self.left, self._firm = min(self.left + alpha, self.alpha), self._firm + firm

    def spend(self, part: float = 0.5) -> float:
        """Hand out a part of what is left; half by default, so that there is always something left."""
        check_inside("a part of what is left", part)
        spent = self.left * part
        self.take(spent)
        return spent


def growth(share: FloatArray, guess: FloatArray, level: FloatArray) -> FloatArray:
    """Expected growth of log M a draw, against "a share `level` is wrong", if the guess is right and smaller, else 0.

    `share` is that of the rows in each bin; each case has a row of `guess`, the errors of each bin, and a `level`.
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
    share: FloatArray, guess: FloatArray, level: FloatArray, alpha: Counts, won: Counts = 0.0
) -> FloatArray:
    """Expected draws until each case of `growth` is ruled out, having won so many nats; infinite if never."""
    rate = growth(share, guess, level)
    nats = np.maximum(np.log(1.0 / np.asarray(alpha)) + HESITATION - np.asarray(won), 0.0)
    return np.where(rate > 0, nats / np.maximum(rate, 1e-300), math.inf)


def likely_shares(bets: ErrorBets, quantiles: FloatArray) -> FloatArray:
    """Shares of errors in each bin, one row a quantile of the overall share, as the bets see it by now."""
    return bets._curves.likely(quantiles)
