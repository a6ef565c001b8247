"""The one path from data to features: anything becomes a table, a table becomes features by one plan.

Arrays are taken as they are; tables take two passes, to learn scales and to apply them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from bela._functions import code_digest
from bela.data import ArrayTable, ArrowTable, SourceRows, cache_folder, open_table, writing
from bela.errors import DataError
from bela.features._far import far_features, is_far
from bela.features._fit import fit_parts, function_features, raw_numbers
from bela.features._plan import FeaturePlan, array_of, open_features, plan_features
from bela.features._rows import is_many
from bela.features._scaling import Floats, Prepared
from bela.features._source import (
    FeatureSource,
    FeatureWriter,
    NoFeatures,
    as_numbers,
    image_shape,
    learner_blocks,
    read_features,
)
from bela.features.embedding import Embed, Reading
from bela.protocols import Source, Table
from bela.records import Json, Matrix
from bela.storage import find_kept, keep

FEATURES_VERSION = 4  # to be raised with every change of what features are made of
FIT_SHARE = 0.3  # of the time, roughly
MOST_UNREADABLE = 0.5  # of the rows: beyond, it is no accident

Progress = Callable[[str, float], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedData:
    """Data that are ready for a method: the rows as people see them, their features, and how these were made.

    Where further rows are to be like them, `vectors` is the folder that has what models made of these, and `allowed`
    says whether somebody has agreed that functions and addresses read texts and images.
    """

    table: Table
    source: Source
    plan: FeaturePlan
    vectors: Path | None = None
    allowed: bool = True

    @property
    def unreadable(self) -> Mapping[int, str]:
        """The rows of which an image cannot be read, and why: nobody can label them, and their features say nothing."""
        return self.source.unreadable if isinstance(self.source, FeatureSource) else {}

    @property
    def notices(self) -> tuple[str, ...]:
        """What was made of the data where there was a choice, and what was set aside."""
        n = len(self.unreadable)
        if not n:
            return self.table.notices
        rows = "1 row is set aside" if n == 1 else f"{n:,} rows are set aside, the first"
        return (*self.table.notices, f"{rows} because {self.unreadable[min(self.unreadable)]}")


def prepare(
    data: object, *, exclude: Collection[str] = (), kinds: Mapping[str, str] | None = None, features: str = "auto",
    embed: Embed = None, plan: FeaturePlan | None = None, encoding: str | None = None, cache: Path | None = None,
    vectors: Path | None = None, seed: int = 0, progress: Progress | None = None,
    tell: Callable[[str], object] | None = None, fetching: Callable[[str], object] | None = None, allowed: bool = False,
    needed: bool = True,
) -> PreparedData:  # fmt: skip
    """Open data of any kind, choose how each column becomes numbers, and compute the features.

    Parameters
    ----------
    data
        Whatever `open_table` opens, or a table.
    exclude
        Columns that nothing may be learned from, such as the labels.
    kinds
        Kinds of columns that are not as they look, by name.
    features
        "auto", "raw" for the numbers as they are, a .npy file that has the features, or `module:function`.
    embed
        Which models read texts and images: "auto" (or None) for what is on this machine, "none", MODEL or MODEL@door,
        COLUMN=MODEL, a list of these, or a mapping of columns to models.
    plan
        A plan that was made before, instead of all these.
    encoding
        That of a text file.
    cache
        A folder for what is read and computed, so that it is there at once the next time; it can be deleted any time.
    vectors
        A folder for the vectors of models; that of the cache, or else of the user's, unless it is named.
    seed
        Chooses samples.
    progress
        Called with what is being done, and the share of it that is done.
    tell
        Called with what was noticed about the data, and with how each column is taken, before features are computed.
    fetching
        Called before a model is fetched, with a sentence that says so; where nobody listens, it is logged.
    allowed
        Whether a plan from elsewhere may run the functions and ask the addresses that it names.
    needed
        Whether it is an error if no column tells the rows apart; it is not where others have predicted their labels.

    Examples
    --------
    >>> rows = [{"text": "a cat", "n": 1, "kind": "x"}, {"text": "a dog", "n": 5, "kind": "y"}]
    >>> data = prepare(rows, exclude=["kind"])
    >>> data.table.n_rows, dict(data.plan.columns)
    (2, {'text': 'text', 'n': 'number'})
    >>> import numpy as np
    >>> prepare(np.ones((5, 3))).source.n_features
    3
    """
    table: Table
    if isinstance(data, (ArrowTable, ArrayTable, Table)):  # the last would look at every property
        table = data
    else:
        table = open_table(data, cache=cache, encoding=encoding, progress=progress)
    if plan is None:
        plan = plan_features(
            table, exclude=exclude, kinds=kinds, features=features, embed=embed, fetching=fetching, needed=needed
        )
        allowed = True  # whoever calls this has named them
    if tell is not None:
        for line in (*table.notices, *plan.describe(), *plan.notices):
            tell(line)
    if not needed and not plan.used:
        return without_features(table, plan)
    source = compute_features(table, plan, cache=cache, vectors=vectors, seed=seed, progress=progress, allowed=allowed)
    return PreparedData(table=table, source=source, plan=plan, vectors=vectors, allowed=allowed)


def without_features(table: Table, plan: FeaturePlan | None = None) -> PreparedData:
    """Return rows that nothing is known about, which will do for a method that only draws, or has predictions."""
    return PreparedData(table=table, source=NoFeatures(table.n_rows), plan=plan or FeaturePlan(columns={}))


def compute_features(
    records: Table, plan: FeaturePlan, *, cache: Path | None = None, vectors: Path | None = None, seed: int = 0,
    progress: Progress | None = None, allowed: bool = True,
) -> Source:  # fmt: skip
    """Turn all rows into features, or open those that were computed before from the same data by the same plan.

    Rows that are arrays of numbers, be it from a file or a function, are features as they are; what the learner makes
    of them is in `learner_features`, and in the cache where there is one. The `cache` is a folder that keeps one set of
    features: those of data that have changed since, or of another plan, are removed. The same data, plan and seed give
    the same features. `progress` is called with what is being done, and the share of all work that is done.
    """
    _check(records, plan)
    if isinstance(records, ArrayTable) and isinstance(records.array, SourceRows) and plan.features in ("auto", "raw"):
        return as_numbers(records.array.source) if plan.features == "raw" else records.array.source
    cache = cache and Path(cache)
    vectors = vectors or (cache or cache_folder()) / "embeddings"
    job = _Job(
        records=records, plan=plan, cache=cache, vectors=vectors, seed=seed, tell=_forwards(progress),
        bar=progress or (lambda what, share: None), allowed=allowed,
    )  # fmt: skip
    if is_far(records, plan):
        kept = None if cache is None else (cache, job.key())
        return far_features(records, plan, seed=seed, step=job.tell, kept=kept)
    return job.computed() if cache is None else job.kept(cache)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """All that features are computed from."""

    records: Table
    plan: FeaturePlan
    cache: Path | None
    vectors: Path
    seed: int
    tell: Progress
    bar: Progress  # of what takes so long that it has one of its own
    allowed: bool

    @property
    def flat(self) -> bool:
        """Whether images are nothing but numbers."""
        return self.plan.features == "raw"

    def array(self) -> Matrix | None:
        """Return the rows where they are an array already."""
        if self.plan.file is not None:
            return self._from_file(self.plan.file).array
        table = array_of(self.records)
        if table is None or self.plan.used != (table.main,) or self.plan.function is not None or self.plan.embed:
            return None
        return table.array

    def numbers(self, folder: Path | None) -> tuple[Matrix | None, dict[int, str]]:
        """Return rows that are nothing but numbers, those of a function kept in a folder; and unreadable images."""
        array, unreadable = self.array(), dict[int, str]()
        if array is None and self.flat:
            array, unreadable = raw_numbers(self.records, self.plan)
            self._check_readable(unreadable)
        elif array is None and folder is not None and self.plan.function is not None:
            array = function_features(self.records, self.plan, folder / "numbers.npy", self._fitting)
        return array, unreadable

    def computed(self) -> Source:
        """Compute features that are not kept."""
        array, unreadable = self.numbers(None)
        if array is not None:
            return FeatureSource(array, flat=self.flat, unreadable=unreadable)
        folder = Path(tempfile.mkdtemp(prefix="bela-"))
        try:
            with writing(folder, "the features"):
                if self.plan.function is not None:
                    return FeatureSource(self.numbers(folder)[0], temporary=folder)
                return self.open(folder, self.build(folder), temporary=folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def kept(self, cache: Path) -> Source:
        """Open the features that are kept in a cache, or compute and keep them."""
        key = self.key()
        found = find_kept(cache, "features", key)
        if found is None:
            with writing(cache, "the features"):
                found = keep(cache, "features", key, self.build)
        return self.open(*found, kept=(cache, key))

    def build(self, folder: Path) -> dict[str, Json]:
        """Compute the features and write them to a folder."""
        with FeatureWriter(folder) as writer:
            array, unreadable = self.numbers(folder)
            if array is None:
                read = self._read_by_models(folder)
                fitted = fit_parts(self.records, self.plan, read, seed=self.seed, step=self._fitting)
                self._write(fitted.transform(self.records), writer)
                unreadable = {row: reason for found in fitted.unreadable for row, reason in found.items()}
                self._check_readable(unreadable)
            elif self._scaled_later(FeatureSource(array, flat=self.flat)):
                return {"linear_width": 0, "unreadable": {}, "as_it_is": True}
            else:
                self._write(learner_blocks(FeatureSource(array, flat=self.flat), self.seed), writer)
        if array is None:
            writer.norm()
        elif self.flat and self.array() is None:
            np.save(folder / "numbers.npy", array)
        for raw in folder.glob("*.raw.npy"):
            raw.unlink()
        reasons: dict[str, Json] = {str(row): reason for row, reason in sorted(unreadable.items())}
        return {"linear_width": writer.linear_width, "unreadable": reasons}

    def open(
        self, folder: Path, about: Mapping[str, Json], temporary: Path | None = None,
        kept: tuple[Path, str] | None = None,
    ) -> Source:  # fmt: skip
        """Return features that are in a folder, with what was said about them."""
        if about.get("as_it_is"):
            return FeatureSource(self.array(), flat=self.flat, finite=True, kept=kept)
        width, unreadable = about["linear_width"], about["unreadable"]
        prepared, numbers = read_features(folder, width if isinstance(width, int) else 0)
        X = self.array() if numbers is None else numbers
        reasons = {int(row): str(why) for row, why in unreadable.items()} if isinstance(unreadable, dict) else {}
        return FeatureSource(X, prepared=prepared, flat=self.flat, unreadable=reasons, temporary=temporary, kept=kept)

    def _scaled_later(self, source: FeatureSource) -> bool:
        """Whether the rows are so many plain numbers that nothing is written: they are scaled whenever looked at."""
        plain = image_shape(source) is None and not sparse.issparse(source.X)
        return is_many(source.n_rows) and plain and self.array() is not None

    def key(self) -> str:
        """Return a digest of all that the features depend on."""
        plan = self.plan
        what = {
            "version": FEATURES_VERSION, "data": self.records.fingerprint, "columns": list(plan.columns.items()),
            "features": plan.features, "seed": self.seed,
            "embed": {name: embedding.to_dict() for name, embedding in plan.embed.items()},
            "code": code_digest(plan.function) if plan.function is not None else None,
            "file": self._from_file(plan.file).fingerprint if plan.file is not None else None,
        }  # fmt: skip
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()

    def _read_by_models(self, folder: Path) -> list[Floats]:
        """Return the vectors of each column that a model reads, in files that are removed in the end."""
        found = []
        for i, (name, embedding) in enumerate(self.plan.embed.items()):
            reading = Reading(
                records=self.records, column=name, kind=self.plan.columns[name], embedding=embedding,
                kept=self.vectors, allowed=self.allowed,
            )  # fmt: skip
            what = f"reading {name!r} with {embedding.title}"
            found.append(reading.write(folder / f"vectors-{i}.raw.npy", partial(self.bar, what)))
        return found

    def _write(self, blocks: Iterable[Prepared], writer: FeatureWriter) -> None:
        for block in blocks:
            writer.append(block)
            self.tell("computing features", FIT_SHARE + (1 - FIT_SHARE) * writer.n_rows / self.records.n_rows)

    def _fitting(self, what: str, share: float) -> None:
        self.tell(what, FIT_SHARE * share)

    def _check_readable(self, unreadable: Mapping[int, str]) -> None:
        n, n_rows = len(unreadable), self.records.n_rows
        if n > MOST_UNREADABLE * n_rows:
            raise DataError(f"{n:,} of {n_rows:,} images cannot be read, such as {unreadable[min(unreadable)]}")

    def _from_file(self, path: Path) -> ArrayTable:
        return open_features(path, self.records.n_rows, self.cache and self.cache / "numbers")


def _forwards(progress: Progress | None) -> Progress:
    """Report progress that never goes back, whichever steps there are."""
    done = 0.0

    def tell(what: str, share: float) -> None:
        nonlocal done
        done = max(done, min(share, 1.0))
        if progress is not None:
            progress(what, done)

    return tell


def _check(records: Table, plan: FeaturePlan) -> None:
    if records.n_rows < 1:
        raise DataError("there are no rows: give at least one")
    known = set(records.columns)
    if gone := [name for name in plan.columns if name not in known]:
        raise DataError(f"the plan of features names a column {gone[0]!r} that the data do not have: plan anew")
    if not plan.used:
        reasons = "; ".join(f"{name!r}: {plan.reasons.get(name, 'as told')}" for name in list(plan.columns)[:10])
        raise DataError(f"no column tells the rows apart ({reasons}): choose a kind for one of them")
