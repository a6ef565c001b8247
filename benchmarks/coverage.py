"""Count the runs of the method `bela` in which its certificate was ever above the truth.

    python benchmarks/coverage.py [--runs 50] [--quick]

Whole campaigns, on populations of many shapes, with cheap learners and with its own (tests/methods/whole_runs.py);
somebody looks after every answer. `--runs` is for each design and alpha; `--quick` makes a tenth. The judgement is a
one-sided binomial test at one in a thousand. Then the same with a rule broken on purpose, which must show. The
table goes to README.md. Exit status 1 if a sound design is refuted, or a broken one is not.
"""

from __future__ import annotations

import argparse
import functools
import os
import runpy
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from _measure import ONE_THREAD, write_table

os.environ |= ONE_THREAD  # before numpy is imported

HERE = Path(__file__).resolve().parent
ALPHAS = (0.05, 0.2)
OWN_LEARNER = 4  # times fewer runs with the package's own learner


@functools.cache
def designs() -> SimpleNamespace:
    """Load the designs that the tests use."""
    return SimpleNamespace(**runpy.run_path(str(HERE.parent / "tests" / "methods" / "whole_runs.py")))


def one(name: str, alpha: float, seed: int) -> dict[str, Any]:
    """Run one campaign; a name of a broken rule breaks it."""
    module = designs()
    method, design = module.BROKEN.get(name) or (None, (module.DESIGNS | module.REAL)[name])
    return vars(module.run(design, alpha, seed, method))


def jobs(n_runs: int) -> Iterator[tuple[str, bool, float, list[int]]]:
    """Name, whether a rule is broken, alpha and seeds of each line of the table."""
    module = designs()
    for i, alpha in enumerate(ALPHAS):
        for name in [*module.DESIGNS, *module.REAL, *module.BROKEN]:
            n = n_runs if name not in module.REAL else max(n_runs // OWN_LEARNER, 2)
            yield name, name in module.BROKEN, alpha, [1_000_000 * i + seed for seed in range(n)]


def line(name: str, alpha: float, outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum up some runs."""
    failed = sum(outcome["failed"] for outcome in outcomes)
    return {
        "design": name,
        "alpha": alpha,
        "runs": len(outcomes),
        "failed": failed,
        "share": failed / len(outcomes),
        "p": designs().p_value(failed, len(outcomes), alpha),
        "answers": statistics.median(outcome["n_asked"] for outcome in outcomes),
        "draws": statistics.median(outcome["n_draws"] for outcome in outcomes),
        "revisions": statistics.median(outcome["n_revisions"] for outcome in outcomes),
        "certified": statistics.median(outcome["n_certified"] for outcome in outcomes),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    n_runs = max(arguments.runs // 10, 2) if arguments.quick else arguments.runs
    sound: dict[float, list[dict[str, Any]]] = {alpha: [] for alpha in ALPHAS}
    rows, bad = [], 0
    start = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        for name, broken, alpha, seeds in list(jobs(n_runs)):
            outcomes = list(pool.map(one, [name] * len(seeds), [alpha] * len(seeds), seeds))
            row = line(("broken: " if broken else "") + name, alpha, outcomes)
            wrong = designs().refuted(row["failed"], row["runs"], alpha) != broken
            bad += wrong
            rows.append(row)
            if not broken:
                sound[alpha] += outcomes
            remark = "   <- NOT AS IT SHOULD BE" if wrong and not arguments.quick else ""
            print(
                f"{time.perf_counter() - start:5.0f} s  {row['design']:50s} alpha {alpha:4}: {row['failed']:4d} of "
                f"{row['runs']:4d}, p = {row['p']:.2g}{remark}",
                flush=True,
            )
    for alpha in ALPHAS:
        row = line("**all sound designs**", alpha, sound[alpha])
        bad += designs().refuted(row["failed"], row["runs"], alpha)
        rows.append(row)
        print(f"all sound designs, alpha {alpha}: {row['failed']} of {row['runs']}, p = {row['p']:.2g}")
    if not arguments.quick:
        write_table(HERE / "README.md", "coverage", rows)
    return int(bad > 0 and not arguments.quick)


if __name__ == "__main__":
    sys.exit(main())
