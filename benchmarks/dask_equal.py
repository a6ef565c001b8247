"""Dask against memory: the same questions, labels, probabilities and certificate, bit by bit, and the time of both.

Seconds by the clock say little where others use the machine too: those of the processors are beside them.

The rows are on two workers, processes of one thread each, in chunks that end nowhere where blocks do. The images come
from the folder that BELA_DATA names, or are downloaded; texts from a CSV file with a column of labels; very many rows
are made as in size.py, in a file that memory maps and that each worker opens for itself.

    python benchmarks/dask_equal.py mnist --stop-after 150
    python benchmarks/dask_equal.py trec.csv --label label --stop-after 150
    python benchmarks/dask_equal.py mnist --many 20000   # as if so many rows were too many for a graph
    python benchmarks/dask_equal.py made --rows 10000000 --stop-after 100
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bela
from bela.data import DATASETS, load_dataset
from bela.features import _rows
from bela.records import AnyArray
from size import write_data

CHUNK = 100_000  # rows of a file that a worker reads at once


def read(name: str, label: str | None, n_rows: int, folder: Path) -> tuple[object, AnyArray]:
    """Return the rows of a dataset, or of a file, and their labels."""
    if name == "made":
        path, labels = write_data(folder, n_rows, 64, "<f4")
        return np.load(path, mmap_mode="r"), labels
    if name in DATASETS:
        found = load_dataset(name)
        return found.X, found.y
    import pandas as pd

    path = Path(name) if Path(name).exists() else Path(os.environ.get("BELA_DATA", ".")) / name
    frame = pd.read_csv(path, keep_default_na=False)
    column = label or str(frame.columns[-1])
    return frame.drop(columns=[column]), frame[column].to_numpy()


def as_collection(rows: object, n_chunks: int) -> object:
    """Return rows as a collection of Dask."""
    if isinstance(rows, np.memmap):
        import dask
        import dask.array as da

        parts = [(start, min(CHUNK, len(rows) - start)) for start in range(0, len(rows), CHUNK)]
        blocks = [
            da.from_delayed(dask.delayed(read_part)(str(rows.filename), *part), (part[1], rows.shape[1]), rows.dtype)
            for part in parts
        ]
        return da.concatenate(blocks)
    if isinstance(rows, np.ndarray):
        import dask.array as da

        return da.from_array(rows, chunks=(len(rows) // n_chunks + 1, -1))
    import dask.dataframe as dd

    return dd.from_pandas(rows, npartitions=n_chunks)


def read_part(path: str, start: int, n: int) -> AnyArray:
    """Return some rows of a file."""
    return np.array(np.load(path, mmap_mode="r")[start : start + n])


def measure(
    data: object, labels: AnyArray, n_answers: int, seed: int, processors: Callable[[], float] = time.process_time
) -> tuple[list[int], bela.Result, float, float]:
    """Answer so many questions: their rows, what came out, and seconds by the clock and of processors."""
    start, before, asked = time.perf_counter(), processors(), list[int]()
    campaign = bela.Campaign(data, target=0.99, seed=seed)
    while len(asked) < n_answers and campaign.stop_reason is None:
        for question in campaign.ask(min(10, n_answers - len(asked))):
            asked.append(question.row)
            campaign.tell(question.id, labels[question.row])
    result = campaign.result()
    return asked, result, time.perf_counter() - start, processors() - before


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--label")
    parser.add_argument("--rows", type=int, default=10_000_000, help="that are made")
    parser.add_argument("--stop-after", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chunks", type=int, default=7)
    parser.add_argument("--many", type=int, help="rows beyond which the learner sees a sample")
    options = parser.parse_args()
    if options.many is not None:
        _rows.MANY_ROWS = options.many
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory(prefix="bela-dask-") as folder:
        rows, labels = read(options.data, options.label, options.rows, Path(folder))
        asked, here, seconds, worked = measure(rows, labels, options.stop_after, options.seed)
        said = {"in": "memory", "seconds": round(seconds, 1), "processor s": round(worked, 1)}
        print(json.dumps(said | {"lower": here.certificate.lower}), flush=True)
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
        with cluster, Client(cluster) as client:

            def processors() -> float:
                return time.process_time() + sum(client.run(time.process_time).values())

            collection = as_collection(rows, options.chunks)
            there_asked, there, far_seconds, far_worked = measure(
                collection, labels, options.stop_after, options.seed, processors
            )
    said = {"in": "Dask", "seconds": round(far_seconds, 1), "processor s": round(far_worked, 1)}
    ratios = {"ratio": round(far_seconds / seconds, 2), "of processors": round(far_worked / worked, 2)}
    print(json.dumps(said | {"lower": there.certificate.lower} | ratios))
    same = {
        "questions": asked == there_asked,
        "labels": np.array_equal(here.labels, there.labels),
        "probabilities": np.array_equal(here.probability, there.probability),
        "certificate": here.certificate == there.certificate,
    }
    share = float(np.mean(here.labels == labels))
    print(json.dumps({"rows": len(labels), "asked": len(asked), "right": round(share, 4), "same": same}))
    assert all(same.values())


if __name__ == "__main__":
    main()
