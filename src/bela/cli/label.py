"""`bela label`: label a dataset by hand, today and on other days."""

from typing import Annotated

import typer

from bela.cli._by_hand import label_by_hand
from bela.cli._model_options import HelperOptions, ModelOptions
from bela.cli._options import FolderOptions, JsonTo, LabelOptions, PageOptions, PeopleOptions, Place, with_options


@with_options
def label(
    data: Place,
    *,
    options: LabelOptions,
    people: PeopleOptions,
    help_from: HelperOptions,
    model: ModelOptions,
    folder: FolderOptions,
    json_file: JsonTo = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Answer in the terminal instead of a browser.")] = False,
    page: PageOptions,
) -> None:
    """Label a dataset by answering for a few of its rows, on a page in the browser or in the terminal.

    Begins a campaign, or goes on with the one that is there. Every answer is on disk before the next question is
    asked: stop whenever you like.
    """
    chosen = None if terminal else page
    label_by_hand(
        data, options, folder, chosen, people,
        help_from=help_from, model=model, json_file=json_file, command="bela label",
    )  # fmt: skip
