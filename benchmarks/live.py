"""What is certified on the way: after 100, 200, 400 and 800 answers, and with a budget of 800.

    python benchmarks/live.py [--seeds 10] [--jobs 2] [--go-on] [--only mnist,trec] [--modes live,budget]

Needs BELA_DATA. Confidence 0.95, the method `bela`. *live* has neither target nor budget and is stopped after 800
answers without being told; *budget* is told of 800 answers at the start; *beyond* is told of 800 answers and a target
of 0.995. Each run is a process of its own with one thread. Table and CSV go to docs/live/, run by run.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from _measure import answer_one, in_own_processes, peak_mb, print_rounded

MARKS = (100, 200, 400, 800)
BARS = {
    "mnist": (0.84, 0.90, 0.92, 0.94),
    "fashion-mnist": (0.55, 0.68, 0.73, 0.79),
    "trec": (0.25, 0.38, 0.54, 0.70),
    "home-minilm": (0.30, 0.50, 0.67, 0.74),
    "photos-efficientnet": (0.33, 0.45, 0.58, 0.69),
    "photos": (0.05, 0.20, 0.33, 0.46),
}
MODES = {
    "live": {"stop_after": 800},
    "budget": {"budget": 800},
    "beyond": {"budget": 800, "target": 0.995},
}
OUT = Path(__file__).parent.parent / "docs" / "live"


def names_of(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what an option makes of names with commas between them, each of which must be one of the choices."""
    known = list(choices)

    def split(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {name!r}: there are {', '.join(known)}")
        return names

    return split


def one(*, data: str, mode: str, seed: int) -> dict[str, Any]:
    """Run one campaign."""
    from bela import simulate
    from bela.bench import load_labelled

    found = load_labelled(data)
    start = time.process_time()
    simulation = simulate(found.rows, found.truth, seed=seed, **MODES[mode])
    points = {point.asked: point for point in simulation.trajectory}
    values: dict[str, Any] = {f"lower {mark}": points[mark].lower for mark in MARKS if mark in points}
    values |= {f"right {mark}": points[mark].accuracy for mark in MARKS if mark in points}
    seconds = time.process_time() - start
    return values | {"violations": simulation.n_violations, "seconds": seconds, "peak_mb": peak_mb()}


def table(results: list[dict[str, Any]]) -> str:
    """Write what was measured as a page."""
    lines = [
        "# What is certified on the way",
        "",
        "Written by `python benchmarks/live.py`. The share of labels that is certified right with confidence 0.95,",
        "median over the seeds, with the share that is right in truth in brackets. Without a target and without a",
        "budget, the method not being told when it is stopped; in the last columns, told of 800 answers, and of 800",
        "answers and a target (0.995) that is out of reach.",
        "",
        "| data | seeds | " + " | ".join(f"after {mark}" for mark in MARKS) + " | budget 800 | and a far target |",
        "|---|---|" + "---|" * (len(MARKS) + 2),
    ]
    for data in BARS:
        here = {mode: [r for r in results if (r["data"], r["mode"]) == (data, mode)] for mode in MODES}
        cells = [_cell(here["live"], mark) for mark in MARKS] + [_cell(here[m], 800) for m in ("budget", "beyond")]
        lines.append(f"| {data} | {len(here['live'])} | " + " | ".join(cells) + " |")
    wrong = sum(r["violations"] > 0 for r in results)
    lines += ["", f"Of {len(results)} runs, {wrong} had a certificate above the truth at some checkpoint."]
    return "\n".join(lines) + "\n"


def _cell(results: list[dict[str, Any]], mark: int) -> str:
    values = [(r[f"lower {mark}"], r[f"right {mark}"]) for r in results if f"lower {mark}" in r]
    if not values:
        return ""
    lower, right = (statistics.median(side) for side in zip(*values, strict=True))
    return f"{lower:.3f} ({right:.3f})"


def main() -> None:
    answer_one(one)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=names_of(BARS), default=list(BARS))
    parser.add_argument("--modes", type=names_of(MODES), default=list(MODES))
    parser.add_argument("--go-on", action="store_true", help="measure what is missing only")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    jobs = [
        {"data": data, "mode": mode, "seed": seed}
        for seed in range(arguments.seeds)
        for data in arguments.only
        for mode in arguments.modes
    ]
    results = _read(arguments.out) if arguments.go_on else []
    there = {(r["data"], r["mode"], r["seed"]) for r in results}
    jobs = [job for job in jobs if tuple(job.values()) not in there]
    for job, found in in_own_processes(__file__, jobs, arguments.jobs):
        results.append(job | found)
        print_rounded(results[-1])
        _write(arguments.out, results)
    print(table(results))


def _read(out: Path) -> list[dict[str, Any]]:
    path = out / "live.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [
            {k: v if k in ("data", "mode") else int(v) if k == "seed" else float(v) for k, v in row.items() if v}
            for row in csv.DictReader(file)
        ]


def _write(out: Path, results: list[dict[str, Any]]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    names = ["data", "mode", "seed", *(f"{what} {mark}" for what in ("lower", "right") for mark in MARKS)]
    with (out / "live.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*names, "violations", "seconds", "peak_mb"], restval="")
        writer.writeheader()
        writer.writerows(results)
    (out / "README.md").write_text(table(results), encoding="utf-8")


if __name__ == "__main__":
    main()
