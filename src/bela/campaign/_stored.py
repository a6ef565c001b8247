"""A campaign in a folder: settings, journal, cache, and one writer at a time."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from bela.campaign._campaign import Campaign
from bela.campaign._changes import carry_over, read_carried, save_digests
from bela.campaign._durable import sync_folder
from bela.campaign._settings import SETTINGS, Settings, read_settings, write_settings
from bela.datasets import DATASETS, load_dataset
from bela.errors import DataError, JournalError, LabelError, ParameterError, ReplayError
from bela.features import FeaturePlan, compute_features, plan_features
from bela.journal import FolderStore, SQLiteJournal
from bela.protocols import Records
from bela.records import BoolArray, Label
from bela.sources import known_labels, open_records, row_ids

if TYPE_CHECKING:
    from filelock import FileLock

Progress = Callable[[str, float], object]

_DAY = 86_400
_PATIENCE = 0.3  # seconds to wait for somebody who only looks whether the campaign is in use


class StoredCampaign:
    """A campaign that lives in a folder: open it, ask and tell, close it, and go on another day.

    Made by `create_campaign` and `open_campaign`; a context manager.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        records: Records,
        campaign: Campaign,
        *,
        journal: SQLiteJournal,
        lock: FileLock | None,
    ) -> None:
        self.path, self.settings, self.records, self.campaign = path, settings, records, campaign
        self.plan = FeaturePlan.from_dict(settings.features)
        self.journal, self._lock = journal, lock

    @property
    def given(self) -> BoolArray:
        """Which rows the data brought a label for."""
        given = np.zeros(self.records.n_rows, dtype=bool)
        given[list(self.campaign.given)] = True
        return given

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that an oracle must not see: labels, and what else was hidden."""
        label = self.settings.label_column
        return (*self.settings.hidden, *(() if label is None else (label,)))

    def ids(self) -> Sequence[Any] | None:
        """Return what the rows are called, None if by their numbers."""
        column = self.settings.id_column
        return None if column is None else row_ids(self.records, column)

    def aim(self, *, target: float | None, budget: int | None) -> None:
        """Change when to stop, in the journal and in the settings."""
        self.campaign.aim(target=target, budget=budget)
        if (target, budget) != (self.settings.target, self.settings.budget):
            settings = replace(self.settings, target=target, budget=budget)
            write_settings(self.path / SETTINGS, settings)
            self.settings = settings

    def close(self) -> None:
        """Let others write; everything is on disk already."""
        self.journal.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> StoredCampaign:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def create_campaign(
    data: str | Path,
    path: Path,
    *,
    id_column: str | None = None,
    label_column: str | None = None,
    hidden: Sequence[str] = (),
    encoding: str | None = None,
    kinds: Mapping[str, str] | None = None,
    features: str | None = None,
    text_model: str | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], object] | None = None,
    background: bool = False,
    **campaign: Any,
) -> StoredCampaign:
    """Begin a campaign in a new folder.

    Parameters
    ----------
    data
        A file, a folder of images, or the name of a dataset.
    path
        The folder, which must not exist.
    id_column, label_column, hidden, encoding
        See `Settings`.
    kinds, features, text_model
        Kinds of columns that are not as they look; `module:function` that computes features; a model that reads texts.
    progress
        Called with what is being done, and the share of it that is done.
    tell
        Called with each line that says how the columns are taken.
    background
        Make revisions in a thread of their own.
    campaign
        Of `Campaign`: method, target, budget, confidence, seed, classes.
    """
    if path.exists():
        raise ParameterError(f"there is already something at {path}: open it, or choose another folder")
    data = str(data) if str(data) in DATASETS and not Path(data).exists() else Path(data)
    place = _place_of(data, path)
    _sweep(path)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        (new / "cache").mkdir(parents=True)
        records = _open_data(data, new / "cache", encoding, progress)
        for column in (id_column, label_column, *hidden):
            if column is not None and column not in records.columns:
                raise ParameterError(f"there is no column {column!r}: there are {', '.join(records.columns)}")
        exclude = {name for name in (label_column, *hidden) if name is not None}
        plan = plan_features(records, exclude=exclude, kinds=kinds, function=features, text_model=text_model)
        if tell is not None:
            for line in plan.describe():
                tell(line)
        if id_column is not None:
            row_ids(records, id_column)
        if campaign.get("classes") is not None:
            campaign["classes"] = _alike(campaign["classes"], records, label_column)
        settings = Settings(
            data=place, fingerprint=records.fingerprint, n_rows=records.n_rows, id_column=id_column,
            label_column=label_column, hidden=tuple(hidden), encoding=encoding, features=plan.to_dict(), **campaign,
        )  # fmt: skip
        save_digests(new / settings.rows, records)
        SQLiteJournal(new / settings.journal, create=True).close()
        write_settings(new / SETTINGS, settings)
        del records  # its files move
        sync_folder(new)
        new.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise JournalError(f"the campaign {path} cannot be made: {error.strerror or error}") from None
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    try:
        return open_campaign(path, progress=progress, background=background)
    except (ParameterError, DataError, LabelError):  # nothing was asked yet: the settings do not work out
        shutil.rmtree(path, ignore_errors=True)
        raise


def open_campaign(
    path: Path,
    *,
    read_only: bool = False,
    accept_changes: bool = False,
    recompute: bool = False,
    until: int | None = None,
    progress: Progress | None = None,
    background: bool = False,
) -> StoredCampaign:
    """Open a campaign and let everything happen again that its journal says.

    Parameters
    ----------
    path
        The folder.
    read_only
        Only look; somebody else may be answering.
    accept_changes
        If the data have changed, or if this version of the program decides otherwise than the one before, go on with
        the answers to rows that are the same, as labels that the data bring.
    recompute
        Trust nothing that was kept: read the data, compute the features and fit everything anew.
    until
        As it was after so many events; to look only.
    progress
        Called with what is being done, and the share of it that is done.
    background
        Make revisions in a thread of their own.
    """
    path = Path(path)
    settings = read_settings(path / SETTINGS)
    lock = None if read_only else _lock(path)
    journal = None
    try:
        if lock is not None:  # whoever had it before may have changed them
            settings = read_settings(path / SETTINGS)
        cache = None if recompute else path / "cache"
        data = settings.data if settings.data in DATASETS else path / settings.data
        records = _open_data(data, cache, settings.encoding, progress)
        if records.fingerprint != settings.fingerprint:
            if not accept_changes:
                raise DataError(
                    f"{settings.data} has changed since the campaign {path} began: put the old data back, or accept "
                    "the changes (--accept-changes) to go on with the answers to rows that are the same"
                )
            if read_only:
                raise ParameterError("changes of the data can be accepted by a writer only")
            settings = carry_over(path, settings, records, progress)
        journal = SQLiteJournal(path / settings.journal, read_only=read_only, until=until)
        try:
            campaign = _replay(path, settings, records, journal, cache=cache, progress=progress, background=background)
        except ReplayError:
            if not accept_changes or read_only:
                raise
            journal.close()
            settings = carry_over(path, settings, records, progress)
            journal = SQLiteJournal(path / settings.journal)
            campaign = _replay(path, settings, records, journal, cache=cache, progress=progress, background=background)
        stored = StoredCampaign(path, settings, records, campaign, journal=journal, lock=lock)
        if not read_only:  # the settings may have been edited
            campaign.aim(target=settings.target, budget=settings.budget)
    except BaseException:
        if journal is not None:
            journal.close()
        if lock is not None:
            lock.release()
        raise
    return stored


def _replay(
    path: Path,
    settings: Settings,
    records: Records,
    journal: SQLiteJournal,
    *,
    cache: Path | None,
    progress: Progress | None,
    background: bool,
) -> Campaign:
    """Let everything happen again that a journal says."""
    plan = FeaturePlan.from_dict(settings.features)
    source = compute_features(records, plan, cache=cache, seed=settings.seed, progress=progress)
    total = max(journal.n_events, 1)
    options: dict[str, Any] = {"background": background} if background and settings.method == "bela" else {}
    if settings.method == "bela" and cache is not None:
        # No part of the cache: on another machine, or with another number of threads, they would not be quite the same.
        options["store"] = FolderStore(path / "revisions" / _key(settings))
    return Campaign(
        source,
        method=settings.method, target=settings.target, budget=settings.budget, confidence=settings.confidence,
        seed=settings.seed, classes=settings.classes, labels=_labels(path, settings, records),
        journal=journal,
        progress=None if progress is None else lambda n: progress("going through the answers", n / total),
        **options,
    )  # fmt: skip


def _key(settings: Settings) -> str:
    """Return a name for what revisions are made from, besides answers."""
    plan = json.dumps([settings.fingerprint, settings.features, settings.seed], sort_keys=True)
    return hashlib.blake2b(plan.encode(), digest_size=8).hexdigest()


def _lock(path: Path) -> FileLock:
    from filelock import FileLock, Timeout

    lock = FileLock(path / "lock")
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        raise JournalError(
            f"{path} is open elsewhere: close it there first, as only one can answer at a time"
        ) from None
    except OSError as error:
        raise JournalError(f"{path} cannot be written to: {error.strerror or error}") from None
    return lock


def _sweep(path: Path) -> None:
    """Remove what was left of beginnings that were killed; by age, as others may be at work."""
    with suppress(OSError):
        for stale in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
            if time.time() - stale.stat().st_mtime > _DAY:
                shutil.rmtree(stale, ignore_errors=True)


def is_open(path: Path) -> bool | None:
    """Whether somebody is answering in a campaign just now; None where that cannot be told."""
    from filelock import FileLock, Timeout

    if not (path / "lock").exists():
        return False
    try:
        with FileLock(path / "lock").acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # such as a folder that may only be read
        return None


def _open_data(data: str | Path, cache: Path | None, encoding: str | None, progress: Progress | None) -> Records:
    """Open a file or a folder, or a dataset whose name is a plain string."""
    if isinstance(data, str):
        return open_records(load_dataset(data).images)
    return open_records(data, cache=cache, encoding=encoding, progress=progress)


def _alike(classes: Iterable[Label], records: Records, label_column: str | None) -> tuple[Label, ...]:
    """Return classes as numbers if they are written like numbers and the labels that the data bring are numbers."""
    classes = tuple(classes)
    if label_column is not None and int in map(type, known_labels(records, label_column).values()):
        with suppress(ValueError):
            return tuple(int(name) if isinstance(name, str) else name for name in classes)
    return classes


def _place_of(data: str | Path, path: Path) -> str:
    """Return the path of the data as seen from the campaign's folder, so that both can be moved together."""
    if isinstance(data, str):
        return data
    absolute = Path(data).absolute()
    try:
        return Path(os.path.relpath(absolute, path.absolute())).as_posix()
    except ValueError:  # on another drive
        return absolute.as_posix()


def _labels(path: Path, settings: Settings, records: Records) -> dict[int, Label]:
    """Return the labels that the data bring, and those that were carried over."""
    labels: dict[int, Label] = {}
    if settings.label_column is not None:
        labels.update(known_labels(records, settings.label_column))
    return labels | read_carried(path, settings)
