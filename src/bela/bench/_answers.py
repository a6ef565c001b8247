"""Answers needed to certify a share of the labels, for every method, on all data at hand."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bela.bench._data import load_helper, load_labelled, missing
from bela.bench._figures import draw_dots
from bela.bench._memory import peak_mb
from bela.bench._pac import pac_labels
from bela.bench._parts import BenchPart, Row, Scope, table
from bela.experiments import save_figure
from bela.oracles import TruthOracle

CLAIMS = [
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
    ("home", "embedded", 0.80, 780),
    ("trec", "embedded", 0.85, 1350),
    ("photos", "embedded", 0.75, 700),
    ("photos", "embedded", 0.85, 1400),
]
"""Data, features, the share to certify, and the answers that it may take."""
ITS_OWN = ("pac-normal", "pac-betting")
"""PAC labels itself, by its own rule on predictions as they are, with either of its bounds."""
METHODS = ("bela", "margin", "random", "pac", "hsal", "plal", "bela-paper", *ITS_OWN)
TITLES = {"pac-normal": "PAC labels, normal", "pac-betting": "PAC labels, betting"}
PAC_SEEDS = 20
MOST = 5  # times the bar: whoever needs more is stopped there
_FEATURES = {
    "raw": ", raw pixels",
    "predicted": ", with predictions",
    "helped": ", with a helper",
    "embedded": ", with vectors",
}


def _jobs(scope: Scope) -> tuple[list[Row], list[str]]:
    claims = [claim for claim in CLAIMS if claim[0] == "digits"] if scope.quick else CLAIMS
    left_out = {
        (data, features): missing(data, predicted=features in ("predicted", "helped"), embedded=features == "embedded")
        for data, features, *_ in claims
    }
    jobs: list[Row] = [
        {"data": data, "features": features, "target": target, "method": method, "seed": seed, "most": MOST * bar}
        for method in scope.methods or METHODS
        for data, features, target, bar in claims
        if left_out[data, features] is None
        if method == "bela"
        or ((method in ITS_OWN) == (features == "predicted") and features not in ("helped", "embedded"))
        if not (method in ITS_OWN and data == "mnist")
        for seed in range(_n_seeds(method, scope.seeds))
    ]
    return jobs, [said for said in dict.fromkeys(left_out.values()) if said]


def _n_seeds(method: str, seeds: int) -> int:
    """PAC labels takes no time, so that its mean may be one of many; what is not certified is tried once."""
    return PAC_SEEDS * min(seeds, 1) if method in ITS_OWN else seeds if method == "bela" else min(seeds, 1)


def measure_answers(*, data: str, features: str, target: float, method: str, seed: int, most: int) -> Row:
    """Run one campaign to its target, or until it has taken the most answers that are of interest."""
    from bela.campaign import simulate

    found = load_labelled(
        data, raw=features == "raw", predicted=features == "predicted", embedded=features == "embedded"
    )
    start = time.perf_counter()
    if method in ITS_OWN:
        [(labels, confidence)] = found.predictions.values()
        wrong = np.array(labels) != found.truth
        betting = method == "pac-betting"
        asked, right = pac_labels(wrong, np.array(confidence), target=target, seed=seed, betting=betting)
        row: Row = {
            "asked": asked, "training": 0, "bounds": 0, "reached": True, "lower": target, "accuracy": right,
            "violations": int(right < target),
        }  # fmt: skip
    else:
        told: dict[str, Any] = {"predictions": found.predictions} if found.predictions else {}
        if features == "helped":
            told["helper"] = TruthOracle(load_helper(data), len(found.truth))
        elif not found.predictions:
            told["budget"] = min(most, len(found.truth))
        simulation = simulate(found.rows, found.truth, method=method, target=target, seed=seed, **told)
        certificate = simulation.result.certificate
        row = {
            "asked": simulation.result.n_asked, "training": certificate.n_training, "bounds": certificate.n_bounds,
            "reached": certificate.lower >= target, "lower": certificate.lower, "accuracy": simulation.accuracy,
            "violations": simulation.n_violations,
        }  # fmt: skip
    return row | {"seconds": round(time.perf_counter() - start, 2), "peak_mb": peak_mb() or ""}


def _describe(rows: Sequence[Row]) -> list[str]:
    head = ["data", "certified share", "bar", *(TITLES.get(method, method) for method in METHODS)]
    lines = [head]
    for data, features, target, bar in CLAIMS:
        cells = [_cell(_of(rows, data, features, target, method), method) for method in METHODS]
        lines.append([data + _FEATURES.get(features, ""), f"{target:.2f}", f"{bar:,}", *cells])
    certified = [row for row in rows if row["method"] == "bela" and "error" not in row]
    wrong = sum(int(row["violations"]) > 0 for row in certified)
    return [
        "Answers until at least this share of all labels is certified right with confidence 0.95, every answer "
        "counted; the median over the seeds, with the least and the most and their number. `margin` and `random` look "
        "at their hold-out repeatedly, with alpha divided over the looks; `hsal`, `plal` and `bela-paper` stop at "
        "their own bound, which is not a guarantee. `pac` takes one look, at its default sizes. Whoever had not "
        f"reached the share with {MOST} times the bar was stopped there (>). `bela`, `margin`, `random` and `pac` see "
        "image features (unless *raw*), the others pixels. *With predictions*: the columns of data/predictions, which "
        "`bela` takes with `predictions=`. *With a helper*: one of these teaches without being believed, and its "
        "answers are not counted. *With vectors*: those of a small model of sentences or images stand beside the texts "
        "or photos, as a column. PAC labels itself decides by its own rule on the same predictions, as its "
        f"authors run it (a tenth of the rows its sample, equal confidences told apart at random): the mean of "
        f"{PAC_SEEDS} seeds. Its normal bound is an approximation, its betting bound holds for finite samples.",
        table(lines),
        f"Of {len(certified)} runs of `bela`, {wrong} had a certificate above the truth at some checkpoint; of PAC "
        f"labels, {_below(rows, 'pac-normal')} with the normal and {_below(rows, 'pac-betting')} with the betting "
        "bound ended below the share that was promised.",
    ]


def _below(rows: Sequence[Row], method: str) -> str:
    here = [row for row in rows if row["method"] == method]
    return f"{sum(int(row['violations']) > 0 for row in here)} of {len(here)}"


def _of(rows: Sequence[Row], data: str, features: str, target: float, method: str) -> list[Row]:
    place = (data, features, target, method)
    return [row for row in rows if (row["data"], row["features"], row["target"], row["method"]) == place]


def _cell(rows: Sequence[Row], method: str) -> str:
    rows = [row for row in rows if "error" not in row]
    if not rows:
        return ""
    asked = sorted(int(row["asked"]) for row in rows)
    middle = statistics.mean(asked) if method in ITS_OWN else statistics.median(asked)
    cell = f"{round(middle):,}" if all(row["reached"] for row in rows) else f"> {round(middle):,}"
    return cell if len(asked) == 1 else f"**{cell}** ({asked[0]:,}-{asked[-1]:,}, {len(asked)} seeds)"


def _draw(rows: Sequence[Row], folder: Path) -> list[str]:
    """Draw how many answers each method takes, as a multiple of the fewest."""
    groups = {}
    for data, features, target, _ in CLAIMS:
        values = {}
        for method in METHODS:
            if here := [row for row in _of(rows, data, features, target, method) if "error" not in row]:
                reached = all(row["reached"] for row in here)
                values[TITLES.get(method, method)] = statistics.median(int(row["asked"]) for row in here), reached
        if values:
            groups[f"{data}{_FEATURES.get(features, '')}, {target:.2f}"] = values
    if not groups:
        return []
    save_figure(
        draw_dots(groups, x="answers until the share is certified (hollow: not reached)"), folder / "answers.svg"
    )
    return ["answers.svg"]


ANSWERS = BenchPart(
    name="answers", title="Answers needed, method by method", key=("data", "features", "target", "method", "seed"),
    jobs=_jobs, measure=measure_answers, describe=_describe, draw=_draw,
    is_instant=lambda job: job["method"] in ITS_OWN,
)  # fmt: skip
