"""`bela certify`: how many of the labels in a file are right, whoever made them."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from bela.audit import Audit, AuditResult
    from bela.cli._answers import AnswersFile
    from bela.cli._rows import Rows

_SHOWN = 10  # mistakes


def certify(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A .csv, .tsv, .jsonl, .json, .parquet or .arrow file with a label in every row."
        ),
    ],
    *,
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The labels to audit.")],
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The right labels; a row without one counts as wrong. Without this option you are asked.",
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="How sure whoever made the labels was, the higher the surer: doubtful rows are then asked more "
            "often, which takes fewer answers if the scores are any good, and is as valid if they are not.",
        ),
    ] = None,
    target: Annotated[float, typer.Option(help="The share of right labels to certify.")] = 0.95,
    confidence: Annotated[
        float,
        typer.Option(
            help="That of the certificate, and separately of the refutation: each is false with probability "
            "1 - confidence at most, whenever you stop. Only one of the two can be false for a given target."
        ),
    ] = 0.95,
    budget: Annotated[
        int | None, typer.Option(help="Stop after this many answers.", show_default="the number of rows")
    ] = None,
    seed: Annotated[int, typer.Option(help="All that is random.")] = 0,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="Where the answers are kept; run again to go on.",
            show_default="FILE.certify.jsonl, none with --truth",
        ),
    ] = None,
    mistakes: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the mistakes found, with their right labels.")
    ] = None,
    json_file: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the outcome as JSON; - for stdout.")
    ] = None,
) -> None:
    """Certify or refute that enough labels of a file are right, by checking as few as possible.

    Rows are drawn at random and checked, until the target is certified or refuted. The bounds hold at all times at
    once, so you may look and stop whenever you like. Exit status: 0 certified, 1 not certified, 2 bad input.
    """
    from rich.console import Console

    from bela.audit import Audit, Verdict
    from bela.cli._answers import AnswersFile
    from bela.cli._rows import Rows
    from bela.errors import ParameterError

    for option, output in (("--json", json_file), ("--mistakes", mistakes), ("--answers", answers)):
        if output not in (None, "-") and not Path(str(output)).absolute().parent.is_dir():
            raise ParameterError(f"{option} {output}: there is no such folder to write to; make it first")
    chosen = [name for name in (label, truth, score) if name is not None]
    if len(set(chosen)) != len(chosen):
        raise ParameterError("--label, --truth and --score name different columns")
    rows = Rows(file, chosen)
    labels = _labels(rows, label)
    scores = None if score is None else _scores(rows, score)
    # Parameters are judged before a file of answers is begun with them.
    Audit(labels, target=target, confidence=confidence, scores=scores, budget=budget, seed=seed)
    log = None
    if truth is None or answers is not None:
        about = {
            "file": file.name, "fingerprint": rows.fingerprint, "n_rows": rows.n_rows, "label": label, "score": score,
            "target": target, "confidence": confidence, "seed": seed,
        }  # fmt: skip
        log = AnswersFile(answers or file.with_name(f"{file.name}.certify.jsonl"), about)
    try:
        audit = Audit(
            labels, target=target, confidence=confidence, scores=scores, budget=budget, seed=seed,
            tuned_to=None if log is None else float(log.about["target"]),
        )  # fmt: skip
        if log is not None:
            log.replay(audit)
        if truth is not None:
            _check_against(audit, rows, truth, log)
        elif log is not None:
            _ask_person(Console(stderr=json_file == "-"), audit, rows, log, label=label, labels=set(labels))
    finally:
        if log is not None:
            log.close()
    result = audit.result()
    if mistakes is not None:
        _write_mistakes(mistakes, rows, result, label)
    if json_file != "-":
        typer.echo(in_words(result, file.name, None if log is None else log.path))
    if json_file is not None:
        _write_json(json_file, to_json(result))
    raise typer.Exit(0 if result.verdict is Verdict.CERTIFIED else 1)


def _labels(rows: Rows, column: str) -> list[str]:
    from bela.cli._rows import as_text
    from bela.errors import DataError

    labels = [as_text(value) for value in rows.values[column]]
    missing = labels.count(None)
    if missing:
        raise DataError(f"{rows.path} has no label in column {column!r} for {missing} row(s): fill or drop them first")
    return [value for value in labels if value is not None]


def _scores(rows: Rows, column: str) -> list[float]:
    from bela.errors import DataError

    scores = []
    for row, value in enumerate(rows.values[column]):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if math.isnan(number):
            raise DataError(f"{rows.path} has {value!r} in column {column!r} of row {row} where a number is needed")
        scores.append(number)
    return scores


def _check_against(audit: Audit, rows: Rows, truth: str, log: AnswersFile | None) -> None:
    """Take the answers from a column."""
    from bela.cli._progress import make_progress
    from bela.cli._rows import as_text

    values = rows.values[truth]
    with make_progress() as progress:
        task = progress.add_task("checking", total=audit.target, state="")
        while not audit.finished:
            question = audit.ask()[0] if log is None else log.ask(audit)
            answer = as_text(values[question.row])
            if answer is None:
                audit.skip(question.id) if log is None else log.skip(audit, question)
            elif log is None:
                audit.tell(question.id, answer)
            else:
                log.tell(audit, question, answer=answer)
            if not progress.disable and audit.n_asked % 20 == 0:
                lower = audit.certificate.lower
                progress.update(task, completed=min(lower, audit.target), state=describe(audit))


def _ask_person(console: Console, audit: Audit, rows: Rows, log: AnswersFile, *, label: str, labels: set[str]) -> None:
    """Take the answers from whoever sits in front of the terminal."""
    from bela.audit import Verdict
    from bela.cli._asking import Asker, Key
    from bela.errors import QuestionError

    limit = audit.n_rows + 1 if audit.budget is None else audit.budget

    asker = Asker(console, rows, label=label, labels=labels)
    again = audit.skipped  # asked once more, before anything new
    if audit.n_asked or again:
        console.print(f"Going on with {_count(audit.n_asked, 'answer')} from {log.path}.", markup=False, soft_wrap=True)
    introduced = False
    while audit.verdict is Verdict.UNDECIDED and audit.n_asked < limit and (again or not audit.finished):
        if not introduced:
            asker.introduce()
            introduced = True
        question = again.pop(0) if again else log.ask(audit)
        said = asker.ask(question.row, f"{describe(audit)} (row {question.row})")
        if said is Key.QUIT:
            return
        if said is Key.UNDO:
            if question in audit.skipped:
                again.insert(0, question)
            try:
                undone = log.undo(audit)
            except QuestionError:
                console.print("There is nothing to undo.")
            else:
                again = [other for other in again if other != undone]
                if undone in audit.skipped:
                    again.insert(0, undone)
        elif said is Key.SKIP:
            log.skip(audit, question)
        elif said is Key.WRONG:
            log.tell(audit, question, answer=None)
        else:
            log.tell(audit, question, answer=str(audit.labels[question.row]) if said is Key.RIGHT else str(said))


def describe(audit: Audit) -> str:
    """Say in a few words where an audit stands."""
    return (
        f"{_count(audit.n_asked, 'answer')}, {_count(audit.n_mistakes, 'mistake')}, "
        f"at least {_floor(audit.certificate.lower)} right, target {_plain(audit.target)}"
    )


def in_words(result: AuditResult, name: str, log: Path | None) -> str:
    """Say in plain words what an audit came to."""
    from bela.audit import Verdict

    target, sure = _plain(result.target), f"(confidence {_plain(result.certificate.confidence)})"
    after = f"after {_count(result.n_asked, 'answer')}, {_count(len(result.mistakes), 'mistake')} found"
    of = f"of the {result.n_rows:,} labels are right"
    lines = [
        {
            Verdict.CERTIFIED: f"Certified: at least {target} {of} {sure}, {after}.",
            Verdict.REFUTED: f"Refuted: fewer than {target} {of} {sure}, {after}.",
            Verdict.UNDECIDED: f"Not decided: whether at least {target} {of} is still open, {after}.",
        }[result.verdict],
        f"{name} as it is: at least {_floor(result.certificate.lower)} right, at most {_ceil(result.upper)}, "
        f"each {sure}.",
    ]
    n_known = sum(mistake.answer is not None for mistake in result.mistakes)
    if n_known:
        what = "the mistake found" if n_known == 1 else f"the {n_known:,} mistakes found"
        lines.append(f"With {what} corrected: at least {_floor(result.corrected.lower)} right.")
    if n_known < len(result.mistakes):
        lines.append(f"Of {_count(len(result.mistakes) - n_known, 'mistake')} nobody said what would be right.")
    if result.n_skipped:
        lines.append(f"{_count(result.n_skipped, 'row')} without an answer counted as wrong.")
    for mistake in result.mistakes[:_SHOWN]:
        right = "is wrong" if mistake.answer is None else f"should be {mistake.answer}"
        lines.append(f"  row {mistake.row}: {mistake.label} {right}")
    if len(result.mistakes) > _SHOWN:
        lines.append(f"  and {len(result.mistakes) - _SHOWN:,} more: --mistakes FILE.csv writes them all")
    if result.verdict is Verdict.UNDECIDED and log is not None:
        lines.append(f"The answers are kept in {log}: run the same command to go on.")
    return "\n".join(lines)


def to_json(result: AuditResult) -> dict[str, Any]:
    """Return the outcome of an audit as plain numbers and strings."""
    return {
        "verdict": str(result.verdict),
        "target": result.target,
        "n_rows": result.n_rows,
        "n_asked": result.n_asked,
        "n_mistakes": len(result.mistakes),
        "n_skipped": result.n_skipped,
        "certificate": {
            "lower": result.certificate.lower,
            "confidence": result.certificate.confidence,
            "kind": result.certificate.kind,
        },
        "corrected": {"lower": result.corrected.lower},
        "upper": result.upper,
        "seed": result.seed,
        "mistakes": [{"row": m.row, "label": m.label, "answer": m.answer} for m in result.mistakes],
    }


def _write_mistakes(path: Path, rows: Rows, result: AuditResult, label: str) -> None:
    import csv

    first = ["row", "label", "right_label"]
    others = [name for name in rows.names if name != label]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*first, *(f"{name}_" if name in first else name for name in others)])
        for mistake in result.mistakes:
            record = rows[mistake.row]
            writer.writerow([mistake.row, mistake.label, mistake.answer, *(record.get(name) for name in others)])


def _write_json(output: str, outcome: dict[str, Any]) -> None:
    import json

    text = json.dumps(outcome, indent=1, allow_nan=False) + "\n"
    if output == "-":
        sys.stdout.write(text)
    else:
        Path(output).write_text(text, encoding="utf-8")


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _plain(share: float) -> str:
    return f"{100 * share:.10g} %"


def _floor(share: float) -> str:
    """Round a lower bound to what it still promises."""
    return f"{math.floor(share * 10_000 + 1e-9) / 100:.2f} %"


def _ceil(share: float) -> str:
    return f"{math.ceil(share * 10_000 - 1e-9) / 100:.2f} %"
