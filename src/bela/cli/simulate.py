"""`bela simulate`: a campaign against known labels, for people who compare and programs that read JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer

from bela.campaign import Predictions, Simulation, find_predictions
from bela.campaign import simulate as run
from bela.cli._answering import choose_helper, helper_for, prompt_lines, true_labels
from bela.cli._model_options import HelperOptions, ModelOptions
from bela.cli._options import CampaignOptions, DaskAddress, DataArgument, JsonTo, StopAfter, with_options
from bela.cli._output import Bars, Output, watch
from bela.cli._showing import alike_lines, count, for_cost, strange_lines
from bela.data import given_labels, is_dataset, label_notices, on_cluster, open_table
from bela.errors import DataError, ParameterError
from bela.features import EMBEDDED, PreparedData, named_features, prepare
from bela.methods import DEFAULT_METHOD
from bela.records import RUNGS, AnyArray, Json
from bela.shares import percent_text

_REASONS = {
    "target": "the target was reached",
    "budget": "the budget was used up",
    "exhausted": "there was nothing left to ask",
}
_TRUTH = (
    "The true labels: a .npy file with one for each row, or the name of DATA's label column (of an array in a .npz "
    "file; 'folder' for images sorted into folders). A named dataset brings its own."
)
_SPLITTER = "The model that cuts leaves, where the method has one: auto, svm, mlp, tree, nb, kmeans, ..."
_CHART = "Draw the share right and the bound into this .svg, .png or .pdf file."


@with_options
def simulate(
    data: DataArgument,
    *,
    truth: Annotated[str | None, typer.Option(help=_TRUTH)] = None,
    help_from: HelperOptions,
    model: ModelOptions,
    options: CampaignOptions,
    stop_after: StopAfter = None,
    splitter: Annotated[str, typer.Option(help=_SPLITTER)] = "auto",
    dask: DaskAddress = None,
    json_file: JsonTo = None,
    chart: Annotated[Path | None, typer.Option(help=_CHART)] = None,
) -> None:
    """Ask for the labels of a labelled dataset, and see how soon how many are right: a run that keeps nothing."""
    named_features(options.features)  # what is wrong with it is said before any work is done
    output = Output(json_file)
    if chart is not None:
        from bela.experiments import check_chart_path, draw_trajectory, save_figure

        check_chart_path(chart)
    with output.apart(), on_cluster(dask):
        with output.bars() as bars:
            helper = choose_helper(help_from, model, method=options.method)
            prepared, labels, predictions, notices = _read_labelled(data, truth, options, bars)
        for notice in notices:
            typer.echo(f"Note: {notice}.", err=True)
        table, column = prepared.table, options.label_column
        title = f"{options.method or DEFAULT_METHOD} on {Path(data).name}"
        apart = [name for name in (truth, column, *predictions.apart, *options.hidden) if name is not None]
        classes = options.class_names or tuple(dict.fromkeys(labels.tolist()))
        with (
            helper_for(table, helper, model, output, data=data, hidden=apart, classes=classes) as helps,
            watch(title) as progress,
        ):
            if model.show_prompt:
                for line in prompt_lines(helps, table.n_rows):
                    output.say(line)
                return
            predicted = predictions.read(table)
            for line in alike_lines((*classes, *(one for coded, _ in predicted.values() for one in coded.values))):
                typer.echo(line, err=True)
            for line in strange_lines(classes, predicted):
                typer.echo(line, err=True)
            simulation = run(
                prepared, labels,
                stop_after=stop_after, progress=progress, target=options.target, budget=options.budget,
                class_target=options.class_target, classes=options.class_names,
                labels=None if column is None else given_labels(table, column),
                predictions=predicted, helper=helps, splitter=splitter, **options.chosen(),
            )  # fmt: skip
    if chart is not None:
        figure = draw_trajectory(
            simulation.trajectory, n_rows=table.n_rows, target=options.target, title=title,
            bound=simulation.result.certificate.guarantee.word,
        )  # fmt: skip
        save_figure(figure, chart)
    output.finish(to_json(simulation, n_classes=len(set(labels.tolist()))), summary(simulation))


def to_json(simulation: Simulation, *, n_classes: int) -> dict[str, Json]:
    """Return the outcome of a simulation as plain numbers and strings."""
    from bela.bench import peak_mb

    result = simulation.result
    outcome = {
        "method": result.method, "n_rows": len(result.labels), "n_classes": n_classes, "n_asked": result.n_asked,
        "stop_reason": str(result.stop_reason), "accuracy": simulation.accuracy,
        "certificate": result.certificate.to_json(), "seconds": round(simulation.seconds, 3),
        "peak_rss_mb": peak_mb(), "trajectory": [asdict(point) for point in simulation.trajectory],
    }  # fmt: skip
    if simulation.helper is not None:
        outcome["helper"] = asdict(simulation.helper)
    return cast("dict[str, Json]", outcome)


def summary(simulation: Simulation) -> list[str]:
    """Say in plain words what a simulation came to."""
    result, n_rows = simulation.result, len(simulation.result.labels)
    reason = _REASONS.get(result.stop_reason, "it was stopped")
    return [
        f"{result.n_asked:,} of {n_rows:,} rows were asked ({result.n_asked / n_rows:.1%}), then {reason}.",
        f"{result.certificate.claim} In truth {100 * simulation.accuracy:.2f} % are.",
        *_help_words(simulation),
        *_how_soon(simulation),
        f"{simulation.seconds:.1f} s.",
    ]


def _help_words(simulation: Simulation) -> list[str]:
    """Say what a helper did, if there was one."""
    found = simulation.helper
    if found is None:
        return []
    ended = f" It was given up: {found.ended}." if found.ended else ""
    return [f"{found.name} helped with {count(found.answers, 'answer')}{for_cost(found.cost)}.{ended}"]


def _how_soon(simulation: Simulation) -> list[str]:
    """Say after how many answers each rung was reached: without a target, that is what a simulation is for."""
    reached = [(share, simulation.asked_until(share, "lower")) for share in RUNGS]
    steps = [f"{percent_text(share)} after {asked:,}" for share, asked in reached if asked is not None]
    word = simulation.result.certificate.guarantee.word.capitalize()
    return [f"{word} on the way, at the latest: {', '.join(steps)} answers."] if steps else []


def _read_labelled(
    data: str, truth: str | None, options: CampaignOptions, bars: Bars
) -> tuple[PreparedData, AnyArray, Predictions, list[str]]:
    """Read a dataset by its name, or a file or folder: rows, true labels, predictions, and what to say about them."""
    table = open_table(data, encoding=options.encoding, progress=bars)
    if truth is None and not is_dataset(data):
        raise ParameterError("--truth is missing: give a .npy file of labels, or the name of the label column")
    known = true_labels(table, truth or "", data)
    if n := table.n_rows - len(known):
        raise DataError(f"{truth or data} has no label for {n} row(s): fill or drop them first")
    columns = [name for name in (truth, options.label_column) if name is not None and name in table.columns]
    predicted = find_predictions(table, options.predicted or (), id_column=options.id_column)
    prepared = prepare(
        table, exclude=[*columns, *predicted.apart, *options.hidden], seed=options.seed or 0, progress=bars,
        fetching=bars.say, needed=not predicted, **options.taken(),
    )  # fmt: skip
    read = [*prepared.plan.describe_columns(EMBEDDED), *prepared.plan.notices, *predicted.notices]
    notices = [*prepared.notices, *read, *(notice for name in columns for notice in label_notices(table, name))]
    return prepared, np.array(list(known.values())), predicted, notices
