"""The data that claims are made about: named datasets, and what is in the folder that `BELA_DATA` names."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bela.data import cache_folder, column_labels, load_dataset, open_table
from bela.errors import DatasetNotFound
from bela.features import PreparedData, learner_features, prepare
from bela.records import AnyArray, FloatArray

_IMAGES = ("mnist", "fashion-mnist", "digits")
_TABLES = {"trec": ("texts/trec.csv", "label"), "home": ("texts/home.csv", "intent"), "photos": ("photos", "folder")}
_VECTORS = {
    "trec-minilm": ("texts/trec-minilm.npy", "trec"),
    "home-minilm": ("texts/home-minilm.npy", "home"),
    "photos-efficientnet": ("photos-efficientnet.npy", "photos"),
}
PREDICTED = {
    "mnist": ("svm", "svm_score"),
    "stance": ("Yhat (GPT4o)", "confidence"),
    "imagenetv2": ("Yhat", "confidence"),
}
"""The columns of a prediction and of how sure it is, in predictions/NAME.csv."""
HELPERS = {"mnist": "linear"}
"""The column of predictions/NAME.csv that stands for somebody who helps."""
MADE_FEATURES, MADE_CLASSES = 64, 20
_CLUSTERS, _NOISE = 3, 1.7  # clusters a class; a spread that leaves a few rows in a hundred in doubt
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledData:
    """Rows as a campaign takes them, the truth about each, and what others have predicted, if it is asked for."""

    rows: object
    truth: AnyArray
    predictions: Mapping[str, tuple[Sequence[object], FloatArray | None]] = field(default_factory=dict)


def missing(name: str, *, predicted: bool = False, embedded: bool = False) -> str | None:
    """Say what is not at hand of a dataset; None where everything is, or can be fetched."""
    files = [file for file in (_TABLES.get(name), _VECTORS.get(name)) if file is not None]
    files += [file for file in _VECTORS.values() if embedded and file[1] == name]
    files += [_TABLES[_VECTORS[name][1]]] if name in _VECTORS else []
    wanted = [f"predictions/{name}.csv"] if predicted else [path for path, _ in files]
    folder = os.environ.get("BELA_DATA")
    gone = [path for path in wanted if folder is None or not (Path(folder) / path).exists()]
    if not gone:
        return None
    return f"{name} is left out: there is no {gone[0]} in the folder that BELA_DATA names"


def load_labelled(
    name: str, *, raw: bool = False, predicted: bool = False, embedded: bool = False
) -> LabelledData:  # fmt: skip
    """Return data by their name: images as pixels where they are wanted `raw`, with predictions where they are.

    With `embedded`, the vectors that a model has made of the rows stand beside them as one more column.
    """
    if predicted:
        return _load_predicted(name)
    if embedded:
        return _load_embedded(name)
    if name in _IMAGES:
        dataset = load_dataset(name)
        return LabelledData(rows=dataset.X if raw else dataset.images, truth=dataset.y)
    if name.startswith("made-"):
        return made_rows(int(name.removeprefix("made-")))
    if name in _VECTORS:
        file, of = _VECTORS[name]
        return LabelledData(rows=np.load(_find(file)).astype(np.float32), truth=_truth(of))
    file, column = _TABLES[name]
    return LabelledData(rows=prepare(_find(file), exclude=[column]), truth=_truth(name))


def load_features(name: str) -> FloatArray:
    """Return what BELA makes of the rows of a dataset, as a dense matrix: what other programs are given."""
    rows = load_labelled(name).rows
    found = learner_features((rows if isinstance(rows, PreparedData) else prepare(rows)).source)
    return np.ascontiguousarray(found if isinstance(found, np.ndarray) else found.dense, dtype=np.float32)


def lacks_room(n_rows: int) -> str | None:
    """Say that made rows are not there and have no room; None where they are, or may be made."""
    folder, size = cache_folder() / "bench", n_rows * 4 * (MADE_FEATURES + 1)
    if (folder / f"made-{n_rows}.npy").exists():
        return None
    free = shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists())).free
    return f"{n_rows:,} rows are left out: {folder} has no room for {size / 1e9:.1f} GB" if size > free else None


def made_rows(n_rows: int) -> LabelledData:
    """Return a memory map of made rows, 64 numbers each, in 20 classes of three Gaussian clusters; made once."""
    folder = cache_folder() / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    path, labels = folder / f"made-{n_rows}.npy", folder / f"made-{n_rows}-labels.npy"
    if not (path.exists() and labels.exists()):
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(MADE_CLASSES * _CLUSTERS, MADE_FEATURES)).astype(np.float32)
        cluster = rng.integers(0, len(centres), n_rows)
        part = path.with_suffix(".part")
        X = np.lib.format.open_memmap(part, "w+", np.float32, (n_rows, MADE_FEATURES))
        for first in range(0, n_rows, _BLOCK):
            here = cluster[first : first + _BLOCK]
            noise = rng.standard_normal((len(here), MADE_FEATURES), dtype=np.float32)
            X[first : first + len(here)] = centres[here] + np.float32(_NOISE) * noise
        X.flush()
        del X
        np.save(labels, (cluster % MADE_CLASSES).astype(np.int32))
        part.replace(path)  # a file that was begun and not ended is made anew
    return LabelledData(rows=np.load(path, mmap_mode="r"), truth=np.load(labels))


@functools.lru_cache(1)
def _load_predicted(name: str) -> LabelledData:
    from bela.campaign import find_predictions

    table, (column, score) = open_table(_find(f"predictions/{name}.csv")), PREDICTED[name]
    predictions = find_predictions(table, [f"{column}:{score}"]).read(table)
    if name in _IMAGES:
        dataset = load_dataset(name)
        return LabelledData(rows=dataset.images, truth=dataset.y, predictions=predictions)
    rows = prepare(table, exclude=["Y", column, score], needed=False)
    return LabelledData(rows=rows, truth=np.array(list(column_labels(table, "Y").values())), predictions=predictions)


def _load_embedded(name: str) -> LabelledData:
    file, column = _TABLES[name]
    [vectors] = [path for path, of in _VECTORS.values() if of == name]
    table, folder = open_table(_find(file)), _find(file)
    [rows] = [list(table.column(one)) for one in table.columns if one != column]
    content = [str(folder / str(path)) for path in rows] if folder.is_dir() else rows
    found = {"content": content, "vector": np.load(_find(vectors)).astype(np.float32)}
    return LabelledData(rows=prepare(found), truth=_truth(name))


def load_helper(name: str) -> AnyArray:
    """Return what somebody says who is not believed: a column of predictions/NAME.csv."""
    return np.array(list(column_labels(open_table(_find(f"predictions/{name}.csv")), HELPERS[name]).values()))


def _truth(name: str) -> AnyArray:
    file, column = _TABLES[name]
    return np.array(list(column_labels(open_table(_find(file)), column).values()))


def _find(path: str) -> Path:
    folder = os.environ.get("BELA_DATA")
    if folder is None or not (found := Path(folder) / path).exists():
        raise DatasetNotFound(f"there is no {path} in the folder that BELA_DATA names: set BELA_DATA to where it is")
    return found
