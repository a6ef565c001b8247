"""The options that `bela label` and `bela run` have in common."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from bela.errors import ParameterError

DEFAULT_TARGET = 0.95

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (.csv, .tsv, .jsonl, .json, .parquet, .arrow, .npy, .npz), a folder of images or of parts of a "
        "table, a dataset by name (mnist, fashion-mnist, digits, blobs), or the folder of a campaign.",
    ),
]
FolderArgument = Annotated[
    str, typer.Argument(metavar="DIR", help="The folder of the campaign, such as cats.bela; the data's name will do.")
]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--campaign",
        metavar="DIR",
        help="The folder that the campaign lives in.",
        show_default="DATA's name with .bela, beside it",
    ),
]
TargetOption = Annotated[
    float | None,
    typer.Option(
        "--target",
        help="Stop when at least this share of the labels is certified right. May be changed later.",
        show_default=str(DEFAULT_TARGET),
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--budget", help="Stop after this many answers. May be changed later.", show_default="the number of rows"
    ),
]
ClassesOption = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,...",
        help="The only labels allowed; those named later are added. A name with a comma goes in quotes.",
        show_default="whatever is answered",
    ),
]
IdOption = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column that names the rows.", show_default="their numbers"),
]
LabelOption = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="A column that has some of the labels already, free of charge."),
]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="What a column is if it is not what it looks like: number, boolean, category, date, text, embedding, "
        "image or ignored. May be repeated.",
    ),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="MODULE:FUNCTION",
        help="A Python function that gets a list of records and returns a row of numbers for each.",
    ),
]
TextModelOption = Annotated[
    str | None,
    typer.Option(
        "--text-model", metavar="NAME", help="A sentence-transformers model for the texts.", show_default="TF-IDF"
    ),
]
HideOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hide",
        metavar="COLUMN",
        help="A column that is neither learned from nor shown to whoever answers. May be repeated.",
    ),
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", help="That of a text file.", show_default="UTF-8, or as its first bytes say")
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="How questions are chosen and rows labelled; an unknown name lists them.",
        show_default="the best",
    ),
]
ConfidenceOption = Annotated[
    float | None, typer.Option("--confidence", help="The confidence of the certificate.", show_default="0.95")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="All that is random.", show_default="0")]
AcceptOption = Annotated[
    bool,
    typer.Option(
        "--accept-changes",
        help="If the data have changed, or a new version of bela decides otherwise than the old one, go on with the "
        "answers to rows that are the same, as labels that are given.",
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of words.")]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the outcome as JSON; - for stdout.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What somebody chose on the command line; None where nothing was said."""

    folder: Path | None = None
    target: float | None = None
    budget: int | None = None
    classes: tuple[str, ...] | None = None
    id_column: str | None = None
    label_column: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    features: str | None = None
    text_model: str | None = None
    hidden: tuple[str, ...] = ()
    encoding: str | None = None
    method: str | None = None
    confidence: float | None = None
    seed: int | None = None
    accept_changes: bool = False


def read_classes(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list with commas.

    Examples
    --------
    >>> read_classes('cat, dog,"both, or none"')
    ('cat', 'dog', 'both, or none')
    """
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


def read_kinds(pairs: Iterable[str] | None) -> dict[str, str]:
    """Return the kinds of columns that are named as COLUMN=KIND; a column may have = in its name."""
    kinds: dict[str, str] = {}
    for pair in pairs or ():
        column, mark, kind = pair.rpartition("=")
        if not mark:
            raise ParameterError(f"--kind {pair} says no kind: write COLUMN=KIND, such as comment=text")
        if column in kinds:
            raise ParameterError(f"--kind names the column {column!r} twice")
        kinds[column] = kind
    return kinds
