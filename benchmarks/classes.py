"""Does a class target lift the weakest class? The bounds by class with one and without, after as many answers.

    python benchmarks/classes.py [--seeds 2] [--jobs 2] [--only mnist,trec] [--class-target 0.9] [--budget 1000]

Needs BELA_DATA. Confidence 0.95. Two campaigns a dataset and seed, with the same budget: one is told the class target.
Printed for each: the lowest bound of a class, the lowest share of right labels in a class in truth, how many classes
reach the target, and the certificate of all labels.
"""

from __future__ import annotations

import argparse
from typing import Any

from _measure import answer_one, in_own_processes, print_rounded
from live import BARS, names_of


def one(*, data: str, seed: int, class_target: float, budget: int, told: bool) -> dict[str, Any]:
    """Run one campaign to the end of its budget."""
    from bela import Campaign
    from bela.bench import load_labelled

    found = load_labelled(data)
    labels = found.truth
    campaign = Campaign(found.rows, budget=budget, class_target=class_target if told else None, seed=seed)
    result = campaign.run(labels)
    right = result.labels == labels
    bounds = result.by_class
    return {
        "asked": result.n_asked, "lowest": min(one.lower for one in bounds),
        "lowest in truth": min(float(right[result.labels == one.label].mean()) for one in bounds),
        "reached": sum(one.lower >= class_target for one in bounds), "classes": len(bounds),
        "lower": result.certificate.lower, "right": float(right.mean()),
        "false": any(one.lower > right[result.labels == one.label].mean() for one in bounds),
    }  # fmt: skip


def main() -> None:
    answer_one(one)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=names_of(BARS), default=["mnist"])
    parser.add_argument("--class-target", type=float, default=0.9)
    parser.add_argument("--budget", type=int, default=1000)
    arguments = parser.parse_args()
    limits = {"class_target": arguments.class_target, "budget": arguments.budget}
    jobs = [
        {"data": data, "seed": seed, "told": told, **limits}
        for data in arguments.only
        for seed in range(arguments.seeds)
        for told in (False, True)
    ]
    for job, found in in_own_processes(__file__, jobs, arguments.jobs):
        print_rounded(job | found)


if __name__ == "__main__":
    main()
