"""How far to believe what somebody else has predicted: learnt from answers, by score, by class, by what is found.

A logistic model of "the prediction is right", with a prior that a few answers can overrule: how sure the prediction is
of the row, how often it names the class, how sure it is of that class, and how many rows of the class were found
elsewhere; and an effect of each class on its own. Where the prediction is wrong, the answers say what it is then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    prediction is wrong, `confused` how often each was seen for each predicted one, if there are not too many. `judge`
    gives the chance for any other row.
    """

    codes: IntArray
    right: Doubles
    left_out: Doubles
    usual: Doubles
    confused: FloatArray | None
    rows: Rows
    classes: Rows  # what the rows turned out to be
    judge: Judge

    def log_chances(self, rows: Rows | slice = slice(None)) -> Floats:
        """Return the log of the chance of every class, for these rows or all."""
        return self._log_chances(self.codes[rows], self.right[rows], None)

    def log_chances_left_out(self) -> Floats:
        """Return the same for each answer, by what the others say."""
        return self._log_chances(self.codes[self.rows], self.left_out, self.classes)

    @property
    def least_log_chance(self) -> float:
        """The log of the chance of a class that nothing speaks for."""
        return float(np.log(_LEAST / len(self.usual)))

    def log_chances_of(self, codes: IntArray, right: Doubles) -> Floats:
        """Return the same for rows that it was not learnt on, of which this was predicted, rightly with this chance.

        A code beyond the classes stands for one that none of those rows had: then it is that, or else what is usual.
        """
        beyond = codes >= len(self.usual)
        chances = self._log_chances(np.where(beyond, UNKNOWN, codes), right, None)
        chances[beyond] += np.log1p(-right[beyond])[:, None].astype(np.float32)
        return chances

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

    def confusions(self) -> tuple[IntArray, Doubles]:
        """Return what it most likely is where each class was predicted wrongly, UNKNOWN if nothing says so; its share.

        The last of both is for rows of which nothing was predicted.
        """
        wrong = (self.codes[self.rows] != self.classes) & (self.codes[self.rows] != UNKNOWN)
        said, found = self.codes[self.rows][wrong], self.classes[wrong]
        n_classes = len(self.usual)
        likely, share = np.full(n_classes + 1, UNKNOWN), np.zeros(n_classes + 1)
        pairs, counts = np.unique(said.astype(np.int64) * n_classes + found, return_counts=True)
        order = np.lexsort((pairs, counts))  # the most frequent last
        total = np.bincount(said, minlength=n_classes)
        likely[pairs[order] // n_classes] = pairs[order] % n_classes
        share[pairs[order] // n_classes] = counts[order] / (total[pairs[order] // n_classes] + _ELSEWHERE)
        return likely, share


def fit_belief(codes: IntArray, scores: FloatArray | None, rows: Rows, classes: Rows, n_classes: int) -> Belief:
    """Learn how far to believe predicted `codes`, the more the higher their `scores` are, if there are any."""
    said = codes != UNKNOWN
    ranks = Ranks.of(scores, said)
    sure = ranks(scores, said)
    answered, right = rows[said[rows]], (codes[rows] == classes)[said[rows]]
    design, columns = _make_design(codes, sure, rows, classes, n_classes)
    own = design.columns(codes[rows], None if sure is None else sure[rows], classes)
    prior, spread = np.zeros(columns.shape[1]), np.full(columns.shape[1], _SPREAD)
    prior[0], spread[0] = _RIGHT, _RIGHT_SPREAD
    if sure is not None:
        prior[1], spread[1] = _BY_SCORE, _BY_SCORE_SPREAD
    place = codes[answered]
    found, least = _Logistic(np.asarray(prior), {}), np.inf
    left_out: Doubles = np.full(len(rows), 0.5)
    for by_class in SPREADS if len(answered) else ():
        trial, log_odds = _fit_logistic(own[said[rows]], place, right, prior=prior, spread=spread, by_group=by_class)
        loss = float(np.logaddexp(0.0, np.where(right, -log_odds, log_odds)).sum())
        if loss < least:
            found, least = trial, loss
            left_out[said[rows]] = expit(log_odds)
    counts = np.bincount(classes, minlength=n_classes) + np.bincount(codes[said], minlength=n_classes) / max(
        float(said.sum()), 1.0
    )
    # One more answer that says nothing: a hundred predictions without a miss are no reason to be surer than 99 %.
    blur = 1.0 / (1.0 + len(answered)) if len(answered) else 0.0
    judge = Judge(ranks=ranks, design=design, logistic=found, blur=blur, n_classes=n_classes)
    left_out = (1.0 - blur) * left_out + 0.5 * blur
    wrong = (codes[rows] != classes) & said[rows]
    confused = None
    if n_classes <= _MOST_CLASSES:
        confused = np.zeros((n_classes, n_classes), np.float32)
        np.add.at(confused, (codes[rows][wrong], classes[wrong]), 1.0)
    return Belief(
        codes=codes, right=judge.by_columns(codes, columns), left_out=np.clip(left_out, _LEAST, 1 - _LEAST),
        usual=(counts + 1e-3) / (counts + 1e-3).sum(), confused=confused, rows=rows, classes=classes, judge=judge,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """How sure a prediction is as a normal deviate, by its score: only the order of scores counts."""

    scores: Doubles  # each once, in order; none where no two differ
    deviates: Doubles

    @classmethod
    def of(cls, scores: FloatArray | None, said: BoolArray) -> Ranks:
        """Rank the scores of rows of which something is said."""
        there = np.zeros(0) if scores is None else scores[said & ~np.isnan(scores)]
        values, counts = np.unique(there, return_counts=True)
        if len(counts) < 2:
            return cls(scores=np.zeros(0), deviates=np.zeros(0))
        return cls(scores=values.astype(float), deviates=ndtri((np.cumsum(counts) - 0.5 * counts) / counts.sum()))

    def __call__(self, scores: FloatArray | None, said: BoolArray) -> Doubles | None:
        """Return how sure a prediction is of any rows, between those of the nearest scores; 0 where nobody knows.

        None where scores tell nothing.
        """
        if scores is None or not len(self.scores):
            return None
        there = said & ~np.isnan(scores)
        return np.where(there, np.interp(np.where(there, scores, 0.0), self.scores, self.deviates), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """What rows are judged by: how sure the prediction is of them, and what is known of the class that it names.

    The tables have an entry for each class, and one for classes beyond them, of which nothing is known.
    """

    named: Doubles
    still: Doubles  # of those, not answered
    found: Doubles
    usual: float  # rows of a class, were all classes alike
    of_class: Doubles | None  # how sure the prediction is, on average
    middle: Doubles
    scale: Doubles

    def plain(self, codes: IntArray, sure: Doubles | None, own: Rows | None = None) -> Doubles:
        """Return a row of numbers for each row of the data.

        An answer is judged as if it were not known: not among those found of its class, but among the open ones.
        """
        place = np.maximum(codes, 0)
        elsewhere, left = self.found[place], self.still[place]
        if own is not None:
            elsewhere, left = elsewhere - (own == codes), left + 1.0
        room = np.log((np.maximum(self.usual - elsewhere, 0.0) + 1.0) / (left + 1.0))
        parts = [np.log1p(self.named[place]), np.log1p(elsewhere), np.log1p(left), room]
        if sure is not None and self.of_class is not None:
            parts = [sure, sure**2, self.of_class[place], *parts]
        return np.stack(parts, axis=1)

    def columns(self, codes: IntArray, sure: Doubles | None, own: Rows | None = None) -> Doubles:
        """Return the same scaled, after a column of ones."""
        return self.scaled(self.plain(codes, sure, own))

    def scaled(self, plain: Doubles) -> Doubles:
        return np.concatenate([np.ones((len(plain), 1)), (plain - self.middle) / self.scale], axis=1)


def _make_design(
    codes: IntArray, sure: Doubles | None, rows: Rows, classes: Rows, n_classes: int
) -> tuple[_Design, Doubles]:
    """Return what rows are judged by, and the columns of all of them."""
    said = codes != UNKNOWN
    named = np.bincount(codes[said], minlength=n_classes)
    is_open = said.copy()
    is_open[rows] = False
    still = np.bincount(codes[is_open], minlength=n_classes)
    found = np.bincount(classes, minlength=n_classes)
    usual = len(codes) / max(int(((named + found) > 0).sum()), 1)
    of_class = None
    if sure is not None:
        of_class = np.bincount(codes[said], weights=sure[said], minlength=n_classes) / np.maximum(named, 1)
    design = _Design(
        named=np.append(named, 0.0), still=np.append(still, 0.0), found=np.append(found, 0.0), usual=usual,
        of_class=None if of_class is None else np.append(of_class, 0.0), middle=np.zeros(1), scale=np.ones(1),
    )  # fmt: skip
    plain = design.plain(codes, sure)
    # Where nothing is said of these rows, of others something may be: all that is known of them is what to expect.
    middle, scale = (plain[said].mean(axis=0), plain[said].std(axis=0)) if said.any() else (np.zeros(1), np.zeros(1))
    design = replace(design, middle=middle, scale=np.where(scale > 1e-9, scale, np.inf))
    return design, design.scaled(plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The chance that a prediction is right, for any row: by what it says of it and its score."""

    ranks: Ranks
    design: _Design
    logistic: _Logistic
    blur: float
    n_classes: int

    def __call__(self, codes: IntArray, scores: FloatArray | None) -> Doubles:
        """Return the chance for rows of which this was predicted; a class may be beyond all that are known.

        UNKNOWN, of which nothing was predicted, gets a number as well, which means nothing.
        """
        return self.by_columns(codes, self.design.columns(codes, self.ranks(scores, codes != UNKNOWN)))

    def by_columns(self, codes: IntArray, columns: Doubles) -> Doubles:
        """Return the chance from what the design makes of the same rows."""
        logistic = self.logistic
        chances = expit(columns @ logistic.coefficients + logistic.of_class(codes, self.n_classes))
        return np.asarray(np.clip((1.0 - self.blur) * chances + 0.5 * self.blur, _LEAST, 1 - _LEAST))


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
