"""What to ask next: train further, or certify what there is? By two curves, of learning and of certifying."""

import math
from dataclasses import dataclass

import numpy as np

from bela.book import Book
from bela.bounds import ErrorBets, draws_needed, level_reached, likely_shares, nats_won
from bela.methods.bela._revision import Revision
from bela.records import FloatArray, Forecast, Role
from bela.shares import allowed_errors

SPEND_AGAIN = 1.4  # a later revision is certified when it has so many times the training answers of the last that was
_USUAL_SLOPE = 0.35  # how fast the error falls with the answers, on a log-log scale, until the revisions say otherwise
_STEPS = 8  # certified revisions to look ahead
_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of what the error may be
_WASTE = 40  # draws until a revision that cannot be certified is given up
_DELAY = 10  # answers that a later revision costs beyond what is foreseen
_PATIENCE = 0.8  # once draws are made, training on must promise to cost less than this share of going on


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a campaign stands, as far as it matters for the next question."""

    book: Book
    growth: float
    revisions: list[Revision]
    certified: Revision  # the one that is certified now, or would be
    alpha: float  # that it may spend, or has spent; the next has half of it if so
    spent: bool  # whether alpha was handed out for it
    n_draws: int
    bets: ErrorBets  # what training answers, and draws if there are any, say about its errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The role of the next question, and what is to be expected."""

    role: Role
    forecast: Forecast | None
    cost: float = 0.0  # answers that it is expected to take


def make_plan(situation: Situation) -> Plan:
    """Compare certifying the present revision with training on until a later one."""
    ahead, book = _Ahead(situation), situation.book
    if book.target is None:
        reached = ahead.reached()
        certify = bool(reached[0] >= reached[1:].max())
        return Plan(role=Role.BOUNDS if certify else Role.TRAINING, forecast=None)
    now, later = ahead.costs(book.target)
    # Patience is with draws that lead to a certificate, not with those that are wasted before training goes on.
    patience = _PATIENCE if situation.n_draws else 1.0
    # Whoever fails has wasted some draws, and trains on with less of alpha left.
    failing = _WASTE + (later if situation.spent else ahead.costs(book.target, spent=True)[1])
    certify = bool(np.minimum(patience * now, failing).mean() <= later.mean())
    best = np.minimum(np.minimum(now, failing) if certify else later, book.n_rows - book.n_asked)
    low, middle, high = (round(float(q)) for q in np.quantile(best, [0.1, 0.5, 0.9]))
    forecast = Forecast(answers=middle, low=low, high=high)
    return Plan(role=Role.BOUNDS if certify else Role.TRAINING, forecast=forecast, cost=float(best.mean()))


class _Ahead:
    """The revision that is certified now and those to come, as the past suggests, for quantiles of likely errors."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        now = situation.certified
        self.share: FloatArray = now.sizes / max(int(now.sizes.sum()), 1)
        self.sizes = np.minimum(_sizes_to_certify(situation), situation.book.n_rows)
        self.extra = np.maximum(self.sizes - situation.book.n_known, 0.0)  # training answers that are yet to come
        self.extra[0] = 0.0
        self.factor = (self.sizes / now.n_training) ** -_slope(situation.revisions)

    def costs(self, target: float, *, spent: bool | None = None) -> tuple[FloatArray, FloatArray]:
        """Answers still needed, for each quantile: to certify the present revision, if at all, or to train on."""
        situation, book = self.situation, self.situation.book
        spent = situation.spent if spent is None else spent  # its part of alpha, so that later revisions have less
        allowed = allowed_errors(book.n_rows, target)
        rest = book.n_rows - self.sizes
        level = (allowed + 1) / np.maximum(rest, 1.0)
        likely = likely_shares(situation.bets, _QUANTILES)
        guess = np.clip(likely * self.factor[:, None, None], 1e-5, 0.98)  # step, quantile, bin
        alpha = np.full((_STEPS, 1), max(situation.alpha * (0.5 if spent else 1.0), 1e-12))
        alpha[0] = max(situation.alpha, 1e-12)
        won = np.zeros((_STEPS, 1))
        if situation.spent:
            won[0] = nats_won(situation.bets, allowed + 1 + situation.bets.found)
        shape = guess.shape[:2]
        levels, alphas, wins = (np.broadcast_to(values, shape).ravel() for values in (level[:, None], alpha, won))
        draws = draws_needed(self.share, guess.reshape(-1, guess.shape[2]), levels, alphas, wins).reshape(shape)
        draws = np.where(draws < math.inf, np.minimum(draws, rest[:, None]), math.inf)
        certified: FloatArray = self.extra[:, None] + draws
        by_asking = max(book.n_rows - allowed - book.n_asked, 0)  # with nearly all rows asked, that is enough
        later: FloatArray = np.full(len(_QUANTILES), float(by_asking))
        for step in range(_STEPS - 1, 0, -1):
            later = np.minimum(np.minimum(certified[step], _DELAY + later), by_asking)
        return certified[0], later

    def reached(self) -> FloatArray:
        """Shares certified when the budget is used up, if training ends now, after the next revision, and so on."""
        situation, book = self.situation, self.situation.book
        budget = 2 * max(book.n_asked, 50) if book.budget is None else book.budget
        likely = likely_shares(situation.bets, np.array([0.5]))[0]
        reached = np.zeros(_STEPS)
        for step in range(_STEPS):
            left = budget - book.n_asked - self.extra[step]
            if left <= 0 and step:
                break
            draws = (situation.n_draws if step == 0 else 0) + max(left, 0.0)  # a later revision needs draws of its own
            guess = np.clip(likely * self.factor[step], 1e-5, 0.98)
            alpha = max(situation.alpha * (0.5 if step and situation.spent else 1.0), 1e-12)
            level = level_reached(self.share, guess, draws, alpha)
            reached[step] = 1 - level * (1 - self.sizes[step] / book.n_rows)
        return reached


def _sizes_to_certify(situation: Situation) -> FloatArray:
    """Return the training sizes of the revision that is certified now, and of the next ones that will be."""
    sizes = [situation.certified.n_training]
    size = situation.revisions[-1].n_training
    while len(sizes) < _STEPS:
        size = next_size(size, situation.growth)
        if size >= SPEND_AGAIN * sizes[-1]:
            sizes.append(size)
    return np.array(sizes, dtype=float)


def next_size(size: int, growth: float) -> int:
    """Return the training size of the revision after one of this size."""
    return size + max(4, math.ceil((growth - 1) * size))


def _slope(revisions: list[Revision]) -> float:
    """How fast the error falls with the training answers: the usual, bent by the last revisions."""
    recent = revisions[-6:]
    x = np.log([revision.n_training for revision in recent])
    y = np.log([max(revision.error_rate, 1e-4) for revision in recent])
    x, y = x - x.mean(), y - y.mean()
    prior = 1.0  # weight of the usual slope, as the spread of log sizes that it would take to doubt it
    return float(np.clip((-(x @ y) + prior * _USUAL_SLOPE) / (x @ x + prior), 0.1, 1.2))
