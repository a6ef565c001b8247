"""What a campaign to its target costs: passes over the data, how long a question and an answer take, memory."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from bela.bench._data import load_features, load_labelled, missing
from bela.bench._measure import one_pass, share_right, time_campaign
from bela.bench._memory import peak_mb
from bela.bench._parts import BenchPart, Row, Scope, table
from bela.campaign import Campaign
from bela.records import FloatArray

_TARGETS = {"mnist": 0.95, "fashion-mnist": 0.85, "trec": 0.70, "photos-efficientnet": 0.75, "digits": 0.90}


def _jobs(scope: Scope) -> tuple[list[Row], list[str]]:
    names = ["digits"] if scope.quick else list(_TARGETS)
    left_out = {name: missing(name) for name in names}
    jobs: list[Row] = [
        {"data": name, "target": _TARGETS[name], "seed": seed}
        for name in names
        if left_out[name] is None
        for seed in range(scope.seeds)
    ]
    return jobs, [said for said in left_out.values() if said]


def measure_cost(*, data: str, target: float, seed: int) -> Row:
    """Run one campaign to its target and time its parts."""
    found = load_labelled(data)
    X = _numbers(data, found.rows)
    unit = one_pass(X)
    import sklearn.cluster  # noqa: F401 - what is imported once a process is no part of the method's cost

    start, clock = time.process_time(), time.perf_counter()
    campaign = Campaign(found.rows, target=target, seed=seed)
    timed = time_campaign(campaign, found.truth)
    campaign.result()
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    unit = (unit + one_pass(X)) / 2  # before and after, as other processes come and go
    return {
        "n_rows": len(found.truth), "answers": campaign.n_asked, "right": share_right(campaign, found.truth),
        "passes": round(seconds / unit), "seconds": round(clock, 1), "processor_s": round(seconds, 1),
        "peak_mb": peak_mb() or "", **timed.to_row(),
    }  # fmt: skip


def _numbers(data: str, rows: object) -> FloatArray:
    """Return what a pass goes over: the numbers that the data are, or those that are made of them."""
    return rows.reshape(len(rows), -1) if isinstance(rows, np.ndarray) else load_features(data)


def _describe(rows: Sequence[Row]) -> list[str]:
    head = (
        "data, target, rows, seed, answers, passes, seconds, peak MB, ask p50 ms, p99, tell p50 ms, p99, revisions, "
        "longest s"
    )
    lines = [head.split(", ")]
    lines += [
        [
            str(row["data"]), f"{row['target']:.2f}", f"{row['n_rows']:,}", str(row["seed"]), f"{row['answers']:,}",
            f"{row['passes']:,}", f"{row['seconds']:,}", f"{row.get('peak_mb', 0):,.0f}",
            *(f"{row[name]:.2f}" for name in ("ask_p50_ms", "ask_p99_ms", "tell_p50_ms", "tell_p99_ms")),
            str(row["revisions"]), f"{row['revision_longest_s']:.1f}",
        ]
        for row in rows if "error" not in row
    ]  # fmt: skip
    return [
        "The method `bela` from the data as they come to the share that is to be certified, features and neighbour "
        "graph included, one question at a time, in memory (on disk an answer is also synced, which takes what the "
        "disk takes). A *pass* is `X @ W` with the same float32 numbers and a W of ten columns, one thread, median of "
        "20, timed in the same process; passes and milliseconds are of the processor, as others use the machine too, "
        "seconds are of the clock. A question that makes a revision is counted with the revisions.",
        table(lines),
    ]


COST = BenchPart(
    name="cost", title="What a campaign costs", key=("data", "target", "seed"),
    jobs=_jobs, measure=measure_cost, describe=_describe, draw=lambda rows, folder: [],
)  # fmt: skip
