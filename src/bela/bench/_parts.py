"""What a part of the bench is, and how its measurements are made and kept: one process and one row of a table each."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bela.errors import BelaError

Cell: TypeAlias = "str | int | float | bool"
Row: TypeAlias = "dict[str, Cell]"
"""A job, and what was measured of it, under the names of the columns."""

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_TOLD = 2000  # characters of what a process said before it failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """How much is to be measured: seeds (0: nothing, what is there is only written down), and the most rows made."""

    seeds: int = 1
    quick: bool = False
    most_rows: int = 10_000_000
    methods: tuple[str, ...] | None = None  # all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPart:
    """One kind of claim: what is measured, and how it is told.

    `key` names the columns that say what a row is about. `jobs` returns what is to be measured and what is left out, in
    words; `measure` makes one measurement, in a process of its own unless it takes no time (`is_instant`); `describe`
    returns Markdown, `draw` saves figures.
    """

    name: str
    title: str
    key: tuple[str, ...]
    jobs: Callable[[Scope], tuple[list[Row], list[str]]]
    measure: Callable[..., Row]
    describe: Callable[[Sequence[Row]], list[str]]
    draw: Callable[[Sequence[Row], Path], list[str]]
    is_instant: Callable[[Row], bool] = lambda job: False

    def identify(self, row: Mapping[str, Cell]) -> tuple[Cell, ...]:
        """Return what tells a row from all others."""
        return tuple(row[name] for name in self.key)


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a table that was written before, none where there is none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _typed(value) for name, value in row.items() if value} for row in csv.DictReader(file)]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write a table, all of it or nothing."""
    from bela.storage import write_durably

    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_durably(path, text.getvalue().encode())


def measure_missing(
    part: BenchPart, jobs: Iterable[Row], path: Path, *, begin: Callable[[Row], object] = lambda job: None
) -> Iterator[Row]:
    """Measure the jobs that a table has no row for, or one with an error; yield each row when it is in the table.

    `begin` is called with each job before it is measured.
    """
    rows = {part.identify(row): row for row in read_rows(path)}
    for job in jobs:
        place = part.identify(job)
        if "error" in rows.get(place, {"error": ""}):
            begin(job)
            rows[place] = job | (part.measure(**job) if part.is_instant(job) else run_apart(part.name, job))
            write_rows(path, list(rows.values()))
            yield rows[place]


def run_apart(name: str, job: Row) -> Row:
    """Make one measurement in a process of its own, with one thread; what goes wrong there is its `error`."""
    command = [sys.executable, "-m", "bela.bench", name, json.dumps(job)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    if done.returncode < 0 and -done.returncode in (2, 15):  # somebody ended it, and wants us to end too
        raise BelaError("a measurement was ended from outside: call again to go on with it")
    return {"error": _last_words(done.stderr[-_TOLD:]) or f"ended with status {done.returncode}"}


def _typed(value: str) -> Cell:
    if value in ("True", "False"):
        return value == "True"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _last_words(text: str) -> str:
    """Return the last line of an error."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def table(rows: Sequence[Sequence[str]], n_words: int = 1) -> str:
    """Return a table in Markdown: its head first, and columns of words before those of numbers."""
    head, *lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * n_words + "---:|" * (len(rows[0]) - n_words), *lines])
