"""The certified method on MNIST from pixels to 0.95: cost in passes, memory, and how long a question takes.

    python benchmarks/certified.py

Needs BELA_DATA. Each line is a process of its own with one thread; a pass is X @ W on the same float32 X with ten
columns, timed in that process (see _measure.py). Features and the neighbour graph are part of the cost. A question is
timed from `ask` to its return, in seconds of the processor; those that make a revision are counted apart.
The results go into README.md beside this file.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from _measure import one_pass, peak_mb, run, write_table
from bela import Campaign
from bela.data import load_dataset


def one(data: str, target: float, seed: int) -> dict[str, Any]:
    """Run one campaign and time its parts."""
    dataset = load_dataset(data)
    unit = one_pass(dataset.X)
    images, y = dataset.images, dataset.y
    import sklearn.cluster  # noqa: F401 - what is imported once a process is no part of the method's cost

    start, clock = time.process_time(), time.perf_counter()
    campaign = Campaign(images, target=target, seed=seed)
    asks, revisions = [], []
    while campaign.stop_reason is None:
        before, began = campaign.book.n_revisions, time.process_time()
        [question] = campaign.ask()
        took = time.process_time() - began
        (asks if campaign.book.n_revisions == before and campaign.n_asked else revisions).append(took)
        campaign.tell(question.id, int(y[question.row]))
    result = campaign.result()
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    unit = (unit + one_pass(dataset.X)) / 2
    return {
        "answers": result.n_asked,
        "passes": round(seconds / unit),
        "seconds": round(clock, 1),
        "peak MB": round(peak_mb()),
        "ask, median ms": round(1e3 * float(np.median(asks)), 2),
        "ask, p99 ms": round(1e3 * float(np.quantile(asks, 0.99)), 2),
        "revisions": len(revisions),
        "revision, longest s": round(max(revisions), 1),
    }


def main() -> None:
    jobs = [{"data": "mnist", "target": 0.95, "seed": seed} for seed in range(3)]
    write_table(Path(__file__).with_name("README.md"), "certified", run(__file__, one, jobs))


if __name__ == "__main__":
    main()
