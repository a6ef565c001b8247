"""Has a peer choose rows, tells it their labels, and writes down how many of its labels are right on the way.

    python _loop.py JOB

JOB is JSON: `peer` and `memory` are files to load, `data` a file with X and y, `out` where lines of JSON go, `marks`
after how many answers to look, `limit` the seconds of the processor that it may take, `most_mb` the memory, and `seed`.
It runs in the environment of the peer, so that it knows nothing of BELA.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

FIRST = 10  # rows drawn at random before a peer chooses; more until there are two classes
A_HUNDREDTH = (
    100  # of what is known is asked at once, so that a model is not fitted anew for each of a thousand answers
)


class PeerLearner(Protocol):
    """What a peer does: made with X, the number of classes, the first rows with their labels, and a seed."""

    def ask(self, n: int) -> npt.NDArray[np.int64]:
        """Return n rows to be asked, or fewer."""

    def tell(self, rows: npt.NDArray[np.int64], labels: npt.NDArray[np.int64]) -> None:
        """Take in answers."""

    def label(self) -> npt.NDArray[np.int64]:
        """Return a label for each row."""


def main(job: dict[str, Any]) -> None:
    """Run one peer on one dataset."""
    warnings.simplefilter("ignore")
    _limit_memory(job["most_mb"])
    peak_mb = load_file(job["memory"]).peak_mb
    learner_type = load_file(job["peer"]).LEARNER
    with np.load(job["data"]) as data:
        X, y = data["X"], data["y"]
    base = peak_mb()
    with Path(job["out"]).open("w", encoding="utf-8") as out:

        def say(**words: object) -> None:
            out.write(json.dumps({"base_mb": base, "peak_mb": peak_mb(), **words}) + "\n")
            out.flush()

        try:
            _ask(learner_type, X, y, job, say)
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}"[:300])


def _ask(
    learner_type: Any, X: npt.NDArray[np.float32], y: npt.NDArray[np.int64], job: dict[str, Any], say: Any
) -> None:
    order = np.random.default_rng(job["seed"]).permutation(len(y))
    n_first = FIRST
    while len(set(y[order[:n_first]].tolist())) < 2 and n_first < len(y):
        n_first += 1
    first = order[:n_first]
    learner: PeerLearner
    start = time.process_time()
    learner = learner_type(X, int(y.max()) + 1, first, y[first], job["seed"])
    spent = time.process_time() - start
    known = np.full(len(y), -1)
    known[first] = y[first]
    asked = n_first
    for mark in job["marks"]:
        while asked < mark:
            start = time.process_time()
            rows = np.asarray(learner.ask(min(max(1, asked // A_HUNDREDTH), mark - asked)), dtype=np.int64)
            learner.tell(rows, y[rows])
            spent += time.process_time() - start
            new = rows[known[rows] < 0]
            known[new] = y[new]
            asked += len(rows)
            if not len(rows):
                say(asked=asked, seconds=spent, error="it has nothing more to ask")
                return
            if spent > job["limit"]:
                say(asked=asked, seconds=spent, right=_right(learner, known, y), stopped="time")
                return
        say(asked=asked, seconds=spent, right=_right(learner, known, y), mark=mark)


def _right(learner: PeerLearner, known: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> float:
    """Return the share of all rows that are right, with what was answered instead of what the peer says of it."""
    return float((np.where(known >= 0, known, learner.label()) == y).mean())


def load_file(path: str) -> Any:
    """Load a module from its file."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _limit_memory(most_mb: float) -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(most_mb * 1e6),) * 2)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
