"""Does another planner need fewer answers? Whole campaigns on recorded labels, so that each takes a second.

    python benchmarks/planner.py FOLDER [--only mnist,trec] [--seeds 10] [--paths 2] [--try _WASTE=20] [--try _DELAY=9]

Needs BELA_DATA. What the learner says of all rows is recorded along its own path of training questions, at sizes a
fifth apart, and kept in FOLDER. Campaigns are real but for the learner, which says what was recorded for as many
answers as there are; a row that was drawn at random teaches 0.6 of one that was picked. Each --try is a planner with
other constants (names of `bela.methods.bela._planning`, with commas between them). Printed for each: answers until the
target, and the geometric mean of its ratios to the planner as it is, by seed, with the standard error of its logarithm.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from live import names_of

TARGETS = {  # features, the share to certify, and answers that it may take
    "mnist": ("auto", 0.95, 500),
    "mnist-predicted": ("predicted", 0.95, 220),
    "fashion-mnist": ("auto", 0.85, 1500),
    "trec": ("embedded", 0.85, 1350),
    "home": ("embedded", 0.80, 780),
    "photos": ("embedded", 0.75, 700),
}
DRAWN_TEACHES = 0.6
FIRST, STEP = 28, 1.19  # answers at the first recorded size, and from one to the next


def record(name: str, path: int, file: Path) -> None:
    """Write down what the learner says of all rows as it comes to know more, on one path of training."""
    from bela import Campaign
    from bela.bench import load_labelled
    from bela.methods.bela._labelling import first_questions

    features, target, bar = TARGETS[name]
    found = load_labelled(
        name.removesuffix("-predicted"), predicted=features == "predicted", embedded=features == "embedded"
    )
    told = {"predictions": found.predictions} if found.predictions else {}
    method: Any = Campaign(found.rows, target=target, seed=path, **told).method
    learner, truth = method.learner(), np.array([str(label) for label in found.truth])
    said = [np.array([str(label) for label in labels]) for labels, _ in found.predictions.values()]
    classes, y = np.unique(np.concatenate([truth, *said]), return_inverse=True)
    y, *predicted = np.split(y, len(said) + 1)
    rng = np.random.default_rng([path, 77])
    order = [int(row) for row in first_questions(method.setup, learner, rng)]
    kept: dict[str, Any] = {"y": y, "classes": classes, "predicted": np.array(predicted)}
    fit: Any = None
    for size in _sizes(3 * bar):
        if size > len(order):
            asked = np.zeros(len(y), dtype=bool)
            asked[order] = True
            more = learner.next_questions(fit, asked, size - len(order), uniform_share=0.0, rng=rng)
            order += [int(row) for row in more.rows]
        rows = np.array(order[:size])
        fit = learner.fit(rows, y[rows], predicted) if predicted else learner.fit(rows, y[rows])
        kept[f"proba {size}"] = _wide(fit.proba, fit.classes, len(classes)).astype(np.float16)
        kept[f"out {size}"] = _wide(fit.out_of_fold, fit.classes, len(classes))
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, order=np.array(order), **kept)


def _sizes(most: float) -> Iterator[int]:
    size = float(FIRST)
    while size <= most:
        yield round(size)
        size *= STEP


def _wide(proba: Any, columns: Any, n_classes: int) -> Any:
    wide = np.full((len(proba), n_classes), 1e-6, np.float32)
    wide[:, columns] = proba
    return wide


class Recorded:
    """A learner that says what another one said when it had as many answers."""

    def __init__(self, file: Path) -> None:
        with np.load(file) as kept:
            self.kept = dict(kept)
        self.y, self.classes, self.order = (self.kept[name] for name in ("y", "classes", "order"))
        self.sizes = sorted(int(name.split()[1]) for name in self.kept if name.startswith("proba"))
        self._place = np.full(len(self.y), len(self.y))
        self._place[self.order] = np.arange(len(self.order))

    def prepare(self) -> None:
        """Nothing is left to be made."""

    def first_questions(self) -> Any:
        return self.order[:50]

    def fit(self, rows: Any, codes: Any, predicted: Sequence[Any] = (), *, helped: Any = None) -> Any:
        from bela.learning import Fit

        picked = int((self._place[rows] < len(self.order)).sum())
        worth = picked + DRAWN_TEACHES * (len(rows) - picked)
        size = max((size for size in self.sizes if size <= 1.03 * worth), default=self.sizes[0])
        code_of = np.full(len(self.classes), -1)
        code_of[self.y[rows]] = codes
        for said, now in zip(self.kept["predicted"], predicted, strict=True):
            code_of[said] = now
        columns = np.flatnonzero(code_of >= 0)
        columns = columns[np.argsort(code_of[columns])]
        proba = self.kept[f"proba {size}"][:, columns].astype(np.float32) + 1e-7
        out = proba[rows]
        learnt = self._place[rows] < size
        out[learnt] = self.kept[f"out {size}"][self._place[rows[learnt]]][:, columns] + 1e-7
        return Fit(
            rows=rows, classes=code_of[columns], proba=proba / proba.sum(axis=1, keepdims=True),
            out_of_fold=out / out.sum(axis=1, keepdims=True), loss=0.0, weights={},
        )  # fmt: skip

    def next_questions(self, fit: Any, asked: Any, n: int, *, uniform_share: float, rng: np.random.Generator) -> Any:
        from bela.learning import Picks

        rows = self.order[~asked[self.order]][:n]
        left = np.setdiff1d(np.flatnonzero(~asked), rows)
        rows = np.concatenate([rows, rng.choice(left, min(n - len(rows), len(left)), replace=False)])
        return Picks(rows=rows, uniform=np.zeros(len(rows), dtype=bool))


def answers_needed(name: str, learner: Recorded, seed: int) -> int:
    """Run one campaign to its target, or to five times what it may take."""
    from bela import Campaign
    from bela.campaign import step
    from bela.oracles import TruthOracle

    _, target, bar = TARGETS[name]
    told: dict[str, Any] = {"budget": min(5 * bar, len(learner.y))}
    if len(learner.kept["predicted"]):
        told = {"predictions": {"svm": learner.classes[learner.kept["predicted"][0]]}}
    nothing = np.random.default_rng(5).normal(size=(len(learner.y), 2)).astype(np.float32)
    campaign = Campaign(nothing, target=target, seed=seed, learner=learner, **told)
    oracle = TruthOracle(learner.classes[learner.y], len(learner.y))
    while campaign.stop_reason is None and campaign.n_asked < 5 * bar:
        step(campaign, oracle, max(1, campaign.assessment.batch))
    return campaign.n_asked


def planner_with(constants: str) -> ExitStack:
    """Return a context in which the planner has other constants."""
    from bela.methods.bela import _planning

    stack = ExitStack()
    for name, _, value in (one.partition("=") for one in constants.split(",") if one):
        if not isinstance(getattr(_planning, name, None), int | float):
            raise SystemExit(f"bela.methods.bela._planning has no number {name!r}")
        stack.enter_context(patch.object(_planning, name, float(value)))
    return stack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", type=names_of(TARGETS), default=list(TARGETS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--paths", type=int, default=2)
    parser.add_argument("--try", action="append", default=[], dest="others", metavar="NAME=VALUE,...")
    arguments = parser.parse_args()
    for name in arguments.only:
        needed: dict[str, list[int]] = {constants: [] for constants in ["", *arguments.others]}
        for path in range(arguments.paths):
            file = arguments.folder / f"{name}-{path}.npz"
            if not file.exists():
                record(name, path, file)
            learner = Recorded(file)
            for constants, found in needed.items():
                with planner_with(constants):
                    found += [answers_needed(name, learner, 1000 * path + seed) for seed in range(arguments.seeds)]
        for constants, found in needed.items():
            ratios = [math.log(a / b) for a, b in zip(found, needed[""], strict=True)]
            error = statistics.stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
            print(
                f"{name:16} {constants or 'as it is':24} median {statistics.median(found):6.0f}  "
                f"{min(found)}-{max(found)}  ratio {math.exp(statistics.fmean(ratios)):.3f} +- {error:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
