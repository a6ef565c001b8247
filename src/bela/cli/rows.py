"""`bela rows`: find rows by what is in them, by label, source, confidence, and by what people did with them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bela.cli._campaigns import find_campaign, open_to_look
from bela.cli._options import AllowCode, FolderArgument, JsonFlag
from bela.cli._output import Output
from bela.cli._showing import as_text, count, name_of
from bela.errors import LabelError, ParameterError
from bela.labels import label_from_text
from bela.shares import share_text

if TYPE_CHECKING:
    from bela.campaign import StoredCampaign
    from bela.records import Json
    from bela.views import FoundRow, FoundRows, Labels

_TEXT = 'Words that must be in a row, whatever their case; "in quotes" where they belong together.'
_SOURCE = (
    "Where the label comes from: inferred (the method), prediction (the method, as a prediction says), oracle (an "
    "answer), given (the data), corrected, unreadable or unlabelled. May be repeated."
)
_BELOW, _ABOVE = "Labels that nobody gave and that are less sure.", "Labels that nobody gave and that are as sure."
_BY, _FLAGGED, _SKIPPED = "Answered or corrected by this person.", "Flagged by somebody.", "Skipped by somebody."
_WIDTH = 80


def rows(
    campaign: FolderArgument,
    *,
    text: Annotated[str, typer.Option("--text", metavar="WORDS", help=_TEXT, show_default=False)] = "",
    label: Annotated[list[str] | None, typer.Option("--label", help="With this label. May be repeated.")] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help=_SOURCE)] = None,
    below: Annotated[float | None, typer.Option("--below", min=0, max=1, help=_BELOW)] = None,
    above: Annotated[float | None, typer.Option("--above", min=0, max=1, help=_ABOVE)] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help=_BY)] = None,
    flagged: Annotated[bool, typer.Option("--flagged", help=_FLAGGED)] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help=_SKIPPED)] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many.")] = 20,
    allow_code: AllowCode = False,
    json_: JsonFlag = False,
) -> None:
    """Find rows: with words in the order of the data, otherwise the least certain first. Nothing is changed.

    Rows that wait for an answer are shown without their labels, and not found by them. Hidden columns are neither
    looked at nor shown.
    """
    from bela.views import SOURCES, Finder, RowView, Wanted

    output = Output("-" if json_ else None)
    if unknown := [name for name in source or () if name not in SOURCES]:
        raise ParameterError(f"there is no source {unknown[0]!r}: choose from {', '.join(SOURCES)}")
    path = find_campaign(campaign)
    with open_to_look(path, output, allow_code=allow_code) as stored:
        book = stored.campaign.book
        labels = [label_from_text(name, book.codes.names) for name in label or ()]
        for one in labels:
            book.code_of(one)  # or it is an error that names those that there are
        wanted = Wanted(
            text=text, labels=labels, sources=source or (), below=below, above=above, person=by, flagged=flagged,
            skipped=skipped,
        )  # fmt: skip
        waits = {question.row: "answer" for question in book.open.values()}
        found = Finder(stored, RowView.of(stored)).find(wanted, _labels(stored), waits=waits, limit=limit)
    outcome = {"campaign": str(path), **asdict(found)}
    outcome["more"] = outcome.pop("next") is not None
    output.finish(cast("dict[str, Json]", outcome), _words(found))


def _labels(stored: StoredCampaign) -> Labels | None:
    from bela.views import Labels, chart_point

    try:
        result = stored.campaign.result()
    except LabelError:  # nothing was answered yet
        return None
    return Labels(seq=stored.campaign.book.version, result=result, point=chart_point(stored.campaign, result))


def _words(found: FoundRows) -> list[str]:
    n = len(found.rows)
    order = "the least certain first" if found.by_doubt else "in the order of the data"
    if not n:
        return ["No row is like that."]
    if found.n_found is None:
        title = f"{count(n, 'row')} among the first {found.n_looked:,}, {order}; --limit shows more."
    elif found.n_found > n:
        title = f"{n:,} of {count(found.n_found, 'row')}, {order}; --limit shows more."
    else:
        title = f"{count(n, 'row')}, {order}."
    return [title, *(line for row in found.rows for line in _lines(row))]


def _lines(row: FoundRow) -> list[str]:
    """Return what is known of a row on one line, its content on the next, and a line for each flag."""
    if row.waits is not None:
        known = "waits for an answer"
    elif row.label is None:
        known = "no label yet"
    else:
        likely = "" if row.probability in (None, 1.0) else f" {share_text(row.probability or 0.0)}"
        who = f" by {', '.join(row.people)}" if row.people else ""
        known = f"{name_of(row.label, 40)} ({row.source}{likely}{who}{', skipped' if row.skipped else ''})"
    content = "; ".join(f"{name}: {as_text(value)}" for name, value in (*row.record.items(), *row.files.items()))
    flags = [f"    flagged by {flag.by}: {name_of(flag.comment, _WIDTH)}" for flag in row.flags]
    return [f"  row {row.name}: {known}", *([f"    {name_of(content, _WIDTH)}"] if content else []), *flags]
