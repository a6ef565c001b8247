"""`bela export`: the labelled dataset in a format that other tools read, with its certificate."""

from pathlib import Path
from typing import Annotated

import typer

from bela.cli._campaigns import find_campaign, open_to_look, refuse_the_data
from bela.cli._options import AllowCode, DaskAddress, FolderArgument, JsonFlag
from bela.cli._output import Output
from bela.cli._overview import document_of, one_label_note
from bela.cli._showing import count
from bela.data import on_cluster
from bela.exports import EXPORTS, campaign_rows, certificate_path, keep_sure
from bela.exports import export as write
from bela.records import Json

_FORMATS = f"One of {', '.join(EXPORTS)}."
_EXCEL_SAFE = "In CSV and TSV, put a ' before texts that a spreadsheet would run as formulas."
_WITH_HIDDEN = "With the columns that were hidden from whoever answered, which are left out otherwise."
_SURE = "Only rows of which at least this share is certainly right: 0.9, 0.95 or 0.99. Other labels are left blank."


def export(
    campaign: FolderArgument,
    *,
    to: Annotated[str, typer.Option("--to", metavar="PATH", help="The file, or the folder for Hugging Face datasets.")],
    format_: Annotated[str | None, typer.Option("--format", help=_FORMATS, show_default="by the ending")] = None,
    sure: Annotated[float | None, typer.Option("--sure", metavar="SHARE", help=_SURE)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is no earlier export.")] = False,
    excel_safe: Annotated[bool, typer.Option("--excel-safe", help=_EXCEL_SAFE)] = False,
    with_hidden: Annotated[bool, typer.Option("--with-hidden", help=_WITH_HIDDEN)] = False,
    allow_code: AllowCode = False,
    dask: DaskAddress = None,
    json_: JsonFlag = False,
) -> None:
    """Write every row with its label, and the certificate beside it. Somebody may go on answering meanwhile."""
    output = Output("-" if json_ else None)
    path = find_campaign(campaign)
    notes: list[str] = []
    with on_cluster(dask), open_to_look(path, output, allow_code=allow_code) as stored, output.bars() as bars:
        refuse_the_data(stored, to)
        result = stored.campaign.result()
        if sure is None and (alike := one_label_note(result)) is not None:
            notes.append(alike)
        if sure is not None:
            result = keep_sure(result, sure)
        document = document_of(stored, result)
        written = write(
            stored.records, result, to,
            format=format_, certificate=document, overwrite=overwrite, excel_safe=excel_safe, note=notes.append,
            **campaign_rows(stored, with_hidden=with_hidden),
            progress=lambda done, total: bars(f"writing {Path(to).name}", done / max(total, 1)),
        )  # fmt: skip
    beside = certificate_path(written)
    outcome: dict[str, Json] = {
        "to": str(written), "certificate_file": str(beside), "campaign": str(path), "n_rows": len(result.labels),
        "n_asked": result.n_asked, "certificate": result.certificate.to_json(), "notes": [*notes],
    }  # fmt: skip
    kept = document["kept"]
    if isinstance(kept, dict):
        outcome["kept"] = kept
    with_labels = f", {kept['rows']:,} of them with their labels" if isinstance(kept, dict) else " with their labels"
    words = [
        f"{count(len(result.labels), 'row')}{with_labels}: {written}",
        f"Their certificate: {beside}",
        str(kept["statement"]) if isinstance(kept, dict) else result.certificate.claim,
        *(f"Note: {note}." for note in notes),
    ]
    output.finish(outcome, words)
