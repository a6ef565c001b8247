"""`bela bench`: every claim, measured on this machine: answers, cost, growth, and other programs beside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bela.cli._output import Output, make_progress
from bela.errors import ParameterError

if TYPE_CHECKING:
    from bela.bench import BenchPart

_ONLY = (
    "Parts, divided by commas: a (answers needed for a certified share), b (cost of a campaign), c (growth with the "
    "rows), d (other programs, each installed by pip into an environment of its own)."
)
_SEEDS = "Runs of each measurement; 0 measures nothing and writes the page anew."
_MOST = "How far part c goes, from 10,000 rows in powers of ten; 10,000,000 take 2.6 GB of the user's cache."
_METHODS = "Only these methods (part a) or programs (part d), divided by commas."


def bench(
    *,
    only: Annotated[str, typer.Option(help=_ONLY)] = "a,b,c,d",
    to: Annotated[
        Path, typer.Option(help="The folder for tables, figures and the page; what is there is kept.")
    ] = Path("bela-bench"),
    seeds: Annotated[int, typer.Option(help=_SEEDS)] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes, on the digits that scikit-learn ships.")
    ] = False,
    most_rows: Annotated[int, typer.Option(help=_MOST)] = 10_000_000,
    methods: Annotated[str | None, typer.Option(help=_METHODS)] = None,
) -> None:
    """Measure what is claimed of BELA, on the data at hand, and set other programs beside it."""
    from bela.bench import Scope, chosen_parts, run_parts
    from bela.bench._run import name_job

    if seeds < 0:
        raise ParameterError(f"--seeds is a whole number from 0 on, not {seeds}")
    if most_rows < 1:
        raise ParameterError(f"--most-rows is a number of rows, not {most_rows}")
    parts, output, start = chosen_parts(only), Output(), time.perf_counter()
    chosen = None if methods is None else tuple(name.strip() for name in methods.split(",") if name.strip())
    scope = Scope(seeds=seeds, quick=quick, most_rows=most_rows, methods=chosen)
    with make_progress() as bars:
        tasks = {part.name: bars.add_task(part.title, total=None, state="") for part in parts}

        def watch(part: BenchPart, job: dict[str, str | int | float | bool] | None, done: int, total: int) -> None:
            state = f"{done} of {total}" if job is None else f"{done} of {total}, now {name_job(job, part)}"
            bars.update(tasks[part.name], completed=done, total=total, state=state)

        page = run_parts(parts, scope, to, watch=watch, say=output.say)
    output.say(f"{time.perf_counter() - start:.0f} s: see {page}")
