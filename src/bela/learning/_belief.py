"""How far to believe what somebody else has predicted: learnt from answers, by score, by class, by what is found.

A logistic model of "the prediction is right", with a prior that a few answers can overrule: how sure the prediction is
of the row, how often it names the class, how sure it is of that class, and how many rows of the class were found
elsewhere; and an effect of each class on its own. Where the prediction is wrong, the answers say what it is then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from bela.learning._graph import Doubles, Floats, Rows
from bela.records import UNKNOWN, BoolArray, FloatArray, IntArray

SPREADS = (0.1, 0.4, 1.0)  # of the effects of classes, chosen by what the answers say
_STEPS = 12  # of Newton's method, at most
_SPREAD = 0.5  # of a coefficient beforehand, its column having a spread of 1
_RIGHT, _RIGHT_SPREAD = 1.0, 2.0  # log-odds to be right of a prediction of which nothing is known
_BY_SCORE, _BY_SCORE_SPREAD = 0.7, 1.0
_ELSEWHERE = 2.0  # answers that what is usual for all classes is worth, beside what is seen of one that is predicted
_MOST_CLASSES = 2_000  # of which all confusions are kept
_LEAST = 1e-4  # chance of anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What answers say of one prediction: for every row the chance that it is right, and what it is otherwise.

    `left_out` is the chance for each answer, by a fit without it. `usual` is how common each class is where the
    prediction is wrong, `confused` how often each was seen for each predicted one, if there are not too many.
    """

    codes: IntArray
    right: Doubles
    left_out: Doubles
    usual: Doubles
    confused: FloatArray | None
    rows: Rows
    classes: Rows  # what the rows turned out to be

    def log_chances(self, rows: Rows | slice = slice(None)) -> Floats:
        """Return the log of the chance of every class, for these rows or all."""
        return self._log_chances(self.codes[rows], self.right[rows], None)

    def log_chances_left_out(self) -> Floats:
        """Return the same for each answer, by what the others say."""
        return self._log_chances(self.codes[self.rows], self.left_out, self.classes)

    def _log_chances(self, codes: IntArray, right: Doubles, own: Rows | None) -> Floats:
        n, k = len(codes), len(self.usual)
        chances, block = np.empty((n, k), np.float32), max(1, 4_000_000 // k)
        for start in range(0, n, block):
            part = slice(start, min(start + block, n))
            here, some = codes[part], np.arange(part.stop - start)
            rest = np.tile(_ELSEWHERE * self.usual, (len(here), 1))
            if self.confused is not None:
                rest += np.where((here != UNKNOWN)[:, None], self.confused[here], 0.0)
                if own is not None:  # what an answer has shown itself
                    wrong = (here != UNKNOWN) & (here != own[part])
                    rest[some[wrong], own[part][wrong]] -= 1.0
            said = here != UNKNOWN
            rest[some[said], here[said]] = 0.0
            rest /= np.maximum(rest.sum(axis=1, keepdims=True), 1e-12)
            rest *= np.where(said, 1.0 - right[part], 1.0)[:, None]
            rest[some[said], here[said]] = right[part][said]
            chances[part] = np.log(np.maximum(rest, _LEAST / k))
        return chances

    def otherwise(self) -> tuple[IntArray, Doubles]:
        """Return what each row most likely is where the prediction is wrong, UNKNOWN if nothing says so; its share."""
        wrong = (self.codes[self.rows] != self.classes) & (self.codes[self.rows] != UNKNOWN)
        said, found = self.codes[self.rows][wrong], self.classes[wrong]
        n_classes = len(self.usual)
        likely, share = np.full(n_classes, UNKNOWN), np.zeros(n_classes)
        pairs, counts = np.unique(said.astype(np.int64) * n_classes + found, return_counts=True)
        order = np.lexsort((pairs, counts))  # the most frequent last
        total = np.bincount(said, minlength=n_classes)
        likely[pairs[order] // n_classes] = pairs[order] % n_classes
        share[pairs[order] // n_classes] = counts[order] / (total[pairs[order] // n_classes] + _ELSEWHERE)
        there = self.codes != UNKNOWN
        return np.where(there, likely[self.codes], UNKNOWN), np.where(there, share[self.codes], 0.0)


def fit_belief(codes: IntArray, sure: Doubles | None, rows: Rows, classes: Rows, n_classes: int) -> Belief:
    """Learn how far to believe predicted `codes`, of which `sure` says how sure they are (see `rank_scores`)."""
    said = codes != UNKNOWN
    answered, right = rows[said[rows]], (codes[rows] == classes)[said[rows]]
    columns, own, prior, spread = _columns(codes, sure, rows, classes, n_classes)
    design, place = own[said[rows]], codes[answered]
    found, least = _Logistic(np.asarray(prior), {}), np.inf
    left_out: Doubles = np.full(len(rows), 0.5)
    for by_class in SPREADS if len(answered) else ():
        trial, log_odds = _fit_logistic(design, place, right, prior=prior, spread=spread, by_group=by_class)
        loss = float(np.logaddexp(0.0, np.where(right, -log_odds, log_odds)).sum())
        if loss < least:
            found, least = trial, loss
            left_out[said[rows]] = expit(log_odds)
    everywhere = expit(columns @ found.coefficients + found.of_class(codes, n_classes))
    counts = np.bincount(classes, minlength=n_classes) + np.bincount(codes[said], minlength=n_classes) / max(
        float(said.sum()), 1.0
    )
    # One more answer that says nothing: a hundred predictions without a miss are no reason to be surer than 99 %.
    blur = 1.0 / (1.0 + len(answered)) if len(answered) else 0.0
    everywhere, left_out = ((1.0 - blur) * chances + 0.5 * blur for chances in (everywhere, left_out))
    wrong = (codes[rows] != classes) & said[rows]
    confused = None
    if n_classes <= _MOST_CLASSES:
        confused = np.zeros((n_classes, n_classes), np.float32)
        np.add.at(confused, (codes[rows][wrong], classes[wrong]), 1.0)
    return Belief(
        codes=codes, right=np.clip(everywhere, _LEAST, 1 - _LEAST), left_out=np.clip(left_out, _LEAST, 1 - _LEAST),
        usual=(counts + 1e-3) / (counts + 1e-3).sum(), confused=confused, rows=rows, classes=classes,
    )  # fmt: skip


def rank_scores(scores: FloatArray | None, said: BoolArray) -> Doubles | None:
    """Return how sure a prediction is of each row as a normal deviate: only the order of scores counts."""
    if scores is None:
        return None
    sure: Doubles = np.zeros(len(scores))
    there = said & ~np.isnan(scores)
    _, place, counts = np.unique(scores[there], return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return None
    middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    sure[there] = ndtri(middle)[place]
    return sure


def _columns(
    codes: IntArray, sure: Doubles | None, rows: Rows, classes: Rows, n_classes: int
) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return what all rows, and the answers, are judged by; what to expect of each column beforehand, and how firmly.

    An answer is judged as if it were not known: it is not among those found of its class, but among the open ones.
    """
    said = codes != UNKNOWN
    named = np.bincount(codes[said], minlength=n_classes)
    is_open = said.copy()
    is_open[rows] = False
    still = np.bincount(codes[is_open], minlength=n_classes).astype(float)
    found = np.bincount(classes, minlength=n_classes).astype(float)
    usual = len(codes) / max(int(((named + found) > 0).sum()), 1)  # rows of a class, were all classes alike

    def build(some: Rows | slice, own: Rows | None) -> Doubles:
        place = np.maximum(codes[some], 0)
        elsewhere, left = found[place], still[place]
        if own is not None:
            elsewhere, left = elsewhere - (own == codes[some]), left + 1.0
        room = np.log((np.maximum(usual - elsewhere, 0.0) + 1.0) / (left + 1.0))
        parts = [np.log1p(named[place]), np.log1p(elsewhere), np.log1p(left), room]
        if sure is not None:
            of_class = np.bincount(codes[said], weights=sure[said], minlength=n_classes) / np.maximum(named, 1)
            parts = [sure[some], sure[some] ** 2, of_class[place], *parts]
        return np.stack(parts, axis=1)

    columns, own = build(slice(None), None), build(rows, classes)
    middle, scale = columns[said].mean(axis=0), columns[said].std(axis=0)
    scale = np.where(scale > 1e-9, scale, np.inf)
    columns, own = ((np.concatenate([np.ones((len(X), 1)), (X - middle) / scale], axis=1)) for X in (columns, own))
    prior, spread = np.zeros(columns.shape[1]), np.full(columns.shape[1], _SPREAD)
    prior[0], spread[0] = _RIGHT, _RIGHT_SPREAD
    if sure is not None:
        prior[1], spread[1] = _BY_SCORE, _BY_SCORE_SPREAD
    return columns, own, prior, spread


@dataclass(frozen=True, slots=True)
class _Logistic:
    coefficients: Doubles
    effects: dict[int, float]

    def of_class(self, codes: IntArray, n_classes: int) -> Doubles:
        effects = np.zeros(n_classes + 1)  # the last for rows that nothing is said of
        effects[list(self.effects)] = list(self.effects.values())
        return effects[codes]


def _fit_logistic(
    X: Doubles, groups: IntArray, right: BoolArray, *, prior: Doubles, spread: Doubles, by_group: float
) -> tuple[_Logistic, Doubles]:
    """Fit coefficients and an effect of each group, both with a normal prior; also log-odds of each without itself.

    The effects are eliminated from each step of Newton's method, so that thousands of groups cost next to nothing.
    """
    found, group = np.unique(groups, return_inverse=True)
    coefficients, effects = prior.copy(), np.zeros(len(found))
    firm, firm_group = 1.0 / spread**2, 1.0 / by_group**2
    for _ in range(_STEPS):
        chance = expit(X @ coefficients + effects[group])
        weight = np.maximum(chance * (1 - chance), 1e-6)
        miss = right - chance
        diagonal = np.bincount(group, weights=weight, minlength=len(found)) + firm_group
        cross = np.zeros((len(found), X.shape[1]))
        np.add.at(cross, group, weight[:, None] * X)
        slope = X.T @ miss - firm * (coefficients - prior)
        slope_group = np.bincount(group, weights=miss, minlength=len(found)) - firm_group * effects
        inverse = np.linalg.inv(X.T @ (weight[:, None] * X) + np.diag(firm) - cross.T @ (cross / diagonal[:, None]))
        step = inverse @ (slope - cross.T @ (slope_group / diagonal))
        step_group = (slope_group - cross @ step) / diagonal
        shorten = min(1.0, 4.0 / max(float(np.abs(step).max()), float(np.abs(step_group).max()), 1e-12))
        coefficients, effects = coefficients + shorten * step, effects + shorten * step_group
        if np.abs(step).max() < 1e-6:
            break
    odds = X @ coefficients + effects[group]
    chance = expit(odds)
    weight = chance * (1 - chance)
    away = X - (cross / diagonal[:, None])[group]
    leverage = np.einsum("ij,jk,ik->i", away, inverse, away) + 1.0 / diagonal[group]
    left_out = odds - leverage * (right - chance) / np.maximum(1.0 - weight * leverage, 0.05)
    return _Logistic(coefficients, dict(zip(found.tolist(), effects.tolist(), strict=True))), left_out
