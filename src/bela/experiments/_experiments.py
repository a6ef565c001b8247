"""The paper's experiments: what is run, and how it is run on several cores."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty
from typing import Any

from bela.errors import BelaError, ParameterError
from bela.records import Point

GROUPS = ("mnist", "fashion-mnist", "synthetic", "splitters")
"""What `bela reproduce` can be asked for, besides all of it."""

SPLITTERS = {"svm": "linear SVM", "nb": "naive Bayes", "tree": "decision tree", "mlp": "perceptron"}
ERRATA_SHARE = 0.1  # the errata show at the start: a tenth of the answers is enough
PRINTED = {"a": 1.65, "c": 1.1}  # zeta(a / c), as printed, is finite only for a > c
_DATASETS = {"mnist": "mnist", "fashion-mnist": "fashion-mnist", "synthetic": "blobs"}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One campaign with known labels.

    `cost` is a guess at its seconds, so that the longest go first. `printed` says what part theorem 1 as printed has
    in it: it "steers" the campaign, or is computed "beside" the right bound on the same leaves.
    """

    dataset: str
    method: str
    cost: float
    options: tuple[tuple[str, str | int], ...] = ()
    budget_share: float = 1.0
    every: float = 0.005
    printed: str | None = None

    def __str__(self) -> str:
        words = [self.dataset, self.method, *(str(value) for _, value in self.options), self.printed]
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a figure, and the experiment that it comes from. The same experiment may be in two."""

    figure: str
    name: str
    experiment: Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an experiment gave; `printed` is the bound as printed at each point, where it was asked for."""

    points: tuple[Point, ...]
    printed: tuple[float, ...]
    n_rows: int
    seconds: float

    def asked_share(self, share: float, curve: str) -> float | None:
        """Return the share of answers after which a curve first reached a share, None if never."""
        return next((point.asked / self.n_rows for point in self.points if getattr(point, curve) >= share), None)

    def value_at(self, share: float, curve: str) -> float:
        """Return where a curve stood after a share of the answers."""
        return float(getattr(next(p for p in self.points if p.asked >= share * self.n_rows - 1e-9), curve))

    @property
    def n_violations(self) -> int:
        return sum(point.lower > point.accuracy + 1e-12 for point in self.points)


def lines_of(what: str) -> list[Line]:
    """Return the lines of a group, or of all groups."""
    if what == "all":
        return [line for group in GROUPS for line in lines_of(group)]
    if what == "splitters":
        return [
            Line(figure=f"splitters-{group}", name=name, experiment=_bela(data, key))
            for group, data in _DATASETS.items()
            for key, name in SPLITTERS.items()
        ]
    if what not in _DATASETS:
        raise ParameterError(f"there is no experiment {what!r}: choose one of {', '.join(GROUPS)}, all")
    data = _DATASETS[what]
    scale = 0.1 if data == "blobs" else 1
    named = {
        "BELA": _bela(data, "svm"),
        "HSAL": Experiment(dataset=data, method="hsal", cost=11 * scale),
        "HSAL, Ward": Experiment(dataset=data, method="hsal", options=(("tree", "ward"),), cost=60 * scale),
        "PLAL": Experiment(dataset=data, method="plal", cost=8 * scale),
    }
    lines = [Line(figure=what, name=name, experiment=experiment) for name, experiment in named.items()]
    if what == "mnist":
        errata = {
            "as printed": _errata("steers", waits=False),
            "as corrected": _errata("beside", waits=False),
            "as we run it": _errata("beside", waits=True),
        }
        lines += [Line(figure="errata", name=name, experiment=experiment) for name, experiment in errata.items()]
    return lines


def _bela(data: str, splitter: str) -> Experiment:
    cost = {"svm": 30, "nb": 25, "tree": 45, "mlp": 220}[splitter] * (0.1 if data == "blobs" else 1)
    return Experiment(dataset=data, method="bela-paper", options=(("splitter", splitter),), cost=cost)


def _errata(printed: str, *, waits: bool) -> Experiment:
    # As printed, a leaf may be split at any time: nothing there asks for a number of training answers first.
    return Experiment(
        dataset="mnist", method="bela-paper", options=() if waits else (("min_per_class", 1),), cost=20,
        budget_share=ERRATA_SHARE, every=0.0005, printed=printed,
    )  # fmt: skip


def run_experiment(
    experiment: Experiment, seed: int, progress: Callable[[tuple[Experiment, Point]], object]
) -> Outcome:
    """Run one experiment in this process, and report each point of it."""
    from bela.bounds import AdaptiveHoeffding
    from bela.campaign import Campaign, step
    from bela.data import load_dataset
    from bela.methods.paper import BelaPaper
    from bela.oracles import TruthOracle

    start = time.perf_counter()
    data = load_dataset(experiment.dataset)
    y, n_rows = data.y, len(data.y)
    bound = AdaptiveHoeffding(**PRINTED, as_printed=True)
    options: dict[str, Any] = dict(experiment.options)
    if experiment.printed == "steers":
        options["bound"] = bound
    budget = int(experiment.budget_share * n_rows)
    campaign = Campaign(data.X, method=experiment.method, budget=budget, seed=seed, **options)
    oracle = TruthOracle(y, n_rows)
    every = max(1, int(experiment.every * n_rows))
    points: list[Point] = []
    printed: list[float] = []

    while campaign.stop_reason is None:
        last = points[-1].asked if points else 0
        step(campaign, oracle, min(campaign.assessment.batch, last + every - campaign.n_asked))
        if campaign.n_asked < last + every and campaign.stop_reason is None:
            continue
        if campaign.n_asked == last:  # the last question was answered before
            break
        result = campaign.result()
        lower, right = result.certificate.lower, float((result.labels == y).mean())
        points.append(Point(asked=campaign.n_asked, lower=lower, accuracy=right, leaves=int(result.leaf.max()) + 1))
        if experiment.printed and isinstance(campaign.method, BelaPaper):
            printed.append(float(bound.rows_right(*campaign.method.leaf_counts()).sum()) / n_rows)
        progress((experiment, points[-1]))
    seconds = time.perf_counter() - start
    return Outcome(points=tuple(points), printed=tuple(printed), n_rows=n_rows, seconds=seconds)


def run_all(
    experiments: Iterable[Experiment], *, seed: int, jobs: int, progress: Callable[[Experiment, Point | None], object]
) -> Iterator[tuple[Experiment, Outcome]]:
    """Run experiments in `jobs` processes of one thread each, the longest first, and yield them as they end.

    `progress` is called with each point of each experiment, and with None when it has ended.
    """
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, _one_thread_each():
        points = manager.Queue()
        # Ctrl-C is for the parent, which ends its workers.
        ignore = (signal.SIGINT, signal.SIG_IGN)
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=signal.signal, initargs=ignore)
        order = sorted(experiments, key=lambda experiment: -experiment.cost)
        running = {pool.submit(run_experiment, experiment, seed, points.put): experiment for experiment in order}
        try:
            while running:
                done = wait(running, timeout=0.1, return_when="FIRST_COMPLETED").done
                with suppress(Empty):
                    while True:
                        progress(*points.get_nowait())
                for future in done:
                    experiment = running.pop(future)
                    progress(experiment, None)
                    yield experiment, future.result()
        except BrokenProcessPool:
            raise BelaError("a worker was ended from outside, likely for want of memory: try --jobs 1") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children() if running else ():
                process.terminate()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Have the processes that are started meanwhile use one thread for linear algebra, as each has a core to itself."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name in _THREADS:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if value is not None})
