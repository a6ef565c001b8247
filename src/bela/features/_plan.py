"""The plan of how a dataset becomes numbers: a kind for each column, to be said aloud and corrected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bela.errors import DataError, ParameterError
from bela.features._array_records import array_of
from bela.features._blocks import fixed_blocks, stack, taken
from bela.features._kinds import KINDS, Verdict, check, judge
from bela.protocols import Records

if TYPE_CHECKING:
    import pyarrow as pa

LOOKED_AT_ROWS = 10_000
LOOKED_AT_VALUES = 5_000_000  # fewer rows of a wide table
LOOKED_AT_BYTES = 1 << 30
KEPT_BYTES = 256 << 20
FEWEST_ROWS = 200
SHOWN = ("image", "text", "category", "date", "number", "boolean")  # in this order
HOW = {"text": "TF-IDF", "image": "gradients and brightness"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePlan:
    """How each column becomes numbers.

    Parameters
    ----------
    columns
        The kind of each column, by name, in the order of the data; columns that must not be seen are not among them.
    reasons
        Why, in plain words.
    function
        `module:function`, which computes the features from whole records instead.
    text_model
        A model of sentence-transformers that reads the texts, instead of counting their words.
    """

    columns: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)
    function: str | None = None
    text_model: str | None = None

    def __post_init__(self) -> None:
        for name, kind in self.columns.items():
            if kind not in KINDS:
                raise ParameterError(f"column {name!r} cannot be of kind {kind!r}: choose one of {', '.join(KINDS)}")

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that features are made from."""
        return tuple(name for name, kind in self.columns.items() if kind != "ignored" or self.function is not None)

    @property
    def shown(self) -> tuple[str, ...]:
        """The columns that a person should see of a row: images and texts first, names of rows if there is no other."""
        names = [name for kind in SHOWN for name in self.of_kind(kind)]
        return tuple(names or self.of_kind("ignored"))

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        """Return the columns of these kinds."""
        return tuple(name for name, kind in self.columns.items() if kind in kinds)

    def describe(self) -> list[str]:
        """Say the plan aloud, a line for each column."""
        lines = []
        if self.function is not None:
            lines.append(f"features by {self.function}, from {len(self.columns)} column(s)")
        for name, kind in self.columns.items():
            how = f"by {self.text_model}" if kind == "text" and self.text_model else HOW.get(kind)
            how = f" ({how})" if how and self.function is None else ""
            reason = self.reasons.get(name)
            lines.append(f"{name!r}: {kind}{how}{f', {reason}' if reason else ''}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for a configuration file."""
        plain: dict[str, Any] = {"columns": dict(self.columns), "reasons": dict(self.reasons)}
        if self.function is not None:
            plain["function"] = self.function
        if self.text_model is not None:
            plain["text_model"] = self.text_model
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> FeaturePlan:
        """Make a plan of what `to_dict` returned; reasons may be missing."""
        unknown = set(plain) - {"columns", "reasons", "function", "text_model"}
        if unknown:
            raise ParameterError(f"a plan of features has no {sorted(unknown)[0]!r}: leave it out")
        columns, reasons = plain.get("columns"), plain.get("reasons", {})
        for table in (columns, reasons):
            if not isinstance(table, Mapping) or not all(isinstance(v, str) for pair in table.items() for v in pair):
                raise ParameterError("a plan of features names the kind of each column: columns = {name = kind, ...}")
        for option in ("function", "text_model"):
            if not isinstance(plain.get(option, ""), str):
                raise ParameterError(f"the {option} of a plan of features is a name, not {plain[option]!r}")
        return cls(
            columns=dict(columns or {}),
            reasons=dict(reasons),
            function=plain.get("function"),
            text_model=plain.get("text_model"),
        )


def plan_features(
    records: Records,
    *,
    exclude: Collection[str] = (),
    kinds: Mapping[str, str] | None = None,
    function: str | None = None,
    text_model: str | None = None,
) -> FeaturePlan:
    """Choose a kind for each column by looking at a sample of the rows.

    Parameters
    ----------
    records
        The data.
    exclude
        Columns that nothing may be learned from, such as the labels.
    kinds
        Kinds that somebody has chosen, by column: number, boolean, category, date, text, embedding, image or ignored.
    function
        `module:function`, which gets a list of records and returns a row of numbers for each, instead of all columns.
    text_model
        The name of a sentence-transformers model for the texts.
    """
    kinds = dict(kinds or {})
    _check_names(records, exclude, kinds)
    if records.n_rows < 1:
        raise DataError("there are no rows: give at least one")
    if function is not None:
        from bela._functions import load_function

        load_function(function)
    if text_model is not None:
        from bela.features._functions import load_sentence_model

        load_sentence_model(text_model)
    names = [name for name in records.columns if name not in exclude]
    if not names:
        raise DataError("there is no column besides the excluded ones: nothing tells the rows apart")
    array = array_of(records)
    listed = [name for name in names if array is None or name != array.name]
    verdicts = _look(records, listed, kinds) if listed else {}
    if array is not None and array.name in names:
        verdicts[array.name] = array.verdict(kinds.get(array.name))
        verdicts = {name: verdicts[name] for name in names}
    if function is None:
        _use_something(verdicts, kinds)
    return FeaturePlan(
        columns={name: verdict.kind for name, verdict in verdicts.items()},
        reasons={name: verdict.reason for name, verdict in verdicts.items()},
        function=function,
        text_model=text_model,
    )


def _look(records: Records, names: list[str], kinds: Mapping[str, str]) -> dict[str, Verdict]:
    """Judge each column by a sample of rows from all of the data, or from the first gigabyte."""
    n_rows = records.n_rows
    n = min(n_rows, LOOKED_AT_ROWS, max(FEWEST_ROWS, LOOKED_AT_VALUES // len(names)))
    rows = np.sort(np.random.default_rng(0).choice(n_rows, n, replace=False))
    found: list[pa.RecordBatch] = []
    n_bytes = 0
    for start, block in fixed_blocks(records, names):
        found.append(taken(block, start, rows))
        if sum(batch.nbytes for batch in found) > KEPT_BYTES:  # long texts or images: every second of them will do
            rows, found = _thinned(rows, stack(found, names))
        n_bytes += block.nbytes
        if n_bytes > LOOKED_AT_BYTES and sum(batch.num_rows for batch in found) >= FEWEST_ROWS:
            break
    sample = stack(found, names)
    rows = rows[: sample.num_rows]
    verdicts = {}
    for name in names:
        values = sample.column(name)
        if name in kinds:
            verdicts[name] = Verdict(kind=kinds[name], reason=check(name, kinds[name], values, records.root))
        else:
            verdicts[name] = judge(name, values, rows, n_rows=n_rows, root=records.root)
    return verdicts


def _thinned(rows: npt.NDArray[np.intp], sample: pa.RecordBatch) -> tuple[npt.NDArray[np.intp], list[pa.RecordBatch]]:
    """Leave out every second row, of those that were seen and of those to come."""
    seen = np.arange(0, max(sample.num_rows, 1), 2)
    return rows[::2], [taken(sample, 0, seen[seen < sample.num_rows])]


def _use_something(verdicts: dict[str, Verdict], kinds: Mapping[str, str]) -> None:
    """Where all columns are ignored, compare rows by what looks like their names: it may be all there is."""
    if any(verdict.kind != "ignored" for verdict in verdicts.values()):
        return
    for name, verdict in verdicts.items():
        if verdict.named_rows and name not in kinds and "counts" not in verdict.reason:
            verdicts[name] = Verdict(kind="text", reason="the only column that tells rows apart")


def _check_names(records: Records, exclude: Collection[str], kinds: Mapping[str, str]) -> None:
    known = records.columns
    for name in [*exclude, *kinds]:
        if name not in known:
            listed = ", ".join(map(repr, known[:20])) + (" and more" if len(known) > 20 else "")
            raise ParameterError(f"there is no column {name!r}: the data have {listed}")
    for name, kind in kinds.items():
        if name in exclude:
            raise ParameterError(
                f"column {name!r} is excluded and cannot be of kind {kind!r} at once: drop one of them"
            )
        if kind not in KINDS:
            raise ParameterError(f"column {name!r} cannot be of kind {kind!r}: choose one of {', '.join(KINDS)}")
