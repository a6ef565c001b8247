"""All rows to features, in two passes over the data: one to learn scales, words and components, one to apply them."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bela.errors import BelaError, DataError
from bela.features._blocks import MOST_ROWS, fixed_blocks
from bela.features._fit import Fitted, fit_parts
from bela.features._functions import function_digest
from bela.features._part import join_pieces
from bela.features._plan import FeaturePlan
from bela.features._scaling import Prepared
from bela.features._source import FeatureSource
from bela.features._store import FeatureWriter, read_features, replace_folder
from bela.protocols import Records

FEATURES_VERSION = 1  # to be raised with every change of what features are made of
PREFIX = "features-"
FIT_SHARE = 0.3  # of the time, roughly

Progress = Callable[[str, float], object]


def compute_features(
    records: Records,
    plan: FeaturePlan,
    *,
    cache: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FeatureSource:
    """Turn all rows into features, or open those that were computed before from the same data by the same plan.

    Parameters
    ----------
    records
        The data, gone through twice in blocks.
    plan
        How each column becomes numbers, from `plan_features`.
    cache
        A folder to keep the features in, made when it is not there; None to compute them anew each time. It keeps one
        set of features: those of data that have changed since, or of another plan, are removed.
    seed
        Chooses samples. The same data, plan and seed give the same features.
    progress
        Called now and then with what is being done, and the share of all work that is done.
    """
    _check(records, plan)
    job = _Job(records=records, plan=plan, key=_key(records, plan, seed), seed=seed, tell=_forwards(progress))
    return _computed(job) if cache is None else _cached(job, Path(cache))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """All that features are computed from."""

    records: Records
    plan: FeaturePlan
    key: str
    seed: int
    tell: Progress

    def build(self, folder: Path) -> None:
        """Compute the features and write them to a folder."""
        fitted = fit_parts(
            self.records,
            self.plan,
            folder=folder,
            seed=self.seed,
            step=lambda what, share: self.tell(what, FIT_SHARE * share),
        )
        writer = FeatureWriter(folder)
        try:
            for rows, block in _blocks(self.records, fitted):
                piece = join_pieces(fitted.parts, [part.transform(block, rows) for part in fitted.parts])
                writer.append(piece.dense, piece.linear, piece.columns)
                self.tell("computing features", FIT_SHARE + (1 - FIT_SHARE) * rows.stop / self.records.n_rows)
            writer.finish({"key": self.key, "version": FEATURES_VERSION, "plan": self.plan.to_dict()})
        finally:
            writer.abandon()
        del fitted  # lets go of the files that a function's numbers are in
        for raw in folder.glob("*.raw.npy"):
            raw.unlink()

    def open(self, folder: Path) -> Prepared:
        """Map features that have just been written."""
        prepared = read_features(folder, self.key)
        if prepared is None:
            raise DataError(f"the features in {folder} were damaged as soon as they were written: is the disk sound?")
        return prepared


def _computed(job: _Job) -> FeatureSource:
    folder = Path(tempfile.mkdtemp(prefix="bela-"))
    try:
        with _full_disk(folder):
            job.build(folder)
        return FeatureSource(job.open(folder), temporary=folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _cached(job: _Job, cache: Path) -> FeatureSource:
    from filelock import FileLock

    final = cache / f"{PREFIX}{job.key[:16]}"
    prepared = read_features(final, job.key)
    if prepared is not None:
        return FeatureSource(prepared)
    with _full_disk(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "features.lock"):
            prepared = read_features(final, job.key)  # somebody else may have been at it
            if prepared is not None:
                return FeatureSource(prepared)
            for left_over in cache.glob(f".{PREFIX}*"):  # of a process that was killed: nobody else writes now
                shutil.rmtree(left_over, ignore_errors=True)
            folder = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=cache))
            try:
                job.build(folder)
                replace_folder(folder, final)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            for outdated in cache.glob(f"{PREFIX}*"):
                if outdated != final:
                    shutil.rmtree(outdated, ignore_errors=True)
            return FeatureSource(job.open(final))


def _forwards(progress: Progress | None) -> Progress:
    """Report progress that never goes back, whichever steps there are."""
    done = 0.0

    def tell(what: str, share: float) -> None:
        nonlocal done
        done = max(done, min(share, 1.0))
        if progress is not None:
            progress(what, done)

    return tell


def _blocks(records: Records, fitted: Fitted) -> Iterator[tuple[range, Any]]:
    if fitted.columns:
        for start, block in fixed_blocks(records, fitted.columns):
            yield range(start, start + block.num_rows), block
    else:
        for start in range(0, records.n_rows, MOST_ROWS):
            yield range(start, min(start + MOST_ROWS, records.n_rows)), None


def _check(records: Records, plan: FeaturePlan) -> None:
    if records.n_rows < 1:
        raise DataError("there are no rows: give at least one")
    known = set(records.columns)
    for name in plan.columns:
        if name not in known:
            raise DataError(f"the plan of features names a column {name!r} that the data do not have: plan anew")
    if not plan.used:
        reasons = "; ".join(f"{name!r}: {plan.reasons.get(name, 'as told')}" for name in list(plan.columns)[:10])
        raise DataError(f"no column tells the rows apart ({reasons}): choose a kind for one of them")


def _key(records: Records, plan: FeaturePlan, seed: int) -> str:
    """A digest of all that the features depend on."""
    what = {
        "version": FEATURES_VERSION,
        "data": records.fingerprint,
        "columns": list(plan.columns.items()),
        "function": plan.function and [plan.function, function_digest(plan.function)],
        "text_model": plan.text_model,
        "seed": seed,
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


@contextmanager
def _full_disk(folder: Path) -> Iterator[None]:
    """Say in one sentence that there is no room, or no right, to write."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BelaError(
                f"the disk is full, the features do not fit into {folder}: make room and try again"
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise BelaError(f"the features cannot be written to {folder}: {error.strerror}") from error
        raise
