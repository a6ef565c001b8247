"""How long does one call of each bound take, and does the size of the population matter?

    python benchmarks/bounds.py

Microseconds of the processor, the median of seven heaps of calls, one thread. *many at once*: for each of 10,000 pairs
of counts in one call. The table goes to README.md.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _measure import ONE_THREAD, write_table

os.environ |= ONE_THREAD  # before numpy is imported

import numpy as np

from bela.bounds import ErrorBets, PriorPosterior, errors_upper, errors_upper_one_look, share_lower

POPULATIONS = (10**4, 10**6, 10**9)
N_DRAWN, N_WRONG = 1000, 20
MANY = 10_000


def microseconds(call: Callable[[], object], *, times: int, each: int = 1) -> float:
    """Return the processor's microseconds of one call, or of each of the cases that it is about."""
    heaps = []
    for _ in range(7):
        begin = time.process_time()
        for _ in range(times):
            call()
        heaps.append((time.process_time() - begin) / times / each)
    return round(1e6 * statistics.median(heaps), 2)


def bets(population: int) -> ErrorBets:
    """Return bets on a labelling with 20 bins, the first of them with more errors."""
    sizes = np.diff(np.rint(population * (np.arange(21) / 20) ** 2).astype(int))
    guess = 0.1 * np.exp(-np.arange(20))
    return ErrorBets(sizes, alpha=0.05, seen=np.full(20, 20.0), wrong=20.0 * guess, aim=population // 50)


def main() -> int:
    """Measure each bound with each population, and write the table."""
    drawn = np.arange(1, MANY + 1)
    table: list[dict[str, Any]] = []
    for population in POPULATIONS:
        options = {"population": population, "alpha": 0.05}
        sequence, certificate = PriorPosterior(population, alpha=0.05), bets(population)
        weights = certificate.weights()
        table.append(
            {
                "population": f"{population:,}",
                "prior-posterior": microseconds(lambda o=options: errors_upper(N_DRAWN, N_WRONG, **o), times=50),
                "many at once": microseconds(
                    lambda o=options: errors_upper(drawn, drawn // 50, **o), times=1, each=MANY
                ),
                "a draw more": microseconds(lambda s=sequence: (s.observe(wrong=False), s.errors_upper), times=50),
                "hypergeometric": microseconds(
                    lambda o=options: errors_upper_one_look(N_DRAWN, N_WRONG, **o), times=20
                ),
                "Clopper-Pearson": microseconds(lambda: share_lower(N_DRAWN, N_WRONG, alpha=0.05), times=50),
                "bets, a draw": microseconds(
                    lambda c=certificate, w=weights: (c.observe(10, wrong=False, weights=w), c.errors_upper), times=30
                ),
            }
        )
        print(table[-1], flush=True)
    write_table(Path(__file__).with_name("README.md"), "bounds", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
