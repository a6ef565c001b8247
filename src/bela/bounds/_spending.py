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
    Each bound counts draws from after its part was handed out only; then anything may decide on the part. A bound that
    replays old draws must not get its part because of what those showed: see docs/guarantees.md, "Several revisions".

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
