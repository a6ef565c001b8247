"""`bela simulate`: a campaign against known labels, for people who compare and programs that read JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bela.simulation import Simulation

FEATURES = ("auto", "raw")


def simulate(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A .csv, .tsv, .jsonl, .json, .parquet, .arrow, .npy or .npz file, a folder of such tables or of "
            "images, or a dataset by name: mnist, fashion-mnist, digits, blobs.",
        ),
    ],
    *,
    truth: Annotated[
        str | None,
        typer.Option(
            help="The true labels: a .npy file with one for each row, or the name of DATA's label column "
            "(of an array in a .npz file; 'folder' for images sorted into folders). A named dataset brings its own."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="How questions are chosen and rows labelled; an unknown name lists them.", show_default="the best"
        ),
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Stop when at least this share of the labels is certified right.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Stop after this many answers.", show_default="the number of rows")
    ] = None,
    confidence: Annotated[float, typer.Option(help="The confidence of the certificate.")] = 0.95,
    seed: Annotated[int, typer.Option(help="All that is random.")] = 0,
    features: Annotated[
        str, typer.Option(help="What the rows are compared by: auto (image features for images) or raw.")
    ] = "auto",
    splitter: Annotated[
        str,
        typer.Option(
            help="The model that cuts leaves, where the method has one: auto, svm, mlp, tree, nb, kmeans, ..."
        ),
    ] = "auto",
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the outcome as JSON; - for stdout.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw the share right and the bound into this .svg, .png or .pdf file.")
    ] = None,
) -> None:
    """Ask for the labels of a labelled dataset, and see how soon how many are right."""
    from bela.cli._progress import bound_word, watch
    from bela.cli._tables import read_data
    from bela.errors import ParameterError
    from bela.methods import DEFAULT_METHOD
    from bela.simulation import simulate as run

    if features not in FEATURES:
        raise ParameterError(f"there are no features {features!r}: choose one of {', '.join(FEATURES)}")
    output = _output(json_file)
    if chart is not None:
        from bela.reports import check_chart_path

        check_chart_path(chart)
    X, y = read_data(data, truth, features)
    if method is None:
        method = DEFAULT_METHOD
    n_rows = len(y)
    with watch(f"{method} on {Path(data).name}", target, n_rows if budget is None else budget) as progress:
        simulation = run(
            X, y, progress=progress, method=method, target=target, budget=budget, confidence=confidence, seed=seed,
            splitter=splitter,
        )  # fmt: skip
    outcome = to_json(simulation, y)
    if chart is not None:
        from bela.reports import draw_trajectory, save_figure

        figure = draw_trajectory(
            simulation.trajectory,
            n_rows=n_rows,
            target=target,
            title=f"{method} on {Path(data).name}",
            bound=bound_word(simulation.result.certificate.kind),
        )
        save_figure(figure, chart)
    if output != "-":
        typer.echo(summary(outcome))
    if output is not None:
        _write(output, outcome)


def to_json(simulation: Simulation, truth: Any) -> dict[str, Any]:
    """Return the outcome of a simulation as plain numbers and strings."""
    import numpy as np

    from bela.cli._memory import peak_rss_mb

    result = simulation.result
    certificate = result.certificate
    return {
        "method": result.method,
        "n_rows": len(result.labels),
        "n_classes": len(np.unique(truth)),
        "n_asked": result.n_asked,
        "stop_reason": str(result.stop_reason),
        "accuracy": simulation.accuracy,
        "certificate": {
            "lower": float(certificate.lower),
            "confidence": float(certificate.confidence),
            "kind": certificate.kind,
        },
        "seconds": round(simulation.seconds, 3),
        "peak_rss_mb": peak_rss_mb(),
        "trajectory": [
            {
                "asked": int(point.asked),
                "lower": float(point.lower),
                "accuracy": float(point.accuracy),
                "leaves": int(point.leaves),
            }
            for point in simulation.trajectory
        ],
    }


def summary(outcome: dict[str, Any]) -> str:
    """Say in plain words what a simulation came to."""
    share = outcome["n_asked"] / outcome["n_rows"]
    reasons = {
        "target": "the target was reached",
        "budget": "the budget was used up",
        "exhausted": "there was nothing left to ask",
    }
    return (
        f"{outcome['n_asked']:,} of {outcome['n_rows']:,} rows were asked ({share:.1%}), "
        f"then {reasons.get(outcome['stop_reason'], 'it was stopped')}.\n"
        f"At least {outcome['certificate']['lower']:.1%} of the labels are right by the bound "
        f"({outcome['certificate']['kind']}); {outcome['accuracy']:.1%} truly are.\n"
        f"{outcome['seconds']:.1f} s."
    )


def _output(json_file: str | None) -> str | None:
    """Check that the outcome can be written before the work is done for it."""
    from bela.errors import ParameterError

    if json_file not in (None, "-") and not Path(json_file).absolute().parent.is_dir():
        raise ParameterError(f"--json {json_file}: there is no such folder to write to; make it first")
    return json_file


def _write(output: str, outcome: dict[str, Any]) -> None:
    import json

    text = json.dumps(outcome, indent=1, allow_nan=False) + "\n"
    if output == "-":
        sys.stdout.write(text)
    else:
        Path(output).write_text(text, encoding="utf-8")
