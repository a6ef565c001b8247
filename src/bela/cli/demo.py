"""`bela demo`: a whole campaign before one's eyes, in seconds and with nothing to prepare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    target: Annotated[
        float, typer.Option(help="Stop when at least this share of the labels is certified right.")
    ] = 0.9,
    method: Annotated[
        str | None,
        typer.Option(
            help="How questions are chosen and rows labelled; an unknown name lists them.", show_default="the best"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="All that is random.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder for the chart.")] = Path("bela-demo"),
) -> None:
    """Label scikit-learn's 1,797 handwritten digits by asking about some of them, and draw how it went."""
    from rich.console import Console

    from bela.cli._progress import bound_word, watch
    from bela.datasets import load_dataset
    from bela.methods import DEFAULT_METHOD
    from bela.reports import draw_trajectory, save_figure
    from bela.simulation import simulate

    console = Console(highlight=False, soft_wrap=True)
    data = load_dataset("digits")
    n_rows = len(data.y)
    console.print(
        f"[bold]{n_rows:,} handwritten digits[/], none of them labelled. Their true labels play the person who "
        f"answers.\nAsking until the bound says that at least {target:.0%} of all labels are right ..."
    )
    with watch(f"{method or DEFAULT_METHOD}", target, n_rows) as progress:
        simulation = simulate(
            data.images, data.y, every=0, progress=progress, method=method or DEFAULT_METHOD, target=target, seed=seed
        )
    result = simulation.result
    n_asked, lower = result.n_asked, result.certificate.lower
    word = bound_word(result.certificate.kind)
    figure = draw_trajectory(
        simulation.trajectory,
        n_rows=n_rows,
        target=target,
        title=f"{n_rows:,} digits labelled for {n_asked:,} answers",
        bound=word,
    )
    out.mkdir(parents=True, exist_ok=True)
    charts = [out / f"digits.{ending}" for ending in ("png", "svg")]
    for chart in charts:
        save_figure(figure, chart)
    n_right = round(simulation.accuracy * n_rows)
    console.print(
        f"\n[bold]{n_asked:,} answers labelled all {n_rows:,} rows[/] ({n_asked / n_rows:.0%} asked, the other "
        f"{n_rows - n_asked:,} inferred), in {simulation.seconds:.1f} s.\n"
        f"  {word:11} at least [bold]{lower:.1%}[/] of the labels are right\n"
        f"  in truth    [bold]{simulation.accuracy:.1%}[/] are right: {n_rows - n_right:,} mistakes. Only a simulation "
        f"can know this\n"
        f"  chart       {charts[0]} and {charts[1].name}"
    )
