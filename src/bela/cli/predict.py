"""`bela predict`: labels of rows that were not in a campaign, outside of its certificate."""

import csv
from pathlib import Path
from typing import Annotated

import typer

from bela.campaign import find_predictions, read_predictions
from bela.cli._campaigns import find_campaign, open_to_look
from bela.cli._options import FolderArgument, JsonFlag
from bela.cli._output import Output, check_place
from bela.cli._showing import count
from bela.data import open_table
from bela.errors import DataError, ParameterError
from bela.records import Json

_FILES = "The predictions of the new rows that came in files of their own, in the order that the campaign had them in."
_NEW = "New rows, with the columns that the campaign learnt from, and those of its predictions."


def predict(
    campaign: FolderArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help=_NEW)],
    *,
    to: Annotated[Path, typer.Option("--to", metavar="FILE.csv", help="Where the labels go, a line for each row.")],
    prediction: Annotated[list[str] | None, typer.Option(metavar="FILE:COLUMN[:SCORE]", help=_FILES)] = None,
    json_: JsonFlag = False,
) -> None:
    """Label rows that were not in a campaign, by what it has learnt. Its certificate says nothing of them."""
    output = Output("-" if json_ else None)
    if to.suffix.lower() != ".csv":
        raise ParameterError(f"--to {to} must be a .csv file")
    check_place("--to", to)
    with open_to_look(find_campaign(campaign), output) as stored, output.apart(), output.bars() as bars:
        table = open_table(new, encoding=stored.settings.encoding, progress=bars)
        names = stored.settings.predictions
        for name in (name for pair in names for name in pair):
            if name not in table.columns:
                raise DataError(f"{new} has no column {name!r}: the labels rest on that prediction as well")
        brought = find_predictions(table, prediction or (), id_column=stored.settings.id_column)
        began = [some[0] for some in stored.settings.brought]
        if brought.columns or len(brought.brought) != len(began):
            what = f"{', '.join(began)}" if began else "none"
            raise ParameterError(f"the campaign began with these predictions in files: {what}; name one FILE for each")
        said = dict(zip(began, brought.read(table).values(), strict=True))
        found = stored.campaign.result().predict(table, read_predictions(table, names) | said)
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "label", "probability"])
        rows = zip(found.labels.tolist(), found.probability.tolist(), strict=True)
        writer.writerows([row, label, f"{chance:.4f}"] for row, (label, chance) in enumerate(rows))
    outcome: dict[str, Json] = {"to": str(to), "n_rows": len(found.labels), "certified": False, "note": found.note}
    output.finish(outcome, [f"{count(len(found.labels), 'row')} with their labels: {to}", found.note])
