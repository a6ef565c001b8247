"""What the benchmarks share: one process for each measurement; the unit of cost is that of `bela bench`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from bela.bench import ONE_THREAD, one_pass, peak_mb

__all__ = [
    "answer_one", "in_own_process", "in_own_processes", "one_pass", "peak_mb", "print_rounded", "run", "write_table"
]  # fmt: skip


def in_own_process(script: str, arguments: dict[str, Any]) -> Any:
    """Run one measurement of a benchmark, which calls `answer_one`, in a process of its own, with one thread."""
    command = [sys.executable, script, "--one", json.dumps(arguments)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def answer_one(one: Callable[..., object]) -> None:
    """In such a process, make the measurement, print it and end; elsewhere do nothing."""
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        print(json.dumps(one(**json.loads(sys.argv[2]))))
        sys.exit()


def in_own_processes(script: str, jobs: Iterable[dict[str, Any]], at_once: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield each job with its measurement, in their order, some of them made at once."""
    jobs = list(jobs)
    with ThreadPoolExecutor(at_once) as pool:
        yield from zip(jobs, pool.map(partial(in_own_process, script), jobs), strict=True)


def run(script: str, one: Callable[..., dict[str, Any]], jobs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Measure each job, one after the other, and print a line for each as it is done."""
    answer_one(one)
    results = []
    for job in jobs:
        result = job | in_own_process(script, job)
        print("  ".join(f"{key}={_short(value)}" for key, value in result.items()), flush=True)
        results.append(result)
    return results


def print_rounded(result: dict[str, Any]) -> None:
    """Print what was measured, as a dict that a program could read too."""
    print({key: round(value, 4) if isinstance(value, float) else value for key, value in result.items()}, flush=True)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_table(path: Path, title: str, rows: list[dict[str, Any]]) -> None:
    """Put a table under its title into a Markdown file, in the place of the one that was there."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_short(row.get(column, "")) for column in columns) + " |" for row in rows]
    begin, end = f"<!-- {title} -->", f"<!-- end of {title} -->"
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    path.write_text(head + begin + "\n" + "\n".join(lines) + "\n" + end + tail, encoding="utf-8")
