"""How cost grows with the number of rows: made rows on disk, a fixed number of answers."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from pathlib import Path

from bela.bench._data import MADE_CLASSES, MADE_FEATURES, lacks_room, made_rows
from bela.bench._figures import draw_powers
from bela.bench._measure import share_right, time_campaign, wide_pass
from bela.bench._memory import OwnMemory, peak_mb
from bela.bench._parts import BenchPart, Row, Scope, table
from bela.campaign import Campaign
from bela.experiments import save_figure
from bela.shares import round_bound

_ANSWERS = 1000
_LEAST = 10_000
_PEAK, _OWN = {"peak_mb": "peak MB"}, {"own_mb": "MB beside the page cache"}


def _jobs(scope: Scope) -> tuple[list[Row], list[str]]:
    least, most = (1_000, min(10_000, scope.most_rows)) if scope.quick else (_LEAST, scope.most_rows)
    sizes = [10**power for power in range(20) if least <= 10**power <= most]
    left_out = {n: lacks_room(n) for n in sizes if scope.seeds}
    answers = 100 if scope.quick else _ANSWERS
    jobs: list[Row] = [
        {"n_rows": n, "answers": answers, "seed": seed}
        for n, why in left_out.items()
        if why is None
        for seed in range(scope.seeds)
    ]
    return jobs, [why for why in left_out.values() if why]


def measure_growth(*, n_rows: int, answers: int, seed: int) -> Row:
    """Answer so many questions about so many rows of a memory map."""
    found = made_rows(n_rows)
    import sklearn.cluster  # noqa: F401 - what is imported once a process is no part of the method's cost

    before, memory = peak_mb(), OwnMemory()
    start, clock = time.process_time(), time.perf_counter()
    campaign = Campaign(found.rows, seed=seed)
    timed = time_campaign(campaign, found.truth, stop_after=answers)
    right = share_right(campaign, found.truth)
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    after, own = peak_mb(), memory.close()
    return {
        "right": right, "lower": float(campaign.certificate.lower), "processor_s": round(seconds, 1),
        "seconds": round(clock, 1), "passes": round(seconds / wide_pass(found.rows), 1),  # type: ignore[arg-type]
        "base_mb": before or "", "peak_mb": after or "", "own_mb": own or "", **timed.to_row(),
    }  # fmt: skip


def exponent(rows: Sequence[Row], column: str) -> float | None:
    """Return by which power of the number of rows a column grows: least squares on logarithms."""
    points = [(math.log(float(row["n_rows"])), math.log(float(row[column]))) for row in rows if row.get(column)]
    if len({x for x, _ in points}) < 2:
        return None
    x_mean, y_mean = (sum(side) / len(points) for side in zip(*points, strict=True))
    slope = sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x, _ in points)
    return float(slope)


def _growing(rows: Sequence[Row]) -> dict[str, str]:
    """Return the columns that grow, by their titles; tables of earlier versions do not tell whose memory it is."""
    memory = _OWN if all("own_mb" in row for row in rows) else _PEAK
    return {"processor_s": "processor seconds", **memory, "ask_p99_ms": "ask p99, ms"}


def _describe(rows: Sequence[Row]) -> list[str]:
    rows = sorted((row for row in rows if "error" not in row), key=lambda row: (row["answers"], row["n_rows"]))
    is_told = any("own_mb" in row for row in rows)
    memory = ["peak MB", *(["beside the page cache"] if is_told else [])]
    head = ["rows", "answers", "seed", "processor s", "seconds", "wide passes"]
    lines = [[*head, *memory, "ask p50 ms", "p99", "tell p99 ms", "right", "certified"]]
    lines += [
        [
            f"{row['n_rows']:,}", f"{row['answers']:,}", str(row["seed"]), f"{row['processor_s']:,}",
            f"{row['seconds']:,}", f"{row['passes']:,}", f"{row.get('peak_mb', 0):,.0f}",
            *([f"{row['own_mb']:,.0f}" if "own_mb" in row else ""] if is_told else []), f"{row['ask_p50_ms']:.2f}",
            f"{row['ask_p99_ms']:.2f}", f"{row['tell_p99_ms']:.2f}", f"{row['right']:.3f}",
            str(round_bound(float(row["lower"]), 3)),
        ]
        for row in rows
    ]  # fmt: skip
    above = sum(float(row["lower"]) > float(row["right"]) for row in rows)
    wrong = f" {above} of {len(rows)} runs ended with a certificate above the truth, as 1 in 20 may." if above else ""
    told = []
    for answers in sorted({int(row["answers"]) for row in rows}):
        here = [row for row in rows if row["answers"] == answers]
        for least, most in [*_steps(here), _ends(here)]:
            part = [row for row in here if least <= int(row["n_rows"]) <= most]
            powers = [(title, exponent(part, column)) for column, title in _growing(rows).items()]
            words = ", ".join(f"{title} n^{power:.2f}" for title, power in powers if power is not None)
            told.append(f"- {least:,} to {most:,} rows, {answers:,} answers: {words}" if words else "")
    return [
        f"Made rows of {MADE_FEATURES} float32 in a memory map, {MADE_CLASSES} classes of three overlapping Gaussian "
        "clusters each, the method `bela` without target or budget, through the public interface, one process with one "
        "thread. A *wide pass* is `X @ W` with W of 500 float32 columns, block by block, processor seconds. *Peak MB* "
        "is resident memory with all pages of the map that were read, which the system takes back when it wants the "
        f"room{'; what is *beside the page cache* is not in any file' if is_told else ''}.{wrong}",
        table(lines, n_words=0),
        "\n".join(line for line in dict.fromkeys(told) if line),
    ]


def _steps(rows: Sequence[Row]) -> list[tuple[int, int]]:
    sizes = sorted({int(row["n_rows"]) for row in rows})
    return list(itertools.pairwise(sizes))


def _ends(rows: Sequence[Row]) -> tuple[int, int]:
    sizes = [int(row["n_rows"]) for row in rows]
    return min(sizes), max(sizes)


def _draw(rows: Sequence[Row], folder: Path) -> list[str]:
    lines = {
        title: sorted((float(row["n_rows"]), float(row[column])) for row in rows if row.get(column))
        for column, title in _growing(rows).items()
    }
    if not any(lines.values()):
        return []
    save_figure(draw_powers(lines, x="rows"), folder / "growth.svg")
    return ["growth.svg"]


GROWTH = BenchPart(
    name="growth", title="Growth with the number of rows", key=("n_rows", "answers", "seed"),
    jobs=_jobs, measure=measure_growth, describe=_describe, draw=_draw,
)  # fmt: skip
