"""Progress bars: how many answers there are, and what is known by them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from bela.records import Point


def make_progress(*, transient: bool = False) -> Progress:
    """Return a bar on stderr that shows answers and the bound, or nothing where stderr is no terminal.

    A transient one is gone without a trace when it ends.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        expand=True,
        transient=transient,
        redirect_stdout=sys.stdout.isatty(),  # what is read by another program is not ours to show
    )


@contextmanager
def watch(description: str, target: float | None, budget: int) -> Iterator[Callable[[Point], None]]:
    """Show a bar that fills as the bound climbs to the target, or as the budget is used where there is none."""
    with make_progress() as progress:
        task = progress.add_task(description, total=budget if target is None else target, state="looking at the data")

        def update(point: Point) -> None:
            completed = point.asked if target is None else min(point.lower, target)
            progress.update(task, completed=completed, state=describe(point))

        yield update


def describe(point: Point) -> str:
    """Say in a few words where a campaign stands."""
    text = f"{point.asked:,} answers, at least {point.lower:.1%} right"
    return text if point.forecast is None else f"{text}, some {point.forecast.answers:,} more to go"


def bound_word(kind: str) -> str:
    """Return what a bound may be called: only one that holds under its method's own choices is a certificate."""
    return "bound" if kind in ("paper", "hsal", "plal") else "certified"
