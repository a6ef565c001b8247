"""The certified method: labels by a learner that sees all rows, a certificate by random draws from after its fit."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bela.bounds import AlphaBudget
from bela.errors import ParameterError, ReplayError
from bela.features import learner_features
from bela.methods._draws import Asked, Closed, Draw, Pool, Replay
from bela.methods._planning import SPEND_AGAIN, Plan, Standing, make_plan, next_size
from bela.methods._revision import N_BINS, Revision, make_revision
from bela.methods._stored import digest, stored
from bela.protocols import ArrayStore, Source
from bela.records import UNKNOWN, BoolArray, Certificate, Forecast, IntArray, Labelling, Proposal, Role
from bela.splitters import Fit, Picks, TransductiveLearner


class Learner(Protocol):
    """What the method asks of a learner: a function of training answers, deterministic, with no memory."""

    def prepare(self) -> None:
        """Make what every fit needs, if it is not there: it may be called beside everything else."""

    def first_questions(self) -> IntArray:
        """Return rows to ask before anything is known."""

    def fit(self, rows: IntArray, codes: IntArray) -> Fit:
        """Label every row from these answers."""

    def next_questions(
        self, fit: Fit, asked: BoolArray, n: int, *, uniform_share: float, rng: np.random.Generator
    ) -> Picks:
        """Return up to n rows that were not asked, this share of them drawn uniformly."""


class _Later:
    """A fit that is made when it is needed, like one that is being made in the background."""

    def __init__(self, job: Callable[[], tuple[Revision, Picks]]) -> None:
        self.result = job

    def done(self) -> bool:
        """It need not be waited for longer than it takes."""
        return True


class Bela:
    """Ask where the labels are in doubt, certify by weighted random draws.

    Every revision of the labels learns from all answers known by then. Its certificate counts draws from after that
    moment only, so that nothing that shaped the labels, or decided to certify them, can have seen what it rests on.

    Parameters
    ----------
    source
        The features of the rows.
    target, budget
        As in the campaign: they say how effort is divided between training and bounds.
    confidence
        Of the certificate, over all revisions of this campaign and at all times.
    seed
        All that is random.
    growth
        A revision is made when the answers have grown by this factor.
    uniform_share
        Share of the training questions, after the first ones, that are drawn uniformly.
    learner
        Labels all rows from training answers; by default a `TransductiveLearner` on the source's features.
    background
        Make revisions in a thread of their own, and ask for draws meanwhile. What is asked when then depends on how
        long a fit takes; what a revision says does not.
    store
        Keeps what a revision came to, so that a campaign that is opened again need not fit anything anew.
    """

    name = "bela"

    def __init__(
        self,
        source: Source,
        *,
        confidence: float = 0.95,
        seed: int = 0,
        target: float | None = None,
        budget: int | None = None,
        growth: float = 1.4,
        uniform_share: float = 0.2,
        learner: Learner | None = None,
        background: bool = False,
        store: ArrayStore | None = None,
    ) -> None:
        if not growth > 1:
            raise ParameterError(f"growth is a factor above 1, not {growth}")
        self.source, self.confidence, self.seed = source, confidence, seed
        self.target, self.budget, self.growth, self.uniform_share = target, budget, growth, uniform_share
        n = source.n_rows
        self._learner = learner
        self._making = threading.Lock()
        self._background = background
        self._store = store
        self._fitting: Future[tuple[Revision, Picks]] | _Later | None = None
        # A stream of its own, apart from the learner's: nothing about training may foretell a draw.
        self._draws_rng = np.random.default_rng([seed, 0, 12])
        self._known = np.full(n, UNKNOWN, dtype=np.int32)
        self._declined = np.zeros(n, dtype=bool)
        self._open: dict[int, Role] = {}
        self._answered: dict[int, Role] = {}  # asked by a campaign
        self._brought: list[int] = []
        self._drawn = np.zeros(n, dtype=bool)
        self._picked = np.zeros(n, dtype=bool)  # for training: answered, open or declined
        self._picks: list[int] = []  # all training questions chosen so far, in order
        self._representative: dict[int, float] = {}  # how many rows like it each row stands for, if it was drawn
        self._next_pick = 0
        self._log: list[Draw | Asked] = []
        self._revisions: list[Revision] = []
        self._n_learnt = 0  # answers that the last revision was begun with
        self._alpha = AlphaBudget(1 - confidence)
        self._alphas: list[float] = []  # what each revision may spend, 0 where nothing
        self._starts: list[int] = []  # where in the log the draws begin that count for each
        self._aims: list[int | None] = []  # errors to stay below, as the target was when each was adopted
        self._closed: dict[int, Closed] = {}  # revisions whose certificate is from before a merge
        self._certified: int | None = None  # the last revision that spends: draws are for its certificate
        self._replays: dict[int, Replay | None] = {}  # by revision; None: to be begun anew when somebody asks
        self._unmerged: list[list[Revision]] = []  # as they were before each merge of classes
        self._merges: list[tuple[int, int]] = []
        self._pool: Pool | None = None
        self._pool_of = 0  # the revision whose bins the pool has
        self._plan: Plan | None = None
        self._n_roles = {Role.TRAINING: 0, Role.BOUNDS: 0}

    # ------------------------------------------------------------------------------------------ the protocol

    @property
    def batch(self) -> int:
        """Training questions up to the next revision can be asked at once, draws profit from each answer."""
        if self._wants_bounds():
            return 1
        return max(1, min(64, len(self._picks) - self._next_pick))

    @property
    def n_revisions(self) -> int:
        """How many revisions there were."""
        return len(self._revisions)

    @property
    def n_begun(self) -> int:
        """How many revisions there were, and one more if one is being made."""
        return len(self._revisions) + (self._fitting is not None)

    @property
    def revising(self) -> bool:
        """Whether a revision is being made just now."""
        return self._fitting is not None and not self._fitting.done()

    def wait(self) -> None:
        """Wait until a revision that is being made is ready to be taken up."""
        if isinstance(self._fitting, Future):
            self._fitting.exception()  # whatever went wrong is said when it is taken up

    def warm_up(self) -> None:
        """Make what the next fit will need; may be called beside everything else."""
        self.learner.prepare()

    def know(self, rows: IntArray, codes: IntArray) -> None:
        # Labels that are brought may be answers of an earlier campaign with the same seed: draws must not follow those.
        order = np.argsort(rows)
        brought = digest(np.asarray(rows)[order].astype(np.int64), np.asarray(codes)[order].astype(np.int64))
        self._draws_rng = np.random.default_rng([self.seed, 0, 12, int(brought, 16)])
        self._known[rows] = codes
        self._picked[rows] = True
        self._brought = [int(row) for row in rows]

    def propose(self, n: int) -> Sequence[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < n:
            self._revise_if_due()
            proposal = self._next_bounds() if self._wants_bounds() else self._next_training()
            if proposal is None:
                proposal = self._next_bounds()
            if proposal is None:
                break
            self._open[proposal.row] = proposal.role
            proposals.append(proposal)
        return proposals

    def observe(self, row: int, role: Role, code: int) -> None:
        self._open.pop(row, None)
        self._known[row] = code
        self._answered[row] = role
        self._n_roles[role] += 1
        self._plan = None
        for closed in self._closed.values():
            if closed.seen[row]:  # it was taken back since
                closed.known[row] = code

    def skip(self, row: int, role: Role) -> None:
        self._open.pop(row, None)
        self._declined[row] = True
        self._plan = None
        for closed in self._closed.values():
            closed.declined[row] = closed.seen[row]

    def retract(self, row: int, role: Role) -> None:
        if self._declined[row]:
            self._declined[row] = False
        else:
            del self._answered[row]
            self._known[row] = UNKNOWN
            self._n_roles[role] -= 1
        for closed in self._closed.values():
            closed.known[row], closed.declined[row] = UNKNOWN, False
        self._open[row] = role
        self._start_over()

    def revise(self, row: int, role: Role, code: int) -> None:
        self._known[row] = code
        for closed in self._closed.values():
            if closed.known[row] != UNKNOWN:
                closed.known[row] = code
        self._start_over()

    def merge(self, rows: Sequence[int], roles: Sequence[Role], code: int, into: int) -> None:
        self._close_certificates()
        self._unmerged.append(list(self._revisions))
        self._merges.append((code, into))
        self._known[list(rows)] = into
        self._revisions[:] = [replace(r, codes=np.where(r.codes == code, into, r.codes)) for r in self._revisions]
        self._start_over()
        if self._certified in self._closed:
            self._certify_anew(self._certified)

    def _close_certificates(self) -> None:
        """Let certificates with draws in them rest on these, as they are: see `Closed`."""
        for index in self._spent():
            replay = self._replay_of(index)
            if index not in self._closed and replay.n_draws:
                known, declined = self._known.copy(), self._declined.copy()
                self._closed[index] = Closed(
                    revision=self._revisions[index],
                    end=replay.place,
                    known=known,
                    declined=declined,
                    seen=(known != UNKNOWN) | declined,
                )

    def _certify_anew(self, index: int) -> None:
        """Go on with the labels of a revision whose certificate is closed, by later draws and another part of alpha."""
        self._revisions.append(self._revisions[index])
        self._starts.append(len(self._log))
        self._aims.append(self._allowed)
        self._alphas.append(self._alpha.spend())
        self._certified = len(self._revisions) - 1
        if self._pool_of == index:
            self._pool_of = self._certified

    def unmerge(self, rows: Sequence[int], roles: Sequence[Role], code: int) -> None:
        before = self._unmerged.pop()
        self._merges.pop()
        self._known[list(rows)] = code
        self._revisions[: len(before)] = before  # those made since know one class only, and keep to it
        self._start_over()

    def aim(self, target: float | None, budget: int | None) -> None:
        self.target, self.budget, self._plan = target, budget, None

    def repeat(self, n: int, proposals: Sequence[Proposal], n_revisions: int) -> None:
        for proposal in proposals:
            self._revise_if_due(proposal.revision)
            bounds = proposal.role is Role.BOUNDS
            again = self._next_bounds(proposal.weights) if bounds else self._next_training()
            if again != proposal:
                raise ReplayError(proposal, again)
            self._open[proposal.row] = proposal.role
        if len(proposals) < n or self.n_revisions < n_revisions:  # it tried once more, in vain
            self._revise_if_due(n_revisions)
        if self.n_revisions != n_revisions:
            raise ReplayError(f"{n_revisions} revisions", f"{self.n_revisions} revisions")

    def labelling(self) -> Labelling:
        n = self.source.n_rows
        best, right = self._best()
        if best is None:
            answers = self._known[self._known != UNKNOWN]
            guess = int(np.bincount(answers).argmax()) if len(answers) else UNKNOWN
            codes = np.where(self._known == UNKNOWN, guess, self._known)
            return Labelling(codes=codes, leaf=np.zeros(n, dtype=np.int32), n_leaves=1)
        codes = np.where(self._known == UNKNOWN, best.codes, self._known)
        # A leaf is a label and a band of confidence; known rows go with the least doubtful band.
        band = np.where(best.bin < 0, N_BINS - 1, best.bin).astype(np.int64)
        leaves, leaf = np.unique(codes * N_BINS + band, return_inverse=True)
        # Whatever leaf the errors are in, it has no more of them than there are.
        unknown = np.bincount(leaf[self._known == UNKNOWN], minlength=len(leaves))
        size = np.bincount(leaf)
        wrong = np.minimum(n - right, unknown)
        return Labelling(
            codes=codes,
            leaf=leaf.astype(np.int32),
            n_leaves=len(leaves),
            probability=np.where(self._known == UNKNOWN, best.confidence, 1.0),
            leaf_lower=1.0 - wrong / size,
        )

    def certificate(self) -> Certificate:
        n = self.source.n_rows
        return Certificate(
            lower=self._best()[1] / n,
            confidence=self.confidence,
            kind="anytime",
            n_training=self._n_roles[Role.TRAINING],
            n_bounds=self._n_roles[Role.BOUNDS],
        )

    def forecast(self) -> Forecast | None:
        """Estimate the answers still needed to reach the target."""
        if self.target is None or not self._revisions:
            return None
        return self._current_plan().forecast

    # -------------------------------------------------------------------------------------------- training

    @property
    def learner(self) -> Learner:
        """The learner, made when it is first needed, by whoever needs it first: a fit may be under way."""
        with self._making:
            if self._learner is None:
                self._learner = TransductiveLearner(learner_features(self.source, self.seed), seed=self.seed)
            return self._learner

    def _next_training(self) -> Proposal | None:
        """Return the next training question, None while the last ones are open or when there are no more."""
        self._pass_over_drawn()
        if self._next_pick == len(self._picks):
            return None
        row = self._picks[self._next_pick]
        self._next_pick += 1
        if self._pool is not None:
            self._pool.remove(row)
        self._log.append(Asked(row))
        return Proposal(row=row, role=Role.TRAINING, revision=self.n_revisions)

    def _revise_if_due(self, n_revisions: int | None = None) -> None:
        """When all training questions are answered, fit them and choose the next ones.

        A fit in the background is not waited for. In a replay, `n_revisions` says how many there were at this moment: a
        fit is waited for, or goes on, even if nothing is made in the background this time.
        """
        while True:
            if self._fitting is not None:
                ready = self._fitting.done() if n_revisions is None else self.n_revisions < n_revisions
                if not ready:
                    return  # draws go on meanwhile
                done, self._fitting = self._fitting.result(), None
                self._adopt(*done)
            self._pass_over_drawn()
            n_answers = len(self._brought) + len(self._answered)
            # By draws, too, as they teach as well.
            grown = bool(self._n_learnt) and n_answers >= next_size(self._n_learnt, self.growth)
            if not grown and (self._next_pick < len(self._picks) or self._waiting()):
                return
            if not n_answers:
                if not self._ask_for_training(self._first_picks()):
                    return
            else:
                taken = self._drawn | self._picked
                taken[self._picks[self._next_pick :]] = False
                if taken.all() and not grown:
                    return  # there is nothing to choose from
                rows = [*self._brought, *self._answered]
                self._n_learnt = n_answers
                job = partial(self._make_revision, rows, self._known[rows], taken, len(self._revisions))
                if self._background:
                    executor = ThreadPoolExecutor(1, thread_name_prefix="bela-revision")
                    self._fitting = executor.submit(job)
                    executor.shutdown(wait=False)
                elif n_revisions is None:
                    self._adopt(*job())
                else:
                    self._fitting = _Later(job)  # it may have been made in the background, and taken up later

    def _pass_over_drawn(self) -> None:
        """Leave out training questions about rows that were drawn meanwhile."""
        while self._next_pick < len(self._picks) and self._drawn[self._picks[self._next_pick]]:
            self._next_pick += 1

    def _ask_for_training(self, picks: list[int]) -> bool:
        self._picks.extend(picks)
        self._picked[picks] = True
        return bool(picks)

    def _waiting(self) -> bool:
        return any(self._known[row] == UNKNOWN and not self._declined[row] for row in self._picks)

    def _training_rng(self, place: int) -> np.random.Generator:
        """Return the stream that training questions are chosen by after so many revisions."""
        return np.random.default_rng([self.seed, 0, 11, place])

    def _first_picks(self) -> list[int]:
        if not self._picks:
            return [int(row) for row in stored(self._store, "first", lambda: [self.learner.first_questions()])[0]]
        rest = np.flatnonzero(~self._picked)  # all first questions were declined: try others
        return [int(row) for row in self._training_rng(0).permutation(rest)[:50]]

    def _make_revision(self, rows: list[int], codes: IntArray, taken: BoolArray, number: int) -> tuple[Revision, Picks]:
        """Fit training answers, cut all rows anew, choose what to ask next.

        It is a function of its arguments and changes no state: it may run beside everything else.
        """
        # Class codes are given in the order in which labels are first seen, bounds answers included. The learner sees
        # them in the order in which training answers bring them, as a fit may depend on that in its last digits.
        classes, first = np.unique(codes, return_index=True)
        classes = classes[np.argsort(first)]
        place = np.empty(int(codes.max()) + 1, dtype=np.int32)
        place[classes] = np.arange(len(classes), dtype=np.int32)
        answers = place[codes]
        representative = np.array([self._representative.get(row, 0.0) for row in rows])
        n_next = 0 if taken.all() else next_size(len(rows), self.growth) - len(rows)

        def make() -> list[npt.NDArray[Any]]:
            fit = self.learner.fit(np.array(rows), answers)
            revision = make_revision(fit, answers, representative, len(classes))
            picks = self.learner.next_questions(
                fit, taken, n_next, uniform_share=self.uniform_share, rng=self._training_rng(number + 1)
            )
            return [*revision.to_arrays(), picks.rows, picks.uniform]

        name = digest(np.array(rows), answers, representative, np.packbits(taken), np.array([number, n_next]))
        *arrays, next_rows, next_uniform = stored(self._store, f"revision-{number:03}-{name}", make)
        revision = Revision.from_arrays(arrays, rows)
        return replace(revision, codes=classes[revision.codes]), Picks(rows=next_rows, uniform=next_uniform)

    def _adopt(self, revision: Revision, picks: Picks) -> None:
        """Go on with a new revision and the training questions after it."""
        present = None if self._certified is None else self._current_plan()
        for code, into in self._merges:  # some may have happened while it was made
            if (revision.codes == code).any():
                revision = replace(revision, codes=np.where(revision.codes == code, into, revision.codes))
        del self._picks[self._next_pick :]  # not asked yet, so they can be drawn; better ones are known now
        self._picked[:] = False
        self._picked[[*self._brought, *self._picks]] = True
        self._revisions.append(revision)
        self._starts.append(len(self._log))
        self._aims.append(self._allowed)
        self._alphas.append(self._next_alpha(present))
        if self._alphas[-1] > 0:
            self._certified = len(self._revisions) - 1
        if self._pool is None or self._alphas[-1] > 0:
            self._pool = Pool(revision.bin, revision.outside & ~self._drawn & ~self._picked, N_BINS)
            self._pool_of = len(self._revisions) - 1
        self._plan = None
        rows = [int(row) for row in picks.rows if not (self._drawn[row] or self._picked[row])]  # asked meanwhile
        self._representative.update((int(row), 1.0) for row in picks.rows[picks.uniform])
        self._ask_for_training(rows)

    # ----------------------------------------------------------------------------------------------- bounds

    def _next_alpha(self, present: Plan | None) -> float:
        """Decide what the revision just made may spend of alpha, given what to expect of the one that is certified now.

        Anything may decide that, old draws included, because later draws alone will count for it.
        """
        index, last = len(self._revisions) - 1, self._certified
        if last is not None and self._revisions[index].n_training < SPEND_AGAIN * self._revisions[last].n_training:
            return 0.0
        alpha = self._alpha.left / 2
        plan = make_plan(self._standing(index, alpha, None, spent=False))
        going_on = present is not None and present.role is Role.BOUNDS and self.target is not None
        better = present is None or not going_on or plan.cost < present.cost
        return self._alpha.spend() if better and plan.role is Role.BOUNDS else 0.0

    def _spent(self) -> list[int]:
        """Return the revisions that have a certificate."""
        return [index for index, alpha in enumerate(self._alphas) if alpha > 0]

    @property
    def _allowed(self) -> int | None:
        """How many wrong labels the target allows."""
        return None if self.target is None else math.floor((1 - self.target) * self.source.n_rows + 1e-9)

    def _replay(self) -> Replay | None:
        """Return the present certificate, brought up to date; None before any revision was worth one."""
        index = self._certified
        if index is None:
            return None
        return self._replay_of(index)

    def _replay_of(self, index: int) -> Replay:
        replay = self._replays.get(index)
        if replay is None:
            replay = self._replays[index] = self._begin_replay(index)
        closed = self._closed.get(index)
        if closed is None:
            replay.advance(self._known, self._declined)
        else:
            replay.advance(closed.known, closed.declined, closed.end)
        return replay

    def _begin_replay(self, index: int) -> Replay:
        revisions = self._revisions
        if index in self._closed:
            revisions = [*revisions[:index], self._closed[index].revision, *revisions[index + 1 :]]
        aim, start = self._aims[index], self._starts[index]
        return Replay(index, revisions, self._log, self._alphas[index], aim=aim, start=start)

    def _next_bounds(self, recorded: Sequence[float] = ()) -> Proposal | None:
        """Draw a row for the bound, with the weights that were recorded or else with those that suit best."""
        if self._pool is None or not self._pool.left.any():
            return None
        if recorded:
            weights = np.array(recorded, dtype=float)
        else:
            replay = self._replay()
            weights = np.ones(N_BINS) if replay is None else replay.weights()
        if len(weights) != N_BINS:
            raise ReplayError(f"draws from {len(weights)} bins", f"{N_BINS} bins")
        row = self._pool.draw(weights, self._draws_rng)
        self._drawn[row] = True
        self._representative[row] = 1.0 / float(weights[self._revisions[self._pool_of].bin[row]])
        self._log.append(Draw(row, self._pool_of, weights))
        return Proposal(row=row, role=Role.BOUNDS, revision=self.n_revisions, weights=tuple(weights.tolist()))

    def _best(self) -> tuple[Revision | None, float]:
        """Return the revision with the best certificate, and the rows that it certifies right."""
        n_known = int((self._known != UNKNOWN).sum())
        if not self._revisions:
            return None, n_known
        best, most = self._revisions[-1], float(n_known)
        answered = np.array([*self._brought, *self._answered], dtype=np.intp)
        for index in self._spent():
            revision, closed = self._revisions[index], self._closed.get(index)
            wrong = self._known[answered] != revision.codes[answered]
            if closed is not None:  # what was wrong without the merge was counted as such
                before = closed.known[answered]
                wrong = np.where(before == UNKNOWN, wrong, before != closed.revision.codes[answered])
            right = self._replay_of(index).right_lower(answered, wrong)
            if right >= most:
                best, most = revision, right
        return best, most

    def _start_over(self) -> None:
        """An answer was changed or taken back: replay all certificates, as soon as somebody asks for one."""
        self._replays = dict.fromkeys(self._replays)
        self._plan = None

    # ---------------------------------------------------------------------------------------- division of effort

    def _current_plan(self) -> Plan:
        if self._plan is None:
            replay = self._replay()
            if replay is None or self._certified is None:
                last = len(self._revisions) - 1
                standing = self._standing(last, self._alpha.left / 2, None, spent=False)
            else:
                standing = self._standing(self._certified, self._alphas[self._certified], replay, spent=True)
            self._plan = make_plan(standing)
        return self._plan

    def _standing(self, index: int, alpha: float, replay: Replay | None, *, spent: bool) -> Standing:
        """Sum up where the campaign stands."""
        return Standing(
            revisions=self._revisions,
            certified=self._revisions[index],
            alpha=alpha,
            spent=spent,
            n_rows=self.source.n_rows,
            target=self.target,
            budget=self.budget,
            growth=self.growth,
            n_asked=len(self._answered),
            n_trained=len(self._brought) + len(self._answered),
            n_draws=replay.n_draws if spent and replay is not None else 0,
            bets=self._revisions[index].bets(alpha) if replay is None else replay.bets,
        )

    def _wants_bounds(self) -> bool:
        return self._certified is not None and self._current_plan().role is Role.BOUNDS
