"""`bela verify`: is everything as the journal says, and is an export what it claims to be?"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bela.cli._options import AllowCode, FolderArgument, JsonFlag
from bela.errors import BelaError, DataError, JournalError, ReplayError, VersionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bela.campaign import StoredCampaign, Verification
    from bela.cli._output import Output
    from bela.records import Json


_EXPORT = typer.Option(metavar="PATH", help="An export: are its labels and its certificate those of the campaign?")


@dataclass(slots=True, kw_only=True)
class _Outcome:
    """What programs are told: whether everything fits (None if that cannot be told), and why not."""

    campaign: str
    export: str | None
    verified: bool | None = None
    reasons: list[str] = field(default_factory=list)
    n_events: int | None = None
    n_asked: int | None = None
    decided: int | None = None  # questions and revisions that were decided anew
    compared: int | None = None  # those of another version of the method: only their digests could be compared
    certificate: dict[str, Json] | None = None


def verify(
    campaign: FolderArgument,
    *,
    export: Annotated[Path | None, _EXPORT] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Trust the features and revisions that were kept.")] = False,
    allow_code: AllowCode = False,
    json_: JsonFlag = False,
) -> None:
    """Compute everything again from the data and the journal, and say whether it fits.

    An export is compared with the campaign as it was when the export was written, however many answers came later.
    Exit status: 0 yes, 1 no, 2 it cannot be told.
    """
    from bela.cli._campaigns import find_campaign
    from bela.cli._output import Output

    output = Output("-" if json_ else None)
    outcome = _Outcome(campaign=campaign, export=None if export is None else str(export))
    words: list[str] = []
    try:
        outcome.campaign = str(find_campaign(campaign))
        words = _check(Path(outcome.campaign), export, output, outcome, quick=quick, allow_code=allow_code)
    except BelaError as error:
        if not json_:
            raise
        outcome.reasons = [str(error)]
    output.finish(asdict(outcome), words)
    raise typer.Exit({True: 0, False: 1, None: 2}[outcome.verified])


def _check(
    path: Path, export: Path | None, output: Output, outcome: _Outcome, *, quick: bool, allow_code: bool
) -> list[str]:
    """Fill in the outcome and return it in words; an error is raised where nothing can be told."""
    from bela.cli._campaigns import open_to_look
    from bela.exports import read_certificate
    from bela.storage import check_no_links

    check_no_links(path)
    written = {} if export is None else read_certificate(export)
    moment = _mapping(written.get("journal"))  # that the export was written at
    n_then = moment.get("events")
    if type(n_then) is not int and written.get("journal") is not None:
        raise DataError("the certificate does not say which moment of the journal it is of: export again")
    until = n_then if isinstance(n_then, int) else None
    outcome.reasons, claim = _check_journal(path, until, moment.get("digest"), outcome), ""
    if not outcome.reasons:
        try:
            stored = open_to_look(path, output, recompute=not quick, until=until, allow_code=allow_code)
        except ReplayError:
            raise
        except JournalError as error:
            outcome.reasons = [str(error)]
        else:
            with stored:
                outcome.reasons = [] if export is None else _check_export(export, written, stored)
                outcome.n_asked, certificate = stored.campaign.n_asked, stored.campaign.certificate
                outcome.certificate, claim = certificate.to_json(), certificate.claim
                if stored.verification is not None:
                    _take_in(stored.verification, outcome)
    outcome.verified = not outcome.reasons
    return _words(outcome, until, claim) if outcome.verified else ["No:", *(f"  {why}" for why in outcome.reasons)]


def _check_journal(path: Path, until: int | None, digest: object, outcome: _Outcome) -> list[str]:
    """Say what is wrong with the journal: damaged, or not the one that an export was written from."""
    from bela.campaign import SETTINGS, read_settings
    from bela.storage import SQLiteJournal

    place = path / read_settings(path / SETTINGS).journal
    if not place.exists():
        raise JournalError(f"there is no journal {place}: restore it from a copy")
    try:
        with closing(SQLiteJournal(place, read_only=True)) as journal:
            outcome.n_events = sum(1 for _ in journal.events())
    except VersionError:
        raise
    except JournalError as error:  # damaged, cut short, or not the one that was here
        return [str(error)]
    if until is None:
        return []
    if until > outcome.n_events:
        return [f"the export was written after {until} events, but the journal has {outcome.n_events}"]
    with closing(SQLiteJournal(place, read_only=True, until=until)) as part:
        if part.digest == digest:
            return []
    return [f"the first {until} events of the journal are not those that the export was written from"]


def _check_export(export: Path, written: Mapping[str, object], stored: StoredCampaign) -> list[str]:
    """Say in what an export is not that of the campaign; labels are read back where they are a column."""
    from bela.cli._overview import document_of
    from bela.data import open_table
    from bela.exports import (
        certificate_differences,
        check_export,
        keep_sure,
        labels_digest,
        loaded_formats,
        without_escape,
    )  # fmt: skip

    result, share = stored.campaign.result(), _mapping(written.get("kept")).get("share")
    if isinstance(share, float):
        result = keep_sure(result, share)
    wrong = [f"the certificate says {line}" for line in certificate_differences(written, document_of(stored, result))]
    wrong += check_export(export)
    about = _mapping(written.get("export"))
    kind = loaded_formats().get(str(about.get("format")))
    if kind is None or not kind.is_table or not export.exists():
        return wrong
    records, column = open_table(export), str(_mapping(about.get("columns")).get("label"))
    if records.n_rows != stored.records.n_rows:
        return [*wrong, f"{export} has {records.n_rows} rows, not {stored.records.n_rows}"]
    if column not in records.columns:
        return [*wrong, f"{export} has no column {column!r}, which should hold the labels"]
    # A blank label is nothing in some formats, and an empty text in others.
    there = records.column(column).to_pylist()
    if about.get("excel_safe"):
        there = [without_escape(label) for label in there]
    found, said = ([label if label != "" else None for label in labels] for labels in (there, result.labels.tolist()))
    if labels_digest(found) != labels_digest(said):
        wrong.append(f"the labels in {export} are not those of the campaign")
    return wrong


def _take_in(found: Verification, outcome: _Outcome) -> None:
    """Say what became of deciding anew; nobody can tell why it came out otherwise, so that is not a no."""
    outcome.decided, outcome.compared = found.n_decided, found.n_compared
    if not found.holds and not outcome.reasons:
        more = found.n_different - len(found.differences)
        raise JournalError(
            f"the campaign cannot be made again as it was recorded ({'; '.join(found.differences)}"
            f"{f'; and {more} more' if more else ''}): it was made with other versions of the packages or on another "
            "kind of machine, or somebody has changed it"
        )


def _words(outcome: _Outcome, until: int | None, claim: str) -> list[str]:
    from bela.cli._showing import count

    n_events, decided, compared = outcome.n_events or 0, outcome.decided or 0, outcome.compared or 0
    how = "With what was kept" if outcome.decided is None else "Computed again from the data"
    later = 0 if until is None else n_events - until
    since = f" as it was then; {count(later, 'event')} came later" if later else ""
    sentences = {
        f"Yes. The journal of {count(n_events, 'event')} is whole.": True,
        f"{how}, {count(outcome.n_asked or 0, 'answer')} give this: {claim}": True,
        f"Decided anew, {count(decided, 'choice')} of questions and labels came out the same.": decided,
        f"Another version of the method made {count(compared, 'choice')}: of these only the digests were "
        "compared.": compared,
        f"The labels and the certificate of {outcome.export} are those of the campaign{since}.": outcome.export,
    }
    return [sentence for sentence, applies in sentences.items() if applies]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
