"""The plan of how a dataset becomes numbers: a kind for each column, to be said aloud and corrected."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from scipy import sparse

from bela._functions import code_digest, load_function
from bela.data import ArrayTable, open_table
from bela.errors import DataError, ParameterError
from bela.features._kinds import ColumnKind, look
from bela.features.embedding import EMBEDDED, Embed, Embedding, choose_embeddings
from bela.protocols import Table
from bela.records import Json

KINDS = ("number", "boolean", "category", "date", "text", "embedding", "image", "ignored")
"""The kinds that a column can be of."""

FILE = ".npy"
SHOWN = ("image", "text", "category", "date", "number", "boolean")  # in this order
HOW = {"text": "TF-IDF", "image": "gradients and brightness"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePlan:
    """How each column becomes numbers.

    `columns` has the kind of each column, by name, in the order of the data, without those that must not be seen;
    `reasons` says why, in plain words. `features` are "auto" to compute them as the kinds say; "raw" for the numbers as
    they are, with the pixels of images; the path of a .npy file that has them; or `module:function`, which computes
    them from whole records. `embed` has the models that read columns, beside what is computed of them anyway;
    `notices` say what could be had besides. A campaign records a `digest` of the file or the function, by `pin_plan`.
    """

    columns: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)
    features: str = "auto"
    embed: Mapping[str, Embedding] = field(default_factory=dict)
    notices: tuple[str, ...] = field(default=(), compare=False)
    digest: str = ""

    def __post_init__(self) -> None:
        _check_kinds(self.columns)

    @property
    def file(self) -> Path | None:
        """The file that has the features, where one has."""
        return Path(self.features) if self.features.endswith(FILE) else None

    @property
    def function(self) -> str | None:
        """The function that computes the features, where one does."""
        return self.features if self.file is None and ":" in self.features else None

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that features are made from; all of them for a function, which sees whole records."""
        whole = self.features not in ("auto", "raw")
        return tuple(name for name, kind in self.columns.items() if kind != "ignored" or whole)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that a person should see of a row: images and texts first, names of rows if there is no other."""
        return tuple(name for kind in SHOWN for name in self.of_kind(kind)) or self.of_kind("ignored")

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        """Return the columns of these kinds."""
        return tuple(name for name, kind in self.columns.items() if kind in kinds)

    def describe(self) -> list[str]:
        """Say the plan aloud, a line for each column."""
        lines = [f"features from {self.file}"] if self.file is not None else []
        if self.function is not None:
            lines.append(f"features by {self.function}, from {len(self.columns)} column(s)")
        return [*lines, *self.describe_columns(KINDS)]

    def describe_columns(self, kinds: Collection[str]) -> list[str]:
        """Say of each column of these kinds what becomes of it, and why."""
        lines = []
        for name in self.of_kind(*kinds):
            kind, model = self.columns[name], self.embed.get(name)
            how = " and ".join(filter(None, ("" if model is None else model.title, HOW.get(kind))))
            how = f" ({how})" if how and self.features == "auto" else ""
            lines.append(", ".join(filter(None, (f"{name!r}: {kind}{how}", self.reasons.get(name)))))
        return lines

    def to_dict(self) -> dict[str, Json]:
        """Return the plan as plain values, for a configuration file."""
        plain: dict[str, Json] = {"columns": dict(self.columns), "reasons": dict(self.reasons)}
        plain |= {"features": self.features} if self.features != "auto" else {}
        plain |= {"digest": self.digest} if self.digest else {}
        models: dict[str, Json] = {name: dict(found.to_dict()) for name, found in self.embed.items()}
        return plain | ({"embed": models} if models else {})

    @classmethod
    def from_dict(cls, plain: Mapping[str, object]) -> Self:
        """Make a plan of what `to_dict` returned; reasons may be missing."""
        unknown = set(plain) - {"columns", "reasons", "features", "digest", "embed", "text_model"}
        if unknown:
            raise ParameterError(f"a plan of features has no {sorted(unknown)[0]!r}: leave it out")
        features, earlier, models = plain.get("features", "auto"), plain.get("text_model"), plain.get("embed", {})
        if not isinstance(features, str) or not isinstance(earlier, str | None) or not isinstance(models, Mapping):
            raise ParameterError("the features of a plan are a name, and embed has the models of columns")
        if not isinstance(digest := plain.get("digest", ""), str):
            raise ParameterError(f"the digest of a plan of features is a text, not {digest!r}")
        columns, reasons = _names(plain.get("columns")), _names(plain.get("reasons", {}))
        embed = {str(name): Embedding.from_dict(model) for name, model in models.items()}
        if strange := [name for name in embed if columns.get(name) not in EMBEDDED]:
            raise ParameterError(f"no model can read the column {strange[0]!r} of a plan of features: leave it out")
        if earlier is not None:  # as it was written before there was a choice of doors
            read = (name for name, kind in columns.items() if kind == "text")
            embed |= {name: Embedding(model=earlier, door="sentence-transformers") for name in read}
        return cls(columns=columns, reasons=reasons, features=features, embed=embed, digest=digest)


def _names(table: object) -> dict[str, str]:
    if not isinstance(table, Mapping) or not all(isinstance(v, str) for pair in table.items() for v in pair):
        raise ParameterError("a plan of features names the kind of each column: columns = {name = kind, ...}")
    return dict(table)


def named_features(features: str | None) -> str:
    """Return how features are named in a plan: a file by its absolute path, so that it is found from anywhere."""
    if features is None or features in ("auto", "raw"):
        return features or "auto"
    if features.endswith(FILE):
        return os.path.abspath(features)
    if ":" not in features:
        raise ParameterError(f"there are no features {features!r}: choose auto, raw, a .npy file or module:function")
    return features


def plan_features(
    records: Table, *, exclude: Collection[str] = (), kinds: Mapping[str, str] | None = None,
    features: str | None = None, embed: Embed = None, fetching: Callable[[str], object] | None = None,
    needed: bool = True,
) -> FeaturePlan:  # fmt: skip
    """Choose a kind for each column by looking at a sample of the rows.

    Nothing may be learned from columns to `exclude`, such as the labels; `kinds` are those that somebody has chosen, by
    column. `features` are as in a plan, None for "auto"; `embed` says which models read which columns, and `fetching`
    is called before anything is fetched for that. If features are not `needed`, as others have predicted something, it
    is all right if no column has any.
    """
    kinds, features = kinds or {}, named_features(features)
    _check_names(records, exclude, kinds)
    if records.n_rows < 1:
        raise DataError("there are no rows: give at least one")
    _check_ready(records, features)
    names = [name for name in records.columns if name not in exclude]
    if not names and not needed and features == "auto":
        return FeaturePlan(columns={})
    if not names:
        raise DataError(f"there is no column besides {', '.join(map(repr, exclude))}: nothing tells the rows apart")
    verdicts = _judge(records, names, kinds)
    if features == "auto" and needed:
        _use_something(verdicts, kinds)
    columns = {name: verdict.kind for name, verdict in verdicts.items()}
    for name, kind in columns.items():
        if features == "raw" and kind in ("text", "category"):
            why = f"raw features are numbers, and column {name!r} is of kind {kind}"
            raise ParameterError(f"{why}: ignore it, or choose auto")
    reasons = {name: verdict.reason for name, verdict in verdicts.items()}
    models, notices = dict[str, Embedding](), tuple[str, ...]()
    if features == "auto":
        array = array_of(records)
        models, notices = choose_embeddings(columns, embed, ready=None if array is None else array.main, tell=fetching)
    elif embed not in (None, "auto", "none", ["auto"], ["none"]):
        raise ParameterError(f"models read columns where features are auto, not {features}: leave one of them out")
    return FeaturePlan(columns=columns, reasons=reasons, features=features, embed=models, notices=notices)


def _judge(records: Table, names: list[str], kinds: Mapping[str, str]) -> dict[str, ColumnKind]:
    """Judge an array by its shape, and all other columns by their values."""
    array = array_of(records)
    ready = {}
    if array is not None and array.main in names:
        ready[array.main] = _judge_array(array, kinds.get(array.main))
    if len(ready) < len(names):
        ready |= look(records, [name for name in names if name not in ready], kinds)
    return {name: ready[name] for name in names}


def array_of(records: Table) -> ArrayTable | None:
    """Return a table that is made of an array with rows and columns, or of images; None for any other."""
    return records if isinstance(records, ArrayTable) and records.array.ndim > 1 else None


def open_features(path: Path, n_rows: int, cache: Path | None = None) -> ArrayTable:
    """Open a file that has a row of features for each row; a digest of it is kept in the cache."""
    found = array_of(open_table(path, cache=cache))
    if found is None or found.n_rows != n_rows:
        raise DataError(f"{path} must have a row of numbers for each of the {n_rows:,} rows")
    return found


def pin_plan(plan: FeaturePlan, n_rows: int, cache: Path | None = None) -> FeaturePlan:
    """Return a plan that says which file or function its features come from, by what is in it now."""
    if plan.file is not None:
        return replace(plan, digest=open_features(plan.file, n_rows, cache).fingerprint)
    return plan if plan.function is None else replace(plan, digest=code_digest(plan.function))


def _judge_array(table: ArrayTable, kind: str | None) -> ColumnKind:
    """Say what kind of column an array is; a kind that somebody has chosen must be that or "ignored"."""
    shape = tuple(table.array.shape)
    found = "embedding" if len(shape) == 2 else "image"
    if kind not in (None, found, "ignored"):
        raise ParameterError(f"an array of shape {shape} is of kind {found}, not {kind}")
    told = "pixels" if found == "image" else "numbers each" + (", sparse" if sparse.issparse(table.array) else "")
    reason = f"{' x '.join(map(str, shape[1:]))} {told}"
    return ColumnKind(kind=kind or found, reason=reason if kind is None else "as told")


def _check_ready(records: Table, features: str) -> None:
    """Refuse what cannot be loaded before any row is looked at."""
    if features.endswith(FILE):
        open_features(Path(features), records.n_rows)
    elif ":" in features:
        load_function(features)
    elif isinstance(records, ArrayTable) and records.columns == ("value",):
        flat = "the features must have rows and columns, not 1 dimension(s)"
        raise DataError(f"{flat}. Reshape your data, for a single feature with X.reshape(-1, 1)")


def _use_something(verdicts: dict[str, ColumnKind], kinds: Mapping[str, str]) -> None:
    """Where all columns are ignored, compare rows by what looks like their names: it may be all there is."""
    if all(verdict.kind == "ignored" for verdict in verdicts.values()):
        for name, verdict in verdicts.items():
            if verdict.named_rows and name not in kinds and "counts" not in verdict.reason:
                verdicts[name] = ColumnKind(kind="text", reason="the only column that tells rows apart")


def _check_names(records: Table, exclude: Collection[str], kinds: Mapping[str, str]) -> None:
    known = records.columns
    for name in [*exclude, *kinds]:
        if name not in known:
            listed = ", ".join(map(repr, known[:20])) + (" and more" if len(known) > 20 else "")
            raise ParameterError(f"there is no column {name!r}: the data have {listed}")
    for name in kinds:
        if name in exclude:
            both = f"column {name!r} is excluded and cannot be of kind {kinds[name]!r} at once"
            raise ParameterError(f"{both}: drop one of them")
    _check_kinds(kinds)


def _check_kinds(kinds: Mapping[str, str]) -> None:
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ParameterError(f"column {name!r} cannot be of kind {kind!r}: choose one of {', '.join(KINDS)}")
