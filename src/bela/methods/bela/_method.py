"""The certified method: labels by a learner that sees all rows, certified by random draws that it has not seen."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bela.book import (  # isort: skip
    Asked, Began, Book, Change, ClassChange, ClassRenamed, HelperBegan, HelperEnded, Revised, RowChanged, TargetSet,
)  # fmt: skip
from bela.errors import JournalError
from bela.learning import Answers
from bela.methods import METHODS
from bela.methods._deciding import AssessingMethod, codes_now
from bela.methods.bela._certificates import Certificates
from bela.methods.bela._favouring import cell_weights, cut_pool, favour, needs_cut, plan_for_classes, row_weight

from bela.methods.bela._helping import (  # isort: skip
    declined_rows, examples_for_helper, helped_answers, is_worthless, rows_for_helper,
)  # fmt: skip
from bela.methods.bela._labelling import (  # isort: skip
    first_questions, label_rows, labels_to_begin_with, learner_of_predictions, make_learner, predicted_classes,
)  # fmt: skip
from bela.methods.bela._looks import TRAINING, Epoch
from bela.methods.bela._parts import take_parts

from bela.methods.bela._planning import (  # isort: skip
    AGAIN, RELEASE, Plan, make_ladder, make_plan, take_stock, told,
)  # fmt: skip
from bela.methods.bela._population import Pool
from bela.methods.bela._replay import Draw, Trained
from bela.methods.bela._revision import Learner, Preparation, Revision, RevisionJob
from bela.protocols import Job, Setup
from bela.records import UNKNOWN, Assessment, BoolArray, FloatArray, Guarantee, Label, Proposal, Role
from bela.storage import digest_arrays

_DRAWS = 12  # a stream of its own, as that of training is: nothing about training may predict a draw
_FIRST, _BATCH = "first-questions", 64  # what is kept of the first, and the most questions at once
_LIVE = 0.6  # of alpha, for the looks of the first epoch
_LIVE_WITH_AN_END = 0.1  # the same where there is a target or a budget, as releases need it more
_LIVE_AGAIN = 0.1  # of what is left, for those of a later one
_HALFWAY = 0.1  # of the alpha of a release with a budget, for a look at half of its draws


@METHODS.register("bela")
class Bela(AssessingMethod):
    """Ask where the labels are in doubt, hold some answers out, certify by them.

    While it learns, a share of the questions are uniform draws that training does not see, so that each revision of the
    labels is certified by a look at all of them. When the target or the end of the budget is in reach, a *release* of
    everything known to one more revision is certified by draws made after it.

    The `learner` labels all rows from training answers; by default it is a `TransductiveLearner` on the source's
    features.
    """

    def __init__(self, setup: Setup, *, learner: Learner | None = None) -> None:
        super().__init__(setup)
        self._own_learner = learner
        self._predicted_classes, self._begins_with = predicted_classes(setup), labels_to_begin_with(setup)
        self._making, self._prepared, self._picked_first = threading.Lock(), False, False
        self.certificates = Certificates(1 - setup.confidence, mends=bool(len(self._predicted_classes)))
        self.epoch: Epoch  # from the first event on
        self._teaches: dict[int, int] = {}  # row to the first answer to it, UNKNOWN if it was declined
        self._since_draw: set[int] = set()  # rows answered since the outcome of a draw was last known
        self._n_learnt = 0  # batches of the epoch that the last revision has learnt
        self._pool: Pool
        self._pool_of: int | None = None  # the revision whose bins the pool has, if any
        self._representative: dict[int, float] = {}  # how many rows like it each row stands for, if it was drawn
        self._plan: Plan | None = None

    # ------------------------------------------------------------------------------------------------- what happened

    def follow(self, book: Book, change: Change) -> None:
        """Advance the memo by what has just happened."""
        self._plan = None
        match change:
            case Began():
                self.certificates.begin(book)
                endless = book.target is None and book.budget is None
                self._begin_epoch(book, (_LIVE if endless else _LIVE_WITH_AN_END) * self.certificates.alpha.left)
            case Asked():
                self._take_questions(book, change)
            case Revised():
                self._adopt(book, change)
            case RowChanged():
                self._learn(change)
                self.epoch.pick_others(self._teaches, self.setup)
                self.certificates.change_row(change)
            case ClassChange():
                self._begin_anew(book, change)
            case TargetSet() if self.certificates.falls_short(book):
                self.certificates.give_up(book)
                self._begin_anew(book)
            case TargetSet() if self._pool_of is not None and needs_cut(self._pool, book):
                self._pool = cut_pool(self.certificates.revisions[self._pool_of], book)
            case HelperBegan() if not book.questions:
                self.epoch.helped = True
            case HelperBegan() | HelperEnded() | ClassRenamed() if self.certificates.certified is None:
                self._begin_anew(book)

    def _begin_epoch(self, book: Book, alpha: float, *, asking: Sequence[int] = ()) -> Epoch:
        firm = self.certificates.alpha.take(alpha)
        self.epoch = Epoch.begin(
            book, alpha, firm=firm, start=len(self.certificates.log), asking=asking,
            sparing=bool(len(self._predicted_classes)), early=self._predicts(book),
        )  # fmt: skip
        self._pool, self._pool_of, self._n_learnt = Pool(self.epoch.drawable), None, 0
        self._teaches = {}
        return self.epoch

    def _take_questions(self, book: Book, asked: Asked) -> None:
        """Take note of questions. The first one for training after weighted draws begins an epoch: see `Epoch`."""
        training = [proposal.row for proposal in asked.questions if proposal.role is Role.TRAINING]
        if training and _FIRST in self.setup.arrays:  # no question tells of picks that were drawn, so not asked
            self._pick_first(book)
        if training and self.certificates.certified is not None:
            self.certificates.give_up(book)
            if self.epoch.weighted:
                waiting, asking = self._waiting(book, training), [proposal.row for proposal in asked.questions]
                self._begin_epoch(book, _LIVE_AGAIN * self.certificates.alpha.left, asking=asking).add_batch(waiting)
            else:  # nothing was drawn for it: the epoch that it began goes on
                self._pool, self._pool_of = Pool(self.epoch.drawable), None
        for proposal in asked.questions:
            self._take_question(proposal)

    def _take_question(self, proposal: Proposal) -> None:
        """Take note of a question: its row is drawn, or trained on, and cannot be drawn any more."""
        epoch, row = self.epoch, proposal.row
        if proposal.role is Role.TRAINING:
            self.certificates.log.append(Trained(row))
            epoch.train(row)
        elif proposal.weights and self._pool_of is not None:
            weights = np.array(proposal.weights, dtype=float)
            self._representative[row] = 1.0 / row_weight(self.certificates.revisions[self._pool_of], weights, row)
            self.certificates.log.append(Draw(row, self._pool_of, weights))
            epoch.draw(row, weighted=True)
        elif proposal.weights:  # asked with the training that gave its release up: nothing can be counted by it
            self.certificates.log.append(Trained(row))
            epoch.draw(row, weighted=True)
        else:
            self._representative[row] = 1.0
            self.certificates.log.append(Draw(row))
            epoch.draw(row, weighted=False)
        self._pool.remove(row)

    def _learn(self, change: RowChanged) -> None:
        """Keep what a row teaches: the first answer, unless it is taken back before any draw has shown anything."""
        row = change.row
        if change.code != UNKNOWN or change.declined:
            if row not in self._teaches:
                self._teaches[row] = change.code
                self._since_draw.add(row)
        elif row in self._since_draw:
            self._teaches.pop(row, None)  # none if an epoch has begun since
        if change.role is Role.BOUNDS:
            self._since_draw = {row} if row in self._teaches else set()

    def _adopt(self, book: Book, event: Revised) -> None:
        kept = self.setup.arrays.load(event.arrays)
        if digest_arrays(kept) != event.digest:
            raise JournalError(f"the arrays {event.arrays!r} are not those that were recorded: restore a copy")
        *arrays, rows, picks, uniform = kept
        if len(rows):
            self._pick_first(book)
        index = self.certificates.add(book, revision := Revision.from_arrays(arrays, rows))
        self._representative.update((int(row), 1.0) for row in picks[uniform])
        epoch, firm = self.epoch, self.epoch.firm
        if not event.separated:
            firm = self.certificates.alpha.take(event.alpha + sum(alpha for _, alpha in event.looks))
            epoch = self._begin_epoch(book, _LIVE_AGAIN * self.certificates.alpha.left)
        for look in event.looks:
            self.certificates.look(book, epoch.look(index, *look, taught=len(rows) > 0, own=event.separated), firm)
        epoch.n_looked += bool(epoch.picks or event.looks)  # also where no part of alpha is left for a look
        if event.alpha > 0:
            self.certificates.bet(book, index, event.alpha, firm, returns=event.returns)
            self._pool, self._pool_of = cut_pool(revision, book), index
        self._n_learnt = epoch.n_batches if len(rows) else 0
        if len(picks):
            epoch.add_batch([int(row) for row in picks])

    def _begin_anew(self, book: Book, change: ClassChange | None = None) -> None:
        """Begin an epoch as classes or the helper changed, or its words: who decided that had seen the draws."""
        self._pick_first(book)
        waiting = self._waiting(book)
        again = [] if change is None else self.certificates.close(book, change)
        epoch = self._begin_epoch(book, _LIVE_AGAIN * self.certificates.alpha.left)
        epoch.again = again
        if self.certificates.revisions:  # the labels that there are, by draws from now on
            n_draws = max(epoch.n_draws(0) - len(waiting), 1)
            look = epoch.look(len(self.certificates.revisions) - 1, n_draws, epoch.part(0))
            self.certificates.look(book, look, epoch.firm)
            epoch.n_looked = 1
        if waiting:
            epoch.add_batch(waiting)
        else:
            self._n_learnt = -1  # a revision of what is known picks what is asked next

    def _waiting(self, book: Book, asking: Sequence[int] = ()) -> list[int]:
        """Return the rows that training has picked and nobody was asked about; those `asking`ed just now too."""
        return [r for r in self.epoch.picks if r in asking or not (book.asked[r] or book.known[r] != UNKNOWN)]

    # --------------------------------------------------------------------------------------------------- what to ask

    def propose(self, book: Book, n: int) -> Sequence[Proposal]:
        """Choose up to n further questions: training or draws, whichever is due, and the other where there is none."""
        if self._wants_release(book):  # nothing else is due until it is made
            return self._draw(book, n, []) or self._training(book, n)
        draws = self._draw(book, min(n, self._draws_due(book)), [])
        if self.certificates.certified is not None:  # training gives the release up, and its draws are no others'
            return draws or self._training(book, n) or self._draw(book, n, [])
        rest = n - len(draws)
        training = self._training(book, rest, draws) if rest else []
        rest = min(rest - len(training), self.epoch.draws_ahead(self._n_learnt) - len(draws))
        return [*draws, *training, *(self._draw(book, rest, [*draws, *training]) if rest > 0 else [])]

    def _draws_due(self, book: Book) -> int:
        """Return how many draws come before the next training question."""
        epoch = self.epoch
        if self.certificates.certified is not None:
            # Nobody wants many of a release that may be hopeless by the first; draws that put labels right never are.
            most = book.n_rows if epoch.weighted or self.certificates.mends else 1
            return most if self._current_plan(book).role is Role.BOUNDS else 0
        looks = [bound.look for bound in self.certificates.bounds if bound.look is not None]
        first = epoch.first_draws if self._predicts(book) else 0
        wanted = max((look.n_draws for look in looks if look.epoch is epoch), default=first)
        return max(wanted - len(epoch.drawn), 0)

    def _training(self, book: Book, n: int, drawn: Sequence[Proposal] = ()) -> list[Proposal]:
        """Return the next training questions; a row that was drawn already is in training without being asked."""
        self._pick_first(book)
        but = {proposal.row for proposal in drawn}
        found = [row for row in self._waiting(book) if row not in but][:n]
        return [Proposal(row=row, role=Role.TRAINING, revision=book.n_revisions) for row in found]

    def _pick_first(self, book: Book) -> None:
        """Have training pick rows that cover the data, if nothing better is known."""
        if self._picked_first or self._has_learnt or book.given:
            return
        arrays = self.setup.arrays
        if _FIRST not in arrays:
            arrays.save(_FIRST, [first_questions(self.setup, self.learner(), self.setup.rng(TRAINING, book.n_rows))])
        rows = [int(row) for row in arrays.load(_FIRST)[0] if row in self.epoch.drawable]
        self.epoch.complete_batch(rows)
        self._picked_first = True

    def _draw(self, book: Book, n: int, but: Sequence[Proposal]) -> list[Proposal]:
        pool, taken = self._pool, {proposal.row for proposal in but}
        if not pool.left.any():
            return []
        weights = np.ones(1) if self._pool_of is None else self._weights(book, self._pool_of)
        n_left = int(pool.left.sum()) - sum(pool.holds(row) for row in taken)
        recorded, found = () if self._pool_of is None else tuple(weights.tolist()), []
        for number in range(min(n, n_left)):
            rng = self.setup.rng(_DRAWS, len(book.questions) + len(but) + number, book.help.salt)
            row = pool.draw(cell_weights(weights), rng, taken)
            taken.add(row)
            found.append(Proposal(row=row, role=Role.BOUNDS, revision=book.n_revisions, weights=recorded))
        return found

    def _weights(self, book: Book, index: int) -> FloatArray:
        replay = self.certificates.replay(index, book.declined)
        return replay.weights() if book.class_target is None else favour(book, self.certificates, replay, self._pool)

    # ------------------------------------------------------------------------------------------------------ revisions

    def learner(self) -> Learner:
        """Return the learner, made when it is first needed, by whoever needs it first: a fit may be under way."""
        with self._making:
            if self._own_learner is None:
                self._own_learner = make_learner(self.setup)
            return self._own_learner

    def _predicts(self, book: Book) -> bool:
        """Whether the next revision is the first, and is what others have predicted: if that is anything."""
        found = bool((codes_now(book, self._begins_with) != UNKNOWN).any())
        return found and not book.given and not self.certificates.revisions

    def revise(self, book: Book) -> Job | None:
        """Return the next revision's making when all rows that training picked are answered, or a release is due."""
        epoch = self.epoch
        if self._predicts(book):
            return self._predicted(book)
        if not book.n_known:
            if self._prepared:
                return None
            self._prepared = True
            return Preparation(version=book.version, learner=self.learner)
        self._pick_first(book)
        if self._wants_release(book):
            return self._release(book)
        learnt = self._n_learnt == epoch.n_batches and self._has_learnt
        waiting = epoch.waits_for(self._teaches, again=self._n_learnt >= 0) or bool(self.helper_rows(book))
        if self.certificates.certified is not None or learnt or waiting:
            return None
        return self._separated(book) if len(epoch.training(self._teaches).rows) else None

    def helper_rows(self, book: Book) -> Sequence[int]:
        """Return what the helper shall be asked, before the next revision is made."""
        if self._predicts(book) or self.certificates.certified is not None or self._wants_release(book):
            return ()  # what is picked first depends on what was predicted
        self._pick_first(book)
        return rows_for_helper(book, self.setup, self.epoch, self._teaches, self._n_learnt)

    def helper_examples(self, book: Book) -> Mapping[int, Label]:
        """Return what the helper may be shown: what the last revision has learnt from."""
        return examples_for_helper(book, self.epoch, self._teaches, self._n_learnt)

    @property
    def _has_learnt(self) -> bool:
        """Whether there is a revision that has learnt from answers."""
        return any(revision.n_training for revision in self.certificates.revisions[-1:])

    def _predicted(self, book: Book) -> RevisionJob:
        """Return the making of the labels that others have predicted, which the first draws are a look at."""
        epoch, nothing = self.epoch, np.array([], dtype=np.intp)
        job = self._job(
            book, Answers(rows=nothing, codes=nothing), taken=np.ones(book.n_rows, dtype=bool),
            n_next=lambda error, n_classes: 0, separated=True,
            looks=((epoch.first_draws, epoch.part(0)),),
        )  # fmt: skip
        return replace(job, learner=partial(learner_of_predictions, self.setup))

    def _separated(self, book: Book) -> RevisionJob:
        epoch = self.epoch
        look, answers = epoch.n_looked, epoch.training(self._teaches, again=self._n_learnt >= 0)
        epoch.helped = book.help.name is not None and not is_worthless(book, self.setup, epoch, answers)
        looks = ((epoch.n_draws(look), epoch.part(look)),) if epoch.picks and epoch.part(look) > 0 else ()
        n_next = partial(epoch.n_picks, look + bool(epoch.picks), len(answers.rows))
        return self._job(book, answers, taken=~epoch.population().mask(), n_next=n_next, separated=True, looks=looks)

    def _release(self, book: Book) -> RevisionJob:
        rows = np.array([*book.given, *book.answered], dtype=np.intp)
        plan, alpha = self._current_plan(book), RELEASE * self.certificates.alpha.left
        favours = book.class_target is not None  # uniform draws would favour nothing
        looks = () if plan.n_draws is None or favours else (
            (plan.n_draws // 2, _HALFWAY * alpha), (plan.n_draws, (1 - _HALFWAY) * alpha),
        )  # fmt: skip
        n_next = Epoch.begin(book, 0.0).n_picks(0)  # of an epoch that begins with it
        return self._job(
            book, Answers(rows=rows, codes=book.known[rows]), taken=book.asked | (book.known != UNKNOWN),
            n_next=lambda error, n_classes: n_next, separated=False, looks=looks, alpha=0.0 if looks else alpha,
        )  # fmt: skip

    def _job(
        self, book: Book, answers: Answers, *, taken: BoolArray, n_next: Callable[[float, int], int], separated: bool,
        looks: tuple[tuple[int, float], ...], alpha: float = 0.0,
    ) -> RevisionJob:  # fmt: skip
        number, rows, epoch = len(book.revisions), answers.rows, self.epoch
        # Whether a row of a separated revision was drawn in this epoch must not show, not even in what it expects.
        known = set(epoch.base.rows.tolist() if separated else rows.tolist())
        drawn = [self._representative.get(row, 0.0) if row in known else 0.0 for row in rows.tolist()]
        return RevisionJob(
            version=book.version, name=f"revision-{number:04}-{book.version}", n_answers=len(rows), rows=rows,
            codes=answers.codes, taken=taken, n_next=n_next, separated=separated, looks=looks, alpha=alpha,
            representative=np.array(drawn), rng=self.setup.rng(TRAINING, number), learner=self.learner,
            helped=helped_answers(book, self.setup, epoch if separated else None), is_due=lambda: self.epoch is epoch,
            declined=declined_rows(book, self.setup, epoch if separated else None, taken),
            predicted=tuple(codes_now(book, one.codes) for one in self.setup.predictions.values()),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------- planning

    def _wants_release(self, book: Book) -> bool:
        """Whether everything should be released to a revision now, which the next draws certify."""
        certificates, epoch = self.certificates, self.epoch
        endless = book.target is None and book.budget is None
        if not self._has_learnt or certificates.certified is not None or endless:
            return False
        if not epoch.drawn or self._draws_due(book) or book.n_known < AGAIN * certificates.n_released:
            return False
        return self._current_plan(book).role is Role.BOUNDS

    def _current_plan(self, book: Book) -> Plan:
        if self._plan is None:
            situation = take_stock(book, self.certificates, self.epoch)
            self._plan = plan_for_classes(make_plan(situation), situation, self.certificates)
        return self._plan

    def _assess(self, book: Book) -> Assessment:
        (best, right), began = self.certificates.best(book), self._has_learnt
        forecast = self._current_plan(book).forecast if began else None
        stock = partial(take_stock, book, self.certificates, self.epoch)
        said = None if forecast is None else told(forecast, stock(), book.target or 1.0)
        certificate = self._certificate(book, right / book.n_rows, Guarantee.ANYTIME)
        return Assessment(
            certificate=certificate, forecast=said, batch=self._batch(book),
            climb=lambda: make_ladder(stock() if began else None, book, certificate.lower),
            label=lambda: label_rows(book, best, right, self.setup.predictions),
            take_parts=lambda: take_parts(book, self.certificates, best, self.setup.confidence),
        )  # fmt: skip

    def _batch(self, book: Book) -> int:
        """Return how many questions can be asked at once without loss; 1 until somebody has asked for the first."""
        if self._pool_of is not None or not self.epoch.n_batches:
            return 1
        self._pick_first(book)
        return max(1, min(self._draws_due(book) or len(self._waiting(book)), _BATCH))
