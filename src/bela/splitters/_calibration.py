"""From scores to probabilities: how sharp a softmax the answers themselves support."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bela.splitters._neighbours import Rows

Reals = npt.NDArray[np.floating[Any]]

SHARPNESS = (0.0, *(2.0**e for e in np.arange(-2.0, 6.5, 0.5)))


def sharpen(scores: Reals, classes: Rows) -> tuple[float, float]:
    """The factor on the scores with the least mean log-loss, and that loss; 0 if the scores say nothing.

    The loss counts one more answer of no particular class: a hundred answers foretold without a miss are no reason to
    be surer than 99 %.
    """
    best, least = 0.0, float(np.log(scores.shape[1]))
    for sharpness in SHARPNESS[1:]:
        loss = float(log_losses(sharpness * scores, classes, blur=1 / (1 + len(classes))).mean())
        if loss < least:
            best, least = sharpness, loss
    return best, least


def log_losses(scores: Reals, classes: Rows, *, blur: float = 0.0) -> Reals:
    """Minus the logarithm of the probability that a softmax gives to the class of each row.

    A share `blur` of each answer goes to all classes alike.
    """
    top = scores.max(axis=1)
    total = np.exp(scores - top[:, None]).sum(axis=1)
    own = (1 - blur) * scores[np.arange(len(scores)), classes]
    if blur:
        own += blur * scores.mean(axis=1)
    return np.asarray(np.log(total) + top - own)


def softmax(scores: Reals) -> Reals:
    """Probabilities, highest for the highest score."""
    out = scores - scores.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return np.asarray(out)


def vanishing(classes: Rows) -> npt.NDArray[np.bool_]:
    """Which answers are the only one of their class: nothing can predict them once they are left out."""
    return np.asarray(np.bincount(classes)[classes] == 1)
