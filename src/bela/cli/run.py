"""`bela run`: a campaign that a column, a function or a command answers, from the first question to the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bela.cli._campaign_options import (
    AcceptOption,
    BudgetOption,
    ClassesOption,
    ConfidenceOption,
    DataArgument,
    EncodingOption,
    FeaturesOption,
    FolderOption,
    HideOption,
    IdOption,
    JsonOption,
    KindOption,
    LabelOption,
    MethodOption,
    SeedOption,
    TargetOption,
    TextModelOption,
)

if TYPE_CHECKING:
    from bela.campaign import Campaign


def run(
    data: DataArgument,
    *,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with the right labels (or a .npy file with one for each row), which is neither learned "
            "from nor shown. A named dataset brings its own.",
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION", help="A Python function that gets a list of records and returns their labels."
        ),
    ] = None,
    oracle_cmd: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help='A command that reads questions as JSON lines, {"id": 7, "record": {...}}, and writes answers, '
            '{"id": 7, "label": "cat", "cost": 0.002}; null for a label skips.',
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Questions to ask at once.", show_default="as the method likes it, 8 for a command"
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="S", help="Seconds to wait for each answer of a command.", show_default="60"),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(metavar="N", help="How often a command that fails is started again.", show_default="3"),
    ] = None,
    keep_running: Annotated[
        bool, typer.Option("--keep-running", help="Start the command once, rather than for each batch.")
    ] = False,
    campaign: FolderOption = None,
    target: TargetOption = None,
    budget: BudgetOption = None,
    classes: ClassesOption = None,
    id_column: IdOption = None,
    label_column: LabelOption = None,
    kind: KindOption = None,
    features: FeaturesOption = None,
    text_model: TextModelOption = None,
    hide: HideOption = None,
    encoding: EncodingOption = None,
    method: MethodOption = None,
    confidence: ConfidenceOption = None,
    seed: SeedOption = None,
    accept_changes: AcceptOption = False,
    json_file: JsonOption = None,
) -> None:
    """Have a dataset labelled by a column, a function or a command, until the target is certified.

    Everything is kept in the folder of the campaign, each answer as soon as it is given: the same command goes on.
    """
    from bela.cli._answering import Answerer, share_right
    from bela.cli._campaign_options import Choices, read_classes, read_kinds
    from bela.cli._campaigns import folder_of, is_about_dataset, open_or_create, resumable
    from bela.cli._output import Output
    from bela.cli._overview import overview, summary

    output = Output(json_file)
    choices = Choices(
        folder=campaign, target=target, budget=budget, classes=read_classes(classes), id_column=id_column,
        label_column=label_column, kinds=read_kinds(kind), features=features, text_model=text_model,
        hidden=tuple(hide or ()), encoding=encoding, method=method, confidence=confidence, seed=seed,
        accept_changes=accept_changes,
    )  # fmt: skip
    with output.apart():
        answerer = Answerer(
            truth=truth, function=oracle, command=oracle_cmd, batch=batch, timeout=timeout, retries=retries,
            keep_running=keep_running,
        )  # fmt: skip
    answerer.check(brings_truth=is_about_dataset(data, choices))
    start = time.perf_counter()
    with (
        output.apart(),
        resumable(folder_of(data, choices)),
        open_or_create(data, choices, output, truth=answerer.truth_column) as stored,
    ):
        labelled = stored.campaign
        answering, name = answerer.oracle(stored, output)
        with closing(answering), _watch(labelled, stored.path.name) as show:
            while labelled.stop_reason is None:
                labelled.step(answering, answerer.n_questions(labelled), by=name, progress=show)
        outcome = overview(stored)
        known = answerer.true_labels(stored)
        outcome["accuracy"] = None if known is None or not outcome["classes"] else share_right(labelled.result(), known)
        outcome["seconds"] = round(time.perf_counter() - start, 3)
    output.finish(outcome, _words(summary(outcome), outcome))


def _words(lines: Iterator[str], outcome: dict[str, Any]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield line
        if number == 2 and outcome["accuracy"] is not None:
            yield f"In truth {outcome['accuracy']:.2%} are right: only a simulation can know this."
    yield f"{outcome['seconds']:.1f} s."


@contextmanager
def _watch(campaign: Campaign, name: str) -> Iterator[Callable[[Campaign], None]]:
    """Show a bar that fills as the certificate climbs to the target, or as the budget is used."""
    from bela.campaign import tally
    from bela.cli._progress import make_progress
    from bela.cli._terminal import describe

    target = campaign.target
    last = 0.0
    with make_progress(transient=True) as bars:
        total = target if target is not None else campaign.n_rows if campaign.budget is None else campaign.budget
        task = bars.add_task(name, total=total, state="looking at the data")

        def show(campaign: Campaign) -> None:
            nonlocal last
            now = time.monotonic()
            if bars.disable or now - last < 0.1:
                return
            last = now
            cost = tally(campaign).cost
            state = describe(campaign) + (f" · cost {cost:.6g}" if cost else "")
            done = campaign.n_asked if target is None else min(campaign.certificate.lower, target)
            bars.update(task, completed=done, state=state)

        yield show
