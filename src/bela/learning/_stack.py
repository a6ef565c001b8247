"""One model out of several: a few weights, and how sharp a softmax, that the answers themselves support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bela.learning._graph import Doubles, Floats, Rows, deal_folds
from bela.records import BoolArray, FloatArray

SHARPNESS = (0.0, *(2.0**e for e in np.arange(-2.0, 6.5, 0.5)))
PRIOR = 0.3  # in answers: what pulls the weights towards equal shares
FEW = 8  # answers below which shares stay equal
STACK_ROWS = 1_500
FOLDS = 5
CLEARLY = 2.0  # standard errors by which a member alone must be better than the stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Non-negative weights on the scores of the members, shared by all classes."""

    weights: Doubles
    loss: float

    def combine(self, scores: Sequence[Floats | None]) -> Floats:
        """Probabilities from the members' scores; those of a member without weight are not needed."""
        return np.asarray(softmax(self.total(scores)), np.float32)

    def total(self, scores: Sequence[Floats | None]) -> Floats:
        """The weighted sum of the members' scores, of those that are there."""
        total = np.zeros(next(score.shape for score in scores if score is not None), np.float32)
        for weight, score in zip(self.weights, scores, strict=True):
            if weight > 0 and score is not None:
                total += score * np.float32(weight)
        return total


def fit_stack(left_out: Sequence[Floats], classes: Rows, rng: np.random.Generator, *, usual: Sequence[float]) -> Stack:
    """Weigh members by how well they predicted answers that they had not seen.

    Each member is first made as sharp as suits it alone; the weights then start from equal shares. Where the stack,
    cross-validated, is no better than the best member alone, that member is taken alone. `left_out` has for each member
    the scores of every answer by a fit without it, `usual` how sharp it is while there is hardly an answer to judge by.
    """
    judged = np.flatnonzero(~vanishing(classes))
    if len(judged) > STACK_ROWS:
        judged = np.sort(rng.choice(judged, STACK_ROWS, replace=False))
    n_classes = left_out[0].shape[1]
    if n_classes == 1 or len(judged) < FEW:
        return Stack(weights=np.asarray(usual, np.float64) / len(left_out), loss=float(np.log(n_classes)))
    classes = classes[judged]
    sharpness, losses = np.array([sharpen(scores[judged], classes) for scores in left_out]).T
    members = np.stack([s * scores[judged] for s, scores in zip(sharpness, left_out, strict=True)]).astype(np.float64)
    useful = sharpness > 0
    if useful.sum() <= 1:
        return Stack(weights=sharpness, loss=float(losses.min()))
    weights = np.zeros(len(left_out))
    weights[useful] = _weigh(members[useful], classes)
    blind, blur = np.empty(len(classes)), 1 / (1 + len(classes))
    fold = deal_folds(classes, FOLDS, rng)
    for f in range(FOLDS):
        inside = fold == f
        trial = _weigh(members[useful][:, ~inside], classes[~inside])
        blind[inside] = log_losses(np.tensordot(trial, members[useful][:, inside], 1), classes[inside], blur=blur)
    best = int(np.argmin(losses))
    gain = blind - log_losses(members[best], classes, blur=blur)
    if gain.mean() > CLEARLY * gain.std() / np.sqrt(len(gain)):
        return Stack(weights=np.eye(len(left_out))[best] * sharpness, loss=float(losses[best]))
    return Stack(weights=weights * sharpness, loss=float(blind.mean()))


def _weigh(members: Doubles, classes: Rows) -> Doubles:
    from scipy import optimize

    start = np.full(len(members), 1 / len(members))
    blur = 1 / (1 + len(classes))
    own = (1 - blur) * members[:, np.arange(len(classes)), classes].sum(axis=1)
    own += blur * members.mean(axis=2).sum(axis=1)

    def loss(weights: Doubles) -> tuple[float, Doubles]:
        scores = np.tensordot(weights, members, 1)
        away = weights / start - 1
        value = float(log_losses(scores, classes, blur=blur).sum()) + PRIOR * float(away @ away)
        slope = np.einsum("nc,mnc->m", softmax(scores), members) - own
        return value, slope + 2 * PRIOR * away / start

    bounds = [(0.0, None)] * len(members)
    return np.asarray(optimize.minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x)


def sharpen(scores: FloatArray, classes: Rows) -> tuple[float, float]:
    """The factor on the scores with the least mean log-loss, and that loss; 0 if the scores say nothing."""
    # One more answer of no particular class: a hundred predicted without a miss are no reason to be surer than 99 %.
    blur = 1 / (1 + len(classes))
    best, least = 0.0, float(np.log(scores.shape[1]))
    for sharpness in SHARPNESS[1:]:
        loss = float(log_losses(sharpness * scores, classes, blur=blur).mean())
        if loss < least:
            best, least = sharpness, loss
    return best, least


def log_losses(scores: FloatArray, classes: Rows, *, blur: float = 0.0) -> FloatArray:
    """Minus the log of what a softmax gives to the class of each row, a share `blur` of which goes to all alike."""
    top = scores.max(axis=1)
    total = np.exp(scores - top[:, None]).sum(axis=1)
    own = (1 - blur) * scores[np.arange(len(scores)), classes] + blur * scores.mean(axis=1)
    return np.asarray(np.log(total) + top - own)


def softmax(scores: FloatArray) -> FloatArray:
    """Probabilities, highest for the highest score."""
    out = scores - scores.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return np.asarray(out)


def vanishing(classes: Rows) -> BoolArray:
    """Which answers are the only one of their class: nothing can predict them once they are left out."""
    return np.asarray(np.bincount(classes)[classes] == 1)
