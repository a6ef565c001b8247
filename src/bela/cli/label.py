"""`bela label`: label a dataset by hand, today and on other days."""

from __future__ import annotations

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
from bela.cli._page_options import BrowserOption, HostOption, PortOption, TerminalOption, TokenOption


def label(
    data: DataArgument,
    *,
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
    terminal: TerminalOption = False,
    browser: BrowserOption = True,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    token: TokenOption = True,
) -> None:
    """Label a dataset by answering for a few of its rows, on a page in the browser or in the terminal.

    Begins a campaign, or goes on with the one that is there. Every answer is on disk before the next question is
    asked: stop whenever you like.
    """
    from bela.cli._campaign_options import Choices, read_classes, read_kinds
    from bela.cli._campaigns import folder_of, open_or_create, resumable
    from bela.cli._output import Output
    from bela.cli._overview import overview, summary
    from bela.cli._page import serve_page
    from bela.cli._terminal import TerminalLabeller, label_in_terminal

    output = Output(json_file)
    choices = Choices(
        folder=campaign, target=target, budget=budget, classes=read_classes(classes), id_column=id_column,
        label_column=label_column, kinds=read_kinds(kind), features=features, text_model=text_model,
        hidden=tuple(hide or ()), encoding=encoding, method=method, confidence=confidence, seed=seed,
        accept_changes=accept_changes,
    )  # fmt: skip
    with (
        output.apart(),
        resumable(folder_of(data, choices)),
        open_or_create(data, choices, output, background=True) as stored,
    ):
        if terminal:
            named = () if stored.settings.id_column is None else (stored.settings.id_column,)
            shown = tuple(dict.fromkeys((*named, *stored.plan.shown)))
            labeller = TerminalLabeller(output.console, stored.records, stored.campaign.classes, shown)
            label_in_terminal(stored.campaign, labeller)
        else:
            serve_page(stored, output, host=host, port=port, open_browser=browser, token="" if token else None)
        outcome = overview(stored)
    output.finish(outcome, [*summary(outcome), f"To go on: bela label {stored.path}"])
