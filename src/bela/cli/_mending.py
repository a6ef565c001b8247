"""`bela certify --mend`: labels of a file are put right until enough are certified, in a campaign like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import numpy as np

from bela.campaign import Campaign, Mistake, find_predictions, run_campaign
from bela.cli._by_hand import answer_in_terminal, answer_on_page
from bela.cli._campaigns import AUDIT, folder_of, is_campaign, open_or_create
from bela.cli._options import AuditOptions, BasicOptions, CampaignOptions, CheckOptions, FolderOptions, PageOptions
from bela.cli._output import Output, watch
from bela.cli._showing import first
from bela.data import column_labels, open_table
from bela.errors import DataError, ParameterError
from bela.features import prepare
from bela.oracles import TruthOracle
from bela.records import DEFAULT_TARGET, UNKNOWN, Json
from bela.shares import percent_text

if TYPE_CHECKING:
    from bela.protocols import Table

_SHOWN = 10  # mistakes


@contextmanager
def mend(
    data: str, audited: AuditOptions, options: BasicOptions, *, checking: CheckOptions, folder: FolderOptions,
    output: Output, page: PageOptions,
) -> Iterator[tuple[Campaign, Table]]:  # fmt: skip
    """Have labels checked and put right until the target is certified, in a folder unless a column has the truth."""
    if checking.answers is not None:
        raise ParameterError("--answers is for an audit that mends nothing: leave it out, or leave out --mend")
    names = [name for name in (audited.label, audited.score) if name is not None]
    column = names[0] if names else "the labels"
    output.say(
        f"The labels of {column} are put right where answers say so, and certified so. To audit them as they are, "
        "leave out --mend."
    )
    if audited.truth is not None and folder.campaign is None and not is_campaign(data):
        with output.apart(), output.bars() as bars:
            table = open_table(data, encoding=options.encoding, progress=bars)
            predicted = find_predictions(table, [":".join(names)])
            apart = [name for name in (*names, audited.truth, *options.hidden) if name in table.columns]
            prepared = prepare(table, exclude=apart, kinds=options.kinds, needed=False, progress=bars)
        target = DEFAULT_TARGET if options.target is None else options.target
        campaign = Campaign(
            prepared, predictions=predicted.read(table), target=target, budget=options.budget,
            confidence=0.95 if options.confidence is None else options.confidence, seed=options.seed or 0,
        )  # fmt: skip
        _answer_from(campaign, table, audited.truth)
        yield campaign, table
        return
    path = folder_of(data, folder, AUDIT)
    made = CampaignOptions(**asdict(options), predicted=[":".join(names)] if names else None)
    with open_or_create(data, path, made, folder, output, truth=audited.truth, background=not audited.truth) as stored:
        if not stored.settings.predictions:
            raise ParameterError(f"{path} was begun without --mend: leave it out, or choose another with --campaign")
        if audited.truth is not None:
            _answer_from(stored.campaign, stored.records, audited.truth)
        elif checking.on_page:
            answer_on_page(stored, output, page)
        else:
            answer_in_terminal(stored, output)
        yield stored.campaign, stored.records


def mistakes_found(campaign: Campaign) -> tuple[Mistake, ...]:
    """Return the rows whose label was put right, as they were answered."""
    book, [prediction] = campaign.book, campaign.predictions.values()
    codes = book.codes.classes
    return tuple(
        Mistake(row=row, label=codes[prediction.codes[row]], answer=codes[book.known[row]])
        for row in book.answered
        if prediction.codes[row] not in (UNKNOWN, book.known[row])
    )


def in_words(campaign: Campaign, mistakes: tuple[Mistake, ...], name: str) -> list[str]:
    """Say in plain words what it came to."""
    certificate, target = campaign.certificate, campaign.target
    goal = "" if target is None else f" The target of {percent_text(target)} is {_reached(campaign)}."
    found = [f"row {one.row}: {one.label} is {one.answer}" for one in mistakes]
    return [
        f"{name}, {len(mistakes):,} labels put right after {campaign.n_asked:,} answers: {certificate.claim}{goal}",
        *first(found, _SHOWN, ": --mistakes FILE.csv writes them all"),
    ]


def _reached(campaign: Campaign) -> str:
    return "reached" if is_reached(campaign) else "not reached yet"


def is_reached(campaign: Campaign) -> bool:
    """Whether the target is certified."""
    return campaign.target is None or campaign.certificate.lower >= campaign.target


def to_json(campaign: Campaign, mistakes: tuple[Mistake, ...]) -> dict[str, Json]:
    """Return what programs are told."""
    outcome = {
        "verdict": "certified" if is_reached(campaign) else "undecided", "mended": True, "target": campaign.target,
        "n_rows": campaign.n_rows, "n_asked": campaign.n_asked, "n_mistakes": len(mistakes),
        "certificate": campaign.certificate.to_json(), "seed": campaign.seed,
        "mistakes": [asdict(mistake) for mistake in mistakes],
    }  # fmt: skip
    return cast("dict[str, Json]", outcome)


def _answer_from(campaign: Campaign, table: Table, truth: str) -> None:
    known = column_labels(table, truth)
    if not known:
        raise DataError(f"column {truth!r} has no labels")
    labels = np.array([known.get(row) for row in range(table.n_rows)], dtype=object)
    with watch("checking") as show:
        run_campaign(campaign, TruthOracle(labels, table.n_rows), by=f"truth {truth}", every=None, progress=show)
