"""What came of putting BELA beside other programs, in words, tables and a figure; where they win, it is said."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from bela.bench._environments import load_peer, peer_names
from bela.bench._figures import draw_shares
from bela.bench._parts import Row, table
from bela.experiments import save_figure
from bela.shares import round_bound

MARKS = (50, 100, 200, 500, 1000)
"""After how many answers programs are compared."""
_LAPTOP_GB = 16
_NOISE = 0.002  # of all rows: a difference that another seed may turn round
_MADE = "made-"
_WHY_RIGHT = (
    "Why: uncertainty sampling spends every answer on learning. BELA draws a part of its rows at random, and nothing "
    "learns from these until a release, which is what lets it say how many labels are right. What the regression of "
    "the other programs makes of all that BELA was answered (in brackets) tells two causes apart: where it has more "
    "right than BELA has, that is what holding answers back costs; what the other programs have beyond it is that rows "
    "drawn at random, and rows that BELA's own learners doubt, teach that regression less than rows which it doubts. "
    "Where it has less right than BELA has, only the second is felt: BELA makes more of the same answers than it does."
)
_WHY_FAST = (
    "Why: PAC labels fit two regressions for all answers together, and choose no row by the answer before; libact cuts "
    "a tree that is made once and fits nothing; the others fit one regression to a few hundred rows, which with some "
    "thousand rows to predict costs little. A revision of BELA fits several learners, predicts all rows by each, "
    "plans, and certifies; besides, its time alone has the way from the data to features, and a look at all labels at "
    "each number of answers."
)
_OURS = {"bela": "BELA", "pac": "PAC labels"}


def describe_peers(rows: Sequence[Row]) -> list[str]:
    """Tell everything."""
    real = [row for row in rows if not str(row["data"]).startswith(_MADE)]
    parts = [
        "The share of **all** rows that have their true label, those that were asked among them, after so many answers "
        "(median over the seeds); the best in bold. Every program but BELA is given the features that BELA makes of "
        "the data, which is more than they make by themselves, and a logistic regression (C = 10, the best of 1, 10, "
        "100 and 1,000 at 300 random answers, or next to it) fitted anew as they go, ten random rows to begin with, "
        "and a hundredth of what is known asked at once, so that a thousand answers take them 400 fits and not 990. "
        "BELA gets the data as they come, one question at a time, knows of no end, and holds back a part of its "
        "answers for its certificate, which no other program has but PAC labels. *s a question*: seconds of the "
        "processor, one thread, reading the data and the last labels not counted, the features counted for "
        "BELA alone. Each run has a limit of them (`limit_s` in the table), and what was reached until then is told."
    ]
    for data in dict.fromkeys(str(row["data"]) for row in real):
        here = [row for row in real if row["data"] == data]
        parts += [f"### {data}, {_first(here, 'n_rows'):,} rows", _table_of(here)]
    return [*parts, *_wins(real), *_programs(rows), *_held(rows)]


def _table_of(rows: Sequence[Row]) -> str:
    lines = [["", *(f"{mark:,}" for mark in MARKS), "certified at the end", "s a question", "peak MB", "remark"]]
    shares = {peer: {mark: _share(rows, peer, mark) for mark in MARKS} for peer in _peers(rows)}
    best = {mark: max((shares[peer][mark] or 0.0 for peer in shares), default=0.0) for mark in MARKS}
    for peer, of in shares.items():
        here = [row for row in rows if row["peer"] == peer]
        cells = [_mark(of[mark], best[mark]) for mark in MARKS]
        certified = [row.get(f"lower_{max((m for m in MARKS if f'lower_{m}' in row), default=0)}") for row in here]
        bound = [float(value) for value in certified if value is not None]
        costs = [float(row["seconds"]) / float(row["asked"]) for row in here if row.get("asked") and "seconds" in row]
        memory = [float(row["peak_mb"]) for row in here if row.get("peak_mb")]
        lines.append(
            [_title(peer), *cells, str(round_bound(statistics.median(bound), 3)) if bound else "",
             f"{statistics.median(costs):.3f}" if costs else "", f"{statistics.median(memory):,.0f}" if memory else "",
             _remark(here)]
        )  # fmt: skip
    return table(lines)


def _mark(value: float | None, best: float) -> str:
    return "" if value is None else f"**{value:.3f}**" if value >= best - 5e-4 else f"{value:.3f}"


def _remark(rows: Sequence[Row]) -> str:
    for row in rows:
        if "error" in row or "said" in row:
            return str(row.get("error", row.get("said"))).replace("|", "/").replace("\n", " ")
        if "stopped" in row:
            return f"stopped after {row['asked']:,} answers, {row['right_end']:.3f} right"
    return ""


def _wins(rows: Sequence[Row]) -> list[str]:
    """Say where BELA is not the best, by how much, and why."""
    lost, level, compared, slower = list[str](), list[str](), 0, list[str]()
    for data in dict.fromkeys(str(row["data"]) for row in rows):
        here = [row for row in rows if row["data"] == data]
        for mark in MARKS:
            ours = _share(here, "bela", mark)
            others = {peer: share for peer in _peers(here) if (share := _share(here, peer, mark)) is not None}
            if ours is None or len(others) < 2:
                continue
            compared += 1
            better = sorted((peer for peer in others if others[peer] > ours), key=lambda peer: -others[peer])
            if better:
                told = ", ".join(f"{_title(peer)} {others[peer]:.3f}" for peer in better)
                line = f"- {data}, {mark:,} answers: {told}; BELA {ours:.3f}{_same_fit(here, mark)}"
                (lost if others[better[0]] > ours + _NOISE else level).append(line)
        slower += _faster(here, data)
    if not compared:
        return []
    parts = ["### Where others win"]
    parts.append(f"More rows right than BELA, by more than {_NOISE:.1%}: {len(lost)} of {compared} places.")
    parts += ["\n".join(lost), _WHY_RIGHT] if lost else []
    if level:
        parts += [f"By no more than {_NOISE:.1%}, which another seed may turn round:", "\n".join(level)]
    late = [f"{_title(str(row['peer']))} on {row['data']}" for row in rows if _is_unfinished(row)]
    if late:
        parts.append(
            "Nothing is known of the places that a program did not get to, and BELA wins nothing there: "
            f"{', '.join(late)}."
        )
    parts.append("Less time a question than BELA:" + ("" if slower else " nobody."))
    return [*parts, "\n".join(slower), _WHY_FAST] if slower else parts


def _is_unfinished(row: Row) -> bool:
    return f"right_{max(mark for mark in MARKS if mark <= int(row['answers']))}" not in row


def _same_fit(rows: Sequence[Row], mark: int) -> str:
    """Say how many of BELA's answers were drawn at random, and what others would have made of all of them."""
    drawn, fit = (_share(rows, "bela", mark, what) for what in ("drawn", "same_fit"))
    if drawn is None or fit is None:
        return ""
    return f" ({drawn:,.0f} of them drawn at random; {fit:.3f} by the regression of the others from all of them)"


def _faster(rows: Sequence[Row], data: str) -> list[str]:
    costs = {}
    for row in rows:
        if row.get("asked") and "seconds" in row:
            costs[str(row["peer"])] = 1e3 * float(row["seconds"]) / float(row["asked"])
    ours = costs.pop("bela", 0.0)
    told = [f"{_title(peer)} {cost:.1f} ms" for peer, cost in sorted(costs.items(), key=_second) if cost < ours]
    if not told:
        return []
    revised = [
        f", {float(row['revisions_s']) / float(row['seconds']):.0%} of it in {row['revisions']} revisions"
        for row in rows
        if row["peer"] == "bela" and "revisions_s" in row
    ]
    return [f"- {data}: {', '.join(told)}; BELA {ours:.1f} ms{''.join(revised[:1])}"]


def _second(pair: tuple[str, float]) -> float:
    return pair[1]


def _programs(rows: Sequence[Row]) -> list[str]:
    lines = []
    for peer in _peers(rows):
        if peer not in peer_names():
            continue
        here = [row for row in rows if row["peer"] == peer]
        versions = sorted({str(row["version"]) for row in here if "version" in row})
        failed = next((str(row["error"]) for row in here if "error" in row), "")
        lines.append(f"- {_title(peer)} {', '.join(versions) or failed}: {load_peer(peer).ABOUT}")
    if any(row["peer"] == "pac" for row in rows):
        lines.append(
            "- PAC labels, by its published rule (it is not on PyPI): the predictions are those of the logistic "
            "regression from half of the answers; a quarter are its sample, the rest go to the least sure rows; each "
            "budget is a run of its own, and the certified share is by its betting bound, at confidence 0.95 each"
        )
    return ["### What was used of each", "\n".join(lines)] if lines else []


def _held(rows: Sequence[Row]) -> list[str]:
    """Say how many rows each program can hold, from its memory on made rows."""
    made = [row for row in rows if str(row["data"]).startswith(_MADE) and "error" not in row]
    if not made:
        return []
    sizes = sorted({int(row["n_rows"]) for row in made})
    lines = [["", *(f"{size:,} rows, MB" for size in sizes), "grows as", f"rows in {_LAPTOP_GB} GB"]]
    for peer in _peers(made):
        here = sorted((row for row in made if row["peer"] == peer), key=lambda row: int(row["n_rows"]))
        cells = [_memory_cell([row for row in here if row["n_rows"] == size]) for size in sizes]
        points = [(int(r["n_rows"]), float(r["peak_mb"]), float(r["base_mb"])) for r in here if _is_whole(r)]
        lines.append([_title(peer), *cells, *_extrapolate(points)])
    return [
        "### How many rows they can hold",
        "Peak memory after 20 answers about made rows of 64 float32 numbers. The last column is an extrapolation "
        "from the two largest sizes that were measured. For BELA it says too little: it learns on a sample where there "
        "are more than 200,000 rows, and what it takes then is measured with growth (`--only c`).",
        table(lines),
    ]


def _is_whole(row: Row) -> bool:
    return bool(row.get("peak_mb")) and bool(row.get("base_mb")) and "said" not in row


def _memory_cell(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    return f"{float(rows[0]['peak_mb']):,.0f}" if _is_whole(rows[0]) else str(rows[0].get("said", ""))[:60]


def _extrapolate(points: Sequence[tuple[int, float, float]]) -> tuple[str, str]:
    """Say how memory grows between the two largest sizes, and how many rows a laptop would hold."""
    if len(points) < 2:
        return "", ""
    (n, peak, base), (n_more, peak_more, base_more) = points[-2:]
    used, used_more = peak - base, peak_more - base_more
    if used <= 0 or peak_more <= peak:
        return "", ""
    power = math.log(used_more / used) / math.log(n_more / n)
    left = 1e3 * _LAPTOP_GB
    if power > 1.2:
        most = n_more * ((left - base_more) / used_more) ** (1 / power)
        return f"n^{power:.2f}", f"{float(f'{most:.2g}'):,.0f}"
    # What is there whatever the size hides the power of small sizes; what a further row takes is seen even so.
    a_row = (peak_more - peak) / (n_more - n)
    most = n_more + (left - peak_more) / a_row
    return f"{1e6 * a_row:,.0f} bytes a row", f"{float(f'{most:.2g}'):,.0f}"


def draw_peers(rows: Sequence[Row], folder: Path) -> list[str]:
    """Draw the shares right on each dataset."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    bounds: dict[str, list[tuple[float, float]]] = {}
    for data in dict.fromkeys(str(row["data"]) for row in rows if not str(row["data"]).startswith(_MADE)):
        here = [row for row in rows if row["data"] == data]
        curves = {_title(peer): _curve(here, peer, "right") for peer in _peers(here)}
        panels[data] = {name: points for name, points in curves.items() if points}
        bounds[data] = _curve(here, "bela", "lower")
    if not any(panels.values()):
        return []
    save_figure(draw_shares(panels, bound=bounds), folder / "peers.svg")
    return ["peers.svg"]


def _curve(rows: Sequence[Row], peer: str, what: str) -> list[tuple[float, float]]:
    found = [(mark, _share(rows, peer, mark, what)) for mark in MARKS]
    return [(float(mark), share) for mark, share in found if share is not None]


def _share(rows: Iterable[Row], peer: str, mark: int, what: str = "right") -> float | None:
    values = [float(row[f"{what}_{mark}"]) for row in rows if row["peer"] == peer and f"{what}_{mark}" in row]
    return statistics.median(values) if values else None


def _peers(rows: Sequence[Row]) -> list[str]:
    """Return who is in it, BELA first."""
    return sorted({str(row["peer"]) for row in rows}, key=lambda peer: (peer != "bela", peer == "pac", peer))


def _title(peer: str) -> str:
    return _OURS.get(peer) or str(load_peer(peer).PACKAGE)


def _first(rows: Sequence[Row], name: str) -> int:
    return next((int(row[name]) for row in rows if name in row), 0)
