"""Count how often each bound is ever below the truth, in whole adaptive loops, and whether broken rules show.

    python benchmarks/coverage_bounds.py [runs a design, default 2000]

Looks after every draw. Where all of alpha is on one revision and as many rows are wrong as one of the numbers that are
bet against, at least half of what is allowed to fail does (the bets are not wasteful). The judgement is a one-sided
binomial test at one in a thousand. Exit status 1 if a sound design is refuted, or a broken one is not.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(n_runs: int) -> int:
    designs = runpy.run_path(str(ROOT / "tests" / "bounds" / "coverage_designs.py"))
    failures, refuted = designs["failures"], designs["refuted"]
    bad = 0
    for name, (design, breaks) in designs["DESIGNS"].items():
        for broken in (None, *breaks):
            for alpha in (0.05, 0.2):
                runs = n_runs if broken is None else max(n_runs // 10, 100)
                start = time.perf_counter()
                n_failed = failures(design, alpha, runs, 7, broken)
                is_bad = refuted(n_failed, runs, alpha) != (broken is not None)
                bad += is_bad
                print(
                    f"{name:16s} {'sound' if broken is None else 'broken: ' + broken:20s} alpha {alpha:4}: "
                    f"{n_failed:4d} of {runs} = {n_failed / runs:.3f}   {time.perf_counter() - start:5.0f} s"
                    f"{'   <- NOT AS IT SHOULD BE' if is_bad else ''}",
                    flush=True,
                )
    for name, design in designs["TIGHT"].items():
        for alpha in (0.05, 0.2):
            runs = max(n_runs // 5, 100)
            n_failed = failures(design, alpha, runs, 7)
            is_bad = refuted(n_failed, runs, alpha) or designs["wasteful"](n_failed, runs, alpha)
            bad += is_bad
            print(
                f"{name:16s} {'tight':20s} alpha {alpha:4}: {n_failed:4d} of {runs} = {n_failed / runs:.3f}, "
                f"{n_failed / (alpha * runs):.0%} of what may fail{'   <- NOT AS IT SHOULD BE' if is_bad else ''}",
                flush=True,
            )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
