"""Side by side with other programs: the share of all rows that is right after so many answers, time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from bela.bench._data import load_features, load_labelled, missing
from bela.bench._environments import NotInstalled, make_environment, peer_file, peer_names
from bela.bench._measure import memory_gb, time_campaign
from bela.bench._memory import peak_mb
from bela.bench._pac import pac_for_budget
from bela.bench._parts import ONE_THREAD, BenchPart, Row, Scope
from bela.bench._peers_told import MARKS, describe_peers, draw_peers
from bela.bench.peers import _loop
from bela.campaign import Campaign
from bela.data import cache_folder
from bela.records import AnyArray, IntArray, Role

SIZES = (10_000, 20_000, 200_000)
"""Made rows on which memory is measured, to say how many a program can hold."""
_DATA = ("mnist", "fashion-mnist", "trec", "photos")
_FEW = 20  # answers, where only memory is of interest
_LIMIT_S = 150  # of the processor, for one peer and one dataset: a thousand answers of all but one or two take less
_PATIENCE = 30  # times as long, of the clock: others use the machine too
_MEMORY_SHARE = 0.35  # of the machine's, for a peer: others use it too


def _jobs(scope: Scope) -> tuple[list[Row], list[str]]:
    data = ["digits"] if scope.quick else list(_DATA)
    marks, limit = (MARKS[1], 60) if scope.quick else (MARKS[-1], _LIMIT_S)
    left_out = {name: missing(name) for name in data}
    who = scope.methods or ("bela", "pac", *peer_names())
    jobs: list[Row] = [
        {"data": name, "peer": peer, "seed": seed, "answers": marks, "limit_s": limit}
        for seed in range(scope.seeds)
        for name in sorted(data, key=lambda name: name in ("mnist", "fashion-mnist"))  # the small ones first
        if left_out[name] is None
        for peer in who
    ]
    if not scope.quick and scope.seeds:
        jobs += [
            {"data": f"made-{n}", "peer": peer, "seed": 0, "answers": _FEW, "limit_s": limit}
            for n in SIZES
            for peer in who
            if peer != "pac"
        ]
    return jobs, [said for said in left_out.values() if said]


def measure_peer(*, data: str, peer: str, seed: int, answers: int, limit_s: float) -> Row:
    """Have one program answer so many questions about one dataset, or for as long as it may take."""
    marks = [mark for mark in MARKS if mark <= answers] or [answers]
    if peer == "bela":
        return _measure_bela(data, seed, marks)
    if peer == "pac":
        return _measure_pac(data, seed, marks)
    try:
        python, version = make_environment(peer)
    except NotInstalled as error:
        return {"error": f"not installed: {error}"}
    return {"version": version} | _measure_program(peer, python, data, seed=seed, marks=marks, limit_s=limit_s)


def _measure_bela(data: str, seed: int, marks: list[int]) -> Row:
    found = load_labelled(data)
    base, start = peak_mb(), time.process_time()
    campaign = Campaign(found.rows, seed=seed)
    timed = time_campaign(campaign, found.truth, stop_after=marks[-1], marks=marks)
    row: Row = {
        "n_rows": len(found.truth),
        "asked": campaign.n_asked,
        "base_mb": base or "",
        "peak_mb": peak_mb() or "",
    }
    for mark, (right, lower) in timed.points.items():
        row |= {f"right_{mark}": right, f"lower_{mark}": lower}
    row |= {"draws": campaign.book.n_answers[Role.BOUNDS], "seconds": round(time.process_time() - start, 2)}
    row |= {"revisions": len(timed.revisions), "revisions_s": round(sum(timed.revisions), 2)}
    asked = campaign.book.questions
    rows, drawn = np.array([one.row for one in asked]), [one.role is Role.BOUNDS for one in asked]
    for mark in timed.points:
        row |= {f"drawn_{mark}": sum(drawn[:mark]), f"same_fit_{mark}": _fit_as_others(data, rows[:mark])}
    return row


def _fit_as_others(data: str, rows: IntArray) -> float:
    """Return the share that is right if the classifier of other programs learns from all answers about these rows."""
    from sklearn.linear_model import LogisticRegression

    with np.load(_features_file(data)) as file:
        X, y = file["X"], file["y"]
    if len(np.unique(y[rows])) < 2:
        return float((y == y[rows[0]]).mean())
    said = LogisticRegression(C=10.0, max_iter=200).fit(X[rows], y[rows]).predict(X)
    said[rows] = y[rows]
    return float((said == y).mean())


def _measure_pac(data: str, seed: int, marks: list[int]) -> Row:
    X, truth = load_features(data), _codes(load_labelled(data).truth)
    base, start = peak_mb(), time.process_time()
    points = pac_for_budget(X, truth, marks, seed=seed)
    row: Row = {"n_rows": len(truth), "asked": marks[-1], "base_mb": base or "", "peak_mb": peak_mb() or ""}
    for mark, (right, lower) in points.items():
        row |= {f"right_{mark}": right, f"lower_{mark}": lower}
    return row | {"seconds": round(time.process_time() - start, 2)}


def _measure_program(peer: str, python: Path, data: str, *, seed: int, marks: list[int], limit_s: float) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.jsonl"
        job = {
            "peer": str(peer_file(peer)), "memory": str(Path(__file__).with_name("_memory.py")),
            "data": str(_features_file(data)), "out": str(out), "marks": marks, "limit": limit_s, "seed": seed,
            "most_mb": 1e3 * _MEMORY_SHARE * (memory_gb() or 8),
        }  # fmt: skip
        outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        # -P: the files of peers are called as the packages are, and must not be taken for them
        command = [str(python), "-P", str(_loop.__file__), json.dumps(job)]
        said, failed = "", ""
        try:
            done = subprocess.run(
                command, env=outside | ONE_THREAD, capture_output=True, text=True, check=False,
                timeout=_PATIENCE * limit_s + 60,
            )  # fmt: skip
            if done.returncode:
                said = ([line for line in done.stderr.splitlines() if line.strip()] or [f"status {done.returncode}"])[
                    -1
                ]
        except subprocess.TimeoutExpired:
            failed = f"ended after {_PATIENCE * limit_s + 60:.0f} s of the clock"
        lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []
    row: Row = {"n_rows": _n_rows(data)}
    for line in lines:
        row |= {name: line[name] for name in ("asked", "base_mb", "peak_mb") if line.get(name) is not None}
        if "seconds" in line:
            row["seconds"] = round(line["seconds"], 2)
        if "mark" in line:
            row[f"right_{line['mark']}"] = line["right"]
        elif "right" in line:
            row |= {"right_end": line["right"], "stopped": line["stopped"]}
        if "error" in line:
            said = line["error"]
    # What the clock has ended is tried again the next time; what a program says of itself stands.
    return row | ({"error": failed} if failed else {"said": said[:300]} if said else {})


def _features_file(data: str) -> Path:
    """Return a file with what BELA makes of the rows, and the codes of their labels, for other programs; made once."""
    path = cache_folder() / "bench" / f"features-{data}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = load_labelled(data).rows if data.startswith("made-") else load_features(data)
        part = path.with_suffix(f".{os.getpid()}.part.npz")
        np.savez(part, X=np.asarray(rows), y=_codes(load_labelled(data).truth))
        part.replace(path)
    return path


def _n_rows(data: str) -> int:
    with np.load(_features_file(data)) as file:
        return len(file["y"])


def _codes(truth: AnyArray) -> IntArray:
    return np.unique(truth, return_inverse=True)[1].astype(np.int64)


PEERS = BenchPart(
    name="peers", title="Side by side with other programs", key=("data", "peer", "seed", "answers"),
    jobs=_jobs, measure=measure_peer, describe=describe_peers, draw=draw_peers,
)  # fmt: skip
