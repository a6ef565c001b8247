"""What to ask next: train further, or certify what there is? By two curves, of learning and of certifying."""

import math
from dataclasses import dataclass, replace

import numpy as np

from bela.book import Book
from bela.bounds import ErrorBets, draws_needed, draws_to_mend, likely_shares, share_lower
from bela.methods.bela._certificates import Certificates
from bela.methods.bela._looks import Epoch, likely_error
from bela.methods.bela._revision import Revision
from bela.records import RUNGS, FloatArray, Forecast, Prospect, Role, Rung
from bela.shares import allowed_errors

RELEASE = 0.9  # of the alpha that is left, for a release: what its bets do not lose comes back
_RECENT = 4  # revisions that tell how fast the error falls
AGAIN = 1.4  # a release follows another when it has so many times the answers to learn from
_USUAL_SLOPE = 0.45  # how fast the error falls with the answers, on a log-log scale, until the revisions say otherwise
_DOUBT = 0.5  # weight of the usual slope, as the spread of log sizes that it would take to doubt it
_GROWTH = np.cumprod([1.0, 1.2, 1.2, 1.3, 1.35, 1.4, *[1.5] * 6])  # of the answers, to releases ahead
_STEPS = len(_GROWTH)
_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # of what the error may be
_WASTE = 40  # draws until a revision that cannot be certified is given up
_DELAY = 5  # answers that a later release costs beyond what is foreseen
_EARLY = 12  # draws
_NOT_EARLY = 200  # answers, with which something is said even if all draws were just released
_HOPELESS = 0.8  # of the rows that would have to be asked if nothing were learnt
_NARROWEST, _WIDEST = 1.65, 1.72  # of a forecast, as the factor from its middle to its ends: wide, as luck is large
_SOONER = 0.8  # of what is foreseen, as measured: steps ahead are coarse, and luck ends it early
_HOPE = 50.0  # answers with which twice as much is to be expected: the best of many uncertain plans is too hopeful
_LUCK = 0.38  # the standard deviation of the logarithm of what it takes, where the errors are known
_TENTH = 1.28  # standard deviations, above which lies a tenth of a normal distribution
_MANY = 0.8  # times the errors that may stay: with fewer, none needs to be found
_IN_REACH = 1.0  # times the errors that may stay: with more, there is nothing to be certified yet
_PATIENCE = 0.6  # once draws are made, training on must promise to cost less than this share of going on
_PATIENCE_TO_MEND = 0.5  # the same while draws put labels right: they do what training would


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a campaign stands, as far as it matters for the next question."""

    book: Book
    sizes: FloatArray  # training answers of the last revisions
    errors: FloatArray  # the share of rows that each of them has wrong, as far as the draws tell
    certified: Revision  # the release that is being certified, or the last revision
    released: bool  # whether it is the former
    alpha: float  # of that release, or of one that would be made now
    later_alpha: float  # of one that would be made later
    n_draws: int
    mends: bool = False  # whether draws look for errors while too many are left
    bets: ErrorBets  # what training answers, and draws if there are any, say about its errors


def take_stock(book: Book, certificates: Certificates, epoch: Epoch) -> Situation:
    """Say where a campaign stands: by the release that is being certified, or else by the last revision."""
    index, left = certificates.certified, certificates.alpha.left
    last = len(certificates.revisions) - 1 if index is None else index
    replay = certificates.replay(last, book.declined, start=epoch.start)
    later = left + certificates.returned(book)
    taught = [revision for revision in certificates.revisions if revision.n_training]
    recent = taught[-_RECENT:]  # what others have predicted is on no learning curve
    return Situation(
        book=book, certified=certificates.revisions[last],
        alpha=RELEASE * left if index is None else certificates.alpha_of(index),
        sizes=np.array([revision.n_training for revision in recent], dtype=float),
        errors=np.array([likely_error(revision, epoch, certificates.said) for revision in recent]),
        later_alpha=RELEASE * later,
        released=index is not None, n_draws=replay.n_draws, bets=replay.bets, mends=certificates.mends,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The role of the next question, and what is to be expected.

    While there is no release, BOUNDS asks for one; `n_draws` then says after how many draws it is looked at once, None
    where the draws are bet on until the target is reached.
    """

    role: Role
    forecast: Forecast | None = None
    n_draws: int | None = None


def make_plan(situation: Situation) -> Plan:
    """Compare certifying what there is now with training on until a later release."""
    ahead, book = _Ahead(situation), situation.book
    if book.target is None and book.budget is None:
        return Plan(role=Role.BOUNDS if situation.released else Role.TRAINING)
    if book.target is None:
        return _spend(situation, ahead)
    certify, forecast = _expect(situation, ahead, book.target)
    if book.budget is not None and forecast.answers > book.n_left:  # out of reach: the most that can be had
        return replace(_spend(situation, ahead), forecast=forecast)
    return Plan(role=Role.BOUNDS if certify else Role.TRAINING, forecast=forecast)


def make_ladder(situation: Situation | None, book: Book, lower: float) -> tuple[Rung, ...]:
    """Say what each share is expected to take, if it were the target from now on; `lower` is certified already.

    Without a `situation`, or with hardly a draw among few answers, it is too early to say.
    """
    early = situation is None or (situation.n_draws < _EARLY and book.n_known < _NOT_EARLY)
    return tuple(
        Rung(share=share, prospect=Prospect.REACHED) if lower >= share
        else Rung(share=share, prospect=Prospect.TOO_EARLY) if situation is None or early
        else _rung(situation, share)
        for share in RUNGS
    )  # fmt: skip


def _rung(situation: Situation, share: float) -> Rung:
    _, forecast = _expect(situation, _Ahead(situation), share)
    if _is_hopeless(forecast, situation.book, share):
        return Rung(share=share, prospect=Prospect.OUT_OF_REACH)
    return Rung(share=share, prospect=Prospect.EXPECTED, forecast=told(forecast, situation, share))


def _is_hopeless(forecast: Forecast, book: Book, share: float) -> bool:
    by_asking = max(book.n_rows - allowed_errors(book.n_rows, share) - book.n_asked, 0)
    return forecast.answers >= _HOPELESS * by_asking


def told(forecast: Forecast, situation: Situation, share: float) -> Forecast:
    """Return what people are told of a forecast: it is made for decisions, and most that it foresees comes sooner.

    But where little is known yet: then what looks best has been lucky, and takes longer than it looks.
    The fewer errors the draws have found, the less is known of how many there are, and so of what they will take.
    Nothing comes sooner where nearly all rows must be asked.
    """
    book = situation.book
    if _is_hopeless(forecast, book, share):
        return forecast
    most = book.n_rows - book.n_asked
    answers = min(_SOONER * (1.0 + _HOPE / max(book.n_known, 1)) * forecast.answers, most)
    wide = math.exp(_TENTH * math.hypot(_LUCK, (situation.bets.found + 1) ** -0.5))
    return Forecast(
        answers=round(answers), low=round(answers / wide),
        high=min(math.ceil(answers * wide), most),
    )  # fmt: skip


def _expect(situation: Situation, ahead: "_Ahead", target: float) -> tuple[bool, Forecast]:
    """Say whether to certify what there is now, and how many answers the target is expected to take."""
    book = situation.book
    now, later = ahead.costs(target)
    # Patience is with draws that lead to a certificate, not with those that are wasted before training goes on.
    patience = 1.0
    if situation.released and situation.n_draws:
        patience = _PATIENCE_TO_MEND if ahead.many_errors(target) else _PATIENCE
    failing = _WASTE + later  # whoever fails has wasted some draws
    certify = bool(np.minimum(patience * now, failing).mean() <= later.mean())
    best = np.minimum(np.minimum(now, failing) if certify else later, book.n_rows - book.n_asked)
    low, middle, high = np.quantile(best, [0.1, 0.5, 0.9])
    # The quantiles are of the error only: luck, and how well the labels can be learnt, are not in them.
    low, high = (
        np.clip(low, middle / _WIDEST, middle / _NARROWEST),
        np.clip(high, middle * _NARROWEST, middle * _WIDEST),
    )
    most = book.n_rows - book.n_asked
    return certify, Forecast(answers=round(middle), low=round(low), high=min(math.ceil(high), most))


def _spend(situation: Situation, ahead: "_Ahead") -> Plan:
    """Plan for the most that is certified when the budget is used up."""
    if situation.released:
        return Plan(role=Role.BOUNDS)
    reached, n_draws = ahead.reached()
    return Plan(role=Role.BOUNDS if reached.argmax() == 0 else Role.TRAINING, n_draws=n_draws)


class _Ahead:
    """A release now, or the one there is, and later ones, as the past suggests, for quantiles of likely errors."""

    def __init__(self, situation: Situation) -> None:
        self.situation, book = situation, situation.book
        now = situation.certified
        self.share: FloatArray = now.sizes / max(int(now.sizes.sum()), 1)
        n_known = max(book.n_known, 1)
        self.sizes = np.minimum(n_known * _GROWTH, book.n_rows)
        if situation.released:
            self.sizes[0] = now.n_training
            self.sizes[1:] = np.maximum(self.sizes[1:], min(AGAIN * now.n_training, book.n_rows))
        self.extra = np.maximum(self.sizes - n_known, 0.0)  # training answers that are yet to come
        self.factor = (self.sizes / now.n_training) ** -_slope(situation)

    def costs(self, target: float) -> tuple[FloatArray, FloatArray]:
        """Answers still needed, for each quantile: to certify the present labels, if at all, or to train on."""
        situation, book = self.situation, self.situation.book
        allowed = allowed_errors(book.n_rows, target)
        rest = book.n_rows - self.sizes
        level = (allowed + 1) / np.maximum(rest, 1.0)
        likely = likely_shares(situation.bets, _QUANTILES)
        guess = np.clip(likely * self.factor[:, None, None], 1e-5, 0.98)  # step, quantile, bin
        alpha = np.full((_STEPS, 1), max(situation.later_alpha, 1e-12))
        alpha[0] = max(situation.alpha, 1e-12)
        won = np.zeros((_STEPS, 1))
        if situation.released:
            won[0] = situation.bets.nats_won(allowed + 1 + situation.bets.found)
        shape = guess.shape[:2]
        levels, alphas, wins = (np.broadcast_to(values, shape).ravel() for values in (level[:, None], alpha, won))
        draws = draws_needed(self.share, guess.reshape(-1, guess.shape[2]), levels, alphas, wins).reshape(shape)
        if situation.mends:
            draws = np.minimum(draws, self._mending(guess, rest, allowed, np.log(1.0 / alpha) - won))
        draws = np.where(draws < math.inf, np.minimum(draws, rest[:, None]), math.inf)
        certified: FloatArray = self.extra[:, None] + draws
        by_asking = max(book.n_rows - allowed - book.n_asked, 0)  # with nearly all rows asked, that is enough
        later: FloatArray = np.full(len(_QUANTILES), float(by_asking))
        for step in range(_STEPS - 1, 0, -1):
            later = np.minimum(np.minimum(certified[step], _DELAY + later), by_asking)
        return certified[0], later

    def many_errors(self, target: float) -> bool:
        """Whether so many errors are likely left that draws are made to find them."""
        n_rows = self.situation.book.n_rows
        left = float(likely_shares(self.situation.bets, np.array([0.5]))[0] @ self.share) * (n_rows - self.sizes[0])
        return self.situation.mends and bool(left > _MANY * allowed_errors(n_rows, target))

    def _mending(self, guess: FloatArray, rest: FloatArray, allowed: int, nats: FloatArray) -> FloatArray:
        """Draws until the errors that they find leave few enough, for each step and quantile; infinite if few are."""
        left = rest[:, None, None] * self.share
        draws: FloatArray = np.full(guess.shape[:2], math.inf)
        errors = (guess * left).sum(axis=2)
        many = errors > _MANY * allowed
        if not self.situation.released:  # until then training asks the same rows, and learns from them
            many[0] &= errors[0] <= _IN_REACH * allowed
        if many.any():
            need = np.broadcast_to(nats + 1.0, many.shape)[many]
            cases = np.broadcast_to(left, guess.shape)[many], guess[many]
            draws[many] = draws_to_mend(*cases, allowed, need).min(axis=1)
        return draws

    def reached(self) -> tuple[FloatArray, int]:
        """Shares certified when the budget is used up, by a look at a release now or later; and its draws if now."""
        situation, book = self.situation, self.situation.book
        left = max(book.n_left, 0)
        draws = np.maximum(left - self.extra, 0.0)
        error = np.clip(float(likely_shares(situation.bets, np.array([0.5]))[0] @ self.share) * self.factor, 1e-5, 0.98)
        right = share_lower(draws, error * draws, alpha=max(situation.later_alpha, 1e-12))
        return np.where(draws > 0, 1 - (1 - right) * (1 - self.sizes / book.n_rows), 0.0), left


def _slope(situation: Situation) -> float:
    """How fast the error falls with the training answers: the usual, bent by what draws say of the last revisions."""
    x, y = np.log(situation.sizes), np.log(np.maximum(situation.errors, 1e-4))
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((-(x @ y) + _DOUBT * _USUAL_SLOPE) / (x @ x + _DOUBT), 0.15, 1.2))
