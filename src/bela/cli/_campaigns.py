"""Campaigns by name: found, begun or taken up again, with options that may not contradict what they began with."""

from __future__ import annotations

import functools
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bela.campaign import (
    SETTINGS,
    Campaign,
    Settings,
    columns_apart,
    create_campaign,
    n_carried,
    open_campaign,
    plain_name,
    read_brought,
    read_predictions,
    read_settings,
)
from bela.cli._options import AuditOptions, CampaignOptions, FolderOptions, LabelOptions
from bela.cli._output import Bars, Output
from bela.cli._showing import first, strange_lines
from bela.data import (
    DATASETS,
    is_address,
    is_dataset,
    is_elsewhere,
    label_notices,
    name_in_address,
    on_cluster,
)
from bela.errors import JournalError, ParameterError
from bela.features import FeaturePlan, PreparedData, agrees, named_features
from bela.labels import label_from_text
from bela.records import DEFAULT_TARGET

if TYPE_CHECKING:
    from bela.campaign import StoredCampaign

AUDIT = ".certify"
"""What stands in the name of a campaign that audits labels, so that one that labels the same data can lie beside it."""

_COLUMNS_SHOWN = 20
_PACKED = (".gz", ".bz2", ".zst")
_NAMES = {"id_column": "--id", "label_column": "--label"}  # options that are not called as their settings are
_CHANGEABLE = ("target", "class_target", "budget", "classes", "features")  # or compared in another way


def is_campaign(path: str | Path) -> bool:
    """Whether a campaign lives in this folder."""
    return (Path(path) / SETTINGS).is_file()


def default_folder(data: str, mark: str = "") -> Path:
    """Return the folder of the campaign about these data: beside them, or in the working directory if it cannot be.

    >>> [default_folder(name).as_posix() for name in ("pets/cats.csv", "pets/cats.jsonl.gz", "v1.2/", "mnist")]
    ['pets/cats.bela', 'pets/cats.bela', 'v1.2.bela', 'mnist.bela']
    """
    beside = _beside(data, mark)
    writable = os.access(beside.parent, os.W_OK) or not beside.parent.exists()
    return beside if writable or beside.exists() else Path(beside.name)


def _beside(data: str, mark: str) -> Path:
    if is_address(data):
        return Path(f"{Path(name_in_address(data)).stem}{mark}.bela")
    path = Path(data)
    if not path.name or path.name == "..":
        path = path.absolute().resolve()
    name = path.name
    if not path.is_dir() and not data.endswith(("/", os.sep)):
        name = Path(path.stem if path.suffix.lower() in _PACKED else name).stem
    return path.with_name(f"{name}{mark}.bela")


def find_campaign(place: str) -> Path:
    """Return the folder of a campaign that is there, named by itself or by its data."""
    for folder in (Path(place), default_folder(place), default_folder(place, AUDIT)):
        if is_campaign(folder):
            return folder
    if Path(place).is_dir():
        raise JournalError(f"{place} is not a campaign: there is no {SETTINGS} in it")
    raise JournalError(f"there is no campaign {place}: `bela label` or `bela run` begins one")


def folder_of(data: str, folder: FolderOptions, mark: str = "") -> Path:
    """Return the folder of the campaign that is meant, be it there or not."""
    return Path(data) if is_campaign(data) else folder.campaign or default_folder(data, mark)


def is_about_dataset(data: str, path: Path) -> bool:
    """Whether a campaign is, or will be, about a dataset that has a name and brings its own truth."""
    return read_settings(path / SETTINGS).data in DATASETS if is_campaign(path) else is_dataset(data)


@contextmanager
def open_or_create(
    data: str, path: Path, options: CampaignOptions, folder: FolderOptions, output: Output, *,
    truth: str | None = None, audit: AuditOptions | None = None, background: bool = False,
) -> Iterator[StoredCampaign]:  # fmt: skip
    """Begin a campaign, or take it up again if there is one; `path` is the folder that is meant by `data`.

    Nothing may be learned from the column `truth`; in the `background`, revisions are made in a thread of their own.
    When somebody stops the program, it is said how to go on.
    """
    with output.apart(), _resumable(path), on_cluster(folder.dask):
        if truth is not None and truth == options.label_column:
            raise ParameterError("--label and --truth name different columns: one has some labels, the other has all")
        if is_campaign(data) and folder.campaign is not None and folder.campaign.resolve() != path.resolve():
            raise ParameterError(f"{data} is a campaign already: leave out --campaign {folder.campaign}")
        if is_campaign(data) or path.exists():
            stored = _take_up(data, path, options, folder, output, truth=truth, audit=audit, background=background)
        else:
            stored = _create(data, path, options, output, truth=truth, audit=audit, background=background)
        with stored:
            yield stored


def _take_up(
    data: str, path: Path, options: CampaignOptions, folder: FolderOptions, output: Output, *,
    truth: str | None, audit: AuditOptions | None, background: bool,
) -> StoredCampaign:  # fmt: skip
    before = read_settings(path / SETTINGS)
    if not is_campaign(data):
        _check_place(path, before, data)
    if audit is not None and before.prediction is None:
        raise ParameterError(f"{path} labels rows and audits nothing: name another folder with --campaign")
    _check_unchanged(path, before, options, truth)
    if audit is not None:
        _check_same(path, "--label", audit.label, before.prediction)
        _check_same(path, "--score", audit.score, before.score)
    with output.bars() as bars, ExitStack() as on_error:
        # Whoever names a function or a model again, as it was named in the beginning, has allowed it.
        allowed = folder.allow_code or options.features is not None or bool(options.embed)
        stored = open_campaign(
            path, accept_changes=folder.accept_changes, progress=bars, background=background, allow_code=allowed
        )
        on_error.push(stored)
        if stored.settings.journal != before.journal:
            what = "The data have" if stored.settings.fingerprint != before.fingerprint else "The program has"
            bars.say(f"{what} changed: {n_carried(path, stored.settings)} answers to rows that are the same are kept.")
        _change(stored, options, bars)
        on_error.pop_all()
    return stored


def open_to_look(
    path: Path, output: Output, *, recompute: bool = False, until: int | None = None, allow_code: bool = False
) -> StoredCampaign:
    """Open a campaign without keeping others from writing."""
    with output.apart(), output.bars() as bars:
        return open_campaign(
            path, read_only=True, progress=bars, recompute=recompute, until=until, allow_code=allow_code
        )


class _Terminated(KeyboardInterrupt):
    """Somebody asked the program to end, not from the keyboard."""


def _terminate(*_: object) -> None:
    raise _Terminated


@contextmanager
def _resumable(path: Path) -> Iterator[None]:
    """Say how to go on when somebody stops the program, be it by Ctrl-C or by the signal to end."""
    handled = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _terminate) if handled else None
    try:
        yield
    except KeyboardInterrupt as stopped:
        kept = f"Stopped. Every answer is kept in {path}: the same command goes on."
        lost = "Stopped before anything was asked: the same command begins anew."
        typer.echo(f"\n{kept if is_campaign(path) else lost}", err=True)
        raise typer.Exit(143 if isinstance(stopped, _Terminated) else 130) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def place_of_data(path: Path, settings: Settings) -> str:
    """Return where the data of a campaign are, or their name."""
    return settings.data if is_elsewhere(settings.data) else os.path.normpath(path / settings.data)


def refuse_the_data(stored: StoredCampaign, to: str) -> None:
    """Refuse to write over the data, or amid the parts of a table, where an export would be one of them."""
    if is_elsewhere(stored.settings.data):
        return
    data, target = Path(os.path.realpath(stored.path / stored.settings.data)), Path(os.path.realpath(to))
    images = stored.records.columns == ("path", "folder")
    if target == data or (data.is_dir() and not images and data in target.parents):
        raise ParameterError(f"--to {to} would change the data that the campaign is about: choose another place")


def _create(
    data: str, path: Path, options: CampaignOptions, output: Output, *,
    truth: str | None, audit: AuditOptions | None, background: bool,
) -> StoredCampaign:  # fmt: skip
    if data.rstrip("/").endswith(".bela") and not Path(data).exists():
        raise JournalError(f"there is no campaign {data}: name the data to begin one")
    _check_outside(data, path)
    target = DEFAULT_TARGET if options.target is None else options.target
    further, classes = _further_classes(options), options.class_names
    if classes is not None:
        further, classes = (), tuple(dict.fromkeys((*classes, *further)))
    predictions = None if audit is None else {"any": ["a", "b"]}
    # What is wrong with these is said before any work is done.
    each = options.class_target
    Campaign([[0.0], [1.0]], target=target, class_target=each, predictions=predictions, **options.chosen())
    with output.bars() as bars, ExitStack() as on_error:
        mark = "" if audit is None else AUDIT
        if path == default_folder(data, mark) != _beside(data, mark):
            bars.say(f"The folder of {data} cannot be written to, so the campaign lies in the working directory.")
        columns, taken = list[str](), options.taken()
        if audit is not None:
            taken["embed"] = ["none"]  # labels are compared, not rows
        stored = create_campaign(
            data, path,
            id_column=options.id_column, label_column=options.label_column,
            prediction=None if audit is None else audit.label, score=None if audit is None else audit.score,
            hidden=tuple(dict.fromkeys((*options.hidden, *(() if truth is None else (truth,))))),
            progress=bars, tell=columns.append, fetching=bars.say, background=background,
            predicted=options.predicted or (),
            target=target, class_target=each, budget=options.budget, classes=classes, **taken, **options.chosen(),
            groups={name: group for name, group in options.class_groups.items() if group},
        )  # fmt: skip
        on_error.push(stored)
        _add_classes(stored, further)
        if columns and audit is None:
            bars.say(f"This is how the columns of {data} are taken (--kind changes it, --hide leaves one out):")
            for line in first(columns, _COLUMNS_SHOWN, f": see {path / SETTINGS}"):
                bars.say(line)
        prepared = PreparedData(table=stored.records, source=stored.campaign.source, plan=stored.plan)
        labels = stored.settings.label_column
        for notice in (*prepared.notices, *(() if labels is None else label_notices(stored.records, labels))):
            bars.say(f"Note: {notice}.")
        for line in _strange_lines(stored):
            bars.say(line)
        bars.say(f"Everything is kept in {path}.")
        on_error.pop_all()
    return stored


def _strange_lines(stored: StoredCampaign) -> list[str]:
    """Say what predictions call by names that are no classes, where classes were declared."""
    settings = stored.settings
    if settings.classes is None:
        return []
    brought = read_brought(stored.path / settings.brought_file, settings.brought, stored.records.n_rows)
    found = read_predictions(stored.records, settings.predictions) | brought
    return strange_lines(stored.campaign.classes, found)


def _check_outside(data: str, path: Path) -> None:
    """Refuse a campaign amid the data, which would be taken for data."""
    folder, inside = Path(data).resolve(), path.resolve()
    if not (folder.is_dir() and inside.is_relative_to(folder)):
        return
    if not any(part.endswith(".bela") for part in inside.relative_to(folder).parts):
        raise ParameterError(f"--campaign {path} lies amid the data: choose a place outside, or a name with .bela")


def _check_place(path: Path, settings: Settings, data: str) -> None:
    place = place_of_data(path, settings)
    same = (
        place == data if is_dataset(data) or is_elsewhere(place) else os.path.realpath(place) == os.path.realpath(data)
    )
    if not same:
        raise ParameterError(
            f"{path} is about {place}, not {data}: name another folder with --campaign, or, if the data were moved, "
            f"say so in {path / SETTINGS}"
        )


def _check_unchanged(path: Path, settings: Settings, options: CampaignOptions, truth: str | None) -> None:
    """Refuse options that contradict what a campaign began with."""
    check = functools.partial(_check_same, path)
    for name in (field.name for field in fields(options)):
        if name in Settings.model_fields and name not in _CHANGEABLE:
            check(_NAMES.get(name, f"--{name}"), getattr(options, name), getattr(settings, name))
    if options.features is not None:
        check("--features", named_features(options.features), settings.features.get("features", "auto"))
    if options.predicted is not None:
        began = [":".join(names) for names in settings.predictions] + [names[-1] for names in settings.brought]
        check("--prediction", ", ".join(sorted(map(plain_name, options.predicted))), ", ".join(sorted(began)) or None)
    _check_models(path, FeaturePlan.from_dict(settings.features), options)
    kinds = settings.features.get("columns")
    for column, kind in options.kinds.items():
        there = kinds.get(column) if isinstance(kinds, dict) else None
        check("--kind", f"{column}={kind}", None if there is None else f"{column}={there}")
    unseen = columns_apart(settings)
    for column in options.hidden:
        check("--hide", column, column if column in unseen else None)
    if truth is not None and truth not in settings.hidden:
        raise ParameterError(
            f"{path} was begun without --truth {truth} and may have learned from that column: begin another campaign "
            "with --campaign"
        )


def _check_models(path: Path, plan: FeaturePlan, options: CampaignOptions) -> None:
    """Refuse other models than those that have read the texts and images."""
    if options.embed and (other := agrees(options.embed, plan.columns, plan.embed)) is not None:
        there = ", ".join(f"{name}={model.model}@{model.door}" for name, model in plan.embed.items())
        _check_same(path, "--embed", other, there or None)


def _check_same(path: Path, option: str, value: object, there: object) -> None:
    if value is not None and value != there:
        was, another = "without it" if there is None else f"with {there}", "begin another campaign with --campaign"
        raise ParameterError(f"{option} {value} contradicts {path}, which was begun {was}: leave it out, or {another}")


def _change(stored: StoredCampaign, options: CampaignOptions, bars: Bars) -> None:
    """Change what may be changed: when to stop, and further classes."""
    campaign = stored.campaign
    if (options.target, options.class_target, options.budget) != (None, None, None):
        stored.set_target(
            target=campaign.target if options.target is None else options.target,
            class_target=campaign.class_target if options.class_target is None else options.class_target,
            budget=campaign.budget if options.budget is None else options.budget,
        )
    for name in _add_classes(stored, (*(options.class_names or ()), *_further_classes(options))):
        bars.say(f"{name!r} is a class from now on.")


def _further_classes(options: CampaignOptions) -> tuple[str, ...]:
    """Return the class for what cannot be told, if there is to be one; it is a class like any other."""
    if not isinstance(options, LabelOptions) or options.cannot_tell is None:
        return ()
    if not options.cannot_tell.strip():
        raise ParameterError("--cannot-tell= names no class: write the name after the =, or leave the = out")
    return (options.cannot_tell.strip(),)


def _add_classes(stored: StoredCampaign, names: Sequence[str]) -> list[str]:
    """Add the classes of these names that there are not yet, and return them."""
    campaign, added = stored.campaign, []
    for name in names:
        label = label_from_text(name, campaign.classes)
        if label not in campaign.classes:
            campaign.add_class(label)
            added.append(name)
    return added
