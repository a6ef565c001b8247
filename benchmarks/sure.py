"""How many rows are sure? The rows of which at least 99 % are certified right when a budget is used up.

    python benchmarks/sure.py [--seeds 3] [--jobs 2] [--only mnist,trec] [--budget 3000] [--share 0.99]

Needs BELA_DATA. Confidence 0.95, the method `bela`. The bar is 80 % of the rows of MNIST at 99 %, with a budget of
3,000. Printed for each: the share of rows that is claimed, and the share of these that is right in truth.
"""

from __future__ import annotations

import argparse
from typing import Any

from _measure import answer_one, in_own_processes, print_rounded
from live import BARS, names_of


def one(*, data: str, seed: int, budget: int, share: float) -> dict[str, Any]:
    """Run one campaign to the end of its budget."""
    from bela import Campaign
    from bela.bench import load_labelled

    found = load_labelled(data)
    campaign = Campaign(found.rows, budget=budget, seed=seed)
    result = campaign.run(found.truth)
    part = campaign.sure(share)
    if part is None:
        return {"sure": 0.0}
    right = (result.labels == found.truth)[part.rows]
    return {
        "sure": float(part.rows.mean()), "right of them": float(right.mean()), "false": bool(right.mean() < share),
        "lower": result.certificate.lower, "right": float((result.labels == found.truth).mean()),
    }  # fmt: skip


def main() -> None:
    answer_one(one)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=names_of(BARS), default=["mnist"])
    parser.add_argument("--budget", type=int, default=3000)
    parser.add_argument("--share", type=float, default=0.99)
    arguments = parser.parse_args()
    jobs = [
        {"data": data, "seed": seed, "budget": arguments.budget, "share": arguments.share}
        for data in arguments.only
        for seed in range(arguments.seeds)
    ]
    for job, found in in_own_processes(__file__, jobs, arguments.jobs):
        print_rounded(job | found)


if __name__ == "__main__":
    main()
