"""`bela report`: one HTML file about a campaign, to be sent to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from bela.campaign import StoredCampaign, open_campaign
from bela.cli._campaigns import find_campaign, open_to_look
from bela.cli._options import AllowCode, FolderArgument, JsonFlag
from bela.cli._output import Output
from bela.cli._showing import count
from bela.errors import ParameterError
from bela.records import Json

if TYPE_CHECKING:
    from bela.views import ChartPoint

_NAME = "the campaign's name with -report.html"
_MOMENTS = 10  # at which a campaign is looked at again, where nobody took notes


def report(
    campaign: FolderArgument,
    *,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="The file.", show_default=_NAME)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    allow_code: AllowCode = False,
    json_: JsonFlag = False,
) -> None:
    """Write a report: the certificate in plain words, charts, leaves, examples, and what was asked.

    One HTML file that needs no network and runs no script. Somebody may go on answering meanwhile.
    """
    from bela.reports import save_report, write_report
    from bela.views import Notes, Reporter

    output = Output("-" if json_ else None)
    path = find_campaign(campaign)
    to = to or Path(f"{path.name.removesuffix('.bela') or 'campaign'}-report.html")
    _check(to, overwrite)
    with open_to_look(path, output, allow_code=allow_code) as stored:
        notes = Notes(stored.path / "cache")
        course = _course(stored, output, allow_code) if len(notes.points()) < _MOMENTS // 2 else ()
        facts = Reporter(stored).look(notes, course)()
    text = write_report(facts)
    save_report(text, to)
    n_bytes, labelled = len(text.encode()), stored.campaign
    outcome: dict[str, Json] = {
        "to": str(to), "campaign": str(path), "n_bytes": n_bytes, "n_rows": labelled.n_rows,
        "n_asked": labelled.n_asked, "certificate": labelled.certificate.to_json(),
    }  # fmt: skip
    words = [
        f"The report about {count(labelled.n_rows, 'row')}: {to} ({max(1, n_bytes // 1000):,} kB)",
        facts.audit.claim if facts.audit else labelled.certificate.claim,
    ]
    output.finish(outcome, words)


def _check(to: Path, overwrite: bool) -> None:
    """Refuse a place where no report can be written, before all the work."""
    if to.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"a report is an HTML file: let its name end in .html, not as in {to.name}")
    if not to.absolute().parent.is_dir():
        raise ParameterError(f"there is no folder {to.parent} to write the report to: make it first")
    if to.is_dir() or (to.exists() and not overwrite):
        raise ParameterError(f"there is already something at {to}: choose another --to, or --overwrite it")


def _course(stored: StoredCampaign, output: Output, allow_code: bool) -> list[ChartPoint]:
    """Look at a campaign as it was at some earlier moments: nobody had the page open, so there are no notes of it."""
    from bela.views import chart_point

    answered = [event.seq for event in stored.journal.events() if event.kind in ("answered", "rejected")]
    moments = sorted({answered[int(at)] for at in np.linspace(0, len(answered) - 1, _MOMENTS)}) if answered else []
    course: dict[int, ChartPoint] = {}
    with output.apart(), output.bars() as bars:
        for place, seq in enumerate(moments):
            bars("looking back", place / len(moments))
            with open_campaign(stored.path, read_only=True, until=seq, allow_code=allow_code) as before:
                point = chart_point(before.campaign, before.campaign.result())
            course[point.answers] = point
    return [course[answers] for answers in sorted(course)]
