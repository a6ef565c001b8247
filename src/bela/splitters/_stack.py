"""One model out of several: a few weights that the answers themselves support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bela.splitters._calibration import log_losses, sharpen, softmax, vanishing
from bela.splitters._neighbours import Floats, Rows
from bela.splitters._propagation import deal_folds

Doubles = npt.NDArray[np.float64]

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
        total: Floats | None = None
        for weight, score in zip(self.weights, scores, strict=True):
            if weight > 0 and score is not None:
                part = score * np.float32(weight)
                total = part if total is None else np.add(total, part, out=total)
        if total is None:  # no member says anything: every class is as likely as any
            shape = next(s.shape for s in scores if s is not None)
            total = np.zeros(shape, np.float32)
        return np.asarray(softmax(total), np.float32)


def fit_stack(left_out: Sequence[Floats], classes: Rows, rng: np.random.Generator, *, usual: Sequence[float]) -> Stack:
    """Weigh members by how well they foretold answers that they had not seen.

    Each member is first made as sharp as suits it alone; the weights then start from equal shares. Where the stack,
    cross-validated, is no better than the best member alone, that member is taken alone.

    Parameters
    ----------
    left_out
        For each member, scores of every answer by a fit without it.
    classes
        The answers' classes, numbered from 0.
    rng
        Chooses rows if there are many, and deals folds.
    usual
        How sharp each member is taken to be while there is hardly an answer to judge by.
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
    blind = np.empty(len(classes))
    blur = 1 / (1 + len(classes))
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
