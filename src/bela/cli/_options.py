"""The options of the commands, each declared once: dataclasses that several commands take as a whole."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, TypedDict, TypeVar, cast, get_type_hints

import typer

from bela.data import DATASETS, readers_by_ending
from bela.errors import ParameterError
from bela.features import EMBEDDINGS
from bela.oracles import ORACLES
from bela.records import DEFAULT_TARGET

CANNOT_TELL = "cannot tell"

_DATA = (
    f"A file ({', '.join(readers_by_ending())}), a folder of images or of parts of a table, or a dataset by name "
    f"({', '.join(DATASETS)})"
)
DataArgument = Annotated[str, typer.Argument(metavar="DATA", help=f"{_DATA}.")]
Place = Annotated[str, typer.Argument(metavar="DATA", help=f"{_DATA}; or the folder of a campaign.")]
FolderArgument = Annotated[
    str, typer.Argument(metavar="DIR", help="The folder of the campaign, such as cats.bela; the data's name will do.")
]
_ALLOW_CODE = (
    "Let the campaign run the function or the model that it names for its features, now and as long as they stay as "
    "they are. Needed for campaigns of somebody else; look at their code first."
)
AllowCode = Annotated[bool, typer.Option("--allow-code", help=_ALLOW_CODE)]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")]
_JSON_TO = "Write the outcome as JSON; - for stdout."
JsonTo = Annotated[str | None, typer.Option("--json", metavar="FILE", help=_JSON_TO)]
_STOP_AFTER = "Stop after this many answers, without telling the method beforehand."
StopAfter = Annotated[int | None, typer.Option("--stop-after", min=0, metavar="N", help=_STOP_AFTER)]

T = TypeVar("T")


def option(
    help_: str, *names: str, default: T = None,  # type: ignore[assignment]  # fields without a default may be None
    metavar: str | None = None, shown: bool | str = True, between: tuple[float | None, float | None] = (None, None),
) -> T:  # fmt: skip
    """Declare an option as a field of a dataclass: its help, its names if it is not called as the field, and so on."""
    least, most = between
    declared = typer.Option(default, *names, help=help_, metavar=metavar, show_default=shown, min=least, max=most)
    return field(default=default, metadata={"option": declared})


class Chosen(TypedDict, total=False):
    """What may be left to the defaults of a campaign."""

    method: str
    confidence: float
    seed: int


class Taken(TypedDict):
    """How the rows are read and compared, as `create_campaign` and `prepare` call it."""

    encoding: str | None
    kinds: dict[str, str]
    features: str
    embed: list[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicOptions:
    """When to stop, what is random, and how the rows are read; None where nothing was said."""

    target: float | None = option(
        "Stop when at least this share of the labels is certified right. May be changed later.",
        shown=f"{DEFAULT_TARGET}, none in a simulation",
    )
    budget: int | None = option("Stop after this many answers. May be changed later.", shown="the number of rows")
    confidence: float | None = option("The confidence of the certificate.", shown="0.95")
    seed: int | None = option("All that is random.", shown="0")
    id_column: str | None = option(
        "The column that names the rows.", "--id", metavar="COLUMN", shown="their numbers"
    )  # fmt: skip
    hide: list[str] | None = option(
        "A column that is neither learned from nor shown to whoever answers. May be repeated.", metavar="COLUMN"
    )
    kind: list[str] | None = option(
        "What a column is if it is not what it looks like: number, boolean, category, date, text, embedding, image or "
        "ignored. May be repeated.",
        metavar="COLUMN=KIND",
    )
    encoding: str | None = option("That of a text file.", shown="UTF-8, or as its first bytes say")

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that nobody may see."""
        return tuple(self.hide or ())

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of columns that are named as COLUMN=KIND; a column may have = in its name."""
        kinds: dict[str, str] = {}
        for pair in self.kind or ():
            column, mark, kind = pair.rpartition("=")
            if not mark:
                raise ParameterError(f"--kind {pair} says no kind: write COLUMN=KIND, such as comment=text")
            if column in kinds:
                raise ParameterError(f"--kind names the column {column!r} twice")
            kinds[column] = kind
        return kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions(BasicOptions):
    """What a campaign is made with."""

    method: str | None = option(
        "How questions are chosen and rows labelled; an unknown name lists them.", shown="the best"
    )
    classes: str | None = option(
        "The only labels allowed; those named later are added. A name with a comma goes in quotes.",
        metavar="A,B,...", shown="whatever is answered",
    )  # fmt: skip
    label_column: str | None = option(
        "A column that has some of the labels already, free of charge.", "--label", metavar="COLUMN"
    )
    predicted: list[str] | None = option(
        "A column of labels that a model has given to all rows or to some, and perhaps one that says how sure it was, "
        "the higher the surer. They are believed as far as the answers bear them out. May be repeated.",
        "--prediction", metavar="COLUMN[:SCORE]",
    )  # fmt: skip
    features: str | None = option(
        "What rows are compared by: auto (as the columns suggest), raw (the numbers as they are), a .npy file with a "
        "row of numbers for each, or module:function, which gets a list of records and returns such rows.",
        metavar="FEATURES", shown="auto",
    )  # fmt: skip
    embed: list[str] | None = option(
        "Which model reads texts or images, beside their words or gradients: auto (what is installed and has its "
        "weights on this machine), none, MODEL, or MODEL@DOOR, where DOOR is one of "
        f"{', '.join(EMBEDDINGS)}, or an address; COLUMN=MODEL for one column. May be repeated.",
        metavar="[COLUMN=]MODEL", shown="auto",
    )  # fmt: skip

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The classes that were declared, if any.

        >>> CampaignOptions(classes='cat, dog,"both, or none"').class_names
        ('cat', 'dog', 'both, or none')
        """
        text = self.classes
        if text is None:
            return None
        try:
            names = tuple(name.strip() for line in csv.reader([text], skipinitialspace=True) for name in line)
        except csv.Error as error:
            raise ParameterError(f"--classes {text!r} cannot be read: {error}") from None
        if not names or "" in names:
            raise ParameterError(f"--classes {text!r} has a class without a name: write them as A,B,...")
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(f"--classes names {name!r} twice")
        return names

    def taken(self) -> Taken:
        """Return how the rows are to be read and compared."""
        return {
            "encoding": self.encoding, "kinds": self.kinds, "features": self.features or "auto",
            "embed": self.embed or None,
        }  # fmt: skip

    def chosen(self) -> Chosen:
        """Return what was said of what `Campaign` has a default for."""
        values = {"method": self.method, "confidence": self.confidence, "seed": self.seed}
        return cast(Chosen, {name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions(CampaignOptions):
    """What a campaign is made with in which rows are labelled."""

    cannot_tell: str | None = option(
        f"Make what cannot be told a class of its own ({CANNOT_TELL!r}, or NAME after a =), so that it is an answer: a "
        "row that is drawn at random and skipped counts as wrong.",
        metavar="[=NAME]",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleOptions:
    """How people are asked about rows that are drawn at random."""

    suggest_draws: bool = option(
        "On the page, suggest labels for rows that are drawn at random too, and let grids have them. People agree more "
        "often with what they see: the certificate says how many were answered so.",
        "--suggest-draws", default=False,
    )  # fmt: skip
    again: float = option(
        "The share of rows drawn at random that people are asked about a second time, at least 20 answers later, to "
        "see how far they agree with themselves.",
        default=0.0, between=(0.0, 1.0), metavar="SHARE",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderOptions:
    """Where a campaign lives."""

    campaign: Path | None = option(
        "The folder that the campaign lives in.", metavar="DIR", shown="DATA's name with .bela, beside it"
    )
    accept_changes: bool = option(
        "If the data have changed, or a new version of bela decides otherwise than the old one, go on with the answers "
        "to rows that are the same, as labels that are given.",
        "--accept-changes", default=False,
    )  # fmt: skip
    allow_code: bool = option(_ALLOW_CODE, "--allow-code", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Who answers where nobody does by hand."""

    truth: str | None = option(
        "The column with the right labels (or a .npy file with one for each row), which is neither learned from nor "
        "shown. A named dataset brings its own.",
        metavar="COLUMN",
    )
    oracle: str | None = option(
        "A Python function that gets a list of records and returns their labels; or NAME=ARGUMENT, where NAME is one "
        f"of {', '.join(ORACLES)}.",
        metavar="MODULE:FUNCTION",
    )
    oracle_cmd: str | None = option(
        'A command that reads questions as JSON lines, {"id": 7, "record": {...}}, and writes answers, '
        '{"id": 7, "label": "cat", "cost": 0.002}; null for a label skips.',
        metavar="COMMAND",
    )
    batch: int | None = option(
        "Questions to ask at once.", metavar="N", shown="as the method likes it, 8 for a command"
    )  # fmt: skip
    timeout: float | None = option(
        "Seconds to wait for each answer of a command or a language model.", metavar="S", shown="60"
    )
    retries: int | None = option(
        "How often a command that fails is started again, or a language model called.", metavar="N", shown="3, 5"
    )
    keep_running: bool = option("Start the command once, rather than for each batch.", "--keep-running", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The columns of an audit: the labels, the right ones, and how sure whoever made the labels was."""

    label: str | None = option("The labels to audit.", metavar="COLUMN")
    truth: str | None = option(
        "The right labels; a row without one counts as wrong. Without this option you are asked.", metavar="COLUMN"
    )
    score: str | None = option(
        "How sure whoever made the labels was, the higher the surer: doubtful rows are then asked more often, which "
        "takes fewer answers if the scores are any good, and is as valid if they are not.",
        metavar="COLUMN",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """How labels are checked, and where the mistakes go."""

    mend: bool = option(
        "Go on asking until the target is reached by putting wrong labels right: the labels are a prediction, of which "
        "a campaign learns where it errs.",
        "--mend", default=False,
    )  # fmt: skip
    on_page: bool = option("Answer on a page in the browser.", "--page", default=False)
    answers: Path | None = option(
        'Answers that are known already, a line each: {"row": 7, "is": "cat"}, null for a label that is wrong. These '
        "rows are not asked when they are drawn.",
        metavar="FILE.jsonl",
    )
    mistakes: Path | None = option("Write the mistakes found, with their right labels.", metavar="FILE.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """How the labelling page is served."""

    host: str = option(
        "The address to serve on; 0.0.0.0 lets others reach it, who then need the token.", default="127.0.0.1"
    )
    port: int | None = option("The port to serve on.", between=(0, 65535), shown="the first free from 8765 on")
    token: bool = option("Ask for the token in the address, on this machine too.", "--token/--no-token", default=True)
    browser: bool = option("Open the page in a browser.", "--browser/--no-browser", default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamOptions(PageOptions):
    """How the page is served to several people."""

    overlap: float = option("The share of questions that two people are asked.", default=0.0, between=(0.0, 1.0))
    lease: float = option(
        "How long a question is kept for whoever has it before them.",
        default=120.0, between=(5.0, None), metavar="SECONDS",
    )  # fmt: skip
    owner: str | None = option(
        "What the owner, who comes in by the address that is printed, is called beside their answers.",
        metavar="NAME", shown="owner, or as it was",
    )  # fmt: skip
    name: list[str] | None = option(
        "A further name that the server goes by, such as behind a proxy. Repeatable.", metavar="HOST"
    )
    root_path: str | None = option(
        "The path that a proxy serves the page below, such as /pets.", metavar="PATH", shown="none"
    )
    proxy_header: str | None = option(
        "The header in which a trusted proxy says who somebody is, such as Remote-User, for single sign-on. Needs "
        "--proxy, --proxy-secret or both.",
        metavar="HEADER",
    )
    proxy: list[str] | None = option(
        "An address or a network that the trusted proxy, and nobody else, comes from. Repeatable.", metavar="ADDRESS"
    )
    proxy_secret: Path | None = option(
        "A file with a secret that the trusted proxy sends along in the header X-Bela-Proxy-Secret.", metavar="FILE"
    )


def complete(arguments: Sequence[str]) -> list[str]:
    """Give options that need no value the one that they have then; another one is written after a =.

    >>> complete(["label", "cats.csv", "--cannot-tell", "--terminal"])
    ['label', 'cats.csv', '--cannot-tell=cannot tell', '--terminal']
    """
    return [f"{said}={CANNOT_TELL}" if said == "--cannot-tell" else said for said in arguments]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses of options: each of their fields is an option on the command line."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = hints[parameter.name]
        if not (isinstance(group, type) and is_dataclass(group)):
            parameters.append(parameter.replace(annotation=group))
            continue
        groups[parameter.name] = group
        kinds = get_type_hints(group)
        parameters += [
            parameter.replace(name=entry.name, default=entry.metadata["option"], annotation=kinds[entry.name])
            for entry in fields(group)
        ]

    @functools.wraps(command)
    def call(**values: object) -> None:
        for name, group in groups.items():
            values[name] = group(**{entry.name: values.pop(entry.name) for entry in fields(group)})
        command(**values)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
