"""Datasets bigger than memory: ten million rows to 95 %, a hundred million exported, and how the time grows.

The unit is a pass: `X @ W` for a W of 500 columns, block by block, in two threads, in the same process. The data are
made here: twenty classes of five clusters each in twelve dimensions, bent into as many columns as are wanted, with
noise; one row in a hundred or so lies where two classes overlap.

    python benchmarks/size.py target 10000000      # 64 columns of float32: 0.95 certified, in passes, with its memory
    python benchmarks/size.py predicted 10000000   # the same, with labels by a model: nine of ten right, and scores
    python benchmarks/size.py alone 10000000       # these labels and scores, and no column besides: 0.88
    python benchmarks/size.py grow 100000 1000000  # 1,000 answers each, and the exponent
    python benchmarks/size.py parquet 1000000      # 16 columns of float32 in a folder of Parquet: 200 answers
    python benchmarks/size.py arrow 1000000        # the same in a folder of Arrow files
    python benchmarks/size.py export 100000000     # 16 columns of float16: 200 answers, then Parquet
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from _measure import in_own_process, print_rounded
from bela.bench import OwnMemory
from bela.campaign import create_campaign, open_campaign
from bela.exports import export
from bela.records import AnyArray, StopReason

NAMES = np.array([f"c{code:02}" for code in range(20)])
CLASSES, STYLES, LATENT, SPREAD, NOISE = 20, 5, 12, 0.45, 0.25
BLOCK, PASS_ROWS = 1 << 16, 2_000_000


def mixture(n_rows: int, n_columns: int, seed: int = 0):
    """Yield rows in blocks, with the class of each."""
    rng = np.random.default_rng(seed)
    n_clusters = CLASSES * STYLES
    centres, ends = rng.normal(size=(n_clusters, LATENT)), np.cumsum(rng.dirichlet(np.full(n_clusters, 4.0)))
    shapes = (rng.normal(size=(n_clusters, LATENT, LATENT)) * SPREAD / np.sqrt(LATENT)).astype(np.float32)
    bend = (rng.normal(size=(LATENT, n_columns)) * 1.2 / np.sqrt(LATENT)).astype(np.float32)
    shift = (rng.normal(size=n_columns) * 0.5).astype(np.float32)
    for i, start in enumerate(range(0, n_rows, BLOCK)):
        rng = np.random.default_rng([seed, i])
        n = min(BLOCK, n_rows - start)
        cluster = np.minimum(np.searchsorted(ends, rng.random(n)), n_clusters - 1)
        place, away = centres[cluster].astype(np.float32), rng.standard_normal((n, LATENT), np.float32)
        for c in range(n_clusters):
            rows = np.flatnonzero(cluster == c)
            place[rows] += away[rows] @ shapes[c]
        X = np.tanh(place @ bend + shift) + np.float32(NOISE) * rng.standard_normal((n, n_columns), np.float32)
        yield X, (cluster % CLASSES).astype(np.int8)


def write_data(folder: Path, n_rows: int, n_columns: int, dtype: str) -> tuple[Path, AnyArray]:
    """Write the rows to a file, and return it with their classes."""
    path = folder / "rows.npy"
    X = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), (n_rows, n_columns))
    y, start = np.empty(n_rows, np.int8), 0
    for block, classes in mixture(n_rows, n_columns):
        X[start : start + len(block)], y[start : start + len(block)] = block, classes
        start += len(block)
    X.flush()
    return path, y


def write_tables(folder: Path, n_rows: int, n_columns: int, kind: str) -> Path:
    """Write the rows as a folder of tables, each a file of its own, and return the folder."""
    folder.mkdir()
    for i, (block, _) in enumerate(mixture(n_rows, n_columns)):
        table = pa.table({f"x{j}": block[:, j] for j in range(n_columns)})
        path = folder / f"part-{i:05}.{kind}"
        if kind == "parquet":
            pq.write_table(table, path)
            continue
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    return folder


def write_predictions(path: Path, y: AnyArray) -> Path:
    """Write what a model says of each row: nine of ten labels are right, more of them where its score is high."""
    schema = pa.schema([("label", pa.string()), ("score", pa.float32())])
    with pq.ParquetWriter(path, schema) as writer:
        for i, start in enumerate(range(0, len(y), 16 * BLOCK)):
            rng, truth = np.random.default_rng([1, i]), y[start : start + 16 * BLOCK]
            score = rng.random(len(truth), np.float32)
            is_right = rng.random(len(truth)) < 0.8 + 0.2 * np.sqrt(score) * 0.8
            said = np.where(is_right, truth, rng.integers(0, CLASSES, len(truth)))
            writer.write_table(pa.table({"label": pa.array(NAMES[said]), "score": score}, schema=schema))
    return path


def one_pass(path: Path) -> tuple[float, float]:
    """Return the seconds of a pass over all rows, by the clock and of the processors; the median of some.

    It is made over as many rows as are worth while. On a machine that others use as well, the clock says little.
    """
    X = np.load(path, mmap_mode="r")
    n = min(len(X), PASS_ROWS)
    W = np.random.default_rng(0).random((X.shape[1], 500), dtype=np.float32)

    def product(start: int) -> None:
        np.asarray(X[start : min(start + 8192, n)], np.float32) @ W

    seconds = []
    for _ in range(6):  # the first fetches the rows
        began = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(product, range(0, n, 8192)))
        seconds.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    clock, processors = np.median(seconds[1:], axis=0) * len(X) / n
    return float(clock), float(processors)


def answer(stored, y: AnyArray, n: int | None) -> list[tuple[float, float]]:
    """Answer until there is a reason to stop, or so many; return what each ask took that waited for no labels.

    That is seconds by the clock, and of the processor, as the clock says little where others are at work.
    """
    campaign, asks = stored.campaign, []
    while campaign.stop_reason is None and (n is None or campaign.n_asked < n):
        began, revisions = (time.perf_counter(), time.thread_time()), campaign.book.n_revisions
        questions = campaign.ask(1)
        if campaign.book.n_revisions == revisions and not campaign.revising:
            asks.append((time.perf_counter() - began[0], time.thread_time() - began[1]))
        for question in questions:
            campaign.tell(question.id, str(NAMES[y[question.row]]))
    return asks


def one(
    *, n_rows: int, n_columns: int, dtype: str, target: float | None, n: int | None, out: bool, told: str | None,
    kind: str | None,
) -> dict[str, object]:  # fmt: skip
    """Run a campaign from the first opening to the end, open it again, and perhaps export it.

    `told` is where predictions are: in a file "beside" the rows, or in one that has nothing else ("alone"). With a
    `kind`, the campaign is about a folder of tables of that kind.
    """
    with tempfile.TemporaryDirectory(prefix="bela-size-") as temporary:
        folder = Path(temporary)
        path, y = write_data(folder, n_rows, n_columns, dtype)
        before, data, predicted = one_pass(path), path, list[str]()
        if told is not None:
            file = write_predictions(folder / "model.parquet", y)
            data, predicted = (path, [f"{file}:label:score"]) if told == "beside" else (file, ["label:score"])
        if kind is not None:
            data = write_tables(folder / "rows", n_rows, n_columns, kind)
        memory = OwnMemory()
        began, began_cpu = time.perf_counter(), time.process_time()
        with create_campaign(data, folder / "rows.bela", target=target, budget=None, predicted=predicted) as stored:
            opened = time.perf_counter() - began
            asks = answer(stored, y, n)
            campaign = stored.campaign
            lower, n_asked, n_revisions = campaign.certificate.lower, campaign.n_asked, campaign.book.n_revisions
            reached = campaign.stop_reason is StopReason.TARGET
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        clock, processors = np.mean([before, one_pass(path)], axis=0)
        began, began_cpu = time.perf_counter(), time.process_time()
        with open_campaign(folder / "rows.bela") as stored:
            first_row = stored.campaign.ask(1, wait=False)
            again, again_cpu = time.perf_counter() - began, time.process_time() - began_cpu
            result = stored.campaign.result()
            blocks = range(0, n_rows, BLOCK)
            right = sum(int((result.labels[i : i + BLOCK] == NAMES[y[i : i + BLOCK]]).sum()) for i in blocks) / n_rows
            found = {
                "rows": n_rows, "answers": n_asked, "revisions": n_revisions, "lower": lower, "right": right,
                "reached": reached, "passes": seconds / clock, "passes of processors": cpu / processors,
                "seconds": seconds, "seconds a pass": clock, "processors": cpu, "processors a pass": processors,
                "opened": opened, "opened again": again,
                "of processors": again_cpu,
                "asks": len(asks), "next": len(first_row),
                "ask p50 and p99 ms": (1e3 * np.quantile(asks, [0.5, 0.99], axis=0)).round(1).tolist(),
            }  # fmt: skip
            if out:
                began = time.perf_counter()
                export(stored.records, result, folder / "labelled.parquet")
                found |= {"export": time.perf_counter() - began}
        return found | {"memory gb": (memory.close() or 0) / 1e3}


def main() -> None:
    """Measure what is asked for, each in a process of its own."""
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        print(json.dumps(one(**json.loads(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["target", "predicted", "alone", "grow", "parquet", "arrow", "export"])
    parser.add_argument("rows", type=int, nargs="+")
    chosen, results = parser.parse_args(), []
    shape = {"n_columns": 64, "dtype": "<f4", "target": None, "n": 1_000, "out": False, "told": None, "kind": None}
    if chosen.what in ("target", "predicted", "alone"):
        shape |= {"target": 0.95, "n": None, "told": {"predicted": "beside", "alone": "alone"}.get(chosen.what)}
    if chosen.what == "alone":  # as many as are right; whoever wants more must answer each that is wrong
        shape |= {"target": 0.88}
    if chosen.what in ("parquet", "arrow"):
        shape |= {"n_columns": 16, "n": 200, "kind": chosen.what}
    if chosen.what == "export":
        shape |= {"n_columns": 16, "dtype": "<f2", "n": 200, "out": True}
    for n_rows in chosen.rows:
        if shutil.disk_usage(tempfile.gettempdir()).free < 8 * n_rows * shape["n_columns"]:
            sys.exit(f"there is no room for {n_rows:,} rows in {tempfile.gettempdir()}")
        results.append(in_own_process(__file__, {"n_rows": n_rows, **shape}))
        print_rounded(results[-1])
    if len(results) > 1:
        x, y = (np.log([result[name] for result in results]) for name in ("rows", "seconds"))
        print(f"seconds grow like n^{np.polyfit(x, y, 1)[0]:.3f}")


if __name__ == "__main__":
    main()
