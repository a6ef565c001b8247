"""What a campaign begins with, checked: given labels, predictions, and the key of its draws."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from bela.data import CodedColumn, code_values, open_table
from bela.errors import DataError, LabelError, ParameterError, QuestionError
from bela.features import Embed, PreparedData, prepare, without_features
from bela.labels import LabelCodes, is_missing, label_from_text, label_to_text
from bela.protocols import Source, Table
from bela.records import UNKNOWN, FloatArray, Label, Prediction
from bela.storage import empty_array

# labels of all rows, and perhaps scores, by the name of whoever predicted them
Predicted: TypeAlias = dict[str, tuple[CodedColumn, FloatArray | None]]

_WHOLE = re.compile(r"^(-?\d+)\.0+$")  # as it comes through a column of floats
_BLOCK = 1 << 18  # rows whose labels or scores are looked at together
_SAMPLE = 256  # rows that stand for data that have no fingerprint


def check_seed(seed: int) -> None:
    """Raise an error if a seed is none."""
    if int(seed) != seed or seed < 0:
        raise ParameterError(f"seed is a whole number from 0 on, not {seed}")


def given_labels(labels: Mapping[int, Label] | Sequence[Label | None] | None, n_rows: int) -> dict[int, Label]:
    """Return the labels that the data bring, by row."""
    if labels is None:
        return {}
    if not isinstance(labels, Mapping) and len(labels) != n_rows:
        raise LabelError(f"labels must have one entry for each of the {n_rows} rows, not {len(labels)}")
    pairs = labels.items() if isinstance(labels, Mapping) else enumerate(labels)
    given = {int(row): label for row, label in pairs if label is not None and not is_missing(label)}
    if given and not 0 <= min(given) <= max(given) < n_rows:
        raise QuestionError(f"labels name a row outside 0 to {n_rows - 1}")
    return given


def read_prediction(table: Table, column: str, score: str | None) -> tuple[list[str], list[float] | None]:
    """Return the labels of a column, all as text, so that 3, "3" and "3.0" are the same, and perhaps their scores."""
    labels = column_texts(table, column)
    if len(labels) < table.n_rows:
        n, name = table.n_rows - len(labels), getattr(table, "name", "the data")
        raise DataError(f"{name} has no label in column {column!r} for {n} row(s): fill or drop them first")
    return list(labels.values()), None if score is None else _numbers(table, score)


def column_texts(table: Table, column: str) -> dict[int, str]:
    """Return the labels that a column has as text, by row."""
    texts = {}
    for row, value in enumerate(table.column(column).to_pylist()):
        text = "" if is_missing(value) else _WHOLE.sub(r"\1", label_to_text(value).strip())
        if text:
            texts[row] = text
    return texts


def _numbers(table: Table, column: str) -> list[float]:
    numbers = []
    for row, value in enumerate(table.column(column).to_pylist()):
        with suppress(TypeError, ValueError):
            if not math.isnan(number := float(value)):
                numbers.append(number)
                continue
        name = getattr(table, "name", "the data")
        raise DataError(f"{name} has {value!r} in column {column!r} of row {row} where a number is needed")
    return numbers


def prepare_rows(
    data: object, predictions: Mapping[str, Any] | None, *, features: str, embed: Embed, seed: int
) -> PreparedData:
    """Return data that are ready for a method; None for data of which nothing is known but what was predicted."""
    check_predictions(predictions)
    if data is None and predictions:
        labels, _ = _labels_and_scores(next(iter(predictions.values())))
        return without_features(open_table(pa.table({"row": np.arange(len(labels))})))
    return data if isinstance(data, PreparedData) else prepare(data, features=features, embed=embed, seed=seed)


def check_predictions(predictions: object) -> None:
    """Refuse what is not labels, or labels and scores, by the name of whoever has predicted them."""
    if predictions is not None and not isinstance(predictions, Mapping):
        kind = type(predictions).__name__
        raise ParameterError(f'predictions have names, and are not a {kind}: write {{"gpt": (labels, scores)}}')
    for name, prediction in (predictions or {}).items():
        if not hasattr(_labels_and_scores(prediction)[0], "__len__"):
            kind = type(prediction).__name__
            raise DataError(f"the prediction {name!r} must have one label for each row, and is not a {kind}")


def _labels_and_scores(prediction: Any) -> tuple[Any, Any]:
    """Tell labels from a pair of labels and scores."""
    if isinstance(prediction, tuple) and len(prediction) == 2 and not isinstance(prediction[0], (str, int, bool)):
        return prediction
    return prediction, None


def split_predictions(predictions: Mapping[str, Any] | None, n_rows: int) -> Predicted:
    """Return labels and perhaps scores of each prediction, which is labels, or a pair of labels and scores."""
    check_predictions(predictions)
    found: Predicted = {}
    for name, prediction in (predictions or {}).items():
        labels, scores = _labels_and_scores(prediction)
        if len(labels) != n_rows:
            raise DataError(f"the prediction {name!r} must have one label for each of the {n_rows} rows")
        found[name] = code_values(labels), None if scores is None else _scores(scores, n_rows)
    return found


def _scores(scores: object, n_rows: int) -> FloatArray:
    try:
        values = scores if isinstance(scores, np.ndarray) else np.asarray(scores, dtype=float)
        if values.shape != (n_rows,):
            raise DataError(f"scores must be one for each of the {n_rows} rows, not an array of shape {values.shape}")
        found = empty_array((n_rows,), float)
        for start in range(0, n_rows, _BLOCK):
            some = np.asarray(values[start : start + _BLOCK], dtype=float)
            found[start : start + _BLOCK] = np.where(np.isfinite(some), some, np.nan)
    except (TypeError, ValueError):
        raise DataError("scores must be numbers, one a row") from None
    return found


def encode_predictions(predictions: Predicted, codes: LabelCodes) -> dict[str, Prediction]:
    """Return predictions as class codes; a label that is missing, or outside of declared classes, is UNKNOWN."""
    found = {}
    for name, (labels, scores) in predictions.items():
        there = [None if is_missing(label) else label_to_text(label) for label in labels.values]
        pairs = zip(there, labels.values, strict=True)
        code_of = {text: _code(label, codes) for text, label in pairs if text is not None}
        encoded = [UNKNOWN if text is None else code_of[text] for text in there]
        found[name] = Prediction(codes=labels.table_of(encoded), scores=scores)
    return found


def _code(label: object, codes: LabelCodes) -> int:
    """Return the class of a predicted label; 3 and "3" are the same, whoever wrote them."""
    code = codes.get(label)
    if code is None and codes.closed:
        like = label_to_text(label)
        code = next((codes.find(known) for known in codes.names if label_to_text(known) == like), None)
        return UNKNOWN if code is None else code
    return codes.add(codes.normal(label if not codes.names else _alike(label, codes))) if code is None else code


def _alike(label: object, codes: LabelCodes) -> object:
    """Return a label of the type that others have, if it can be one."""
    first = codes.names[0]
    if type(label) is type(first):
        return label
    return label_from_text(label_to_text(label), [first])


def draw_key(
    source: Source, seed: int, given: Mapping[int, Label], predictions: Predicted, fingerprint: str | None
) -> str:
    """Return what all draws follow from, as 15 hexadecimal digits.

    Whatever shaped the labels is in it: answers of an earlier campaign that come back as given labels, or labels and
    scores that were mended after an audit, must not meet the same draws again.
    """
    digest = hashlib.blake2b(digest_size=8)

    def add(*values: object) -> None:
        digest.update(repr(values).encode("utf-8", "surrogatepass"))

    add(seed, source.n_rows, fingerprint)
    if fingerprint is None:
        rows = np.unique(np.linspace(0, source.n_rows - 1, min(_SAMPLE, source.n_rows)).astype(np.intp))
        sample = source.take(rows)
        add(sample.shape, sample.dtype.str)
        for part in (sample,) if isinstance(sample, np.ndarray) else (sample.data, sample.indices, sample.indptr):
            digest.update(np.ascontiguousarray(part).tobytes())
    for row in sorted(given):
        add(row, label_to_text(given[row]))
    for name, (labels, scores) in predictions.items():
        # As the representation of the name and of a list of all labels, which is not made as a whole.
        texts = [repr(label_to_text(label)).encode("utf-8", "surrogatepass") for label in (*labels.values, None)]
        digest.update(f"({name!r}, [".encode("utf-8", "surrogatepass"))
        for start in range(0, len(labels), _BLOCK):
            some = labels.places[start : start + _BLOCK].tolist()
            digest.update((b", " if start else b"") + b", ".join([texts[place] for place in some]))
        digest.update(b"])")
        if scores is not None:
            digest.update(np.ascontiguousarray(scores).data)
    return digest.hexdigest()[:15]
