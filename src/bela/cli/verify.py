"""`bela verify`: is everything as the journal says, and is an export what it claims to be?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bela.cli._campaign_options import FolderArgument, JsonFlag

if TYPE_CHECKING:
    from bela.campaign import StoredCampaign
    from bela.records import Result

_READABLE = ("csv", "tsv", "parquet", "jsonl", "json", "hf")


def verify(
    campaign: FolderArgument,
    *,
    export: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="An export: are its labels and its certificate those of the campaign?"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Trust what was computed before and kept: features and revisions.")
    ] = False,
    json_: JsonFlag = False,
) -> None:
    """Compute everything again from the data and the journal, and say whether it fits.

    An export is compared with the campaign as it was when the export was written, however many answers came later.
    Exit status: 0 yes, 1 no, 2 it cannot be told.
    """
    from bela.cli._campaigns import find_campaign
    from bela.cli._output import Output
    from bela.errors import BelaError

    output = Output("-" if json_ else None)
    outcome: dict[str, Any] = {"verified": None, "reasons": [], "campaign": campaign, "export": None}
    if export is not None:
        outcome["export"] = str(export)
    try:
        path = find_campaign(campaign)
        outcome["campaign"] = str(path)
        words = _check(path, export, output, outcome, quick=quick)
    except BelaError as error:
        if not json_:
            raise
        outcome["reasons"] = [str(error)]
        words = []
    output.finish(outcome, words)
    raise typer.Exit({True: 0, False: 1, None: 2}[outcome["verified"]])


def _check(path: Path, export: Path | None, output: Any, outcome: dict[str, Any], *, quick: bool) -> list[str]:
    """Fill in the outcome and return it in words; an error is raised where nothing can be told."""
    from bela.cli._campaigns import open_to_look
    from bela.cli._overview import bound_line, count, document_of
    from bela.errors import JournalError, ReplayError
    from bela.exports import certificate_differences, check_export, read_certificate

    written = None if export is None else read_certificate(export)
    reasons = _check_journal(path, written, outcome)
    until = None if written is None or written.get("journal") is None else written["journal"]["events"]
    if not reasons:
        try:
            stored = open_to_look(path, output, recompute=not quick, until=until)
        except ReplayError:
            raise
        except JournalError as error:
            reasons = [str(error)]
        else:
            with stored:
                if export is not None and written is not None:
                    result = stored.campaign.result()
                    again = document_of(stored, result)
                    reasons = [f"the certificate says {line}" for line in certificate_differences(written, again)]
                    reasons += check_export(export)
                    reasons += _check_labels(export, written, result, stored)
            outcome["n_asked"] = stored.campaign.n_asked
            certificate = stored.campaign.certificate
            outcome["certificate"] = {
                "lower": certificate.lower, "confidence": certificate.confidence, "kind": certificate.kind,
            }  # fmt: skip
    outcome.update(verified=not reasons, reasons=reasons)
    if reasons:
        return ["No:", *(f"  {reason}" for reason in reasons)]
    how = "With what was kept" if quick else "Computed again from the data"
    words = [
        f"Yes. The journal of {count(outcome['n_events'], 'event')} is whole.",
        f"{how}, {count(outcome['n_asked'], 'answer')} give this: {bound_line(outcome['certificate'])}",
    ]
    if export is not None:
        later = outcome["n_events"] - (outcome["n_events"] if until is None else until)
        since = f" as it was then; {count(later, 'event')} came later" if later else ""
        words.append(f"The labels and the certificate of {export} are those of the campaign{since}.")
    return words


def _check_journal(path: Path, written: dict[str, Any] | None, outcome: dict[str, Any]) -> list[str]:
    """Say what is wrong with the journal: damaged, or not the one that an export was written from."""
    from bela.campaign import SETTINGS, read_settings
    from bela.errors import DataError, JournalError, VersionError
    from bela.journal import SQLiteJournal

    moment = None if written is None else written.get("journal")
    if moment is not None and not (isinstance(moment, dict) and type(moment.get("events")) is int):
        raise DataError("the certificate does not say which moment of the journal it is of: export again")
    place = path / read_settings(path / SETTINGS).journal
    if not place.exists():
        raise JournalError(f"there is no journal {place}: restore it from a copy")
    try:
        journal = SQLiteJournal(place, read_only=True)
        try:
            outcome["n_events"] = sum(1 for _ in journal.events())
        finally:
            journal.close()
    except VersionError:
        raise
    except JournalError as error:  # damaged, cut short, or not the one that was here
        return [str(error)]
    if moment is None:
        return []
    if moment["events"] > outcome["n_events"]:
        return [f"the export was written after {moment['events']} events, but the journal has {outcome['n_events']}"]
    part = SQLiteJournal(place, read_only=True, until=moment["events"])
    part.close()
    if part.digest != moment.get("digest"):
        return [f"the first {moment['events']} events of the journal are not those that the export was written from"]
    return []


def _check_labels(export: Path, written: dict[str, Any], result: Result, stored: StoredCampaign) -> list[str]:
    """Read the labels of an export back, where they are a column, and compare them with those of the campaign."""
    from bela.exports import labels_digest
    from bela.sources import open_records

    about = written.get("export", {})
    if about.get("format") not in _READABLE or not export.exists():
        return []
    records = open_records(export)
    column = about.get("columns", {}).get("label")
    if records.n_rows != stored.records.n_rows:
        return [f"{export} has {records.n_rows} rows, not {stored.records.n_rows}"]
    if column not in records.columns:
        return [f"{export} has no column {column!r}, which should hold the labels"]
    found = [value for batch in records.batches([column]) for value in batch.column(0).to_pylist()]
    if labels_digest(found) != labels_digest(result.labels):
        return [f"the labels in {export} are not those of the campaign"]
    return []
