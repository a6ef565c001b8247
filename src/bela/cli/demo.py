"""`bela demo`: a whole campaign before one's eyes, in seconds and with nothing to prepare."""

from pathlib import Path
from typing import Annotated

import typer

from bela.campaign import simulate
from bela.cli._output import watch
from bela.data import load_dataset
from bela.methods import DEFAULT_METHOD
from bela.shares import percent_text

_TARGET = "Stop when at least this share of the labels is certified right."
_METHOD = "How questions are chosen and rows labelled; an unknown name lists them."


def demo(
    target: Annotated[float, typer.Option(help=_TARGET)] = 0.9,
    method: Annotated[str | None, typer.Option(help=_METHOD, show_default="the best")] = None,
    seed: Annotated[int, typer.Option(help="All that is random.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder for the chart.")] = Path("bela-demo"),
) -> None:
    """Label scikit-learn's 1,797 handwritten digits by asking about some of them, and draw how it went."""
    from rich.console import Console

    from bela.experiments import draw_trajectory, save_figure

    console = Console(highlight=False, soft_wrap=True)
    data = load_dataset("digits")
    n_rows = len(data.y)
    console.print(
        f"[bold]{n_rows:,} handwritten digits[/], none of them labelled. Their true labels play the person who "
        f"answers.\nAsking until the bound says that at least {percent_text(target)} of all labels are right ..."
    )
    with watch(method or DEFAULT_METHOD) as progress:
        simulation = simulate(
            data.images, data.y, every=0, progress=progress, method=method or DEFAULT_METHOD, target=target, seed=seed
        )
    result = simulation.result
    n_asked = result.n_asked
    figure = draw_trajectory(
        simulation.trajectory, n_rows=n_rows, target=target, bound=result.certificate.guarantee.word,
        title=f"{n_rows:,} digits labelled for {n_asked:,} answers",
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    charts = [out / f"digits.{ending}" for ending in ("png", "svg")]
    for chart in charts:
        save_figure(figure, chart)
    n_right = round(simulation.accuracy * n_rows)
    console.print(
        f"\n[bold]{n_asked:,} answers labelled all {n_rows:,} rows[/] ({n_asked / n_rows:.0%} asked, the other "
        f"{n_rows - n_asked:,} inferred), in {simulation.seconds:.1f} s.\n"
        f"  [bold]{result.certificate.claim}[/]\n"
        f"  In truth [bold]{simulation.accuracy:.1%}[/] are right, with {n_rows - n_right:,} mistakes: only a "
        f"simulation can know this.\n"
        f"  Chart: {charts[0]} and {charts[1].name}"
    )
