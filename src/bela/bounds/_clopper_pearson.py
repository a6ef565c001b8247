"""What a held-out sample says about a share, by Clopper and Pearson."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from bela.errors import ParameterError
from bela.records import FloatArray


def share_lower(n_right: npt.ArrayLike, n: npt.ArrayLike, alpha: float) -> FloatArray:
    """Bound a share from below, after n draws of which n_right had the property.

    Guarantee
    ---------
    ``Pr[share < bound] <= alpha`` over the draw of the sample, for one look at a sample size fixed beforehand.

    Assumes
    -------
    A uniform sample, with replacement or without (without, it is conservative), drawn after whatever is measured was
    fixed.

    Examples
    --------
    >>> round(float(share_lower(100, 100, 0.05)), 4)
    0.9705
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha lies strictly between 0 and 1, not {alpha}")
    right, total = np.asarray(n_right, dtype=float), np.asarray(n, dtype=float)
    if np.any(right > total) or np.any(right < 0):
        raise ParameterError("the number of right draws lies between 0 and the number of draws")
    lower = betaincinv(np.maximum(right, 1), total - right + 1, alpha)
    result: FloatArray = np.where(right == 0, 0.0, lower)
    return result
