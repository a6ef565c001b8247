"""`bela predict`: labels of rows that were not in a campaign, outside of its certificate."""

import csv
import io
import os
from pathlib import Path
from typing import Annotated

import typer

from bela.campaign import find_predictions, read_predictions
from bela.cli._campaigns import find_campaign, open_to_look, refuse_the_data
from bela.cli._options import AllowCode, FolderArgument, JsonFlag
from bela.cli._output import Output, check_place
from bela.cli._showing import count
from bela.data import open_table
from bela.errors import DataError, ExportError, ParameterError
from bela.protocols import Table
from bela.records import Json, NewLabels
from bela.storage import write_durably

_FILES = "The predictions of the new rows that came in files of their own, in the order that the campaign had them in."
_NEW = "New rows, with the columns that the campaign learnt from, and those of its predictions."
_HEAD = ("row", "label", "probability")


def predict(
    campaign: FolderArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help=_NEW)],
    *,
    to: Annotated[Path, typer.Option("--to", metavar="FILE.csv", help="Where the labels go, a line for each row.")],
    prediction: Annotated[list[str] | None, typer.Option(metavar="FILE:COLUMN[:SCORE]", help=_FILES)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that has other things in it.")] = False,
    allow_code: AllowCode = False,
    json_: JsonFlag = False,
) -> None:
    """Label rows that were not in a campaign, by what it has learnt. Its certificate says nothing of them."""
    output = Output("-" if json_ else None)
    if to.suffix.lower() != ".csv":
        raise ParameterError(f"--to {to} must be a .csv file")
    check_place("--to", to)
    _check_free(to, new, overwrite=overwrite)
    path = find_campaign(campaign)
    with open_to_look(path, output, allow_code=allow_code) as stored, output.apart(), output.bars() as bars:
        refuse_the_data(stored, str(to))
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
        said = dict(zip(began, brought.read(table, new=True).values(), strict=True))
        found = stored.campaign.result().predict(table, read_predictions(table, names, new=True) | said)
        _write(to, found, table, stored.settings.id_column)
    outcome: dict[str, Json] = {"to": str(to), "n_rows": len(found.labels), "certified": False, "note": found.note}
    n = len(found.labels)
    output.finish(outcome, [f"{count(n, 'row')} with {'its label' if n == 1 else 'their labels'}: {to}", found.note])


def _check_free(to: Path, new: str, *, overwrite: bool) -> None:
    """Refuse to write over the new rows, or over what is not an earlier outcome of this command."""
    if os.path.realpath(to) == os.path.realpath(new):
        raise ParameterError(f"--to {to} would change the new rows themselves: choose another place")
    if to.is_dir():
        raise ExportError(f"--to {to} is a folder: name a file")
    if overwrite or not to.exists() or not to.stat().st_size:
        return
    with to.open(encoding="utf-8", errors="replace", newline="") as file:
        if tuple(file.readline(1000).strip().split(","))[: len(_HEAD)] != _HEAD:
            raise ExportError(f"{to} is there and holds other things: choose another name, or say --overwrite")


def _write(to: Path, found: NewLabels, table: Table, id_column: str | None) -> None:
    """Write a line for each row, whole or not at all, with what it is called where the rows have names."""
    ids = table.column(id_column).to_pylist() if id_column is not None and id_column in table.columns else None
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*_HEAD, *([] if ids is None else [id_column])])
    for row, (label, chance) in enumerate(zip(found.labels.tolist(), found.probability.tolist(), strict=True)):
        writer.writerow([row, label, f"{chance:.4f}", *([] if ids is None else [ids[row]])])
    try:
        write_durably(to, text.getvalue().encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise ExportError(f"{to} could not be written: {error.strerror or error}") from None
