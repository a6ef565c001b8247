"""`bela reproduce`: the paper's experiments, with figures, tables, and the paper's numbers beside ours."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from bela.cli._output import make_progress
from bela.data import load_dataset
from bela.errors import ParameterError
from bela.records import Point
from bela.shares import share_text


def reproduce(
    what: Annotated[
        str, typer.Argument(metavar="[WHAT]", help="mnist, fashion-mnist, synthetic, splitters, or all of them.")
    ] = "all",
    *,
    out: Annotated[Path, typer.Option(help="The folder for figures and tables.")] = Path("bela-reproduce"),
    seed: Annotated[int, typer.Option(help="All that is random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Experiments to run at once, on a core each.")] = 2,
) -> None:
    """Run the paper's experiments with the full budget; set its figures beside ours."""
    from rich.progress import TaskID

    from bela.experiments._experiments import Experiment, Outcome, lines_of, run_all
    from bela.experiments._findings import write_findings

    lines = lines_of(what)
    if jobs < 1:
        raise ParameterError(f"--jobs is a number of processes from 1 on, not {jobs}")
    if seed < 0:
        raise ParameterError(f"--seed is a whole number from 0 on, not {seed}")
    experiments = list(dict.fromkeys(line.experiment for line in lines))
    out.mkdir(parents=True, exist_ok=True)
    sizes = {name: len(load_dataset(name).y) for name in {experiment.dataset for experiment in experiments}}
    start = time.perf_counter()
    outcomes: dict[Experiment, Outcome] = {}
    with make_progress() as bars:
        total = bars.add_task("all experiments", total=len(experiments), state=f"0 of {len(experiments)}")
        tasks: dict[Experiment, TaskID] = {}

        def show(experiment: Experiment, point: Point | None) -> None:
            if point is None:
                if experiment in tasks:
                    bars.remove_task(tasks.pop(experiment))
                return
            if experiment not in tasks:
                budget = sizes[experiment.dataset] * experiment.budget_share
                tasks[experiment] = bars.add_task(str(experiment), total=budget, state="")
            state = f"{point.asked:,} answers, at least {share_text(point.lower)} right"
            bars.update(tasks[experiment], completed=point.asked, state=state)

        for experiment, outcome in run_all(experiments, seed=seed, jobs=jobs, progress=show):
            outcomes[experiment] = outcome
            bars.update(total, completed=len(outcomes), state=f"{len(outcomes)} of {len(experiments)}")
            bars.console.print(f"{experiment}: {outcome.seconds:.0f} s", highlight=False)
    report = write_findings([(line, outcomes[line.experiment]) for line in lines], out, seed=seed)
    typer.echo(f"{len(outcomes)} experiments in {time.perf_counter() - start:.0f} s: see {report}")
