"""A campaign that an oracle answers from beginning to end, measured on the way; against a known truth, a simulation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from bela.campaign._campaign import Campaign
from bela.campaign._progress import Watching
from bela.display import card, draw_courses
from bela.errors import LabelError, OracleError, ParameterError
from bela.labels import is_missing, label_to_text
from bela.methods import DEFAULT_METHOD
from bela.oracles import TruthOracle
from bela.protocols import Oracle
from bela.records import DEFAULT_TARGET, AnyArray, Label, Point, Result

Watch: TypeAlias = Callable[[Campaign], object]

_MARKS = (100, 200, 400, 800)  # answers after which methods are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpGiven:
    """What somebody did who taught and was not believed, what it cost, and why it was given up, if it was."""

    name: str
    answers: int
    declined: int
    cost: float
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The result of a campaign, and what came before it."""

    result: Result
    trajectory: tuple[Point, ...]
    accuracy: float
    seconds: float
    helper: HelpGiven | None = None

    def __repr__(self) -> str:
        return f"<Simulation: {self.accuracy:.1%} right after {self.seconds:.1f} s, {self.result!r}>"

    def _repr_html_(self) -> str:
        certain = [(point.asked, point.lower) for point in self.trajectory]
        right = [(point.asked, point.accuracy) for point in self.trajectory]
        facts = [("right in truth", f"{self.accuracy:.2%}"), ("answers", f"{self.result.n_asked:,}")]
        drawing = draw_courses([("certified", certain), ("right", right)])
        return card("Simulation", self.result.certificate.claim, [drawing], facts)

    def asked_until(self, share: float, curve: str) -> int | None:
        """Return the answers after which `curve` ("accuracy" or "lower") first reached a share, None if never."""
        return next((point.asked for point in self.trajectory if getattr(point, curve) >= share), None)

    @property
    def n_violations(self) -> int:
        """Count the points where the bound was above the truth."""
        return sum(point.lower > point.accuracy + 1e-12 for point in self.trajectory)


def label(
    data: object, oracle: object, *, target: float | None = None, budget: int | None = None, confidence: float = 0.95,
    method: str = DEFAULT_METHOD, seed: int = 0, progress: Watching = None, **options: Any,
) -> Result:  # fmt: skip
    """Label every row of the data by asking the oracle about a few of them.

    Parameters are those of `Campaign` and of its `run`, but without a target and a budget the target is 0.95; `oracle`
    is an array of true labels, or a callable from an array of rows to labels (None for a row that it will not answer).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(600, centers=3, cluster_std=0.5, random_state=0)
    >>> result = label(X, y, target=0.9)
    >>> bool((result.labels == y).mean() >= result.certificate.lower >= 0.9)
    True
    """
    if target is None and budget is None:
        target = DEFAULT_TARGET
    campaign = Campaign(data, method=method, target=target, budget=budget, confidence=confidence, seed=seed, **options)
    return campaign.run(oracle, progress=progress)


def simulate(
    data: object, truth: object, *, every: float = 0.005, stop_after: int | None = None, progress: Watch | None = None,
    **campaign_options: Any,
) -> Simulation:  # fmt: skip
    """Run a campaign with the true labels as its oracle, and compare its labels with them as it goes.

    Options are those of `Campaign`; `every`, `stop_after` and `progress` are as for `run_campaign`.
    """
    start = time.perf_counter()
    campaign = Campaign(data, **campaign_options)
    oracle = TruthOracle(truth, campaign.n_rows)
    points = run_campaign(campaign, oracle, stop_after=stop_after, truth=oracle.labels, every=every, progress=progress)
    result, seconds = campaign.result(), time.perf_counter() - start
    given, helped = campaign.book.help, None
    if given.last is not None:
        helped = HelpGiven(
            name=given.last, answers=given.n_answers, declined=len(given.said) - given.n_answers, cost=given.cost,
            ended=given.ended,
        )  # fmt: skip
    accuracy = points[-1].accuracy
    return Simulation(result=result, trajectory=points, accuracy=accuracy, seconds=seconds, helper=helped)


def run_campaign(
    campaign: Campaign, oracle: Oracle, *, stop_after: int | None = None,
    truth: Mapping[int, Label] | AnyArray | None = None, batch: int | None = None, by: str | None = None,
    every: float | None = 0.005, progress: Watch | None = None,
) -> tuple[Point, ...]:  # fmt: skip
    """Have an oracle answer until there is a reason to stop, and return what was known on the way.

    The method is not told of `stop_after`, and goes on as if there were more to come; of a budget it is. `batch`
    questions are asked at once, or as many as the method likes, and no more than to the next point. One is taken each
    time that `every` share of the rows has been asked, more often at the start, after each revision, and after 100,
    200, 400 and 800 answers; none where that is None. Each says how many of the labels agree with the `truth`, where
    that is known, of all rows or of some. `by` says who answers, for the record.
    """
    if stop_after is not None and stop_after < 0:
        raise ParameterError(f"stop_after is a number of answers from 0 on, not {stop_after}")
    take_point = _Judge(truth)
    moments = _moments(every, campaign.n_rows)
    next_moment = next(moment for moment in moments if moment > campaign.n_asked)
    n_revisions = campaign.book.n_revisions
    points: dict[int, Point] = {}  # by the number of answers

    def answered(_: Campaign) -> None:
        nonlocal next_moment
        if campaign.n_asked >= next_moment:
            next_moment = next(moments)
            points[campaign.n_asked] = take_point(campaign)
        if progress is not None:
            progress(campaign)

    while campaign.stop_reason is None and (stop_after is None or campaign.n_asked < stop_after):
        n = min(campaign.assessment.batch, next_moment - campaign.n_asked) if batch is None else batch
        left = n if stop_after is None else stop_after - campaign.n_asked
        step(campaign, oracle, int(max(1, min(n, left))), by=by, progress=answered)
        if every is not None and campaign.book.n_revisions > n_revisions and campaign.n_asked:
            n_revisions = campaign.book.n_revisions
            points[campaign.n_asked] = take_point(campaign)
    if every is not None:
        with suppress(LabelError):  # nothing was answered
            points[campaign.n_asked] = take_point(campaign)
    return tuple(points.values())


def step(campaign: Campaign, oracle: Oracle, n: int, *, by: str | None = None, progress: Watch | None = None) -> None:
    """Put up to n questions to an oracle and take in its answers; None for an answer skips the question.

    Each answer is taken in as soon as it is given, so that none is lost when the oracle fails half-way; `progress` is
    called after each.
    """
    questions = {question.row: question for question in campaign.ask(n)}
    if not questions:
        return
    with closing(oracle.answers(np.array(list(questions)))) as answers:
        for answer in answers:
            if answer.row not in questions:
                raise OracleError(f"the oracle answered for row {answer.row}, which it was not asked about")
            question = questions[answer.row].id
            if is_missing(answer.label):
                campaign.skip(question, by=by, cost=answer.cost)
            else:
                campaign.tell(question, answer.label, by=by, cost=answer.cost)
            if progress is not None:
                progress(campaign)


class _Judge:
    """Compares labels with the truth, of all rows or of some; 3 and "3" are the same label."""

    def __init__(self, truth: Mapping[int, Label] | AnyArray | None) -> None:
        by_row = truth if isinstance(truth, Mapping) else dict(enumerate([] if truth is None else truth.tolist()))
        self._rows, self._truth = list(by_row), np.array(list(by_row.values()))

    def __call__(self, campaign: Campaign) -> Point:
        """Take a point."""
        result, truth = campaign.result(), self._truth
        labels, accuracy = result.labels[self._rows], math.nan
        if self._rows:
            if (labels.dtype.kind == "U") != (truth.dtype.kind == "U"):
                labels, truth = (np.array(list(map(label_to_text, side.tolist()))) for side in (labels, truth))
            accuracy = float((labels == truth).mean())
        lower, leaves = float(result.certificate.lower), int(result.leaf.max()) + 1
        return Point(asked=campaign.n_asked, lower=lower, accuracy=accuracy, leaves=leaves)


def _moments(every: float | None, n_rows: int) -> Iterator[float]:
    """Yield after how many answers to take a point; the same ones wherever a campaign is taken up again."""
    if every is None:
        yield math.inf
        return
    moment, step = 0, max(1, int(every * n_rows))
    while True:
        following = moment + max(1, min(step, moment // 20))
        moment = next((mark for mark in _MARKS if moment < mark < following), following)
        yield moment
