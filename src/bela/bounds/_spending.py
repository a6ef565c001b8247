"""How the allowed failure probability is divided over the revisions of a labelling."""

from __future__ import annotations

from bela.errors import ParameterError


class AlphaBudget:
    """An allowed failure probability that is handed out in parts, and never exceeded.

    Parameters
    ----------
    alpha
        The failure probability allowed to all revisions together.

    Guarantee
    ---------
    If each part goes to one bound that fails with at most the probability of its part, the probability that any of
    them ever fails is at most alpha, whichever of them is reported and whenever.

    Assumes
    -------
    Whether a revision gets a part, and how much, is decided by training answers and fixed rules alone. A revision that
    replays old draws must not get its part because of what those draws showed: see docs/guarantees.md, "Several
    revisions".

    Examples
    --------
    >>> budget = AlphaBudget(0.05)
    >>> budget.spend(), budget.spend(), budget.left
    (0.025, 0.0125, 0.0125)
    """

    def __init__(self, alpha: float) -> None:
        if not 0.0 < alpha < 1.0:
            raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
        self.alpha = alpha
        self._left = alpha

    @property
    def left(self) -> float:
        """What has not been handed out."""
        return self._left

    def spend(self, part: float = 0.5) -> float:
        """Hand out a part of what is left; half by default, so that there is always something left."""
        if not 0.0 < part < 1.0:
            raise ParameterError(f"a part of what is left lies strictly between 0 and 1, not {part}")
        spent = self._left * part
        self._left -= spent
        return spent


def halving(alpha: float, revision: int) -> float:
    """Return what revision 0, 1, 2, ... gets if each gets half of what is left.

    Examples
    --------
    >>> [halving(0.05, j) for j in range(3)]
    [0.025, 0.0125, 0.00625]
    """
    if not 0.0 < alpha < 1.0:
        raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
    if revision < 0:
        raise ParameterError(f"revisions count from 0, not {revision}")
    return float(alpha * 0.5 ** (revision + 1))
