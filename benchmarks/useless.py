"""Does a useless prediction cost answers? Answers until a target with and without a column that says nothing of use.

    python benchmarks/useless.py [--seeds 5] [--first 0] [--jobs 2] [--only mnist,stance] [--kinds random,constant]

Needs BELA_DATA. Confidence 0.95, the method `bela`. Without it, mnist (0.95) has no prediction and stance (0.90) its
good one, beside which the useless one is a second. A column that is `random` names a class by chance for each row,
`constant` the most common class always; `one-class` is right on the rows of one class, which the seed chooses, and
names a wrong class by chance on all others (where classes are few, that says something: which one it is not);
`knows-one` is the same with any class by chance on the others. The bar is at most 5 % more answers than without. A
column is among what the draws follow from, so campaigns with the same seed have other draws: seeds differ by far more
than 5 %, and a few of them tell little. Printed for each run: the answers, and the share that is right in truth; in
the end a table.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np

from _measure import answer_one, in_own_processes, print_rounded
from live import names_of

TARGETS = {"mnist": 0.95, "stance": 0.90}
KINDS = ("random", "constant", "one-class", "knows-one")
NONE = "none"
BAR = 1.05
NAME = "useless"


def useless(kind: str, truth: np.ndarray, seed: int) -> np.ndarray:
    """Return a column of labels that is of no use."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    classes, codes = np.unique(truth, return_inverse=True)
    n_rows, n_classes = len(truth), len(classes)
    if kind == "random":
        return np.asarray(classes[rng.integers(n_classes, size=n_rows)])
    if kind == "constant":
        return np.full(n_rows, classes[np.bincount(codes).argmax()])
    least = 1 if kind == "one-class" else 0
    others = (codes + rng.integers(least, n_classes, n_rows)) % n_classes
    return np.asarray(classes[np.where(codes == seed % n_classes, codes, others)])


def one(*, data: str, seed: int, kind: str) -> dict[str, Any]:
    """Run one campaign until its target is certified."""
    from bela import Campaign
    from bela.bench import load_labelled

    found = load_labelled(data, predicted=data == "stance")
    predictions = dict(found.predictions or {})
    if kind != NONE:
        predictions[NAME] = useless(kind, found.truth, seed)
    result = Campaign(found.rows, predictions=predictions or None, target=TARGETS[data], seed=seed).run(found.truth)
    right, lower = float((result.labels == found.truth).mean()), result.certificate.lower
    return {"asked": result.n_asked, "lower": lower, "right": right, "false": lower > right}


def table(asked: dict[tuple[str, str], dict[int, int]]) -> list[str]:
    """Return medians, and how many times the answers without the column it took: geometric means of pairs."""
    lines = ["| data | column | seeds | answers, median | with / without, geometric mean | ± one standard error |"]
    lines.append("|---|---|---|---|---|---|")
    for (data, kind), found in asked.items():
        without = asked.get((data, NONE), {})
        logs = np.log([found[seed] / without[seed] for seed in found if seed in without])
        cells = ["", ""]
        if kind != NONE and len(logs):
            mean = float(np.exp(logs.mean()))
            error = f"{mean * logs.std(ddof=1) / np.sqrt(len(logs)):.3f}" if len(logs) > 1 else ""
            cells = [f"{mean:.3f}{'' if mean <= BAR else ' (above the bar)'}", error]
        median = f"{statistics.median(found.values()):,.0f}"
        lines.append("| " + " | ".join([f"{data} {TARGETS[data]:.2f}", kind, str(len(found)), median, *cells]) + " |")
    return lines


def main() -> None:
    answer_one(one)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=names_of(TARGETS), default=list(TARGETS))
    parser.add_argument("--kinds", type=names_of(KINDS), default=list(KINDS))
    arguments = parser.parse_args()
    jobs = [
        {"data": data, "seed": seed, "kind": kind}
        for data in arguments.only
        for seed in range(arguments.first, arguments.first + arguments.seeds)
        for kind in (NONE, *arguments.kinds)
    ]
    asked: dict[tuple[str, str], dict[int, int]] = {}
    for job, found in in_own_processes(__file__, jobs, arguments.jobs):
        print_rounded(job | found)
        asked.setdefault((job["data"], job["kind"]), {})[job["seed"]] = found["asked"]
    print("\n".join(table(asked)))


if __name__ == "__main__":
    main()
