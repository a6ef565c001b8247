"""One bet against "at least so many errors are left", from a guess of where the errors are.

A row of a cell is drawn with probability proportional to the cell's weight, x relative to the mean. The bet pays
(1 - g) / (1 - p) for a right row and g / p for a wrong one, where g is the guessed chance that it is wrong and p that
guess bent upwards until it adds up to the errors of the hypothesis: x (p - g) = nu p (1 - p) with one nu >= 0 for all
rows. With s = sqrt((x - nu)^2 + 4 nu x g) this has the closed form

    1 - p = 2 x (1 - g) / (s + x + nu),    f = (s + x + nu) / 2x if right,    f = (s + x - nu) / 2x if wrong.

The two payments differ by nu / x, which times the chance of drawing the row is the same for every row. So
the expected payment is 1 + nu (mean of p - share of errors left), wherever the errors sit. Hence f divided by
max(1 + nu (mean of p - share of errors of the hypothesis), 1/2) is expected to pay 1 at most under the hypothesis,
*for any nu >= 0*: an inaccurate nu costs power and never validity, and one step of Newton a draw will do.
Proof: docs/guarantees.md, "One bet".
"""

import numpy as np

from bela.records import FloatArray

_TINY = 1e-300
_BLOCK = 8192  # numbers that stay in the processor's nearest cache with their working copies
_HALVINGS = 16  # for a start from nothing; afterwards one step of Newton a draw keeps up


def bend(share: FloatArray, weight: FloatArray, guess: FloatArray, nu: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of p over the rows left, and its slope in nu, for each hypothesis (a row of `guess`)."""
    n_rows = max(_BLOCK // max(len(share), 1), 1)
    if len(nu) > n_rows:
        parts = [bend(share, weight, guess[at : at + n_rows], nu[at : at + n_rows]) for at in range(0, len(nu), n_rows)]
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([slope for _, slope in parts])
    column = nu[:, None]
    s = weight - column
    s *= s
    right = weight * guess
    right *= 4.0 * column
    s += right
    np.sqrt(s, out=s)
    np.subtract(1.0, guess, out=right)
    right *= 2.0 * weight
    s += column
    s += weight
    right /= s  # 1 - p
    mean = 1.0 - right @ share
    s -= column
    s -= weight
    np.maximum(s, _TINY, out=s)
    right -= right * right
    right /= s
    return mean, right @ share


def tilt(
    share: FloatArray, weight: FloatArray, guess: FloatArray, level: FloatArray, start: FloatArray, *, steps: int = 1
) -> FloatArray:
    """Find nu at which the mean of p is near the level, by Newton from `start`, or, where that is 0, from halving."""
    highest = 1.0 / (1.0 - level)  # p >= 1 - x / nu: here the mean of p is past the level
    nu: FloatArray = np.minimum(start, highest)
    cold = np.flatnonzero(nu <= 0.0)
    if len(cold):
        low, high = np.zeros(len(cold)), highest[cold]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            above = bend(share, weight, guess[cold], middle)[0] > level[cold]
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        nu[cold] = 0.5 * (low + high)
    for _ in range(steps):
        mean, slope = bend(share, weight, guess, nu)
        nu = _newton(nu, level - mean, slope, highest)
    return nu


def _newton(nu: FloatArray, missing: FloatArray, slope: FloatArray, highest: FloatArray) -> FloatArray:
    """Step towards the root, never so far that a bad start could throw it out."""
    stepped = np.maximum(nu + missing / np.maximum(slope, _TINY), 0.25 * nu)
    return np.asarray(np.minimum(np.minimum(stepped, 4.0 * nu), highest))


def bet(
    share: FloatArray,
    weight: FloatArray,
    guess: FloatArray,
    level: FloatArray,
    nu: FloatArray,
    *,
    cell: int,
    wrong: bool,
    planned: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return what the bet against each hypothesis pays for one drawn row, and a better nu for the next draw.

    Each cell has a `share` of the rows left before the draw, and the draw `weight` of its rows relative to the mean
    over all rows left. Each hypothesis has a row of `guess`, the chance that a row of each cell is wrong; a `level`,
    the share of the rows left that are wrong; and a `nu`, from the last draw or `tilt`: how far its guess is bent. The
    next nu is for the level that was `planned` with, if that is another.

    >>> share, weight, guess, level = np.ones(1), np.ones(1), np.array([[0.01]]), np.array([0.10])
    >>> nu = tilt(share, weight, guess, level, np.zeros(1))
    >>> bet(share, weight, guess, level, nu, cell=0, wrong=False)[0].round(3).tolist()  # (1 - 0.01) / (1 - 0.10)
    [1.1]

    Guarantee
    ---------
    Over the draw, the expected payment is at most 1 for every hypothesis that is true, that is whenever at least
    the share `level` of the rows left is wrong, whichever rows they are.

    Assumes
    -------
    The row was drawn with probability proportional to `weight` from the rows left; weight, guess, level and nu were
    fixed before; nu >= 0, 0 < guess < 1, 0 < level < 1.
    """
    mean, slope = bend(share, weight, guess, nu)
    x, g = weight[cell], guess[:, cell]
    s = np.sqrt((x - nu) ** 2 + (4.0 * x) * nu * g)
    if wrong:
        # s + x - nu cancels where nu > x; its product with s + nu - x, which is 4 nu x g, does not.
        paid = np.where(nu > x, 2.0 * nu * g / np.maximum(s + nu - x, _TINY), (s + x - nu) / (2.0 * x))
    else:
        paid = (s + x + nu) / (2.0 * x)
    paid = paid / np.maximum(1.0 + nu * (mean - level), 0.5)
    aim = level if planned is None else planned
    return paid, _newton(nu, aim - mean, slope, 1.0 / (1.0 - aim))


def even_weights(share: FloatArray, guess: FloatArray, level: float, steps: int = 4) -> FloatArray:
    """Find the draw weights with which the bet against one hypothesis grows fastest if the guess is true.

    The fastest bet of the least favourable p is a game; at its saddle point KL(g || p) is the same for all
    rows, and x is proportional to p (1 - p) / (p - g). Close hypotheses give sqrt(g (1 - g)), distant ones even
    weights. Returns weights of mean 1.

    >>> share, guess = np.array([0.1, 0.9]), np.array([0.3, 0.01])
    >>> even_weights(share, guess, 0.04).round(1).tolist(), even_weights(share, guess, 0.1).round(1).tolist()
    ([3.3, 0.7], [1.6, 0.9])
    """
    spread = np.sqrt(guess * (1.0 - guess))
    gap = level - float(guess @ share)
    if gap > 0.0:
        p = guess + np.minimum(spread * (gap / float(spread @ share)), 0.5 * (1.0 - guess))
        right = 1.0 - guess
        constant = guess * np.log(guess) + right * np.log(right)
        for _ in range(steps):  # Newton on all p and the common divergence together, kept inside (g, 1)
            divergence = constant - guess * np.log(p) - right * np.log1p(-p)
            above = p - guess
            spread = p * (1.0 - p) / above
            common = (level - float((p - divergence * spread) @ share)) / float(spread @ share)
            p = np.maximum(p + (common - divergence) * spread, guess + 0.1 * above)
            p = np.minimum(p, 1.0 - 0.1 * (1.0 - (guess + above)))
        spread = p * (1.0 - p) / (p - guess)
    return spread / float(spread @ share)
