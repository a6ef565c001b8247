"""Runs the parts of the bench, and writes what was found into a folder: tables, figures, and a page about them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

from bela.bench._answers import ANSWERS
from bela.bench._cost import COST
from bela.bench._growth import GROWTH
from bela.bench._measure import describe_machine
from bela.bench._parts import BenchPart, Row, Scope, measure_missing, read_rows
from bela.bench._peers import PEERS
from bela.errors import ParameterError
from bela.storage import write_durably

PARTS: Mapping[str, BenchPart] = {"a": ANSWERS, "b": COST, "c": GROWTH, "d": PEERS}
"""By the letters that they are called by."""
PAGE = "README.md"


def chosen_parts(only: str) -> list[BenchPart]:
    """Return the parts that letters or names stand for, divided by commas."""
    named = {**PARTS} | {part.name: part for part in PARTS.values()}
    words = [word.strip() for word in only.split(",") if word.strip()]
    if not words or not set(words) <= set(named):
        listed = ", ".join(f"{letter} ({part.name})" for letter, part in PARTS.items())
        raise ParameterError(f"--only takes parts divided by commas, not {only!r}: {listed}")
    return list(dict.fromkeys(named[word] for word in words))


def run_parts(
    parts: Sequence[BenchPart], scope: Scope, folder: Path, *,
    watch: Callable[[BenchPart, Row | None, int, int], object], say: Callable[[str], object],
) -> Path:  # fmt: skip
    """Measure what a folder has no rows for, part by part, and return the page that is written after each.

    `watch` is called with a part, the job that is begun (None at its end), how many are done, and how many there are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    for part in parts:
        jobs, left_out = part.jobs(scope)
        for line in left_out:
            say(line)
        path = folder / f"{part.name}.csv"
        there = {part.identify(row) for row in read_rows(path) if "error" not in row}
        done = sum(part.identify(job) in there for job in jobs)
        watch(part, None, done, len(jobs))
        for row in measure_missing(part, jobs, path, begin=lambda job: watch(part, job, done, len(jobs))):  # noqa: B023
            done += 1
            watch(part, None, done, len(jobs))
            if "error" in row:
                say(f"{part.name}, {name_job(row, part)}: {row['error']}")
        page = write_page(folder)
    return page


def name_job(row: Row, part: BenchPart) -> str:
    """Say what a row is about."""
    return " ".join(str(row[name]) for name in part.key)


def write_page(folder: Path) -> Path:
    """Write the page about all tables that are in a folder, with their figures."""
    letters = {part.name: letter for letter, part in PARTS.items()}
    found = {part: rows for part in PARTS.values() if (rows := read_rows(folder / f"{part.name}.csv"))}
    title = next(iter(found)).title if len(found) == 1 else "What is claimed, measured"
    command = f"`bela bench --only {','.join(letters[part.name] for part in found)}`"
    text = [
        f"# {title}",
        f"Written by {command} on {date.today().isoformat()}. The last machine: {describe_machine()}. Every line of a "
        "table comes from processes of their own with one thread, unless it takes no time; others may have used the "
        "machine meanwhile.",
    ]
    for part, rows in found.items():
        if len(found) > 1:
            text.append(f"## {part.title}")
        text += part.describe(rows)
        text += [f"![{part.title}]({name})" for name in part.draw(rows, folder)]
        text.append(f"All rows: [{part.name}.csv]({part.name}.csv).")
    page = folder / PAGE
    write_durably(page, ("\n\n".join(line for line in text if line) + "\n").encode())
    return page
