"""Where the names of classes may come from before anybody has typed them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from bela.campaign import StoredCampaign
from bela.labels import is_missing, label_to_text

_MOST = 300  # classes that somebody would take over unseen
_REPEATED = 3  # times that a value occurs on average, or it is no class
_LONGEST = 200  # characters of a label


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSource:
    """A column, and the different values in it."""

    column: str
    labels: Sequence[str]


def _names_classes(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    texts = (pa.types.is_string(kind), pa.types.is_large_string(kind), pa.types.is_string_view(kind))
    return any(texts) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)


def class_sources(stored: StoredCampaign, columns: Sequence[str]) -> list[ClassSource]:
    """Return which of these columns have few enough different values to be classes, those with the fewest first."""
    found = []
    for name in columns:
        kind = stored.plan.columns[name]
        values = None if kind in ("image", "embedding", "date") else stored.records.column(name)
        if values is None or not _names_classes(values.type):
            continue
        plain = [value for value in values.unique().to_pylist() if not is_missing(value)]
        labels = sorted({label_to_text(value).strip() for value in plain} - {""}) if len(plain) <= _MOST else []
        if 2 <= len(labels) <= stored.records.n_rows / _REPEATED and all(len(text) <= _LONGEST for text in labels):
            found.append(ClassSource(column=name, labels=labels))
    return sorted(found, key=lambda source: len(source.labels))
