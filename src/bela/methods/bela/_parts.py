"""What the bounds of a revision say of parts of the rows: of each class, and of the surest rows.

Both are statements of their own beside the certificate: each bound spends its part of alpha once more for each of
them (docs/guarantees.md, "By class" and "The sure part"). Nothing is computed before somebody asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from bela.book import Book
from bela.bounds import errors_upper_one_look
from bela.features import is_many
from bela.methods._deciding import majority
from bela.methods.bela._certificates import Bound, Certificates
from bela.methods.bela._looks import is_wrong
from bela.methods.bela._population import count_rows
from bela.methods.bela._replay import Draw, Replay, Trained
from bela.methods.bela._revision import Revision
from bela.records import SURE_SHARES, UNKNOWN, BoolArray, ClassBound, FloatArray, IntArray, Label, Parts, SurePart
from bela.shares import allowed_errors
from bela.storage import empty_array

_BLOCK = 1 << 20  # rows that are counted at once
_N_PARTS = 50  # of a population by how sure its labels are, each with all that are surer
_DOUBT = 1.5  # times as many errors as the revision expects are reckoned with, when the first part is chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class LookDraws:
    """What a look has seen: the rows of its population that were drawn, uniformly, and whether each is wrong."""

    population: BoolArray
    alpha: float
    rows: IntArray
    wrong: BoolArray

    def class_errors_upper(self, codes: IntArray, classes: IntArray, alpha: float) -> list[int]:
        """Bound the errors of the rows of each class, each with probability alpha to fail."""
        n_codes = int(classes.max(initial=-1)) + 1
        sizes = count_rows(codes, self.population, n_codes)
        drawn = np.bincount(codes[self.rows], minlength=n_codes)
        wrong = np.bincount(codes[self.rows[self.wrong]], minlength=n_codes)
        return [_one_look(int(drawn[c]), int(wrong[c]), int(sizes[c]), alpha) for c in classes]

    def shows_few(self, part: BoolArray, size: int, allowed: int, alpha: float) -> bool:
        """Whether no more than the allowed number of a part's rows can be wrong, at the level alpha."""
        inside = part[self.rows]
        return _one_look(int(inside.sum()), int((inside & self.wrong).sum()), size, alpha) <= allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class BetDraws:
    """What bets on a release rest on: the log of draws and training questions, and what became of them."""

    population: BoolArray
    alpha: float
    index: int
    revisions: list[Revision]
    log: list[Draw | Trained]
    start: int
    said: Mapping[int, Sequence[int]]
    declined: BoolArray
    told: Mapping[int, tuple[int, int]] | None = None
    by_class: Mapping[int, int] | None = None  # what the bets on each class say, where they were made already

    def class_errors_upper(self, codes: IntArray, classes: IntArray, alpha: float) -> list[int]:
        """Bound the errors of the rows of each class, each with probability alpha to fail."""
        if self.by_class is not None:
            return [self.by_class[c] for c in classes.tolist()]
        return [self._errors_upper(codes == c, alpha) for c in classes]

    def shows_few(self, part: BoolArray, size: int, allowed: int, alpha: float) -> bool:
        """Whether no more than the allowed number of a part's rows can be wrong, at the level alpha."""
        return self._errors_upper(part, alpha, against=allowed + 1) <= allowed

    def _errors_upper(self, part: BoolArray, alpha: float, against: int | None = None) -> int:
        """Bet on the draws that fell into a part: given that they did, the weights of its rows are their chances."""
        replay = Replay(
            self.index, self.revisions, self.log, alpha,
            aim=None, start=self.start, part=self.population & part, against=against,
            told=self.told,
        )  # fmt: skip
        replay.advance(self.said, self.declined)
        return replay.bets.errors_upper


Evidence = LookDraws | BetDraws


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The labels that are put out, and what their revision's bounds have seen, at some moment of the book."""

    known: IntArray  # with what was corrected unasked
    codes: IntArray  # of the revision, before any answer
    names: Sequence[Label]
    revision: Revision | None
    evidence: Sequence[Evidence]
    unreadable: IntArray
    disputed: IntArray = field(default_factory=lambda: np.array([], dtype=np.intp))
    """Rows that are known and correct nothing: nobody had asked, or one of several answers was the label."""

    @property
    def unknown(self) -> BoolArray:
        """The rows whose labels are those of the revision."""
        return np.asarray(self.known == UNKNOWN)


def take_parts(book: Book, certificates: Certificates, best: Revision | None, confidence: float) -> Parts:
    """Keep what parts are bounded by as things stand, for the revision whose labels are put out."""
    known = empty_array(book.known.shape, book.known.dtype)
    known[:] = book.known
    unasked = np.array(list(book.corrections), dtype=np.intp)
    known[unasked] = list(book.corrections.values())
    codes = np.full(book.n_rows, majority(book.known), dtype=np.int32) if best is None else best.codes
    bounds = [bound for bound in certificates.bounds if certificates.revisions[bound.revision] is best]
    # What was closed when classes were merged rests on the classes from before.
    open_ = [bound for bound in bounds if bound.closed is None and certificates.errors_upper(bound, book) is not None]
    snapshot = Snapshot(
        known=known, codes=codes, names=book.codes.classes, revision=best,
        evidence=[_evidence(bound, certificates, book) for bound in open_],
        unreadable=np.array(book.set_aside, dtype=np.intp),
        disputed=np.union1d(unasked, certificates.disputed(codes)),
    )  # fmt: skip
    return Parts(
        confidence=confidence, bound_classes=partial(bound_classes, snapshot), find_sure=partial(find_sure, snapshot)
    )


def _evidence(bound: Bound, certificates: Certificates, book: Book) -> Evidence:
    look, said, codes = bound.look, certificates.said, certificates.revisions[bound.revision].codes
    if look is not None:
        rows = [row for row in look.epoch.drawn[: look.n_draws] if row in look.population]
        wrong = [is_wrong(said.get(row, ()), int(codes[row])) for row in rows]
        return LookDraws(
            population=look.population.mask(), alpha=bound.firm, rows=np.array(rows, dtype=np.intp),
            wrong=np.array(wrong, dtype=bool),
        )  # fmt: skip
    return BetDraws(
        population=bound.population.mask(), alpha=bound.firm, index=bound.revision,
        revisions=[*certificates.revisions], log=[*certificates.log],
        start=certificates.starts[bound.revision], said=dict(said), declined=book.declined.copy(),
        told=dict(certificates.told), by_class=class_uppers(bound, certificates, book),
    )  # fmt: skip


def class_uppers(bound: Bound, certificates: Certificates, book: Book) -> dict[int, int] | None:
    """Return what the bets on each class say, where these are kept up to date as somebody aims at them."""
    if book.class_target is None or bound.revision != certificates.certified:
        return None
    replays = certificates.class_replays(bound.revision, book.declined)
    return {c: replay.bets.errors_upper for c, replay in replays.items()}


# ------------------------------------------------------------------------------------------------------------ by class


def bound_classes(snapshot: Snapshot) -> tuple[ClassBound, ...]:
    """Bound the share of right labels among the rows that carry each label, all at once."""
    carried = empty_array(snapshot.known.shape, np.int32)
    for start in range(0, len(carried), _BLOCK):
        rows = slice(start, start + _BLOCK)
        known = snapshot.known[rows]
        carried[rows] = np.where(known == UNKNOWN, snapshot.codes[rows], known)
    if (carried == UNKNOWN).any():
        return ()  # there are no labels yet
    n_codes = len(snapshot.names)
    n_rows = count_rows(carried, None, n_codes)
    wrong = count_rows(carried, snapshot.unknown, n_codes)  # what is known is right
    for evidence in snapshot.evidence:
        wrong = np.minimum(wrong, _class_wrong_upper(snapshot, evidence, n_codes))
    return tuple(
        ClassBound(label=snapshot.names[c], n_rows=int(n_rows[c]), lower=1.0 - int(wrong[c]) / int(n_rows[c]))
        for c in np.flatnonzero(n_rows).tolist()
    )


def _class_wrong_upper(snapshot: Snapshot, evidence: Evidence, n_codes: int) -> IntArray:
    """Bound how many rows carry each label wrongly: errors of the population but for those that answers correct."""
    codes, known, unknown, inside = snapshot.codes, snapshot.known, snapshot.unknown, evidence.population
    corrects = inside & ~unknown & (known != codes)
    corrects[snapshot.disputed] = False
    corrected = count_rows(codes, corrects, n_codes)
    wrong = count_rows(codes, ~inside & unknown, n_codes)
    classes = np.flatnonzero(count_rows(codes, inside, n_codes))
    if len(classes):
        upper = evidence.class_errors_upper(codes, classes, evidence.alpha / len(classes))
        wrong[classes] += np.maximum(np.array(upper) - corrected[classes], 0)
    return np.asarray(wrong)


# ------------------------------------------------------------------------------------------------------- the sure part


def find_sure(snapshot: Snapshot) -> Mapping[float, SurePart]:
    """Find the most rows of which at least each of SURE_SHARES is right: all that is known, and a claimed part."""
    found: dict[float, SurePart] = {}
    rows = ~snapshot.unknown
    for share in sorted(SURE_SHARES, reverse=True):  # what is 99 % right is 95 % right as well
        for evidence in snapshot.evidence:
            claimed = ~snapshot.unknown | _claimed(snapshot, evidence, share)
            claimed[snapshot.unreadable] = False  # they count as wrong: without them no less is right
            rows = max(rows, claimed, key=np.count_nonzero)
        found[share] = SurePart(share=share, rows=rows, n_inferred=int((rows & snapshot.unknown).sum()))
    return {share: found[share] for share in SURE_SHARES}


def _claimed(snapshot: Snapshot, evidence: Evidence, share: float) -> BoolArray:
    """Test part after part, in an order that was fixed with the revision, and stop at the first that may be worse."""
    claimed: BoolArray = np.zeros(len(snapshot.codes), dtype=bool)
    if snapshot.revision is None:
        return claimed
    alpha = evidence.alpha / len(SURE_SHARES)
    for part, size in _parts(snapshot.revision, evidence.population, share):
        if not evidence.shows_few(part, size, allowed_errors(size, share), alpha):
            break
        claimed = part
    return claimed


def _parts(revision: Revision, population: BoolArray, share: float) -> Iterator[tuple[BoolArray, int]]:
    """Go through the parts of a population that are to be tested, each with how many rows it has."""
    if is_many(len(population)):  # too many to be put in order: the bins will do
        sizes = count_rows(revision.bin, population, len(revision.sizes))[::-1]
        ends = np.cumsum(sizes)
        error = _DOUBT * np.cumsum(revision.guess[::-1] * sizes) / np.maximum(ends, 1)
        for bins in range(_first(ends, error, share), len(ends)):
            if sizes[bins]:
                yield population & (revision.bin >= len(ends) - 1 - bins), int(ends[bins])
        return
    order, ends, first = nested_parts(revision, population, share)
    for end in ends[first:].tolist():
        part = np.zeros(len(population), dtype=bool)
        part[order[:end]] = True
        yield part, end


def nested_parts(revision: Revision, population: BoolArray, share: float) -> tuple[IntArray, IntArray, int]:
    """Return the rows of a population, the surest first, where its parts end, and the part to be tested first.

    All of it is fixed with the revision. The first part is the one that the most evidence is expected for, as the
    revision sees its errors: a smaller one has fewer draws, a larger one more errors.
    """
    rows = np.flatnonzero(population)
    order = rows[np.lexsort((rows, -revision.confidence[rows], -revision.bin[rows].astype(int)))]
    ends = np.unique(np.rint(len(order) * np.arange(1, _N_PARTS + 1) / _N_PARTS).astype(int))
    ends = ends[ends > 0]
    if not len(ends):
        return order, ends, 0
    error = _DOUBT * np.cumsum(revision.guess[revision.bin[order]])[ends - 1] / ends
    return order, ends, _first(ends, error, share)


def _first(ends: IntArray, error: FloatArray, share: float) -> int:
    """Return the part that the most evidence is expected for, by where parts end and the errors expected in each."""
    return int(np.argmax(ends * _divergence(np.minimum(error, 1.0 - share), 1.0 - share)))


def _divergence(low: FloatArray, high: float) -> FloatArray:
    """Return the Kullback-Leibler divergence between two shares of errors: what a draw of the first is worth."""
    return np.asarray(low * np.log(low / high) + (1.0 - low) * np.log((1.0 - low) / (1.0 - high)))


def _one_look(n_drawn: int, n_wrong: int, population: int, alpha: float) -> int:
    """Bound the errors of rows of which so many were drawn; without a draw, all of them."""
    if not n_drawn:
        return population
    return int(errors_upper_one_look(n_drawn, n_wrong, population=population, alpha=alpha))
