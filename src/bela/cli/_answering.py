"""Whoever answers in `bela run`: an oracle chosen by name, with labels that fit the campaign's classes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import typer

from bela.campaign import Campaign, StoredCampaign, run_campaign
from bela.cli._model_options import HelperOptions, ModelOptions
from bela.cli._options import AnswerOptions
from bela.cli._output import Output, watch
from bela.data import ArrayTable, column_labels, load_dataset, open_table
from bela.errors import DataError, ParameterError
from bela.labels import is_missing, label_like
from bela.methods import DEFAULT_METHOD
from bela.oracles import ORACLES, LLMOracle, ModelChoice, OracleContext, OracleOptions, Permissions
from bela.protocols import Oracle, Table
from bela.records import Answer, IntArray, Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Who answers, as chosen on the command line, and how many questions at once; None for as many as the method likes.

    `truth` is the column or file with the true labels, "" for those of the dataset, None for another oracle.
    """

    truth: str | None
    batch: int | None
    make: Callable[[OracleContext], Oracle]
    model: ModelOptions

    @property
    def truth_column(self) -> str | None:
        """The column of the data that has the truth, if it is one."""
        return None if not self.truth or (is_array(self.truth) and Path(self.truth).is_file()) else self.truth


def have_answered(
    stored: StoredCampaign, answerer: Answerer, output: Output, *, stop_after: int | None
) -> float | None:
    """Have an oracle answer for a campaign, and return the true share of right labels, if it is known."""
    campaign, batch, context = stored.campaign, answerer.batch, _context(stored, answerer.model, output)
    with closing(MatchingOracle(answerer.make(context), campaign)) as oracle, watch(stored.path.name) as show:
        if batch is None and oracle.batch:
            batch = max(oracle.batch, campaign.assessment.batch)
        truth = None if answerer.truth is None else context.labels(answerer.truth)
        trajectory = run_campaign(
            campaign, oracle, stop_after=stop_after, truth=truth, batch=batch, by=oracle.name, progress=show
        )
    return None if not trajectory or math.isnan(trajectory[-1].accuracy) else trajectory[-1].accuracy


@contextmanager
def helping(
    stored: StoredCampaign, helper: Callable[[OracleContext], Oracle] | None, model: ModelOptions, output: Output
) -> Iterator[None]:
    """Have a helper teach meanwhile, if there is one; if it failed, it is said why."""
    if helper is None:
        if (name := stored.campaign.book.help.name) is not None:
            output.say(f"Note: {name} has helped so far. Without --helper nobody does from now on.")
        yield
        return
    with closing(helper(_context(stored, model, output))) as made:
        stored.campaign.use_helper(made)
        yield
    if stored.campaign.book.help.ended:
        output.say(f"The helper was given up: {stored.campaign.book.help.ended}.")


@contextmanager
def helper_for(
    table: Table, helper: Callable[[OracleContext], Oracle] | None, model: ModelOptions, output: Output, *, data: str,
    hidden: Sequence[str], classes: Sequence[Label],
) -> Iterator[Oracle | None]:  # fmt: skip
    """Make a helper for a simulation, which has no folder, if there is to be one."""
    if helper is None:
        if model.choice().said() or model.show_prompt:
            raise ParameterError("what is said about a language model is for --helper llm: leave it out")
        yield None
        return
    context = OracleContext(
        records=table, hidden=hidden, labels=lambda name: true_labels(table, name, data), say=output.say,
        classes=lambda: classes, closed=True,
    )  # fmt: skip
    with closing(helper(context)) as made:
        yield made


def prompt_lines(oracle: Oracle | None, n_rows: int) -> list[str]:
    """Return what a language model would be sent about the first row, and what that may cost; nothing is sent."""
    return [*oracle.show(0), "---", *oracle.costs(n_rows)] if isinstance(oracle, LLMOracle) else []


def show_prompt(
    stored: StoredCampaign, make: Callable[[OracleContext], Oracle], model: ModelOptions, output: Output
) -> list[str]:
    """Return the same for a campaign."""
    with closing(make(_context(stored, model, output))) as oracle:
        return prompt_lines(oracle, stored.records.n_rows)


def _context(stored: StoredCampaign, model: ModelOptions, output: Output) -> OracleContext:
    campaign, book = stored.campaign, stored.campaign.book

    def labels(name: str) -> Mapping[int, Label]:
        return true_labels(stored.records, name, stored.settings.data)

    return OracleContext(
        records=stored.records, hidden=stored.hidden, labels=labels, say=output.say,
        classes=lambda: campaign.classes, closed=stored.settings.classes is not None, folder=stored.path,
        given={row: book.codes.classes[code] for row, code in book.given.items()},
        permissions=Permissions(allowed=tuple(model.allow or ()), ask=typer.confirm if can_ask() else None),
    )  # fmt: skip


def can_ask() -> bool:
    """Whether there is somebody at the keyboard."""
    return sys.stdin is not None and sys.stdin.isatty()


def choose_helper(
    said: HelperOptions, model: ModelOptions, begun: Path | None = None, *, method: str | None = None
) -> Callable[[OracleContext], Oracle] | None:
    """Return what helps, by what was said with --helper and --helper-cmd; None if nothing does.

    The `method` is that of a campaign that is still to be made, which must be one that learns from helpers.
    """
    if said.helper is not None and said.helper_cmd is not None:
        raise ParameterError("--helper and --helper-cmd exclude each other: who is to help?")
    name, argument = ("command", said.helper_cmd) if said.helper_cmd is not None else _named(said.helper)
    if argument is None:
        return None
    if method not in (None, DEFAULT_METHOD):
        raise ParameterError(f"--method {method} learns from no helper: leave one of the two out")
    choice = model.choice() if name == "llm" else ModelChoice()
    return ORACLES[name](argument, OracleOptions(llm=choice, may_decline=True, begun=begun))


def choose_oracle(
    said: AnswerOptions, model: ModelOptions, *, brings_truth: bool, model_helps: bool = False,
    begun: Path | None = None,
) -> Answerer:  # fmt: skip
    """Return who answers, by what was said; `begun` is the folder of the campaign, if it is there already."""
    options = OracleOptions(
        batch=said.batch, timeout=said.timeout, retries=said.retries, keep_running=said.keep_running,
        llm=ModelChoice() if model_helps else model.choice(), begun=begun,
    )  # fmt: skip
    chosen = [("truth", said.truth), ("command", said.oracle_cmd), _named(said.oracle)]
    given = [(name, argument) for name, argument in chosen if argument is not None]
    if len(given) > 1:
        raise ParameterError("--truth, --oracle and --oracle-cmd exclude each other: who is to answer?")
    name, argument = given[0] if given else ("truth", "")
    if name == "llm" and model_helps:
        raise ParameterError("--oracle llm and --helper llm exclude each other: a model cannot help itself")
    make = ORACLES[name](argument, options)
    if name == "truth" and not argument and not brings_truth:
        raise ParameterError(
            "nobody answers: name a column with --truth, a function with --oracle or a command with --oracle-cmd"
        )
    if model.show_prompt and name != "llm" and not model_helps:
        raise ParameterError("--show-prompt is for --oracle llm: nobody else gets a prompt")
    return Answerer(truth=argument if name == "truth" else None, batch=said.batch, make=make, model=model)


def _named(oracle: str | None) -> tuple[str, str | None]:
    """Return the name and the argument of an oracle: `name=argument`, a name alone, or a `module:function`."""
    name, _, argument = (oracle or "").partition("=")
    return (name, argument) if name in ORACLES else ("function", oracle)


class MatchingOracle:
    """Give answers as labels of the type that the classes have: 3 and "3" are the same class."""

    def __init__(self, oracle: Oracle, campaign: Campaign) -> None:
        self._oracle, self._campaign = oracle, campaign
        self.name, self.batch = oracle.name, oracle.batch

    def answers(self, rows: IntArray) -> Generator[Answer, None, None]:
        """Yield each answer as soon as it is there; a label that is none is refused when it is told."""
        with closing(self._oracle.answers(rows)) as answers:
            for answer in answers:
                label = (
                    None if answer.label is None else label_like(cast("Label", answer.label), self._campaign.classes)
                )
                yield replace(answer, label=label)

    def close(self) -> None:
        """Let go of what the oracle holds."""
        self._oracle.close()


def true_labels(table: Table, name: str, data: str) -> Mapping[int, Label]:
    """Return the labels by row that a column or a .npy file has, or the dataset itself where there is no name."""
    if name in table.columns or not (is_array(name) or isinstance(table, ArrayTable)):
        return column_labels(table, name)
    if not name:
        return dict(enumerate(load_dataset(data).y.tolist()))
    if not is_array(name):
        raise ParameterError(
            f"--truth {name} is no .npy file with one label for each row, and {data} has no array {name!r}: it has "
            f"{', '.join(table.columns)}"
        )
    found = open_table(name)
    labels = np.asarray(found.array) if isinstance(found, ArrayTable) else np.empty(0)
    if labels.shape != (table.n_rows,):
        raise DataError(
            f"--truth {name} must have one label for each of the {table.n_rows} rows, not the shape {labels.shape}"
        )
    return {row: label for row, label in enumerate(labels.tolist()) if not is_missing(label)}


def is_array(name: str) -> bool:
    """Whether true labels are named as a file, not as a column."""
    return name.endswith(".npy")
