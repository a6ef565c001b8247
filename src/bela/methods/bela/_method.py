"""The certified method: labels by a learner that sees all rows, a certificate by random draws from after its fit."""

import threading
from collections.abc import Sequence
from itertools import islice

import numpy as np

from bela.book import Asked, Began, Book, Change, Merged, Revised, RowChanged, Unmerged
from bela.errors import JournalError, ParameterError
from bela.features import learner_features
from bela.learning import TransductiveLearner
from bela.methods import METHODS
from bela.methods._deciding import N_BINS, AssessingMethod, majority
from bela.methods.bela._certificates import Certificates, Draw, Pool, Replay, Trained
from bela.methods.bela._planning import SPEND_AGAIN, Plan, Situation, make_plan, next_size
from bela.methods.bela._revision import Learner, Preparation, Revision, RevisionJob
from bela.protocols import Job, Setup
from bela.records import UNKNOWN, AnyArray, Assessment, BoolArray, Certificate, Guarantee, Labelling, Proposal, Role
from bela.storage import digest_arrays

_DRAWS, _TRAINING = 12, 11  # streams of their own: nothing about training may predict a draw
_FIRST = "first-questions"
_BATCH = 64  # the most training questions at once


@METHODS.register("bela")
class Bela(AssessingMethod):
    """Ask where the labels are in doubt, certify by weighted random draws.

    Every revision of the labels learns from all answers known by then. Its certificate counts draws from after that
    moment only, so that nothing that shaped the labels, or decided to certify them, can have seen what it rests on.

    A revision is made when the answers have grown by the factor `growth`; `uniform_share` of the training questions
    after the first ones are drawn uniformly. The `learner` labels all rows from training answers; by default it is a
    `TransductiveLearner` on the source's features.
    """

    def __init__(
        self, setup: Setup, *, growth: float = 1.4, uniform_share: float = 0.2, learner: Learner | None = None
    ) -> None:
        if not growth > 1:
            raise ParameterError(f"growth is a factor above 1, not {growth}")
        super().__init__(setup)
        self.growth, self.uniform_share, self._own_learner = growth, uniform_share, learner
        self._making, self._prepared = threading.Lock(), False
        self.certificates = Certificates(1 - setup.confidence)
        self._picks: list[int] = []  # training questions after the last revision, in order
        self._next_pick = 0
        self._representative: dict[int, float] = {}  # how many rows like it each row stands for, if it was drawn
        self._n_learnt = 0  # answers that the last revision was begun with
        self._pool: Pool | None = None
        self._pool_of = 0  # the revision whose bins the pool has
        self._plan: Plan | None = None

    def follow(self, book: Book, change: Change) -> None:
        """Advance the memo by what has just happened."""
        self._plan = None
        match change:
            case Began():  # rows that nobody can read are wrong in every revision, and cannot be drawn
                self.certificates.log += [Trained(row) for row in book.set_aside]
            case Asked():
                for proposal in change.questions:
                    self._asked(proposal)
            case Revised():
                self._adopt(book, change)
            case RowChanged():
                self.certificates.change_row(change)
            case Merged():
                self.certificates.merge(book, change)
                if self._pool_of in self.certificates.closed and self.certificates.certified is not None:
                    self._pool_of = self.certificates.certified  # the same bins
            case Unmerged():
                self.certificates.recode(book)

    def propose(self, book: Book, n: int) -> Sequence[Proposal]:
        """Choose up to n further questions: training or draws, whichever the plan says, and the other where none."""
        training = self._training_questions(book, n)
        if self._wants_draws(book):
            return self._draw(book, n, []) or training
        missing = n - len(training)
        return [*training, *self._draw(book, missing, training)] if missing else training

    def revise(self, book: Book) -> Job | None:
        """Return the next revision's making when all training questions are answered, or answers have grown enough."""
        n_answers = book.n_known
        if not n_answers:
            if self._prepared:
                return None
            self._prepared = True
            return Preparation(version=book.version, learner=self.learner)
        grown = bool(self._n_learnt) and n_answers >= next_size(self._n_learnt, self.growth)
        waiting = any(question.role is Role.TRAINING for question in book.open.values())
        if n_answers == self._n_learnt or (not grown and (waiting or self._training_questions(book, 1))):
            return None
        taken = book.asked | (book.known != UNKNOWN)
        if taken.all() and not grown:
            return None  # there is nothing to choose from
        return self._job(book, taken)

    def learner(self) -> Learner:
        """Return the learner, made when it is first needed, by whoever needs it first: a fit may be under way."""
        with self._making:
            if self._own_learner is None:
                features = learner_features(self.setup.source, self.setup.seed)
                self._own_learner = TransductiveLearner(features, seed=self.setup.seed)
            return self._own_learner

    def _training_questions(self, book: Book, n: int) -> list[Proposal]:
        """Return the next training questions; rows that were drawn meanwhile are passed over."""
        if not (self._picks or book.revisions or book.given):
            self._picks = self._first_questions()
        askable = (row for row in self._picks[self._next_pick :] if not book.asked[row] and book.known[row] == UNKNOWN)
        found = list(islice(askable, n))
        if not found and not book.n_known and not book.open:  # all first questions were declined: try others
            order = self.setup.rng(_TRAINING, book.n_rows).permutation(book.n_rows)
            found = order[~book.asked[order]][:n].tolist()
        return [Proposal(row=row, role=Role.TRAINING, revision=book.n_revisions) for row in found]

    def _first_questions(self) -> list[int]:
        arrays = self.setup.arrays
        if _FIRST not in arrays:
            arrays.save(_FIRST, [np.asarray(self.learner().first_questions())])
        return [int(row) for row in arrays.load(_FIRST)[0]]

    def _job(self, book: Book, taken: BoolArray) -> RevisionJob:
        rows, number = [*book.given, *book.answered], len(book.revisions)
        return RevisionJob(
            version=book.version, name=f"revision-{number:04}-{book.version}",
            rows=np.array(rows, dtype=np.intp), codes=book.known[rows], taken=taken, n_answers=len(rows),
            representative=np.array([self._representative.get(row, 0.0) for row in rows]),
            n_next=0 if taken.all() else next_size(len(rows), self.growth) - len(rows),
            uniform_share=self.uniform_share, rng=self.setup.rng(_TRAINING, number),
            learner=self.learner, alpha=self._alpha_for,
        )  # fmt: skip

    def _asked(self, proposal: Proposal) -> None:
        """Take note of a question: its row is drawn, or trained on, and cannot be drawn any more."""
        row = proposal.row
        if proposal.role is Role.BOUNDS:
            weights = np.array(proposal.weights, dtype=float)
            self._representative[row] = 1.0 / float(weights[self.certificates.revisions[self._pool_of].bin[row]])
            self.certificates.log.append(Draw(row, self._pool_of, weights))
        else:
            self.certificates.log.append(Trained(row))
            if row in self._picks:
                self._next_pick = self._picks.index(row) + 1  # those before it were drawn
        if self._pool is not None:
            self._pool.remove(row)

    def _adopt(self, book: Book, event: Revised) -> None:
        kept = self.setup.arrays.load(event.arrays)
        if digest_arrays(kept) != event.digest:
            raise JournalError(f"the arrays {event.arrays!r} are not those that were recorded: restore a copy")
        *arrays, rows, picks, uniform = kept
        revision = Revision.from_arrays(arrays, rows)
        self.certificates.add(book, revision, event.alpha)
        if self._pool is None or event.alpha > 0:
            self._pool = Pool(revision.bin, revision.outside & ~book.asked, N_BINS)
            self._pool_of = len(self.certificates.revisions) - 1
        self._n_learnt = event.n_answers
        self._picks, self._next_pick = [int(row) for row in picks], 0
        self._representative.update((int(row), 1.0) for row in picks[uniform])

    def _alpha_for(self, book: Book, arrays: Sequence[AnyArray]) -> float:
        """Decide what a new revision may spend of alpha; old draws may decide that too, as later ones alone count."""
        certificates, last = self.certificates, self.certificates.certified
        revision = Revision.from_arrays(arrays[:-3], arrays[-3])
        if last is not None and revision.n_training < SPEND_AGAIN * certificates.revisions[last].n_training:
            return 0.0
        present = None if last is None else self._current_plan(book)
        alpha = certificates.alpha.left / 2
        plan = self._make_plan(book, revision, alpha, None, [*certificates.revisions, revision])
        going_on = present is not None and present.role is Role.BOUNDS and book.target is not None
        better = present is None or not going_on or plan.cost < present.cost
        return alpha if better and plan.role is Role.BOUNDS else 0.0

    def _draw(self, book: Book, n: int, but: Sequence[Proposal]) -> list[Proposal]:
        pool = self._pool
        if pool is None or not pool.left.any():
            return []
        replay = self._replay(book)
        weights = np.ones(N_BINS) if replay is None else replay.weights()
        taken = {proposal.row for proposal in but}
        n_left = int(pool.left.sum()) - sum(pool.holds(row) for row in taken)
        recorded, found = tuple(weights.tolist()), []
        for number in range(min(n, n_left)):
            row = pool.draw(weights, self.setup.rng(_DRAWS, len(book.questions) + len(but) + number), taken)
            taken.add(row)
            found.append(Proposal(row=row, role=Role.BOUNDS, revision=book.n_revisions, weights=recorded))
        return found

    def _replay(self, book: Book) -> Replay | None:
        """Return the present certificate, brought up to date; None before any revision was worth one."""
        index = self.certificates.certified
        return None if index is None else self.certificates.replay(index, book)

    def _assess(self, book: Book) -> Assessment:
        best, right = self.certificates.best(book)
        certificate = Certificate(
            lower=right / book.n_rows, confidence=self.setup.confidence, guarantee=Guarantee.ANYTIME,
            n_training=book.n_answers[Role.TRAINING], n_bounds=book.n_answers[Role.BOUNDS],
        )  # fmt: skip
        return Assessment(
            certificate=certificate,
            forecast=self._current_plan(book).forecast if self.certificates.revisions else None,
            batch=1 if self._wants_draws(book) else self._batch(book),
            label=lambda: _label(book, best, right),
        )

    def _batch(self, book: Book) -> int:
        """Return how many training questions are left to ask; 1 as long as nobody has asked for the first ones."""
        began = bool(self._picks or book.revisions or book.given) or _FIRST in self.setup.arrays
        return max(1, len(self._training_questions(book, _BATCH))) if began else 1

    def _wants_draws(self, book: Book) -> bool:
        return self.certificates.certified is not None and self._current_plan(book).role is Role.BOUNDS

    def _current_plan(self, book: Book) -> Plan:
        if self._plan is None:
            certificates, index = self.certificates, self.certificates.certified
            revision = certificates.revisions[-1 if index is None else index]
            alpha = certificates.alpha.left / 2 if index is None else certificates.alphas[index]
            self._plan = self._make_plan(book, revision, alpha, self._replay(book), certificates.revisions)
        return self._plan

    def _make_plan(
        self, book: Book, revision: Revision, alpha: float, replay: Replay | None, revisions: list[Revision]
    ) -> Plan:
        bets, n_draws = (revision.bets(alpha), 0) if replay is None else (replay.bets, replay.n_draws)
        situation = Situation(
            book=book, growth=self.growth, revisions=revisions, certified=revision, alpha=alpha,
            spent=replay is not None, n_draws=n_draws, bets=bets,
        )  # fmt: skip
        return make_plan(situation)


def _label(book: Book, best: Revision | None, right: float) -> Labelling:
    """Label every row by the revision with the best certificate, corrected by the answers."""
    n, unknown = book.n_rows, book.known == UNKNOWN
    if best is None:
        codes = np.where(unknown, majority(book.known), book.known)
        return Labelling(codes=codes, leaf=np.zeros(n, dtype=np.int32), n_leaves=1)
    codes = np.where(unknown, best.codes, book.known)
    # A leaf is a label and a band of confidence; known rows go with the least doubtful band.
    band = np.where(best.bin < 0, N_BINS - 1, best.bin).astype(np.int64)
    leaves, leaf = np.unique(codes * N_BINS + band, return_inverse=True)
    # Whatever leaf the errors are in, it has no more of them than there are.
    wrong = np.minimum(n - right, np.bincount(leaf[unknown], minlength=len(leaves)))
    return Labelling(
        codes=codes, leaf=leaf.astype(np.int32), n_leaves=len(leaves),
        probability=np.where(unknown, best.confidence, 1.0), leaf_lower=1.0 - wrong / np.bincount(leaf),
    )  # fmt: skip
