"""Draws that favour classes below a target of their own: the chances of rows by class, and whether they are in reach.

All of it only decides with which recorded chances the draws of a release are made, and when to release: no bound rests
on it being right (docs/guarantees.md, "Favoured classes").
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from bela.book import Book
from bela.bounds import ErrorBets, likely_shares, share_lower
from bela.methods._deciding import N_BINS
from bela.methods.bela._certificates import Certificates
from bela.methods.bela._looks import asked_rows
from bela.methods.bela._planning import Plan, Situation, _Ahead
from bela.methods.bela._population import Pool, count_rows
from bela.methods.bela._replay import Replay
from bela.methods.bela._revision import Revision
from bela.records import UNKNOWN, BoolArray, FloatArray, Forecast, IntArray, Role
from bela.shares import allowed_errors

_SHARE = 0.5  # of the draws, for classes below their target while all labels together are below theirs
_SHARE_ALONE = 0.9  # the same once they are not
_STRETCH = 2.0  # times the answers that are left: what favoured classes may take together, by a rough guess
_MOST = 12  # times two: of the factor by which rows of a class are drawn more often than others
_PATIENCE = 0.8  # training on must promise to cost less than this share of going on
_HESITATION = 1.0  # nats beyond what must be shown, as in `draws_needed`
_WIDE = 1.7  # of the forecast, as the factor from its middle to its ends
_CAREFUL = 1e-4


def cut_pool(revision: Revision, book: Book) -> Pool:
    """Return the rows that can be drawn for a release: by bin, and by class as well where one may be favoured."""
    drawable = revision.outside.but(asked_rows(book))
    if book.class_target is None:
        return Pool(drawable, revision.bin, N_BINS)
    cell = revision.codes.astype(np.int32) * N_BINS + revision.bin
    return Pool(drawable, np.where(revision.bin < 0, np.int32(-1), cell), N_BINS * _n_codes(revision))


def needs_cut(pool: Pool, book: Book) -> bool:
    """Whether a release's pool is cut by class though none may be favoured any more, or the reverse."""
    return (len(pool.left) > N_BINS) != (book.class_target is not None)


def cell_weights(weights: FloatArray) -> FloatArray:
    """Return the weight of each cell of a pool, from those of bins and the factors of classes that may follow them."""
    bins, factors = np.split(weights, [N_BINS])
    return np.asarray(np.outer(factors, bins).ravel()) if len(factors) else bins


def row_weight(revision: Revision, weights: FloatArray, row: int) -> float:
    """Return the weight that a row was drawn with."""
    factor = weights[N_BINS + int(revision.codes[row])] if len(weights) > N_BINS else 1.0
    return float(weights[int(revision.bin[row])] * factor)


def favour(book: Book, certificates: Certificates, replay: Replay, pool: Pool) -> FloatArray:
    """Return weights of bins, followed by factors of classes: those below their target are drawn more, by their need.

    Factors are powers of two, so that they seldom change: rows of the same weight are bet on together.
    """
    outlook = _Outlook.of(book, replay.revision, certificates.class_replays(replay.index, book.declined))
    left, bins = pool.left.reshape(-1, N_BINS), replay.weights()
    alpha = certificates.alpha_of(replay.index)
    need = np.maximum(outlook.needs(alpha), 1.0)
    # Judged by all that the release may draw, not by what is left of it: nobody is given up on the last few draws.
    beyond = _out_of_reach(outlook.needs(alpha, 1.0), _STRETCH * (replay.n_draws + book.n_left))
    need[~left.any(axis=1) | outlook.reached | beyond] = 0.0
    if not need.any():
        return np.concatenate([bins, np.ones(len(left))])
    right = {bound.revision: right for bound, right in certificates.rows_right(book) if bound.look is None}
    done = book.target is not None and right[replay.index] / book.n_rows >= book.target
    share = _SHARE_ALONE if done else _SHARE
    bins = (1.0 - share) * bins + share * replay.weights(float(outlook.level @ need / need.sum()))
    mass = (left * bins).sum(axis=1)
    mass /= mass.sum()
    wanted = (1.0 - share) * mass + share * need / need.sum()
    there = mass > 0
    powers = np.log2(wanted[there] / mass[there])
    factors = np.ones(len(left))
    factors[there] = 2.0 ** np.minimum(np.rint(powers - powers.min()), _MOST)
    mean = float((left * bins).sum(axis=1) @ factors) / int(left.sum())
    return np.concatenate([bins / mean, factors])


def plan_for_classes(plan: Plan, situation: Situation, certificates: Certificates) -> Plan:
    """Have a plan wait with the release until the classes are in reach too, or give one up that will not bring them."""
    book = situation.book
    if book.class_target is None:
        return plan
    if plan.n_draws is not None:  # the budget is to be used up
        bounds = _bounds_of_a_class(situation)
        if bounds.max() < book.class_target:
            return plan
        return replace(plan, role=Role.BOUNDS if int(bounds.argmax()) == 0 else Role.TRAINING)
    if plan.role is Role.TRAINING or plan.forecast is None:
        return plan
    left = book.n_left
    if plan.forecast.answers > left:  # what was released is all that the budget will bring
        return plan
    index = certificates.certified
    replays = None if index is None else certificates.class_replays(index, book.declined)
    outlook = _Outlook.of(book, situation.certified, replays, situation.bets if replays is None else None)
    ahead = _Ahead(situation)
    needs = [outlook.needs(situation.alpha)]  # of what there is, and of later releases
    needs += [outlook.needs(situation.later_alpha, factor) for factor in ahead.factor[1:].tolist()]
    costs = ahead.extra + np.array([need.sum() for need in needs])
    patience = _PATIENCE if situation.released and situation.n_draws else 1.0
    trains = bool(costs[1:].min() < patience * costs[0]) and costs[1:].min() <= left
    answers = round(min(max(plan.forecast.answers, float(costs.min())), book.n_rows - book.n_asked))
    most = book.n_rows - book.n_asked
    forecast = Forecast(
        answers=answers, low=min(plan.forecast.low, answers) if answers == plan.forecast.answers
        else round(answers / _WIDE), high=min(max(math.ceil(answers * _WIDE), plan.forecast.high), most),
    )  # fmt: skip
    return replace(plan, role=Role.TRAINING if trains else plan.role, forecast=forecast)


def _bounds_of_a_class(situation: Situation) -> FloatArray:
    """Return what the budget will certify of a class of the usual size if everything is released now, or later."""
    ahead, book, revision = _Ahead(situation), situation.book, situation.certified
    n_classes = int((count_rows(revision.codes, revision.bin >= 0) > 0).sum())
    draws = np.maximum(book.n_left - ahead.extra, 0.0) / max(n_classes, 1)
    likely = float(likely_shares(situation.bets, np.array([0.5]))[0] @ ahead.share)
    wrong = np.clip(likely * ahead.factor, 1e-5, 0.98) * draws
    alpha = max(situation.later_alpha, 1e-12) / max(n_classes, 1)
    return np.where(draws > 0, share_lower(draws, wrong, alpha=alpha), 0.0)


def _out_of_reach(need: FloatArray, draws: float) -> BoolArray:
    """Return the classes that so many draws are not enough for: those that take most, until the others fit."""
    order = np.argsort(need, kind="stable")
    beyond = np.empty(len(need), bool)
    beyond[order] = need[order].cumsum() > draws
    return beyond


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outlook:
    """Of each class: the rows whose labels are inferred, the errors that may stay, and what is likely and shown."""

    left: IntArray
    allowed: IntArray
    error: FloatArray  # the share of the rows left that is likely wrong
    won: FloatArray  # nats against more errors than may stay
    reached: BoolArray

    @classmethod
    def of(
        cls, book: Book, revision: Revision, replays: dict[int, Replay] | None, bets: ErrorBets | None = None
    ) -> "_Outlook":
        """Look at a release by its bets on each class, or at another revision by what its `bets` say of its bins."""
        n_codes, target = _n_codes(revision), book.class_target or 0.0
        unknown = (book.known == UNKNOWN) & (revision.codes != UNKNOWN)
        carried = count_rows(np.where(unknown, revision.codes, book.known), None, n_codes)[:n_codes]
        left = count_rows(revision.codes, unknown, n_codes)
        lost = count_rows(revision.codes, unknown & (book.asked | (revision.bin < 0)), n_codes)
        allowed = np.array([allowed_errors(n, target) for n in carried.tolist()]) - lost  # what is unanswered is wrong
        error, won, reached = np.zeros(n_codes), np.zeros(n_codes), left <= allowed
        if bets is not None:
            rows = np.flatnonzero(unknown & (revision.bin >= 0) & (revision.codes >= 0))
            likely = likely_shares(bets, np.array([0.5]))[0][revision.bin[rows]]
            sums = np.bincount(revision.codes[rows], weights=likely, minlength=n_codes)
            error = sums / np.maximum(np.bincount(revision.codes[rows], minlength=n_codes), 1)
        for c, replay in (replays or {}).items():
            reached[c] |= replay.bets.remaining_upper() <= allowed[c]
            if not reached[c]:
                error[c] = replay.likely_error()
                won[c] = max(replay.bets.nats_won(max(int(allowed[c]), 0) + 1 + replay.bets.found), 0.0)
        return cls(left=left, allowed=allowed, error=error, won=won, reached=reached)

    @property
    def level(self) -> FloatArray:
        """The least share of the rows left that may not be wrong."""
        return np.clip((self.allowed + 1) / np.maximum(self.left, 1), _CAREFUL, 1.0 - _CAREFUL)

    def needs(self, alpha: float, factor: float | None = None) -> FloatArray:
        """Return about how many draws each class takes, at most its rows.

        With a `factor`, of a later release: nothing is won for it, and it has so many times the errors.
        """
        level = self.level
        error = np.clip(self.error * (factor or 1.0), _CAREFUL, 1.0 - _CAREFUL)
        rate = error * np.log(error / level) + (1.0 - error) * np.log((1.0 - error) / (1.0 - level))
        nats = math.log(max(int((self.left > 0).sum()), 1) / max(alpha, 1e-12)) + _HESITATION
        draws = np.maximum(nats - (self.won if factor is None else 0.0), 0.0) / np.maximum(rate, 1e-12)
        all_asked = np.maximum(self.left - self.allowed, 0)  # with so many asked, that is enough
        draws = np.where(error < level, np.minimum(draws, all_asked), all_asked)
        return np.where(self.reached if factor is None else self.left <= self.allowed, 0.0, draws)


def _n_codes(revision: Revision) -> int:
    return int(revision.codes.max()) + 1
