"""Whoever answers in `bela run`: a column, a function or a command, with labels that fit the campaign's classes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bela._functions import load_function
from bela.campaign import Campaign, StoredCampaign
from bela.datasets import load_dataset
from bela.errors import ParameterError
from bela.oracles import CallableOracle, CommandOracle, FunctionOracle, answers_of
from bela.sources import brought_labels

if TYPE_CHECKING:
    from bela.cli._output import Output
    from bela.protocols import Oracle
    from bela.records import IntArray, Label, Result

_AT_ONCE = 8  # questions to a command: starting it may take longer than answering


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Who answers, as chosen on the command line: by a truth, a function or a command, or by none of them.

    `batch`, `timeout`, `retries` and `keep_running` are None where nothing was said.
    """

    truth: str | None
    function: str | None
    command: str | None
    batch: int | None
    timeout: float | None
    retries: int | None
    keep_running: bool

    def __post_init__(self) -> None:
        chosen = [value for value in (self.truth, self.function, self.command) if value is not None]
        if len(chosen) > 1:
            raise ParameterError("--truth, --oracle and --oracle-cmd exclude each other: who is to answer?")
        for option, given in (
            ("--timeout", self.timeout is not None),
            ("--retries", self.retries is not None),
            ("--keep-running", self.keep_running),
        ):
            if given and self.command is None:
                raise ParameterError(f"{option} is for --oracle-cmd: leave it out")
        if self.batch is not None and self.batch < 1:
            raise ParameterError(f"--batch is a number of questions from 1 on, not {self.batch}")
        if self.function is not None:
            load_function(self.function)  # whether there is one is said before any work is done
        if self.command is not None:
            self._command(self.command, lambda row: {})

    @property
    def truth_column(self) -> str | None:
        """The column of the data that has the truth, if it is one."""
        return None if self.truth is None or self._is_file(self.truth) else self.truth

    def check(self, *, brings_truth: bool) -> None:
        """Refuse data that nobody answers for."""
        if not brings_truth and self.truth is None and self.function is None and self.command is None:
            raise ParameterError(
                "nobody answers: name a column with --truth, a function with --oracle or a command with --oracle-cmd"
            )

    def n_questions(self, campaign: Campaign) -> int:
        """How many questions to ask at once."""
        if self.batch is not None:
            return self.batch
        return campaign.method.batch if self.command is None else max(_AT_ONCE, campaign.method.batch)

    def oracle(self, stored: StoredCampaign, output: Output) -> tuple[MatchingOracle, str]:
        """Return what answers for a campaign, and its name for the record."""
        hide = stored.hidden
        found: Oracle
        if self.function is not None:
            found, name = FunctionOracle(self.function, stored.records, hide=hide), self.function
        elif self.command is not None:
            classes: Any = lambda: stored.campaign.classes  # noqa: E731 - one of two
            if stored.settings.classes is not None:
                classes = stored.campaign.classes
            command = self._command(self.command, stored.records, hide=hide, classes=classes, on_retry=output.say)
            found, name = command, _name(command)
        else:
            labels = self.true_labels(stored)
            if labels is None:
                raise ParameterError("nobody answers: there is no truth")
            found, name = (
                CallableOracle(lambda rows: [labels.get(int(row)) for row in rows]),
                f"truth {self.truth or ''}".strip(),
            )
        return MatchingOracle(found, stored.campaign), name

    def true_labels(self, stored: StoredCampaign) -> Mapping[int, Label] | None:
        """Return the true labels by row, if they are known."""
        if self.truth is None:
            if self.function is not None or self.command is not None:
                return None
            return dict(enumerate(load_dataset(stored.settings.data).y.tolist()))
        if self._is_file(self.truth):
            import numpy as np

            from bela.sources import open_records

            labels = np.asarray(getattr(open_records(self.truth), "array", np.empty(0)))
            if labels.shape != (stored.records.n_rows,):
                raise ParameterError(
                    f"--truth {self.truth} must have one label for each of the {stored.records.n_rows} rows, and has "
                    f"the shape {labels.shape}"
                )
            return {row: label for row, label in enumerate(labels.tolist()) if label == label}  # noqa: PLR0124 - no NaN
        return brought_labels(stored.records, self.truth)

    def _command(self, command: str, records: Any, **options: Any) -> CommandOracle:
        given = {"timeout": self.timeout, "retries": self.retries}
        options.update((name, value) for name, value in given.items() if value is not None)
        return CommandOracle(command, records, batch=self.batch or 64, keep_running=self.keep_running, **options)

    @staticmethod
    def _is_file(truth: str) -> bool:
        return truth.endswith(".npy") and Path(truth).is_file()


class MatchingOracle:
    """Give answers as labels of the type that the classes have: 3 and "3" are the same class.

    Parameters
    ----------
    oracle
        Whoever answers.
    campaign
        Its classes.
    """

    def __init__(self, oracle: Oracle, campaign: Campaign) -> None:
        self._oracle, self._campaign = oracle, campaign

    @property
    def cost(self) -> float:
        """What the answers have cost so far."""
        return float(getattr(self._oracle, "cost", 0.0))

    def __call__(self, rows: IntArray) -> Sequence[Any]:
        """Return one label for each row, None where there is none."""
        answers = dict(self.answers(rows))
        return [answers[int(row)] for row in rows]

    def answers(self, rows: IntArray) -> Generator[tuple[int, Any], None, None]:
        """Yield each row with its label as soon as it is there."""
        with closing(answers_of(self._oracle, rows)) as answers:
            for row, label in answers:
                yield row, self._match(label)

    def close(self) -> None:
        """End a command that is still running."""
        if isinstance(self._oracle, CommandOracle):
            self._oracle.close()

    def _match(self, label: Any) -> Any:
        classes = self._campaign.classes
        if label is None or not classes or type(label) is type(classes[0]):
            return label
        return next((known for known in classes if as_text(known) == as_text(label)), label)


def share_right(result: Result, truth: Mapping[int, Label]) -> float | None:
    """Return the share of labels that are right, of the rows whose truth is known."""
    if not truth:
        return None
    labels = result.labels.tolist()
    return sum(as_text(labels[row]) == as_text(label) for row, label in truth.items()) / len(truth)


def _name(command: CommandOracle) -> str:
    """Return what a command is called, without its options: there may be secrets among them."""
    program, *rest = command.command
    script = rest[0] if rest and not rest[0].startswith("-") else ""
    return f"command {Path(program).name} {script}".strip()


def as_text(label: Any) -> str:
    """Return a label as text, whatever its type."""
    return str(label).lower() if isinstance(label, bool) else str(label)
