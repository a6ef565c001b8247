"""Answers needed to certify a share of the labels, for every method.

    python benchmarks/answers.py [--methods bela,margin,...] [--seeds 5] [--jobs 2] [--go-on]

Needs BELA_DATA. Confidence 0.95; every answer counts, training and bounds. Each line is a process of its own with one
thread. The table and its CSV go to docs/answers/, line by line; a run that was broken off continues with --go-on.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import time
from pathlib import Path
from typing import Any

from _measure import answer_one, in_own_processes, peak_mb, print_rounded
from _pac import pac_labels

ROWS = [
    ("mnist", "auto", 0.90, 200),
    ("mnist", "auto", 0.95, 500),
    ("mnist", "auto", 0.99, 3000),
    ("mnist", "raw", 0.95, 1500),
    ("fashion-mnist", "auto", 0.85, 1500),
    ("fashion-mnist", "auto", 0.90, 3500),
    ("digits", "auto", 0.90, 150),
    ("stance", "predicted", 0.90, 1050),
    ("stance", "predicted", 0.95, 1500),
    ("imagenetv2", "predicted", 0.90, 4700),
    ("imagenetv2", "predicted", 0.95, 5900),
    ("mnist", "predicted", 0.95, 220),
    ("mnist", "helped", 0.95, 220),
]
PREDICTED = {"stance": "Yhat (GPT4o)", "imagenetv2": "Yhat", "mnist": "svm"}  # with the confidence beside
IN_WORDS = {"raw": ", raw pixels", "predicted": ", with predictions", "helped": ", with a helper"}
HELPER = "linear"  # the column of predictions/mnist.csv that stands for somebody who helps
ITS_OWN = ("PAC labels, normal", "PAC labels, betting")  # its own rule, on predictions
METHODS = ("bela", "margin", "random", "pac", "hsal", "plal", "bela-paper", *ITS_OWN)
PAC_SEEDS = 20
MOST = 5  # times the bar: whoever needs more is stopped there
OUT = Path(__file__).parent.parent / "docs" / "answers"


def predicted(data: str) -> dict[str, Any]:
    """Return rows with predictions, what is true of them, and the columns that are no features."""
    from bela.campaign import find_predictions
    from bela.data import column_labels, load_dataset, open_table
    from bela.features import prepare

    table = open_table(Path(os.environ["BELA_DATA"]) / "predictions" / f"{data}.csv")
    score = "svm_score" if data == "mnist" else "confidence"
    predictions = find_predictions(table, [f"{PREDICTED[data]}:{score}"]).read(table)
    if data == "mnist":
        dataset = load_dataset(data)
        return {"rows": dataset.images, "truth": dataset.y, "predictions": predictions}
    rows = prepare(table, exclude=["Y", PREDICTED[data], score], needed=False)
    return {"rows": rows, "truth": list(column_labels(table, "Y").values()), "predictions": predictions}


def by_its_own_rule(data: str, method: str, target: float, seed: int) -> dict[str, Any]:
    """Run PAC labels on predictions."""
    import numpy as np

    start, found = time.perf_counter(), predicted(data)
    [(labels, confidence)] = found["predictions"].values()
    wrong = np.array(labels) != np.array(found["truth"])
    betting = method == ITS_OWN[1]
    asked, right = pac_labels(wrong, np.array(confidence), target=target, seed=seed, betting=betting)
    return {
        "asked": asked, "training": 0, "bounds": 0, "reached": True, "lower": target, "accuracy": right,
        "violations": int(right < target), "seconds": time.perf_counter() - start, "peak_mb": peak_mb(),
    }  # fmt: skip


def with_a_helper(data: str, target: float, seed: int) -> dict[str, Any]:
    """Run a campaign with a helper by the command that everybody uses."""
    import json
    import subprocess
    import sys
    import tempfile

    import numpy as np

    from bela.data import column_labels, open_table

    table = open_table(Path(os.environ["BELA_DATA"]) / "predictions" / f"{data}.csv")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "helper.npy"
        np.save(file, np.array(list(column_labels(table, HELPER).values())))
        command = [sys.executable, "-m", "bela", "simulate", data, "--target", str(target), "--seed", str(seed)]
        command += ["--helper", f"truth={file}", "--json", "-"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    certificate = found["certificate"]
    return {
        "asked": found["n_asked"], "training": 0, "bounds": 0,
        "reached": certificate["lower"] >= target, "lower": certificate["lower"], "accuracy": found["accuracy"],
        "violations": sum(point["lower"] > point["accuracy"] + 1e-12 for point in found["trajectory"]),
        "seconds": found["seconds"], "peak_mb": found["peak_rss_mb"],
    }  # fmt: skip


def one(*, data: str, features: str, target: float, method: str, seed: int, most: int) -> dict[str, Any]:
    """Run one campaign to its target, or until it has taken the most answers that are of interest."""
    from bela import simulate
    from bela.data import load_dataset

    if method in ITS_OWN:
        return by_its_own_rule(data, method, target, seed)
    if features == "helped":
        return with_a_helper(data, target, seed)
    more: dict[str, Any] = {}
    if features == "predicted":
        found = predicted(data)
        X, y, more = found["rows"], found["truth"], {"predictions": found["predictions"]}
    else:
        dataset = load_dataset(data)
        X, y = dataset.images if features == "auto" else dataset.X, dataset.y
        more = {"budget": min(most, len(y))}
    start = time.perf_counter()
    simulation = simulate(X, y, method=method, target=target, seed=seed, **more)
    result = simulation.result
    return {
        "asked": result.n_asked,
        "training": result.certificate.n_training,
        "bounds": result.certificate.n_bounds,
        "reached": result.certificate.lower >= target,
        "lower": result.certificate.lower,
        "accuracy": simulation.accuracy,
        "violations": simulation.n_violations,
        "seconds": time.perf_counter() - start,
        "peak_mb": peak_mb(),
    }


def table(results: list[dict[str, Any]]) -> str:
    """Write what was measured as a page."""
    lines = [
        "# Answers needed, method by method",
        "",
        "Written by `python benchmarks/answers.py`. Answers until at least this share of all labels is certified",
        "right with confidence 0.95, every answer counted; for `bela` the median over seeds 0-4, with the least",
        "and the most, for the others seed 0. `margin` and `random` look at their hold-out repeatedly, with alpha",
        "divided over the looks; `hsal`, `plal` and `bela-paper` stop at their own bound, which is no guarantee.",
        f"`pac` takes one look, at its default sizes. Whoever had not reached the share with {MOST} times the bar was",
        "stopped there (>). `bela`, `margin`, `random` and `pac` see image features",
        "(unless *raw*), the others pixels. *With predictions*: the columns of data/predictions. *With a helper*: one",
        "of these teaches without being believed, and is not counted. PAC labels itself, by",
        f"its own rule on the same predictions (a tenth of the rows its sample), has the mean of {PAC_SEEDS} seeds.",
        "",
        "| data | certified share | bar | " + " | ".join(METHODS) + " |",
        "|---|---|---|" + "---|" * len(METHODS),
    ]
    for data, features, target, bar in ROWS:
        cells = []
        for method in METHODS:
            here = [
                r for r in results
                if (r["data"], r["features"], r["target"], r["method"]) == (data, features, target, method)
            ]  # fmt: skip
            if not here:
                cells.append("")
                continue
            asked = sorted(r["asked"] for r in here)
            middle = statistics.mean(asked) if method in ITS_OWN else statistics.median(asked)
            cell = f"{round(middle):,}"
            if not all(r["reached"] for r in here):
                cell = f"> {cell}"
            if len(asked) > 1:
                seeds = "" if len(asked) in (5, PAC_SEEDS) else f", {len(asked)} seeds"
                cell = f"**{cell}** ({asked[0]:,}-{asked[-1]:,}{seeds})"
            cells.append(cell)
        name = data + IN_WORDS.get(features, "")
        lines.append(f"| {name} | {target:.2f} | {bar:,} | " + " | ".join(cells) + " |")
    certified = [r for r in results if r["method"] == "bela"]
    wrong = sum(r["violations"] > 0 for r in certified)
    lines += ["", f"Of {len(certified)} runs of `bela`, {wrong} had a certificate above the truth at some checkpoint."]
    return "\n".join(lines) + "\n"


def main() -> None:
    answer_one(one)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--go-on", action="store_true", help="measure what is missing only")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    jobs = [
        {"data": data, "features": features, "target": target, "method": method, "seed": seed, "most": MOST * bar}
        for method in methods
        for data, features, target, bar in ROWS
        if method == "bela" or ((method in ITS_OWN) == (features == "predicted") and features != "helped")
        if not (method in ITS_OWN and data == "mnist")
        for seed in range(PAC_SEEDS if method in ITS_OWN else arguments.seeds if method == "bela" else 1)
    ]
    results = [r for r in _read() if arguments.go_on or r["method"] not in methods]
    there = {_place(result) for result in results}
    jobs = [job for job in jobs if _place(job) not in there]
    for job, found in in_own_processes(__file__, jobs, arguments.jobs):
        results.append(job | found)
        print_rounded(results[-1])
        _write(sorted(results, key=_place))


def _place(job: dict[str, Any]) -> tuple[int, int, int]:
    """Where a job stands in the table: method, row, seed."""
    rows = [row[:3] for row in ROWS]
    return METHODS.index(job["method"]), rows.index((job["data"], job["features"], job["target"])), job["seed"]


def _read() -> list[dict[str, Any]]:
    path = OUT / "answers.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [_typed(row) for row in csv.DictReader(file)]


def _write(results: list[dict[str, Any]]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(results[-1]), restval="")
        writer.writeheader()
        writer.writerows(results)
    (OUT / "README.md").write_text(table(results), encoding="utf-8")


def _typed(row: dict[str, str]) -> dict[str, Any]:
    whole = {"seed", "asked", "training", "bounds", "violations", "most"}
    words = {"data", "features", "method"}
    return {
        key: value
        if key in words
        else int(value)
        if key in whole
        else value == "True"
        if key == "reached"
        else float(value)
        for key, value in row.items()
    }


if __name__ == "__main__":
    main()
