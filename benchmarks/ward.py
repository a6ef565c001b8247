"""HSAL on a Ward tree: share of right labels after so many answers, and the time a question takes.

    python benchmarks/ward.py

What there is to beat, a public HSAL on MNIST rows reduced to 50 principal components: 85 / 89 / 94 / 98 % right after
5 / 10 / 20 / 50 % of the answers with 5,000 rows, 90 / 93 / 95 / 98 % with 10,000, at 1-4 ms a question.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from _measure import peak_mb, run, write_table
from bela import simulate
from bela.data import load_dataset


def one(rows: int, tree: str) -> dict[str, Any]:
    """Average the accuracy over three seeds."""
    dataset = load_dataset("mnist")
    shares = (0.05, 0.1, 0.2, 0.5)
    accuracies, seconds = [], []
    for seed in (0, 1, 2):
        simulation = simulate(dataset.X[:rows], dataset.y[:rows], method="hsal", tree=tree, seed=seed)
        curve = {point.asked: point.accuracy for point in simulation.trajectory}
        asked = np.array(list(curve))
        accuracies.append([curve[asked[np.abs(asked - share * rows).argmin()]] for share in shares])
        seconds.append(simulation.seconds)
    mean = np.mean(accuracies, axis=0)
    result: dict[str, Any] = {
        f"right after {share:.0%}": f"{value:.1%}" for share, value in zip(shares, mean, strict=True)
    }
    return result | {
        "ms a question, tree included": round(1000 * float(np.mean(seconds)) / rows, 3),
        "peak MB": round(peak_mb()),
    }


def main() -> None:
    jobs = [{"rows": rows, "tree": tree} for rows in (5_000, 10_000) for tree in ("ward", "pca-kmeans")]
    write_table(
        Path(__file__).with_name("README.md"), "ward", run(__file__, one, [*jobs, {"rows": 60_000, "tree": "ward"}])
    )


if __name__ == "__main__":
    main()
