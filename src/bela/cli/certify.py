"""`bela certify`: how many of the labels in a file are right, whoever made them."""

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer

from bela.campaign import (
    AuditResult,
    Campaign,
    Mistake,
    Verdict,
    audit_result,
    begin_audit,
    column_texts,
    read_prediction,
    run_campaign,
)
from bela.cli import _options as opts
from bela.cli._auditing import read_answers
from bela.cli._by_hand import answer_in_terminal, answer_on_page
from bela.cli._campaigns import AUDIT, folder_of, is_campaign, open_or_create
from bela.cli._mending import in_words, is_reached, mend, mistakes_found, to_json
from bela.cli._output import Output, check_place, watch
from bela.cli._showing import count, first
from bela.data import open_table
from bela.errors import DataError, ParameterError
from bela.oracles import TruthOracle
from bela.protocols import Table
from bela.records import DEFAULT_TARGET, Json

_SHOWN = 10  # mistakes
_DATA = "A table with a label in every row, images in folders, or the folder of an audit to go on with."


@opts.with_options
def certify(
    data: Annotated[str, typer.Argument(metavar="DATA", help=_DATA)],
    *,
    audited: opts.AuditOptions,
    options: opts.BasicOptions,
    checking: opts.CheckOptions,
    folder: opts.FolderOptions,
    json_file: opts.JsonTo = None,
    page: opts.PageOptions,
) -> None:
    """Certify or refute that enough labels of a file are right, by checking as few as possible.

    Rows are drawn at random and checked, until the target is certified or refuted. Each of the two is false with
    probability 1 - confidence at most, and for a given target only one can be. The bounds hold at all times at once,
    so you may look and stop whenever you like. The answers are kept in DATA's name with .certify.bela, a campaign like
    any other; with --truth only where --campaign names a folder. With --mend labels are put right as well, and doubtful
    rows are asked on until the target is reached so. Exit status: 0 certified, 1 not certified, 2 bad
    input.
    """
    output, truth = Output(json_file), audited.truth
    check_place("--mistakes", checking.mistakes)
    if checking.answers is not None and (checking.on_page or truth is not None):
        raise ParameterError("--answers is for the terminal, where somebody is asked: leave it out")
    known = {} if checking.answers is None else read_answers(checking.answers)
    _check_columns(audited, begun=is_campaign(data))
    if checking.mend:
        with mend(data, audited, options, checking=checking, folder=folder, output=output, page=page) as (
            campaign,
            table,
        ):
            found, reached = mistakes_found(campaign), is_reached(campaign)
            _write_mistakes(checking.mistakes, table, found, audited.label)
            outcome = to_json(campaign, found), in_words(campaign, found, Path(data).name)
        output.finish(*outcome)
        raise typer.Exit(0 if reached else 1)
    if truth is not None and folder.campaign is None and not is_campaign(data):
        campaign, table = _audit_in_memory(data, audited, truth, options, output)
        result, kept = audit_result(campaign), None
        _write_mistakes(checking.mistakes, table, result.mistakes, audited.label)
    else:
        kept = folder_of(data, folder, AUDIT)
        made = opts.CampaignOptions(**asdict(options), method="audit")
        with open_or_create(data, kept, made, folder, output, truth=truth, audit=audited) as stored:
            if truth is not None:
                _answer_from(stored.campaign, stored.records, truth)
            elif checking.on_page:
                answer_on_page(stored, output, page)
            else:
                if stored.campaign.book.questions:
                    output.say(f"Going on with {count(stored.campaign.n_asked, 'answer')} from {kept}.")
                if strange := [row for row in known if not 0 <= row < stored.records.n_rows]:
                    says = f"row {strange[0]} of {checking.answers} is not in the data, whose rows are 0 to"
                    raise DataError(f"{says} {stored.records.n_rows - 1}: is it a file of answers about other data?")
                answer_in_terminal(stored, output, known)
            result = audit_result(stored.campaign)
            _write_mistakes(checking.mistakes, stored.records, result.mistakes, stored.settings.prediction)
    output.finish(_to_json(result), _in_words(result, Path(data).name, kept))
    raise typer.Exit(0 if result.verdict is Verdict.CERTIFIED else 1)


def _check_columns(audited: opts.AuditOptions, *, begun: bool) -> None:
    if audited.label is None and not begun:
        raise ParameterError("--label is missing: name the column with the labels to audit")
    chosen = [name for name in (audited.label, audited.truth, audited.score) if name is not None]
    if len(set(chosen)) != len(chosen):
        raise ParameterError("--label, --truth and --score name different columns")


def _audit_in_memory(
    data: str, audited: opts.AuditOptions, truth: str, options: opts.BasicOptions, output: Output
) -> tuple[Campaign, Table]:
    """Audit against a column, with nothing to go on with another day."""
    with output.apart(), output.bars() as bars:
        table = open_table(data, encoding=options.encoding, progress=bars)
    labels, scores = read_prediction(table, str(audited.label), audited.score)
    campaign = begin_audit(
        labels, scores,
        target=DEFAULT_TARGET if options.target is None else options.target, budget=options.budget,
        confidence=0.95 if options.confidence is None else options.confidence, seed=options.seed or 0,
    )  # fmt: skip
    _answer_from(campaign, table, truth)
    return campaign, table


def _answer_from(campaign: Campaign, table: Table, truth: str) -> None:
    """Take the answers from a column."""
    known = column_texts(table, truth)
    labels = np.array([known.get(row) for row in range(table.n_rows)], dtype=object)
    with watch("checking") as show:
        run_campaign(campaign, TruthOracle(labels, table.n_rows), by=f"truth {truth}", progress=show)


def _in_words(result: AuditResult, name: str, kept: Path | None) -> list[str]:
    """Say in plain words what an audit came to, and how to go on."""
    mistakes = [
        f"row {found.row}: {found.label} {'is wrong' if found.answer is None else f'should be {found.answer}'}"
        for found in result.mistakes
    ]
    lines = [*result.in_words(name), *first(mistakes, _SHOWN, ": --mistakes FILE.csv writes them all")]
    if result.verdict is Verdict.UNDECIDED and kept is not None:
        lines.append(f"The answers are kept in {kept}: run the same command to go on.")
    return lines


def _to_json(result: AuditResult) -> dict[str, Json]:
    """Return the outcome of an audit as plain numbers and strings."""
    outcome = {
        "verdict": str(result.verdict), "target": result.target, "n_rows": result.n_rows, "n_asked": result.n_asked,
        "n_mistakes": len(result.mistakes), "n_skipped": result.n_skipped,
        "certificate": result.certificate.to_json(), "corrected": {"lower": result.corrected.lower},
        "upper": result.upper, "seed": result.seed, "mistakes": [asdict(mistake) for mistake in result.mistakes],
    }  # fmt: skip
    return cast("dict[str, Json]", outcome)


def _write_mistakes(path: Path | None, table: Table, found: Sequence[Mistake], label: str | None) -> None:
    if path is None:
        return
    first = ["row", "label", "right_label"]
    others = [name for name in table.columns if name != label]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*first, *(f"{name}_" if name in first else name for name in others)])
        for mistake in found:
            record = table.record(mistake.row)
            writer.writerow([mistake.row, mistake.label, mistake.answer, *(record.get(name) for name in others)])
