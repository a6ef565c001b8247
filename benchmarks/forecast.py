"""Can the forecasts be believed? What the ladder said, and what it took in truth.

    python benchmarks/forecast.py [--seeds 2] [--jobs 2] [--only mnist,trec] [--out docs/live]

Needs BELA_DATA. A campaign without a target is stopped after 100, 200, 400 and 800 answers, and its ladder written
down. For each rung that it expects, the same campaign goes on with that share as its target. Reported: how often the
interval held the number of answers that it took, the median ratio of its ends, and when "too early" was said. Table
and CSV go to --out, run by run.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from pathlib import Path
from typing import Any

from _measure import answer_one, in_own_processes
from live import BARS, OUT, names_of

MOMENTS = (100, 200, 400, 800)
MOST = 4000  # answers: a rung that takes longer is not followed


def one(*, data: str, seed: int) -> list[dict[str, Any]]:
    """Climb from each moment to each rung that is expected."""
    from bela.bench import load_labelled
    from bela.campaign._run import run_campaign
    from bela.features import prepare

    loaded = load_labelled(data)
    rows, labels = loaded.rows, loaded.truth
    prepared = prepare(rows, seed=seed) if not hasattr(rows, "source") else rows
    found = []
    for moment in MOMENTS:
        campaign, oracle = begin(prepared, labels, seed, moment)
        for rung in campaign.ladder:
            said: dict[str, Any] = {"data": data, "seed": seed, "moment": moment, "rung": rung.share}
            said |= {"prospect": str(rung.prospect)}
            if rung.forecast is not None and rung.forecast.answers + moment <= MOST:
                again, oracle = begin(prepared, labels, seed, moment)
                again.set_target(target=rung.share, budget=None)
                run_campaign(again, oracle, stop_after=2 * MOST, every=None)
                reached = again.certificate.lower >= rung.share
                took = again.n_asked - moment if reached else 2 * MOST
                forecast = rung.forecast
                said |= {"low": forecast.low, "answers": forecast.answers, "high": forecast.high, "took": took}
            found.append(said)
    return found


def begin(prepared: Any, labels: Any, seed: int, moment: int) -> tuple[Any, Any]:
    """Go to a moment without a target."""
    from bela import Campaign
    from bela.campaign._run import run_campaign
    from bela.oracles import TruthOracle

    campaign = Campaign(prepared, seed=seed)
    oracle = TruthOracle(labels, campaign.n_rows)
    run_campaign(campaign, oracle, stop_after=moment, every=None)
    return campaign, oracle


def summary(results: list[dict[str, Any]]) -> str:
    """Say how good the forecasts were."""
    told = [r for r in results if "took" in r]
    held = [r["low"] <= r["took"] <= r["high"] for r in told]
    ratios = [r["high"] / max(r["low"], 1) for r in told]
    early = [r["moment"] for r in results if r["prospect"].startswith("too early")]
    seeds = f"{len({r['seed'] for r in results})} of each data set below"
    lines = ["# Forecasts", "", f"Written by `python benchmarks/forecast.py`; campaigns: {seeds}.", ""]
    if told:
        said = f", last after {max(early)} answers" if early else ""
        lines += [
            f"Of {len(told)} intervals, {100 * statistics.mean(held):.0f} % held what it took; the median ratio of",
            f"their ends is {statistics.median(ratios):.2f}. 'Too early' was said {len(early)} times{said}.",
        ]
    lines += ["", "| data | intervals | held | took / said, median |", "|---|---|---|---|"]
    for data in BARS:
        here = [r for r in told if r["data"] == data]
        if here:
            share = statistics.mean(r["low"] <= r["took"] <= r["high"] for r in here)
            off = statistics.median(r["took"] / max(r["answers"], 1) for r in here)
            lines.append(f"| {data} | {len(here)} | {share:.2f} | {off:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    answer_one(one)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=names_of(BARS), default=list(BARS))
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    jobs = [{"data": data, "seed": seed} for seed in range(arguments.seeds) for data in arguments.only]
    results: list[dict[str, Any]] = []
    for _, found in in_own_processes(__file__, jobs, arguments.jobs):
        for said in found:
            print(said, flush=True)
        results += found
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "forecast.md").write_text(summary(results), encoding="utf-8")
        with (arguments.out / "forecast.csv").open("w", encoding="utf-8", newline="") as file:
            names = ["data", "seed", "moment", "rung", "prospect", "low", "answers", "high", "took"]
            writer = csv.DictWriter(file, names, restval="")
            writer.writeheader()
            writer.writerows(results)
    print(summary(results))


if __name__ == "__main__":
    main()
