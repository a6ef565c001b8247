"""Campaigns by name: found, begun or taken up again, with options that may not contradict what they began with."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bela.campaign import (
    SETTINGS,
    Campaign,
    Settings,
    StoredCampaign,
    create_campaign,
    n_carried,
    open_campaign,
    read_settings,
)
from bela.cli._campaign_options import DEFAULT_TARGET, Choices
from bela.datasets import DATASETS
from bela.errors import JournalError, LabelError, ParameterError

if TYPE_CHECKING:
    from bela.cli._output import Bars, Output
    from bela.records import Label

_COLUMNS_SHOWN = 20
_PACKED = (".gz", ".bz2", ".zst")
_FIXED = (
    ("method", "--method"),
    ("confidence", "--confidence"),
    ("seed", "--seed"),
    ("id_column", "--id"),
    ("label_column", "--label"),
    ("encoding", "--encoding"),
)


def is_campaign(path: str | Path) -> bool:
    """Whether a campaign lives in this folder."""
    return (Path(path) / SETTINGS).is_file()


def default_folder(data: str) -> Path:
    """Return the folder of the campaign about these data, if nobody names another.

    Examples
    --------
    >>> [default_folder(name).as_posix() for name in ("pets/cats.csv", "pets/cats.jsonl.gz", "v1.2/", "mnist")]
    ['pets/cats.bela', 'pets/cats.bela', 'v1.2.bela', 'mnist.bela']
    """
    path = Path(data)
    if not path.name or path.name == "..":
        path = path.absolute().resolve()
    name = path.name
    if not path.is_dir() and not data.endswith(("/", os.sep)):
        name = Path(path.stem if path.suffix.lower() in _PACKED else name).stem
    return path.with_name(f"{name}.bela")


def find_campaign(place: str) -> Path:
    """Return the folder of a campaign that is there, named by itself or by its data."""
    if is_campaign(place):
        return Path(place)
    folder = default_folder(place)
    if is_campaign(folder):
        return folder
    if Path(place).is_dir():
        raise JournalError(f"{place} is no campaign: there is no {SETTINGS} in it")
    raise JournalError(f"there is no campaign {place}: `bela label` or `bela run` begins one")


def folder_of(data: str, choices: Choices) -> Path:
    """Return the folder of the campaign that is meant, be it there or not."""
    return Path(data) if is_campaign(data) else choices.folder or default_folder(data)


def is_about_dataset(data: str, choices: Choices) -> bool:
    """Whether a campaign is, or will be, about a dataset that has a name and brings its own truth."""
    path = folder_of(data, choices)
    return read_settings(path / SETTINGS).data in DATASETS if is_campaign(path) else _is_named(data)


def _is_named(data: str) -> bool:
    return data in DATASETS and not Path(data).exists()


def open_or_create(
    data: str, choices: Choices, output: Output, *, truth: str | None = None, background: bool = False
) -> StoredCampaign:
    """Begin a campaign, or take it up again if there is one.

    Parameters
    ----------
    data
        The data, or the folder of a campaign.
    choices
        What was said on the command line.
    output
        Where to say how the columns are taken.
    truth
        The column with the right labels, which nothing may be learned from.
    background
        Make revisions in a thread of their own.
    """
    if truth is not None and truth == choices.label_column:
        raise ParameterError("--label and --truth name different columns: one has some labels, the other has all")
    path = folder_of(data, choices)
    if is_campaign(data):
        if choices.folder is not None and choices.folder.resolve() != path.resolve():
            raise ParameterError(f"{data} is a campaign already: leave out --campaign {choices.folder}")
    elif not path.exists():
        return _create(data, path, choices, output, truth=truth, background=background)
    before = read_settings(path / SETTINGS)
    if not is_campaign(data):
        _check_place(path, before, data)
    _check_unchanged(path, before, choices, truth)
    with output.bars() as bars:
        stored = open_campaign(
            path, accept_changes=choices.accept_changes, progress=bars, background=background
        )  # fmt: skip
        try:
            if stored.settings.journal != before.journal:
                what = "The data have" if stored.settings.fingerprint != before.fingerprint else "The program has"
                bars.say(
                    f"{what} changed: {n_carried(path, stored.settings)} answers to rows that are the same are kept."
                )
            _change(stored, choices, bars)
        except BaseException:
            stored.close()
            raise
    return stored


def open_to_look(path: Path, output: Output, **options: Any) -> StoredCampaign:
    """Open a campaign without keeping others from writing."""
    with output.apart(), output.bars() as bars:
        return open_campaign(path, read_only=True, progress=bars, **options)


class _Terminated(KeyboardInterrupt):
    """Somebody asked the program to end, not from the keyboard."""


def _terminate(*_: object) -> None:
    raise _Terminated


@contextmanager
def resumable(path: Path) -> Iterator[None]:
    """Say how to go on when somebody stops the program, be it by Ctrl-C or by the signal to end."""
    handled = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _terminate) if handled else None
    try:
        yield
    except KeyboardInterrupt as stopped:
        if is_campaign(path):
            typer.echo(f"\nStopped. Every answer is kept in {path}: the same command goes on.", err=True)
        else:
            typer.echo("\nStopped before anything was asked: the same command begins anew.", err=True)
        raise typer.Exit(143 if isinstance(stopped, _Terminated) else 130) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def as_label(text: str, classes: tuple[Label, ...]) -> Label:
    """Return the name of a class as a label of the type that the others have."""
    kind = type(classes[0]) if classes else str
    if kind is int:
        try:
            return int(text)
        except ValueError:
            raise LabelError(f"{text!r} is no whole number, as the other classes are") from None
    if kind is bool:
        named = {"true": True, "false": False}
        if text.lower() not in named:
            raise LabelError(f"{text!r} is neither true nor false, as the other classes are")
        return named[text.lower()]
    return text


def place_of_data(path: Path, settings: Settings) -> str:
    """Return where the data of a campaign are, or their name."""
    return settings.data if settings.data in DATASETS else os.path.normpath(path / settings.data)


# ------------------------------------------------------------------------------------------------------- inside


def _create(
    data: str, path: Path, choices: Choices, output: Output, *, truth: str | None, background: bool
) -> StoredCampaign:
    if data.rstrip("/").endswith(".bela") and not Path(data).exists():
        raise JournalError(f"there is no campaign {data}: name the data to begin one")
    _check_outside(data, path)
    asked = {"method": choices.method, "confidence": choices.confidence, "seed": choices.seed}
    options: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    target = DEFAULT_TARGET if choices.target is None else choices.target
    Campaign([[0.0], [1.0]], target=target, **options)  # what is wrong with these is said before any work is done
    hidden = dict.fromkeys((*choices.hidden, *(() if truth is None else (truth,))))
    with output.bars() as bars:
        n_columns = 0

        def tell(line: str) -> None:
            nonlocal n_columns
            if not n_columns:
                bars.say(f"This is how the columns of {data} are taken (--kind changes it):")
            n_columns += 1
            if n_columns <= _COLUMNS_SHOWN:
                bars.say(f"  {line}")

        stored = create_campaign(
            data, path,
            id_column=choices.id_column, label_column=choices.label_column, hidden=tuple(hidden),
            encoding=choices.encoding, kinds=choices.kinds, features=choices.features, text_model=choices.text_model,
            progress=bars, tell=tell, background=background,
            target=target, budget=choices.budget, classes=choices.classes, **options,
        )  # fmt: skip
        if n_columns > _COLUMNS_SHOWN:
            bars.say(f"  and {n_columns - _COLUMNS_SHOWN:,} more: see {path / SETTINGS}")
        bars.say(f"Everything is kept in {path}.")
    return stored


def _check_outside(data: str, path: Path) -> None:
    """Refuse a campaign amid the data, which would be taken for data."""
    folder, inside = Path(data).resolve(), path.resolve()
    if not (folder.is_dir() and inside.is_relative_to(folder)):
        return
    if not any(part.endswith(".bela") for part in inside.relative_to(folder).parts):
        raise ParameterError(f"--campaign {path} lies amid the data: choose a place outside, or a name with .bela")


def _check_place(path: Path, settings: Settings, data: str) -> None:
    place = place_of_data(path, settings)
    same = place == data if _is_named(data) or place in DATASETS else os.path.realpath(place) == os.path.realpath(data)
    if not same:
        raise ParameterError(
            f"{path} is about {place}, not {data}: name another folder with --campaign, or, if the data were moved, "
            f"say so in {path / SETTINGS}"
        )


def _check_unchanged(path: Path, settings: Settings, choices: Choices, truth: str | None) -> None:
    """Refuse options that contradict what a campaign began with."""

    def refuse(option: str, value: object, there: object) -> None:
        was = "without it" if there is None else f"with {there}"
        raise ParameterError(
            f"{option} {value} contradicts {path}, which was begun {was}: leave it out, or begin another campaign "
            "with --campaign"
        )

    for name, option in _FIXED:
        value, there = getattr(choices, name), getattr(settings, name)
        if value is not None and value != there:
            refuse(option, value, there)
    for option, key, value in (
        ("--features", "function", choices.features),
        ("--text-model", "text_model", choices.text_model),
    ):
        if value is not None and value != settings.features.get(key):
            refuse(option, value, settings.features.get(key))
    kinds = settings.features.get("columns", {})
    for column, kind in choices.kinds.items():
        if kinds.get(column) != kind:
            refuse("--kind", f"{column}={kind}", f"{column}={kinds[column]}" if column in kinds else None)
    unseen = {*settings.hidden, settings.label_column}
    for column in choices.hidden:
        if column not in unseen:
            refuse("--hide", column, None)
    if truth is not None and truth not in settings.hidden:
        raise ParameterError(
            f"{path} was begun without --truth {truth} and may have learned from that column: begin another campaign "
            "with --campaign"
        )


def _change(stored: StoredCampaign, choices: Choices, bars: Bars) -> None:
    """Change what may be changed: when to stop, and further classes."""
    campaign = stored.campaign
    if choices.target is not None or choices.budget is not None:
        stored.aim(
            target=campaign.target if choices.target is None else choices.target,
            budget=campaign.budget if choices.budget is None else choices.budget,
        )
    for name in choices.classes or ():
        label = as_label(name, campaign.classes)
        if label not in campaign.classes:
            campaign.add_class(label)
            bars.say(f"{name!r} is a class from now on.")
