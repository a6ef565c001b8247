"""The paper's method and its rivals with the full budget: labels needed, cost in passes, memory.

    python benchmarks/paper.py

Needs BELA_DATA. Each line is a process of its own with one thread; a pass is X @ W on the same float32 X with ten
columns, timed in that process (see _measure.py). The results go into README.md beside this file.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from _measure import one_pass, peak_mb, run, write_table
from bela import simulate
from bela.data import load_dataset


def measure(**job: Any) -> dict[str, Any]:
    return one(**job) if "data" in job else doubled(**job)


def one(data: str, method: str, seed: int, rows: int = 60_000, **options: Any) -> dict[str, Any]:
    """Run the full budget once."""
    dataset = load_dataset(data)
    X, y = np.ascontiguousarray(dataset.X[:rows]), dataset.y[:rows]
    del dataset
    whole = load_dataset(data).X
    unit = one_pass(whole)
    del whole
    import sklearn.svm  # noqa: F401 - what is imported once a process is no part of the method's cost

    start, clock = time.process_time(), time.perf_counter()
    simulation = simulate(X, y, method=method, seed=seed, **options)
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    unit = (unit + one_pass(X) * 60_000 / rows) / 2  # before and after, as other processes come and go
    right, bound = simulation.asked_until(0.9, "accuracy"), simulation.asked_until(0.9, "lower")
    return {
        "right 90 % after": f"{right / rows:.1%}" if right else "never",
        "bound 90 % after": f"{bound / rows:.1%}" if bound else "never",
        "bound above truth": f"{simulation.n_violations} of {len(simulation.trajectory)}",
        "passes": round(seconds / unit),
        "seconds": round(clock, 1),
        "peak MB": round(peak_mb()),
    }


def doubled(method: str, seed: int) -> dict[str, Any]:
    """Compare the cost of 30,000 and of 60,000 rows of MNIST in one process, each at the full budget."""
    import sklearn.svm  # noqa: F401

    dataset = load_dataset("mnist")
    seconds = []
    for rows in (30_000, 60_000):
        X, y = np.ascontiguousarray(dataset.X[:rows]), dataset.y[:rows]
        start = time.process_time()
        simulate(X, y, method=method, seed=seed)
        seconds.append(time.process_time() - start)
    return {"30,000 rows": round(seconds[0], 1), "60,000 rows": round(seconds[1], 1), "ratio": seconds[1] / seconds[0]}


def main() -> None:
    jobs: list[dict[str, Any]] = []
    for data in ("mnist", "fashion-mnist"):
        jobs += [{"data": data, "method": "bela-paper", "seed": seed} for seed in (0, 1, 2)]
    jobs += [{"data": "mnist", "method": method, "seed": 0} for method in ("hsal", "plal")]
    jobs += [{"data": "fashion-mnist", "method": method, "seed": 0} for method in ("hsal", "plal")]
    page = Path(__file__).with_name("README.md")
    pairs = [{"method": method, "seed": 0} for method in ("bela-paper", "hsal", "plal")]
    write_table(page, "doubled", run(__file__, measure, pairs))
    write_table(page, "paper", run(__file__, measure, jobs))


if __name__ == "__main__":
    main()
