"""A campaign in a folder: settings, journal, cache, and one writer at a time."""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bela.book import n_said
from bela.campaign._campaign import Campaign
from bela.campaign._carry_over import brought_labels, carry_over, read_carried, save_digests
from bela.campaign._inputs import read_prediction
from bela.campaign._predicted import find_predictions, read_brought, read_predictions, write_brought
from bela.campaign._settings import SETTINGS, Settings, columns_apart, make_settings, read_settings, write_settings
from bela.campaign._trust import check_allowed
from bela.campaign._verify import Verification, Verifier
from bela.data import is_address, is_dataset, is_elsewhere, load_dataset, open_table, row_ids
from bela.errors import DataError, JournalError, LabelError, ParameterError, ReplayError
from bela.features import Embed, FeaturePlan, PreparedData, pin_plan, plan_features, prepare, without_features
from bela.labels import label_like
from bela.oracles import MODEL_FILE, model_name, read_model
from bela.protocols import Table
from bela.records import BoolArray, Label
from bela.storage import FolderStore, SQLiteJournal, check_no_links, lock_file, sync_folder

Progress = Callable[[str, float], object]

_DAY = 86_400
_PATIENCE = 0.3  # seconds to wait for somebody who only looks whether the campaign is in use


@dataclass(eq=False, kw_only=True)
class StoredCampaign(AbstractContextManager["StoredCampaign", None]):
    """A campaign that lives in a folder: open it, ask and tell, close it, and go on another day.

    Made by `create_campaign` and `open_campaign`; a context manager.
    """

    path: Path
    settings: Settings
    records: Table
    campaign: Campaign
    journal: SQLiteJournal
    verification: Verification | None = None  # if everything was decided anew
    held: ExitStack  # the lock, and files that are open

    @property
    def plan(self) -> FeaturePlan:
        """How the columns become numbers."""
        return FeaturePlan.from_dict(self.settings.features)

    @property
    def given(self) -> BoolArray:
        """Which rows the data brought a label for."""
        given = np.zeros(self.records.n_rows, dtype=bool)
        given[list(self.campaign.book.given)] = True
        return given

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that an oracle must not see: labels, predictions, and what else was hidden."""
        return tuple(columns_apart(self.settings))

    @property
    def language_model(self) -> tuple[str, int] | None:
        """The language model that answers for the campaign, if one does, and how many answers it has given."""
        file = self.path / MODEL_FILE
        if not file.exists():
            return None
        model = read_model(file).model
        return model, n_said(self.campaign.book)[model_name(model)]

    def ids(self) -> Sequence[str] | Sequence[int] | None:
        """Return what the rows are called, None if by their numbers."""
        column = self.settings.id_column
        return None if column is None else row_ids(self.records, column)

    def set_target(self, *, target: float | None, budget: int | None, class_target: float | None = None) -> None:
        """Change when to stop, in the journal and in the settings."""
        self.campaign.set_target(target=target, budget=budget, class_target=class_target)
        limits = {"target": target, "budget": budget, "class_target": class_target}
        if limits != {name: getattr(self.settings, name) for name in limits}:
            settings = self.settings.model_copy(update=limits)
            write_settings(self.path / SETTINGS, settings)
            self.settings = settings

    def close(self) -> None:
        """Let others write; everything is on disk already."""
        self.held.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def create_campaign(
    data: str | Path, path: Path, *, kinds: Mapping[str, str] | None = None, features: str | None = None,
    embed: Embed = None, progress: Progress | None = None, tell: Callable[[str], object] | None = None,
    fetching: Callable[[str], object] | None = None, background: bool = False, classes: Iterable[Label] | None = None,
    predicted: Iterable[str] = (),
    **settings: object,
) -> StoredCampaign:  # fmt: skip
    """Begin a campaign in a new folder, about a file, a folder of images, or a dataset that has a name.

    `kinds` are those of columns that are not as they look, `features` is a `module:function` that computes features,
    `embed` says which models read texts and images. `progress` is called with what is being done and the share of it
    that is done, `tell` with each line that says how the columns are taken, `fetching` before a model is fetched.
    `background` and `classes` are as for `Campaign`, `predicted` names what others have predicted, as COLUMN[:SCORE] of
    the data or FILE:COLUMN[:SCORE], and `settings` are those of `Settings`, such as method, target, budget, seed.
    """
    if path.exists():
        raise ParameterError(f"there is already something at {path}: open it, or choose another folder")
    data = str(data) if is_dataset(data) or is_address(data) else Path(data)
    chosen = make_settings(**settings, data=place_of(data, path), fingerprint="", n_rows=1)
    _sweep(path)
    new = None
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent))  # for its owner only
        (new / "cache").mkdir()
        records = _open_data(data, new / "cache", chosen.encoding, progress)
        for column in (chosen.id_column, chosen.label_column, chosen.prediction, chosen.score, *chosen.hidden):
            if column is not None and column not in records.columns:
                raise ParameterError(f"there is no column {column!r}: there are {', '.join(records.columns)}")
        others = find_predictions(records, predicted, id_column=chosen.id_column)
        chosen = chosen.model_copy(update={"predictions": others.columns, "brought": others.brought})
        plan = plan_features(
            records, exclude=columns_apart(chosen), kinds=kinds, features=features, embed=embed, fetching=fetching,
            needed=not others,
        )  # fmt: skip
        if tell is not None:
            for line in (*plan.describe(), *plan.notices, *others.notices):
                tell(line)
        if chosen.id_column is not None:
            row_ids(records, chosen.id_column)
        plan = pin_plan(plan, records.n_rows, new / "cache" / "numbers")
        found = {"fingerprint": records.fingerprint, "n_rows": records.n_rows, "features": plan.to_dict()}
        made = make_settings(**chosen.model_dump() | found | {"classes": _alike(classes, records, chosen.label_column)})
        save_digests(new / made.rows, records)
        write_brought(new / made.brought_file, others)
        SQLiteJournal(new / made.journal, create=True).close()
        write_settings(new / SETTINGS, made)
        del records  # its files move
        sync_folder(new)
        new.rename(path)
        sync_folder(path.parent)
    except (FileExistsError, NotADirectoryError) as error:  # a file where a folder should be
        what = f"{error.filename} is a file, not a folder: name another place"
        raise JournalError(f"the campaign {path} cannot be made: {what}") from None
    except OSError as error:
        what = f"{error.strerror or error}: name a folder that you may write to (--campaign)"
        raise JournalError(f"the campaign {path} cannot be made: {what}") from None
    finally:
        if new is not None:
            shutil.rmtree(new, ignore_errors=True)
    try:
        return open_campaign(path, progress=progress, background=background, allow_code=True)
    except (ParameterError, DataError, LabelError):  # nothing was asked yet: the settings do not work out
        shutil.rmtree(path, ignore_errors=True)
        raise


def open_campaign(
    path: Path, *, read_only: bool = False, accept_changes: bool = False, recompute: bool = False,
    until: int | None = None, progress: Progress | None = None, background: bool = False, allow_code: bool = False,
) -> StoredCampaign:  # fmt: skip
    """Open a campaign and fold what its journal says.

    With `read_only`, somebody else may be answering. With `accept_changes`, if the data have changed, or if this
    version of the program decides otherwise than the one before, go on with the answers to rows that are the same, as
    labels that the data bring. To look only: `recompute` trusts nothing that was kept, reads the data, computes the
    features, and decides everything anew (`verification` says what came out otherwise); `until` is how it was after so
    many events. `progress` and `background` are as for `create_campaign`. A function that computes the features is run
    if whoever began the campaign here has named it, or somebody has said `allow_code` for it as it is; so is one that
    reads texts and images, or an address that they are sent to, for rows that have no vector yet.
    """
    path = Path(path)
    check_no_links(path)
    if recompute and not read_only:
        raise ParameterError("everything can be decided anew by somebody who only looks")
    read_settings(path / SETTINGS)  # before anything is written where there is no campaign
    with ExitStack() as held:
        if not read_only:
            held.enter_context(_lock(path))
        settings = read_settings(path / SETTINGS)
        allowed = check_allowed(path, settings.data, FeaturePlan.from_dict(settings.features), allow_code=allow_code)
        cache = None if recompute else path / "cache"
        data = settings.data if is_elsewhere(settings.data) else path / settings.data
        records = _open_data(data, cache, settings.encoding, progress)

        def fold() -> StoredCampaign:
            journal = SQLiteJournal(path / settings.journal, read_only=read_only, until=until)
            held.callback(journal.close)
            arrays = FolderStore(path / "revisions" / Path(settings.journal).stem)
            verifier = Verifier(arrays) if recompute else None
            vectors = path / "cache" / "embeddings"  # kept: a model need not say the same to the last bit again
            prepared, predictions = _prepare(
                path, settings, records, progress, cache=cache, vectors=vectors, allowed=allowed
            )
            total = max(journal.n_events, 1)
            campaign = Campaign(
                prepared,
                method=settings.method, target=settings.target, class_target=settings.class_target,
                budget=settings.budget, seed=settings.seed,
                confidence=settings.confidence, classes=settings.classes, predictions=predictions,
                labels=brought_labels(records, settings.label_column) | read_carried(path, settings),
                fingerprint=f"{records.fingerprint} {json.dumps(settings.features, sort_keys=True)}",
                journal=journal, arrays=arrays if verifier is None else verifier.arrays, witness=verifier,
                background=background,
                progress=None if progress is None else lambda n: progress("going through the answers", n / total),
            )  # fmt: skip
            if not read_only:  # the settings may have been edited
                campaign.set_target(target=settings.target, budget=settings.budget, class_target=settings.class_target)
            return StoredCampaign(
                path=path, settings=settings, records=records, campaign=campaign, journal=journal,
                verification=None if verifier is None else verifier.verification, held=held.pop_all(),
            )  # fmt: skip

        if records.fingerprint != settings.fingerprint:
            if not accept_changes:
                raise DataError(
                    f"{settings.data} has changed since the campaign {path} began: put the old data back, or accept "
                    "the changes (--accept-changes) to go on with the answers to rows that are the same"
                )
            if read_only:
                raise ParameterError("changes of the data can be accepted by a writer only")
            settings = carry_over(path, settings, records, progress)
        elif other := _other_features(settings, records.n_rows, cache):
            if not accept_changes or read_only:
                raise DataError(
                    f"the features of {other} have changed since the campaign {path} began: put back what was there, "
                    "or accept the changes (--accept-changes) to go on with the answers"
                )
            settings = carry_over(path, settings, records, progress)
        try:
            return fold()
        except ReplayError:
            if not accept_changes or read_only:
                raise
            settings = carry_over(path, settings, records, progress)
            return fold()


def _prepare(
    path: Path, settings: Settings, records: Table, progress: Progress | None, *, cache: Path | None, vectors: Path,
    allowed: bool,
) -> tuple[PreparedData, dict[str, object]]:  # fmt: skip
    """Return what the method sees of the rows, and predictions or labels under audit, which stand for features."""
    plan, label = FeaturePlan.from_dict(settings.features), settings.prediction
    if label is None:
        prepared = prepare(
            records, plan=plan, cache=cache, vectors=vectors, seed=settings.seed, progress=progress, allowed=allowed,
            needed=not (settings.predictions or settings.brought),
        )  # fmt: skip
        brought = read_brought(path / settings.brought_file, settings.brought, records.n_rows)
        return prepared, dict(read_predictions(records, settings.predictions) | brought)
    return without_features(records, plan), {label: read_prediction(records, label, settings.score)}


def _other_features(settings: Settings, n_rows: int, cache: Path | None) -> str | None:
    """Return the file or the function that features come from, if it is another than when the campaign began."""
    plan = FeaturePlan.from_dict(settings.features)
    if not plan.digest or pin_plan(plan, n_rows, cache and cache / "numbers") == plan:
        return None
    return plan.features


def _lock(path: Path) -> ExitStack:
    try:
        return lock_file(path / "lock", seconds=_PATIENCE)
    except BlockingIOError:
        what = "is open elsewhere: close it there first, as only one can answer at a time"
        raise JournalError(f"{path} {what}") from None
    except OSError as error:
        raise JournalError(f"{path} cannot be written to: {error.strerror or error}") from None


def _sweep(path: Path) -> None:
    """Remove what was left of beginnings that were killed; by age, as others may be at work."""
    with suppress(OSError):
        for stale in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
            if time.time() - stale.stat().st_mtime > _DAY:
                shutil.rmtree(stale, ignore_errors=True)


def is_open(path: Path) -> bool | None:
    """Whether somebody is answering in a campaign just now; None where that cannot be told."""
    if not (path / "lock").exists():
        return False
    try:
        lock_file(path / "lock", seconds=0).close()
        return False
    except BlockingIOError:
        return True
    except OSError:  # such as a folder that may only be read, or a lock that is a link
        return None


def _open_data(data: str | Path, cache: Path | None, encoding: str | None, progress: Progress | None) -> Table:
    """Open a file or a folder; or a dataset, or what is at an address, whose name is a plain string."""
    if isinstance(data, str) and not is_address(data):
        return open_table(load_dataset(data).images)
    return open_table(data, cache=cache, encoding=encoding, progress=progress)


def _alike(classes: Iterable[Label] | None, records: Table, label_column: str | None) -> tuple[Label, ...] | None:
    """Return classes of the type that the labels of the data have."""
    if classes is None:
        return None
    known = list(brought_labels(records, label_column).values())[:1]
    return tuple(label_like(name, known) for name in classes)


def place_of(data: str | Path, path: Path) -> str:
    """Return the path of the data as seen from the campaign's folder, so that both can be moved together."""
    if isinstance(data, str):
        return data
    absolute = Path(data).absolute()
    try:
        return Path(os.path.relpath(absolute, path.absolute())).as_posix()
    except ValueError:  # on another drive
        return absolute.as_posix()
